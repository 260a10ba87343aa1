"""Things for sale and use, as silhouettes with light and shade on a backdrop: lamps, chairs, bottles, bags, screens."""

from __future__ import annotations

import random
from typing import Final

from webgym.worlds.pictures import SUBJECTS, gradient, hsl

# Drawn in a box of 100 × 100. {a} is the body, {b} its shade, {c} a second colour.
_SHAPES: Final[dict[str, str]] = {
    "lamp": '<path d="M34 18h32l12 30H22z" fill="{a}"/><path d="M50 18h16l12 30H50z" fill="{b}"/><rect x="47" y="48" width="6" height="34" fill="{c}"/><ellipse cx="50" cy="84" rx="18" ry="5" fill="{c}"/>',
    "chair": '<rect x="30" y="14" width="40" height="38" rx="8" fill="{a}"/><rect x="26" y="50" width="48" height="12" rx="5" fill="{b}"/><path d="M30 62l-4 26M70 62l4 26M40 62v20M60 62v20" stroke="{c}" stroke-width="4"/>',
    "table": '<rect x="12" y="36" width="76" height="9" rx="3" fill="{a}"/><rect x="12" y="43" width="76" height="4" fill="{b}"/><path d="M20 46l-3 40M80 46l3 40" stroke="{c}" stroke-width="5"/>',
    "sofa": '<rect x="14" y="32" width="72" height="32" rx="10" fill="{a}"/><rect x="8" y="46" width="16" height="28" rx="7" fill="{b}"/><rect x="76" y="46" width="16" height="28" rx="7" fill="{b}"/><rect x="22" y="54" width="56" height="18" rx="5" fill="{c}"/><path d="M18 74v9M82 74v9" stroke="{b}" stroke-width="5"/>',
    "mug": '<path d="M26 28h40v46a10 10 0 0 1-10 10H36a10 10 0 0 1-10-10z" fill="{a}"/><path d="M52 28h14v46a10 10 0 0 1-10 10h-4z" fill="{b}"/><path d="M66 38h8a10 10 0 0 1 0 24h-8" fill="none" stroke="{a}" stroke-width="6"/><ellipse cx="46" cy="28" rx="20" ry="4" fill="{c}"/>',
    "bottle": '<path d="M43 10h14v18c10 6 12 10 12 20v34a8 8 0 0 1-8 8H39a8 8 0 0 1-8-8V48c0-10 2-14 12-20z" fill="{a}"/><path d="M52 10h5v18c10 6 12 10 12 20v34a8 8 0 0 1-8 8h-9z" fill="{b}"/><rect x="31" y="54" width="38" height="20" fill="{c}"/>',
    "vase": '<path d="M40 14h20l-3 16c16 12 18 40 4 56H39c-14-16-12-44 4-56z" fill="{a}"/><path d="M52 14h8l-3 16c16 12 18 40 4 56h-9z" fill="{b}"/>',
    "plant": '<path d="M50 60C20 58 16 30 18 22c22 2 32 18 32 38zM50 60c0-24 10-42 32-44 2 20-6 42-32 44zM50 58c-8-16-6-34 0-46 6 12 8 30 0 46z" fill="{c}"/><path d="M32 60h36l-6 28H38z" fill="{a}"/><path d="M52 60h16l-6 28H52z" fill="{b}"/>',
    "bag": '<path d="M22 36h56l6 50H16z" fill="{a}"/><path d="M52 36h26l6 50H52z" fill="{b}"/><path d="M36 42V28a14 14 0 0 1 28 0v14" fill="none" stroke="{c}" stroke-width="5"/>',
    "shoe": '<path d="M12 62c10-2 14-14 18-22l14 4c8 16 24 16 40 22 6 3 6 10 4 14H14c-4 0-4-12-2-18z" fill="{a}"/><path d="M12 74h78l-2 8H14z" fill="{c}"/><path d="M38 46l-6 12M46 54l-6 10" stroke="{b}" stroke-width="3"/>',
    "watch": '<rect x="40" y="6" width="20" height="88" rx="6" fill="{c}"/><circle cx="50" cy="50" r="25" fill="{a}"/><circle cx="50" cy="50" r="19" fill="#fff"/><path d="M50 50V36M50 50l9 6" stroke="{b}" stroke-width="3"/>',
    "phone": '<rect x="30" y="8" width="40" height="84" rx="7" fill="{b}"/><rect x="33" y="14" width="34" height="70" rx="2" fill="{a}"/><circle cx="50" cy="88" r="2" fill="{c}"/>',
    "laptop": '<rect x="20" y="22" width="60" height="42" rx="4" fill="{b}"/><rect x="24" y="26" width="52" height="34" fill="{a}"/><path d="M10 66h80l-6 10H16z" fill="{c}"/>',
    "headphones": '<path d="M20 60V48a30 30 0 0 1 60 0v12" fill="none" stroke="{b}" stroke-width="7"/><rect x="13" y="54" width="16" height="30" rx="8" fill="{a}"/><rect x="71" y="54" width="16" height="30" rx="8" fill="{a}"/>',
    "speaker": '<rect x="28" y="10" width="44" height="80" rx="8" fill="{a}"/><path d="M50 10h14a8 8 0 0 1 8 8v64a8 8 0 0 1-8 8H50z" fill="{b}"/><circle cx="50" cy="34" r="9" fill="{c}"/><circle cx="50" cy="64" r="15" fill="{c}"/>',
    "camera": '<rect x="12" y="32" width="76" height="48" rx="8" fill="{a}"/><rect x="34" y="22" width="28" height="14" rx="4" fill="{b}"/><circle cx="50" cy="56" r="18" fill="{b}"/><circle cx="50" cy="56" r="11" fill="{c}"/>',
    "book": '<path d="M24 12h48a4 4 0 0 1 4 4v68a4 4 0 0 1-4 4H24z" fill="{a}"/><rect x="24" y="12" width="8" height="76" fill="{b}"/><rect x="40" y="28" width="26" height="5" fill="{c}"/><rect x="40" y="38" width="18" height="4" fill="{c}"/>',
    "box": '<path d="M50 14l36 18v38L50 88 14 70V32z" fill="{a}"/><path d="M50 50l36-18v38L50 88z" fill="{b}"/><path d="M14 32l36 18 36-18-36-18z" fill="{c}"/>',
    "pan": '<ellipse cx="42" cy="56" rx="32" ry="20" fill="{b}"/><ellipse cx="42" cy="53" rx="32" ry="19" fill="{a}"/><ellipse cx="42" cy="54" rx="24" ry="13" fill="{c}"/><rect x="70" y="44" width="26" height="7" rx="3" fill="{b}" transform="rotate(-14 70 47)"/>',
    "tent": '<path d="M50 18L92 82H8z" fill="{a}"/><path d="M50 18L92 82H58z" fill="{b}"/><path d="M50 40l16 42H36z" fill="{c}"/>',
    "ball": '<circle cx="50" cy="52" r="34" fill="{a}"/><path d="M50 18a34 34 0 0 1 0 68 60 60 0 0 0 0-68z" fill="{b}"/><path d="M18 44q32 16 64 0" fill="none" stroke="{c}" stroke-width="4"/>',
    "shirt": '<path d="M34 16l-22 14 8 18 10-5v43h40V43l10 5 8-18-22-14c-4 8-28 8-32 0z" fill="{a}"/><path d="M54 22c6 0 10-2 12-6l22 14-8 18-10-5v43H54z" fill="{b}"/>',
    "jar": '<rect x="32" y="12" width="36" height="12" rx="3" fill="{c}"/><path d="M28 26h44c5 4 6 10 6 16v36a10 10 0 0 1-10 10H32a10 10 0 0 1-10-10V42c0-6 1-12 6-16z" fill="{a}"/><path d="M54 26h18c5 4 6 10 6 16v36a10 10 0 0 1-10 10H54z" fill="{b}"/><rect x="32" y="46" width="36" height="22" fill="#fff" opacity=".8"/>',
}


