"""What a city's museums show and sell: houses with hours and prices, exhibitions with time slots, works of art."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, phrases

_HOUSES: Final = phrases(
    "Museum of Modern Art|Natural History Museum|Maritime Museum|Museum of Design|City Museum|Science Museum|Textile Museum|"
    "Museum of Photography"
)
_SHOWS: Final = phrases(
    "Light and Shadow|Voices of the Sea|The Age of Steam|Hidden Gardens|Golden Threads|Faces of a City|Deep Time|"
    "Paper Worlds|The Colour Blue|Machines that Dream|North of Winter|Salt and Silver|A Room of Glass|"
    "The Long Journey|Birds in Flight|Maps of Nowhere|Fire and Clay|The Silent Hour|Wheels|Beneath the Ice|"
    "Letters Home|Quiet Stones|The Masked Ball|First Light"
)
_WORKS: Final = phrases(
    "Harbour at Dusk|Woman with a Lute|The Red Boat|Still Life with Pears|Winter Road|The Clockmaker|Two Sisters|"
    "Storm over Hills|The Empty Chair|Morning Market|Dancer Resting|The Blue Door|Portrait of a Captain|"
    "Field of Barley|The Bridge Builders|Night Train|Girl and Swallow|The Old Orchard|Market Scales|Sleeping Fox|"
    "Tide Pools|The Astronomer|Window in Rain|Harvest Song|The Paper Kite|Copper Vessel|Seated Figure|Carved Horse|"
    "Broken Column|Festival Mask"
)
TECHNIQUES: Final = ("Oil on canvas", "Watercolour", "Bronze", "Woodcut", "Marble", "Tempera on wood", "Silver print")
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TICKETS: Final = ("Adult", "Student", "Child", "Senior")
SLOTS: Final = ("09:30", "10:30", "11:30", "13:00", "14:00", "15:30", "16:30")
SORTS: Final = ("Permanent", "Special exhibition", "Guided tour", "Workshop")


@dataclass(frozen=True)
class House:
    slug: str
    name: str
    street: str
    founded: int
    director: str
    objects: int
    hours: tuple[str, ...]  # for each of DAYS
    phone: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/museums/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Address", self.street),
            ("Founded in", str(self.founded)),
            ("Director", self.director),
            ("Objects", f"{self.objects:,} objects"),
            ("Telephone", self.phone),
        )


@dataclass(frozen=True)
class Show:
    slug: str
    name: str
    house: str
    sort: str
    opens: str
    closes: str
    minutes: int
    curator: str
    floor: str
    prices: tuple[int, ...]  # cents, for each of TICKETS
    slots: tuple[tuple[str, int], ...]  # time, places left
    stars: float
    votes: int

    @property
    def href(self) -> str:
        return f"/exhibitions/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Museum", self.house),
            ("Opens", self.opens),
            ("Closes", self.closes),
            ("Time needed", f"{self.minutes} minutes"),
            ("Curator", self.curator),
            ("Where", self.floor),
        )


@dataclass(frozen=True)
class Work:
    slug: str
    name: str
    artist: str
    year: int
    technique: str
    size: str
    inventory: str
    house: str

    @property
    def href(self) -> str:
        return f"/collection/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Artist", self.artist),
            ("Year", str(self.year)),
            ("Technique", self.technique),
            ("Size", self.size),
            ("Inventory number", self.inventory),
            ("On show in", self.house),
        )


@dataclass(frozen=True)
class Scene:
    city: str
    houses: tuple[House, ...]
    shows: tuple[Show, ...]
    works: tuple[Work, ...]

    def show(self, slug: str) -> Show | None:
        return next((show for show in self.shows if show.slug == slug), None)


def scene(site: Site) -> Scene:
    chance = site.draw("scene")
    city = chance.choice(CITIES)
    houses = tuple(_house(chance, name, n) for n, name in enumerate(chance.sample(_HOUSES, 6)))
    shows = tuple(_show(chance, name, houses[n % 6].name) for n, name in enumerate(chance.sample(_SHOWS, 22)))
    artists = [f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}" for _ in range(14)]
    works = tuple(
        Work(
            name.lower().replace(" ", "-"),
            name,
            chance.choice(artists),
            chance.randrange(1520, 1990),
            chance.choice(TECHNIQUES),
            f"{chance.randrange(18, 210)} × {chance.randrange(18, 190)} cm",
            f"INV-{chance.randrange(1000, 9999)}",
            houses[n % 6].name,
        )
        for n, name in enumerate(chance.sample(_WORKS, 28))
    )
    return Scene(city, houses, shows, works)


def _house(chance: random.Random, name: str, n: int) -> House:
    closed = chance.randrange(2)
    return House(
        name.lower().replace(" ", "-"),
        name,
        f"{chance.randrange(1, 140)} {chance.choice(STREETS)} Street",
        chance.randrange(1780, 2010),
        f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
        chance.randrange(800, 240_000),
        tuple(
            "Closed" if day == closed else f"{chance.randrange(9, 12)}:00 to {chance.randrange(16, 22)}:00"
            for day in range(7)
        ),
        f"555-{chance.randrange(1000, 9999)}",
        round(12 + 76 * ((n % 3) + chance.uniform(0.2, 0.8)) / 3, 1),
        round(16 + 70 * ((n // 3) + chance.uniform(0.2, 0.8)) / 2, 1),
    )


def _show(chance: random.Random, name: str, house: str) -> Show:
    adult = chance.randrange(8, 30) * 100
    return Show(
        slug=name.lower().replace(" ", "-"),
        name=name,
        house=house,
        sort=chance.choice(SORTS),
        opens=f"2026-{chance.randrange(1, 7):02d}-{chance.randrange(1, 29):02d}",
        closes=f"2026-{chance.randrange(10, 13):02d}-{chance.randrange(1, 29):02d}",
        minutes=chance.randrange(6, 36) * 5,
        curator=f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
        floor=chance.choice(("Ground floor", "First floor", "Second floor", "East wing", "Garden hall")),
        prices=(adult, int(adult * 0.65), int(adult * 0.4), int(adult * 0.8)),
        slots=tuple((slot, chance.randrange(12, 60)) for slot in sorted(chance.sample(SLOTS, 5))),
        stars=chance.randrange(32, 50) / 10,
        votes=chance.randrange(9, 1200),
    )
