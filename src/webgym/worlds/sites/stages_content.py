"""What the box office of live shows knows: shows with their evenings and casts, and the venues they play at."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, money, phrases

GENRES: Final = ("Play", "Musical", "Opera", "Ballet", "Comedy", "Concert")
MONTHS: Final = ("June", "July", "August", "September")
_FIRST: Final = phrases(
    "Glass|Silent|Crooked|Golden|Last|Paper|Crimson|Hollow|Wandering|Northern|Broken|Velvet|Midnight|Second|Burning|Lost"
)
_SECOND: Final = phrases(
    "Orchard|Lantern|Daughter|Clockmaker|Parade|Island|Garden|Letter|Masquerade|Ferryman|Sonata|Kingdom|Mirror|Harvest|"
    "Tailor|Comet|Window|Nightingale|Carousel|Cathedral|Winter|Bridge"
)
_HOUSES: Final = phrases("Aurora|Meridian|Lyceum|Palladium|Orpheum|Regent|Majestic|Apollo|Alhambra|Rialto")
_ROLES: Final = ("The Captain", "Rosalind", "The Widow", "Old Tobias", "The Stranger", "Mirabel", "The Judge", "Leander")
_COMPANIES: Final = phrases(
    "Fourth Wall Ensemble|River City Players|Lantern Company|New Chamber Stage|Open Square Troupe|Seven Doors Theatre Group"
)
ROWS: Final = "ABCDEF"
SEATS: Final = 8


@dataclass(frozen=True)
class Venue:
    slug: str
    name: str
    city: str
    street: str
    seats: int
    opened: int
    phone: str
    head: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/venue/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("City", self.city),
            ("Address", self.street),
            ("Capacity", f"{self.seats} seats"),
            ("Opened in", str(self.opened)),
            ("Box office", self.phone),
            ("Artistic director", self.head),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("street address", self.street),
            Known("capacity (number of seats)", str(self.seats), f"{self.seats} seats"),
            Known("year of opening", str(self.opened)),
            Known("box office telephone number", self.phone),
            Known("artistic director", self.head),
        )


@dataclass(frozen=True)
class Evening:
    """One performance of a show."""

    number: int
    day: int
    month: str
    time: str

    @property
    def date(self) -> str:
        return f"{self.day} {self.month} 2026"

    @property
    def order(self) -> int:
        return MONTHS.index(self.month) * 100 + self.day


@dataclass(frozen=True)
class Show:
    slug: str
    title: str
    genre: str
    venue: Venue
    director: str
    writer: str
    company: str
    minutes: int
    age: int
    cents: int
    stars: float
    votes: int
    cast: tuple[tuple[str, str], ...]
    evenings: tuple[Evening, ...]

    @property
    def href(self) -> str:
        return f"/show/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Genre", self.genre),
            ("Venue", self.venue.name),
            ("Directed by", self.director),
            ("Written by", self.writer),
            ("Company", self.company),
            ("Running time", f"{self.minutes} minutes"),
            ("Recommended age", f"{self.age} years and over"),
            ("Tickets from", money(self.cents)),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("director", self.director),
            Known("writer", self.writer),
            Known("company", self.company),
            Known("running time in minutes", str(self.minutes), f"{self.minutes} minutes"),
            Known("recommended age in years", str(self.age), f"{self.age} years and over"),
            Known("lowest ticket price", money(self.cents)),
            Known("venue", self.venue.name),
        )

    def price(self, row: str) -> int:
        """The last rows cost what the show costs at least; each two rows nearer cost more."""
        return self.cents + (2 - ROWS.index(row) // 2) * 900


@dataclass(frozen=True)
class Season:
    shows: tuple[Show, ...]
    venues: tuple[Venue, ...]

    def find(self, slug: str) -> Show | None:
        return next((show for show in self.shows if show.slug == slug), None)


def person(chance: random.Random) -> str:
    return f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"


def season(site: Site) -> Season:
    chance = site.draw("season")
    venues = tuple(
        Venue(
            house.lower(),
            f"{house} {chance.choice(('Theatre', 'Hall', 'Stage', 'Opera House'))}",
            city,
            f"{chance.randrange(1, 180)} {chance.choice(STREETS)} Street",
            chance.randrange(12, 190) * 10,
            chance.randrange(1868, 2012),
            f"555-{chance.randrange(1000, 9999)}",
            person(chance),
            round(12 + 76 * (n % 3 + chance.uniform(0.2, 0.8)) / 3, 1),
            round(16 + 74 * (n // 3 + chance.uniform(0.2, 0.8)) / 3, 1),
        )
        for n, (house, city) in enumerate(zip(chance.sample(_HOUSES, 8), chance.sample(CITIES, 8), strict=True))
    )
    pairs = chance.sample([(one, two) for one in _FIRST for two in _SECOND], 34)
    return Season(tuple(_show(chance, f"The {one} {two}", venues) for one, two in pairs), venues)


def _show(chance: random.Random, title: str, venues: tuple[Venue, ...]) -> Show:
    days = sorted(chance.sample(range(1, 29), 5))
    months = sorted(chance.sample(range(len(MONTHS)), 2))
    evenings = tuple(
        Evening(n, day, MONTHS[months[n > 3]], chance.choice(("15:00", "19:00", "19:30", "20:00")))
        for n, day in enumerate(days, 1)
    )
    return Show(
        title.lower().replace(" ", "-"),
        title,
        chance.choice(GENRES),
        chance.choice(venues),
        person(chance),
        person(chance),
        chance.choice(_COMPANIES),
        chance.randrange(70, 200),
        chance.choice((6, 8, 10, 12, 14, 16)),
        chance.randrange(18, 95) * 100,
        round(chance.uniform(3.1, 5.0), 1),
        chance.randrange(12, 900),
        tuple((role, person(chance)) for role in chance.sample(_ROLES, 5)),
        evenings,
    )
