"""What a guide to trails knows: parks, trails with their profiles and waypoints, huts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import FAMILY, FIRST, GIVEN, SECOND, phrases

LEVELS: Final = ("Easy", "Moderate", "Hard", "Expert")
FORMS: Final = ("Loop", "Out and back", "Point to point")
SURFACES: Final = ("Gravel", "Forest floor", "Rock", "Boardwalk", "Meadow path")
STATES: Final = ("Open", "Muddy", "Snow above the tree line", "Closed for repairs", "Detour at the bridge")
DOGS: Final = ("Not allowed", "On a lead", "Allowed")
_ENDS: Final = phrases("Ridge Trail|Falls Loop|Lake Path|Summit Route|Canyon Walk|Valley Traverse|Crest Track|Gorge Way")
_PARKS: Final = phrases("National Park|Nature Reserve|State Forest|Highlands|Wilderness")
_POINTS: Final = phrases("Car park|Footbridge|Viewpoint|Shelter|Spring|Old mill|Saddle|Summit cross")


@dataclass(frozen=True)
class Park:
    slug: str
    name: str
    hectares: int
    founded: int
    fee: int  # dollars
    ranger: str
    phone: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/parks/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Area", f"{self.hectares:,} hectares"),
            ("Founded in", str(self.founded)),
            ("Entrance fee", f"${self.fee} a car"),
            ("Head ranger", self.ranger),
            ("Ranger station", self.phone),
        )


@dataclass(frozen=True)
class Trail:
    slug: str
    name: str
    park: str
    level: str
    form: str
    metres: int  # length
    ascent: int
    minutes: int
    surface: str
    dogs: str
    state: str
    stars: float
    votes: int
    profile: tuple[int, ...]  # height at equal distances
    line: tuple[tuple[float, float], ...]  # on the map, 0 to 100
    points: tuple[str, ...]

    @property
    def href(self) -> str:
        return f"/trails/{self.slug}"

    @property
    def km(self) -> str:
        return f"{self.metres / 1000:.1f}"

    @property
    def time(self) -> str:
        return f"{self.minutes // 60} h {self.minutes % 60:02d} min"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Length", f"{self.km} km"),
            ("Ascent", f"{self.ascent:,} m up"),
            ("Walking time", self.time),
            ("Highest point", f"{max(self.profile):,} m"),
            ("Route type", self.form),
            ("Surface", self.surface),
            ("Dogs", self.dogs),
        )


@dataclass(frozen=True)
class Land:
    parks: tuple[Park, ...]
    trails: tuple[Trail, ...]

    def trail(self, slug: str) -> Trail | None:
        return next((trail for trail in self.trails if trail.slug == slug), None)


def land(site: Site) -> Land:
    chance = site.draw("land")
    fronts = chance.sample(FIRST, 6)
    parks = tuple(_park(chance, f"{front.title()} {chance.choice(_PARKS)}", n) for n, front in enumerate(fronts))
    names = [
        f"{a.title()}{b} {chance.choice(_ENDS)}"
        for a, b in zip(chance.sample(FIRST, 42), chance.sample(SECOND, 42), strict=True)
    ]
    trails = tuple(_trail(chance, name, parks[n % 6].name) for n, name in enumerate(names))
    return Land(parks, trails)


def _park(chance: random.Random, name: str, n: int) -> Park:
    return Park(
        name.lower().replace(" ", "-"),
        name,
        chance.randrange(900, 98_000),
        chance.randrange(1890, 2015),
        chance.randrange(4, 40),
        f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
        f"555-{chance.randrange(1000, 9999)}",
        round(12 + 76 * ((n % 3) + chance.uniform(0.2, 0.8)) / 3, 1),
        round(16 + 70 * ((n // 3) + chance.uniform(0.2, 0.8)) / 2, 1),
    )


def _trail(chance: random.Random, name: str, park: str) -> Trail:
    metres = chance.randrange(18, 260) * 100
    low, ascent = chance.randrange(120, 1400), chance.randrange(30, 1500)
    heights, lift = [], 0.0
    for n in range(9):
        lift = ascent * (1 - abs(n - chance.uniform(4, 5)) / 5) * chance.uniform(0.75, 1.0)
        heights.append(int(low + max(0.0, lift)))
    x, y, line = chance.uniform(10, 25), chance.uniform(55, 85), []
    for _ in range(12):
        line.append((round(x, 1), round(y, 1)))
        x, y = min(94.0, x + chance.uniform(3, 8)), min(92.0, max(8.0, y + chance.uniform(-14, 11)))
    effort = metres / 4000 + ascent / 500
    return Trail(
        slug=name.lower().replace(" ", "-"),
        name=name,
        park=park,
        level=LEVELS[min(3, int(effort / 2))],
        form=chance.choice(FORMS),
        metres=metres,
        ascent=ascent,
        minutes=int(effort * 60) // 5 * 5 + 10,
        surface=chance.choice(SURFACES),
        dogs=chance.choice(DOGS),
        state=chance.choice((STATES[0], *STATES)),
        stars=chance.randrange(31, 50) / 10,
        votes=chance.randrange(4, 900),
        profile=tuple(heights),
        line=tuple(line),
        points=tuple(chance.sample(_POINTS, 4)),
    )
