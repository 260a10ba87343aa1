"""More scenes: a football ground, the crest of a club, a poster. Importing a name registers its drawer with `pictures`."""

from __future__ import annotations

import random
from typing import Final

from webgym.worlds.pictures import gradient, hsl, landscape, subject

PITCH: Final = "pitch"
CREST: Final = "crest"
POSTER: Final = "poster"


@subject(PITCH)
def pitch(chance: random.Random, width: int, height: int) -> str:
    """A football ground seen from the stand."""
    hue, sky = chance.randrange(100, 140), chance.choice((205, 215, 25, 250))
    horizon = height * chance.uniform(0.3, 0.42)
    parts = [
        gradient("k", hsl(sky, 60, 55), hsl(sky + 20, 65, 84)),
        f'<rect width="{width}" height="{height}" fill="url(#k)"/>',
        f'<rect y="{horizon * 0.55:.0f}" width="{width}" height="{horizon * 0.5:.0f}" fill="#39414d"/>',
    ]
    for _ in range(150):
        x, y = chance.random() * width, horizon * chance.uniform(0.6, 0.98)
        parts.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{height * 0.009:.1f}" fill="{hsl(chance.randrange(360), 55, 66)}"/>'
        )
    for stripe in range(8):
        top = horizon + (height - horizon) * (stripe / 8) ** 1.3
        parts.append(
            f'<rect y="{top:.0f}" width="{width}" height="{height - top:.0f}" fill="{hsl(hue, 45, 34 + 5 * (stripe % 2))}"/>'
        )
    lines = f'fill="none" stroke="#fff" stroke-width="{max(2, height / 130):.0f}" opacity=".85"'
    parts.append(f'<path d="M0 {height * 0.7:.0f}H{width}" {lines}/>')
    parts.append(
        f'<ellipse cx="{width / 2:.0f}" cy="{height * 0.7:.0f}" rx="{width * 0.17:.0f}" ry="{height * 0.11:.0f}" {lines}/>'
    )
    x, y, r = width * chance.uniform(0.2, 0.8), height * chance.uniform(0.75, 0.9), height * 0.04
    parts.append(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{r:.0f}" fill="#fff"/><circle cx="{x:.0f}" cy="{y:.0f}" r="{r / 3:.0f}"/>'
    )
    return "".join(parts)


@subject(CREST)
def crest(chance: random.Random, width: int, height: int) -> str:
    """A club's badge on a plain ground."""
    one, two = chance.randrange(360), chance.randrange(360)
    size = min(width, height) / 100
    x, y = width / 2 - 50 * size, height / 2 - 50 * size
    shape = "M18 14h64v38c0 22-16 34-32 40-16-6-32-18-32-40z"
    inner = chance.choice(
        (
            '<path d="M50 14v78c16-6 32-18 32-40V14z" fill="{b}"/>',
            '<path d="M18 40h64v16H18z" fill="{b}"/>',
            '<path d="M18 14l64 60-8 10L18 32z" fill="{b}"/>',
            '<path d="M34 14h10v76l-10-6zM56 14h10v70l-10 6z" fill="{b}"/>',
            '<circle cx="50" cy="46" r="19" fill="{b}"/><path d="M50 32l4 9 10 1-7 7 2 10-9-5-9 5 2-10-7-7 10-1z" fill="#fff"/>',
        )
    ).format(b=hsl(two, 62, 46))
    return (
        f'<rect width="{width}" height="{height}" fill="{hsl(one, 25, 93)}"/><g transform="translate({x:.0f} {y:.0f}) '
        f'scale({size:.3f})"><path d="{shape}" fill="{hsl(one, 62, 38)}"/>{inner}'
        f'<path d="{shape}" fill="none" stroke="#fff" stroke-width="5"/>'
        f'<path d="{shape}" fill="none" stroke="{hsl(one, 62, 26)}" stroke-width="2"/></g>'
    )


