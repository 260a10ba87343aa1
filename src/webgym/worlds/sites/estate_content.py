"""What an estate agency has for sale: homes in the neighbourhoods of one town, and the agents who show them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import FAMILY, GIVEN, STREETS, phrases

TYPES: Final = ("Apartment", "House", "Townhouse", "Loft", "Villa")
HEATING: Final = ("Heat pump", "District heating", "Gas", "Wood pellets")
_AREAS: Final = phrases(
    "Riverside|Old Town|Hillside|Harbour Quarter|University District|Garden Suburb|Mill End|Station Quarter"
)
_ENDINGS: Final = ("Street", "Lane", "Avenue")


@dataclass(frozen=True)
class Area:
    slug: str
    name: str
    people: int
    minutes: int
    schools: int
    park: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/area/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Residents", f"{self.people:,} residents"),
            ("To the centre", f"{self.minutes} minutes by bus"),
            ("Schools", f"{self.schools} schools"),
            ("Largest park", self.park),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("number of residents", str(self.people), f"{self.people:,} residents"),
            Known("bus ride to the centre in minutes", str(self.minutes), f"{self.minutes} minutes by bus"),
            Known("number of schools", str(self.schools), f"{self.schools} schools"),
            Known("largest park", self.park),
        )


@dataclass(frozen=True)
class Agent:
    name: str
    phone: str
    since: int
    email: str
    licence: str

    @property
    def href(self) -> str:
        return f"/agent/{self.name.lower().replace(' ', '-')}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Telephone", self.phone),
            ("E-mail", self.email),
            ("With us since", str(self.since)),
            ("Licence", self.licence),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("telephone number", self.phone),
            Known("e-mail address", self.email),
            Known("year of joining", str(self.since)),
            Known("licence number", self.licence),
        )


@dataclass(frozen=True)
class Home:
    slug: str
    title: str
    type: str
    area: Area
    agent: Agent
    thousands: int
    beds: int
    baths: int
    metres: int
    built: int
    energy: str
    heating: str
    charge: int
    number: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/home/{self.slug}"

    @property
    def price(self) -> str:
        return f"${self.thousands * 1000:,}"

    @property
    def pin(self) -> str:
        return f"${self.thousands}k"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Type", self.type),
            ("Neighbourhood", self.area.name),
            ("Living area", f"{self.metres} m²"),
            ("Bedrooms", f"{self.beds} bedrooms"),
            ("Bathrooms", f"{self.baths} bathrooms"),
            ("Built in", str(self.built)),
            ("Energy class", f"Class {self.energy}"),
            ("Heating", self.heating),
            ("Monthly charge", f"${self.charge} a month"),
            ("Reference", self.number),
            ("Agent", self.agent.name),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("price", self.price),
            Known("living area in square metres", str(self.metres), f"{self.metres} m²"),
            Known("year of construction", str(self.built)),
            Known("agent", self.agent.name),
            Known("heating", self.heating),
            Known("monthly charge in dollars", str(self.charge), f"${self.charge} a month"),
            Known("reference", self.number),
        )


@dataclass(frozen=True)
class Market:
    homes: tuple[Home, ...]
    areas: tuple[Area, ...]
    agents: tuple[Agent, ...]
    rate: float  # interest in per cent a year

    def inside(self, area: Area) -> tuple[Home, ...]:
        return tuple(home for home in self.homes if home.area is area)

    def payment(self, thousands: int, years: int) -> str:
        """The monthly payment for a loan."""
        monthly, months = self.rate / 1200, years * 12
        return f"${thousands * 1000 * monthly / (1 - (1 + monthly) ** -months):,.2f}"


def market(site: Site) -> Market:
    chance = site.draw("estate")
    areas = tuple(
        Area(
            name.lower().replace(" ", "-"),
            name,
            chance.randrange(1_800, 42_000),
            chance.randrange(4, 48),
            chance.randrange(2, 12),
            f"{chance.choice(STREETS)} {chance.choice(('Gardens', 'Common', 'Meadow'))}",
            round(16 + 68 * (n % 3 + chance.uniform(0.25, 0.75)) / 3, 1),
            round(20 + 66 * (n // 3 + chance.uniform(0.2, 0.8)) / 2, 1),
        )
        for n, name in enumerate(chance.sample(_AREAS, 6))
    )
    names = chance.sample([f"{given} {family}" for given in GIVEN[::6] for family in FAMILY[::9]], 6)
    agents = tuple(
        Agent(
            name,
            f"555-{chance.randrange(1000, 9999)}",
            chance.randrange(1996, 2025),
            f"{name.split()[0].lower()}.{name.split()[1].lower()}@example.com",
            f"RE-{chance.randrange(10_000, 99_999)}",
        )
        for name in names
    )
    streets = chance.sample([f"{street} {ending}" for street in STREETS for ending in _ENDINGS], 40)
    homes = tuple(_home(chance, street, n, areas[n % len(areas)], agents) for n, street in enumerate(streets))
    return Market(homes, areas, agents, chance.randrange(220, 640) / 100)


def _home(chance: random.Random, street: str, n: int, area: Area, agents: tuple[Agent, ...]) -> Home:
    title, place = f"{chance.randrange(1, 190)} {street}", n // 6  # the place among the homes of its area, on the map
    metres = chance.randrange(38, 310)
    return Home(
        title.lower().replace(" ", "-"),
        title,
        chance.choice(TYPES),
        area,
        chance.choice(agents),
        round(metres * chance.uniform(2.2, 6.8)),
        max(1, metres // 42),
        max(1, metres // 90),
        metres,
        chance.randrange(1890, 2025),
        chance.choice("ABCDEF"),
        chance.choice(HEATING),
        chance.randrange(60, 480),
        f"{chance.choice('HKLM')}{chance.randrange(1000, 9999)}",
        round(12 + 76 * (place % 3 + chance.uniform(0.4, 0.6)) / 3, 1),
        round(16 + 74 * (place // 3 + chance.uniform(0.4, 0.7)) / 3, 1),
    )
