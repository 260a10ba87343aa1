"""Pictures, drawn from a subject and a token: pure functions to SVG, the same for everyone who asks.

`SUBJECTS` holds the drawers by name. A kind may add its own with `subject("trail")`; it gets a draw and the size and returns
the inside of an <svg>. Subjects of `things.py` stand on a backdrop of one hue; scenes fill the picture.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from math import cos, pi, sin
from typing import Final

from webgym.worlds.chance import draw

Drawer = Callable[[random.Random, int, int], str]
SUBJECTS: Final[dict[str, Drawer]] = {}
MOST: Final = 1_600


def subject(name: str) -> Callable[[Drawer], Drawer]:
    """Register a drawer."""

    def hang(drawer: Drawer) -> Drawer:
        SUBJECTS[name] = drawer
        return drawer

    return hang


@lru_cache(maxsize=512)
def svg(seed: int, host: str, name: str, token: str, width: int, height: int) -> str:
    """A whole picture; an unknown subject is an abstract one."""
    chance = draw(seed, "picture", name, token) if name != "logo" else draw(seed, host, "logo")
    inside = SUBJECTS.get(name, abstract)(chance, width, height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' preserveAspectRatio="xMidYMid slice">{inside}</svg>'
    )


def hsl(hue: float, saturation: int, light: int) -> str:
    return f"hsl({hue % 360:.0f} {saturation}% {light}%)"


def gradient(name: str, one: str, two: str, down: bool = True) -> str:
    end = 'x2="0" y2="1"' if down else 'x2="1" y2="1"'
    return (
        f'<defs><linearGradient id="{name}" x1="0" y1="0" {end}><stop stop-color="{one}"/>'
        f'<stop offset="1" stop-color="{two}"/></linearGradient></defs>'
    )


@subject("abstract")
def abstract(chance: random.Random, width: int, height: int) -> str:
    hue = chance.randrange(360)
    parts = [
        gradient("g", hsl(hue, 55, 62), hsl(hue + 50, 60, 40), False),
        f'<rect width="{width}" height="{height}" fill="url(#g)"/>',
    ]
    for _ in range(6):
        x, y, r = chance.random() * width, chance.random() * height, (0.1 + chance.random() * 0.35) * height
        colour = hsl(hue + chance.randrange(-40, 80), 60, chance.randrange(45, 80))
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{r:.0f}" fill="{colour}" opacity=".45"/>')
    return "".join(parts)


@subject("landscape")
def landscape(chance: random.Random, width: int, height: int) -> str:
    """Sky, sun, ranges of hills, perhaps water."""
    sky, earth = chance.choice((205, 20, 265, 190, 340)), chance.choice((140, 95, 160, 25, 210))
    parts = [
        gradient("s", hsl(sky, 65, 62), hsl(sky + 25, 70, 88)),
        f'<rect width="{width}" height="{height}" fill="url(#s)"/>',
        f'<circle cx="{chance.uniform(0.2, 0.8) * width:.0f}" cy="{chance.uniform(0.15, 0.4) * height:.0f}" r="{height * 0.09:.0f}" fill="#fff6d8" opacity=".9"/>',
    ]
    for layer in range(4):
        base = height * (0.45 + layer * 0.13)
        points, x, peak = [f"0,{height}"], 0.0, height * (0.22 - layer * 0.045)
        while x <= width * 1.1:
            points.append(f"{x:.0f},{base - chance.random() * peak:.0f}")
            x += width * chance.uniform(0.06, 0.16)
        parts.append(
            f'<polygon points="{" ".join(points)} {width * 1.1:.0f},{height}" fill="{hsl(earth + layer * 6, 30 + layer * 4, 66 - layer * 13)}"/>'
        )
    if chance.random() < 0.4:
        parts.append(
            f'<rect y="{height * 0.86:.0f}" width="{width}" height="{height * 0.14:.0f}" fill="{hsl(sky, 55, 55)}" opacity=".75"/>'
        )
    return "".join(parts)


@subject("city")
def city(chance: random.Random, width: int, height: int) -> str:
    hue = chance.choice((215, 230, 20, 280, 195))
    parts = [
        gradient("c", hsl(hue, 55, 75), hsl(hue + 30, 70, 90)),
        f'<rect width="{width}" height="{height}" fill="url(#c)"/>',
    ]
    for layer, light in ((0, 62), (1, 42), (2, 26)):
        x = -10.0
        while x < width:
            w, h = chance.uniform(0.05, 0.12) * width, chance.uniform(0.2, 0.62 - layer * 0.12) * height
            parts.append(
                f'<rect x="{x:.0f}" y="{height - h:.0f}" width="{w:.0f}" height="{h:.0f}" fill="{hsl(hue, 24, light)}"/>'
            )
            if layer == 2:
                lit = (row for row in range(int(h // 26)) if chance.random() < 0.7)
                window = (
                    f'<rect x="{x + w * 0.2:.0f}" y="{{}}" width="{w * 0.22:.0f}" height="10" fill="#ffe9a8" opacity=".8"/>'
                )
                parts += [window.format(round(height - h + 10 + row * 26)) for row in lit]
            x += w * chance.uniform(0.9, 1.3)
    return "".join(parts)


@subject("house")
def house(chance: random.Random, width: int, height: int) -> str:
    sky, wall, roof = chance.choice((205, 195, 215, 30)), chance.randrange(20, 60), chance.choice((10, 220, 350, 30))
    base, w, h = height * 0.8, width * chance.uniform(0.42, 0.56), height * chance.uniform(0.3, 0.42)
    x = (width - w) / 2
    parts = [
        gradient("h", hsl(sky, 60, 72), hsl(sky, 60, 92)),
        f'<rect width="{width}" height="{height}" fill="url(#h)"/><rect y="{base:.0f}" width="{width}" height="{height - base:.0f}" fill="{hsl(105, 35, 48)}"/>',
        f'<rect x="{x:.0f}" y="{base - h:.0f}" width="{w:.0f}" height="{h:.0f}" fill="{hsl(wall, 35, 86)}"/>',
        f'<polygon points="{x - w * 0.07:.0f},{base - h:.0f} {width / 2:.0f},{base - h * 1.75:.0f} {x + w * 1.07:.0f},{base - h:.0f}" fill="{hsl(roof, 35, 38)}"/>',
    ]
    columns = chance.randrange(3, 6)
    for n in range(columns):
        left = x + w * (n + 0.5) / columns - w * 0.05
        door = n == columns // 2
        top, tall = (base - h * 0.62, h * 0.62) if door else (base - h * 0.75, h * 0.38)
        parts.append(
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{w * 0.1:.0f}" height="{tall:.0f}" rx="3" fill="{hsl(roof, 30, 30) if door else hsl(205, 45, 70)}"/>'
        )
    for _ in range(3):
        tx = chance.choice((chance.uniform(0.02, 0.18), chance.uniform(0.82, 0.98))) * width
        parts.append(
            f'<circle cx="{tx:.0f}" cy="{base - 14:.0f}" r="{height * 0.09:.0f}" fill="{hsl(120, 32, chance.randrange(30, 45))}"/>'
        )
    return "".join(parts)


@subject("face")
def face(chance: random.Random, width: int, height: int) -> str:
    """A portrait: backdrop, shoulders, head, hair."""
    skin, hair, back, shirt = (
        chance.choice(((28, 60, 78), (24, 45, 62), (20, 40, 45), (18, 35, 34), (32, 65, 84))),
        chance.choice(((30, 35, 22), (20, 20, 12), (42, 55, 52), (12, 50, 34), (0, 0, 60))),
        chance.randrange(360),
        chance.randrange(360),
    )
    cx, cy, r = width / 2, height * 0.44, min(width, height) * 0.2
    long = chance.random() < 0.5
    parts = [
        gradient("f", hsl(back, 40, 82), hsl(back + 20, 40, 68)),
        f'<rect width="{width}" height="{height}" fill="url(#f)"/>',
        f'<ellipse cx="{cx:.1f}" cy="{height * 1.02:.1f}" rx="{r * 1.9:.1f}" ry="{height * 0.34:.1f}" fill="{hsl(shirt, 45, 45)}"/>',
    ]
    if long:
        parts.append(
            f'<rect x="{cx - r * 1.15:.1f}" y="{cy - r * 0.6:.1f}" width="{r * 2.3:.1f}" height="{r * 2.2:.1f}" rx="{r:.1f}" fill="{hsl(*hair)}"/>'
        )
    parts += [
        f'<rect x="{cx - r * 0.35:.1f}" y="{cy + r * 0.5:.1f}" width="{r * 0.7:.1f}" height="{r * 1.1:.1f}" fill="{hsl(skin[0], skin[1], skin[2] - 8)}"/>',
        f'<ellipse cx="{cx:.1f}" cy="{cy:.1f}" rx="{r * 0.86:.1f}" ry="{r * 1.08:.1f}" fill="{hsl(*skin)}"/>',
        f'<path d="M{cx - r:.1f} {cy - r * 0.1:.1f} a{r:.1f} {r * 1.15:.1f} 0 0 1 {r * 2:.1f} 0 q{-r * 0.5:.1f} {-r * 0.75:.1f} {-r:.1f} {-r * 0.62:.1f} t{-r:.1f} {r * 0.62:.1f}z" fill="{hsl(*hair)}"/>',
        f'<circle cx="{cx - r * 0.33:.1f}" cy="{cy + r * 0.08:.1f}" r="{r * 0.09:.1f}" fill="#2b2320"/><circle cx="{cx + r * 0.33:.1f}" cy="{cy + r * 0.08:.1f}" r="{r * 0.09:.1f}" fill="#2b2320"/>',
        f'<path d="M{cx - r * 0.3:.1f} {cy + r * 0.5:.1f} q{r * 0.3:.1f} {r * 0.25:.1f} {r * 0.6:.1f} 0" fill="none" stroke="#7c3f35" stroke-width="{r * 0.07:.1f}"/>',
    ]
    return "".join(parts)


@subject("food")
def food(chance: random.Random, width: int, height: int) -> str:
    """A plate from above."""
    table = chance.choice((28, 35, 210, 150, 0))
    cx, cy, r = width / 2, height / 2, min(width, height) * 0.38
    parts = [
        f'<rect width="{width}" height="{height}" fill="{hsl(table, 28, 58)}"/>',
        f'<circle cx="{cx:.0f}" cy="{cy + 6:.0f}" r="{r:.0f}" fill="#0003"/><circle cx="{cx:.0f}" cy="{cy:.0f}" r="{r:.0f}" fill="#fbfaf6"/>',
        f'<circle cx="{cx:.0f}" cy="{cy:.0f}" r="{r * 0.78:.0f}" fill="{hsl(chance.choice((28, 38, 14, 90)), 62, 55)}"/>',
    ]
    for _ in range(26):
        angle, far = chance.random() * 2 * pi, chance.random() ** 0.5 * r * 0.68
        colour = hsl(chance.choice((8, 30, 48, 95, 120, 350)), 65, chance.randrange(35, 65))
        parts.append(
            f'<ellipse cx="{cx + cos(angle) * far:.0f}" cy="{cy + sin(angle) * far:.0f}" rx="{chance.uniform(0.05, 0.13) * r:.0f}" ry="{chance.uniform(0.04, 0.1) * r:.0f}" fill="{colour}" transform="rotate({chance.randrange(180)} {cx:.0f} {cy:.0f})"/>'
        )
    return "".join(parts)


@subject("map")
def map_ground(chance: random.Random, width: int, height: int) -> str:
    """Land, water, parks and roads, for the map block."""
    parts = [f'<rect width="{width}" height="{height}" fill="#eef0e6"/>']
    y = chance.uniform(0.2, 0.8) * height
    river = f"M-20 {y:.0f}" + "".join(
        f" q{width / 8:.0f} {chance.randrange(-120, 120)} {width / 4:.0f} {chance.randrange(-40, 40)}" for _ in range(5)
    )
    parts.append(f'<path d="{river}" fill="none" stroke="#a9d0e8" stroke-width="{chance.randrange(28, 60)}"/>')
    parts += [
        f'<rect x="{chance.random() * width:.0f}" y="{chance.random() * height:.0f}" width="{chance.randrange(60, 190)}" height="{chance.randrange(50, 130)}" rx="18" fill="#cfe5c3"/>'
        for _ in range(7)
    ]
    for n in range(9):
        at, tilt = (n + chance.random()) / 9, chance.uniform(-0.12, 0.12)
        wide = chance.choice((5, 7, 12))
        parts.append(
            f'<path d="M{at * width:.0f} -10 L{(at + tilt) * width:.0f} {height + 10} M-10 {at * height:.0f} L{width + 10} {(at + tilt) * height:.0f}" stroke="#fff" stroke-width="{wide}" fill="none"/>'
        )
    return "".join(parts)


@subject("logo")
def logo(chance: random.Random, width: int, height: int) -> str:
    """A site's mark. It depends on the host."""
    hue, form = chance.randrange(360), chance.randrange(5)
    ground = f'<rect width="{width}" height="{height}" rx="{chance.choice((0, 8, 16, 32))}" fill="{hsl(hue, 62, 40)}"/>'
    w = width / 64
    inner = (
        f'<circle cx="{32 * w}" cy="{32 * w}" r="{16 * w}" fill="#fff"/><circle cx="{39 * w}" cy="{26 * w}" r="{13 * w}" fill="{hsl(hue, 62, 40)}"/>',
        f'<path d="M{14 * w} {48 * w} L{32 * w} {14 * w} L{50 * w} {48 * w}Z" fill="#fff"/>',
        f'<path d="M{16 * w} {18 * w} h{32 * w} v{9 * w} h{-20 * w} v{19 * w} h{-12 * w}Z" fill="#fff"/>',
        f'<rect x="{15 * w}" y="{15 * w}" width="{14 * w}" height="{34 * w}" fill="#fff"/><rect x="{34 * w}" y="{26 * w}" width="{14 * w}" height="{23 * w}" fill="#fff" opacity=".75"/>',
        f'<path d="M{12 * w} {38 * w} q{10 * w} {-26 * w} {20 * w} 0 t{20 * w} 0" stroke="#fff" stroke-width="{7 * w}" fill="none"/>',
    )
    return ground + inner[form]