@subject(POSTER)
def poster(chance: random.Random, width: int, height: int) -> str:
    """A scene with a figure against the light, and bars where a title stands."""
    hue = chance.randrange(360)
    cx, foot, tall = width * chance.uniform(0.35, 0.65), height * 0.84, height * chance.uniform(0.3, 0.46)
    glow = f'<circle cx="{cx:.0f}" cy="{height * 0.42:.0f}" r="{height * 0.3:.0f}" fill="{hsl(hue + 30, 85, 70)}" opacity=".55"/>'
    figure = (
        f'<circle cx="{cx:.0f}" cy="{foot - tall:.0f}" r="{tall * 0.11:.0f}" fill="#0d0d14"/><path d="M{cx - tall * 0.17:.0f} '
        f"{foot - tall * 0.86:.0f} h{tall * 0.34:.0f} l{tall * 0.08:.0f} {tall * 0.5:.0f} h{-tall * 0.1:.0f} v{tall * 0.38:.0f} "
        f'h{-tall * 0.3:.0f} v{-tall * 0.38:.0f} h{-tall * 0.1:.0f}z" fill="#0d0d14"/>'
    )
    title = "".join(
        f'<rect x="{width * (0.5 - part / 2):.0f}" y="{height * at:.0f}" width="{width * part:.0f}" height="{height * thick:.0f}" '
        f'fill="#fff" opacity="{shade}"/>'
        for at, part, thick, shade in ((0.07, chance.uniform(0.3, 0.6), 0.035, 0.92), (0.93, 0.5, 0.012, 0.5))
    )
    shade = f'<rect width="{width}" height="{height}" fill="{hsl(hue, 70, 22)}" opacity=".55"/>'
    ground = f'<rect y="{foot:.0f}" width="{width}" height="{height - foot:.0f}" fill="#0d0d14"/>'
    return landscape(chance, width, height) + shade + glow + figure + ground + title


# Ears, and what else makes an animal of a round head; drawn in a box of 100 × 100, {a} is the fur, {b} its shade.
_HEADS: Final = {
    "dog": '<path d="M20 30c-14 2-14 36-4 44 8-4 14-20 14-38zM80 30c14 2 14 36 4 44-8-4-14-20-14-38z" fill="{b}"/>'
    '<ellipse cx="50" cy="50" rx="31" ry="33" fill="{a}"/><ellipse cx="50" cy="66" rx="17" ry="14" fill="#fff" opacity=".65"/>',
    "cat": '<path d="M20 14l24 18-20 18zM80 14L56 32l20 18z" fill="{b}"/><ellipse cx="50" cy="53" rx="32" ry="29" fill="{a}"/>'
    '<path d="M24 62l-18-4M24 67H6M76 62l18-4M76 67h18" stroke="#fff" stroke-width="1.5"/>',
    "rabbit": '<ellipse cx="37" cy="22" rx="8" ry="24" fill="{b}"/><ellipse cx="63" cy="22" rx="8" ry="24" fill="{b}"/>'
    '<ellipse cx="50" cy="60" rx="28" ry="27" fill="{a}"/>',
    "bird": '<path d="M50 8c-6 6-6 14 0 20 6-6 6-14 0-20z" fill="{b}"/><ellipse cx="50" cy="52" rx="27" ry="30" fill="{a}"/>',
}
_NOSES: Final = {
    "bird": '<path d="M50 52l-9 7 9 14 9-14z" fill="#e39a2d"/>',
    "dog": '<ellipse cx="50" cy="60" rx="7" ry="5" fill="#2a211d"/><path d="M50 65v8q-8 6-14 0m14 0q8 6 14 0" fill="none" '
    'stroke="#2a211d" stroke-width="2"/>',
}
_NOSE: Final = '<path d="M46 61h8l-4 5z" fill="#c96b74"/>'


def _animal(name: str, chance: random.Random, width: int, height: int) -> str:
    back, (hue, part, light) = chance.randrange(360), chance.choice(((28, 45, 52), (32, 30, 74), (25, 12, 34), (24, 60, 42)))
    size = min(width, height) / 118
    x, y = width / 2 - 50 * size, height / 2 - 46 * size
    shades = {"a": hsl(hue, part, light), "b": hsl(hue, part, light - 13)}
    eyes = "".join(
        f'<circle cx="{at}" cy="46" r="5.2" fill="#241c17"/><circle cx="{at + 1.6}" cy="44.4" r="1.6" fill="#fff"/>'
        for at in (37, 63)
    )
    patch = f'<circle cx="{chance.choice((35, 64))}" cy="40" r="11" fill="{shades["b"]}"/>' if chance.random() < 0.5 else ""
    body = f'<ellipse cx="50" cy="112" rx="44" ry="36" fill="{shades["b"]}"/>'
    return (
        gradient("p", hsl(back, 38, 88), hsl(back + 20, 34, 70))
        + f'<rect width="{width}" height="{height}" fill="url(#p)"/><g transform="translate({x:.0f} {y:.0f}) scale({size:.3f})">'
        + f"{body}{_HEADS[name].format(**shades)}{patch}{eyes}{_NOSES.get(name, _NOSE)}</g>"
    )


def _register() -> None:
    for name in _HEADS:

        def drawer(chance: random.Random, width: int, height: int, name: str = name) -> str:
            return _animal(name, chance, width, height)

        subject(name)(drawer)


_register()
ANIMALS: Final = tuple(_HEADS)