def _drawer(shape: str, chance: random.Random, width: int, height: int) -> str:
    hue, back = chance.randrange(360), chance.randrange(360)
    pale = chance.random() < 0.7
    body = chance.choice((hue, 30, 215, 150, 8))
    colours = {"a": hsl(body, 46, 56), "b": hsl(body, 46, 44), "c": hsl(body + chance.choice((25, 180, 210)), 35, 32)}
    ground = gradient("b", hsl(back, 24 if pale else 40, 94 if pale else 78), hsl(back + 15, 26, 84 if pale else 62), False)
    size = min(width, height) * 0.78
    x, y = (width - size) / 2, (height - size) / 2
    shadow = f'<ellipse cx="{width / 2:.0f}" cy="{y + size * 0.9:.0f}" rx="{size * 0.38:.0f}" ry="{size * 0.05:.0f}" fill="#0000002e"/>'
    turn = f' transform="translate({x:.1f} {y:.1f}) scale({size / 100:.3f})"'
    return f'{ground}<rect width="{width}" height="{height}" fill="url(#b)"/>{shadow}<g{turn}>{shape.format(**colours)}</g>'


def _register() -> None:
    for name, shape in _SHAPES.items():

        def drawer(chance: random.Random, width: int, height: int, shape: str = shape) -> str:
            return _drawer(shape, chance, width, height)

        SUBJECTS[name] = drawer


_register()
