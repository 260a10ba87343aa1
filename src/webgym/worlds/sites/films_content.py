"""What a film database holds: films and series, the people who made them, and what critics gave them.

A person's filmography and a film's cast are the same fact: both follow from the titles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import FAMILY, GIVEN, phrases

GENRES: Final = phrases("Drama|Comedy|Thriller|Science fiction|Animation|Documentary|Romance|Adventure")
OPENING: Final = phrases(
    "Silent|Crimson|Hidden|Last|Broken|Distant|Golden|Midnight|Paper|Frozen|Hollow|Restless|Second|Lost|Electric"
)
THING: Final = phrases(
    "Harbour|Orchard|Signal|Garden|Kingdom|Winter|Letters|Horizon|Station|Machine|Summer|Mirror|River|Voyage|Empire"
)
COUNTRIES: Final = phrases("France|Japan|Brazil|Canada|India|Norway|Italy|South Korea|Mexico|Ireland")
RATINGS: Final = ("U", "PG", "12A", "15", "18")
ROLES: Final = phrases(
    "the captain|a teacher|the stranger|the sister|a detective|the mayor|the pilot|a thief|the doctor|the neighbour"
)


@dataclass(frozen=True)
class Person:
    slug: str
    name: str
    born: int
    country: str
    prizes: int

    @property
    def href(self) -> str:
        return f"/people/{self.slug}"


@dataclass(frozen=True)
class Title:
    slug: str
    name: str
    series: bool
    year: int
    genre: str
    minutes: int
    country: str
    rating: str
    stars: float
    votes: int
    gross: int  # in millions of dollars
    director: Person
    cast: tuple[tuple[Person, str], ...]
    seasons: tuple[tuple[tuple[str, int], ...], ...]  # episodes of each season: name and minutes

    @property
    def href(self) -> str:
        return f"/{'series' if self.series else 'films'}/{self.slug}"

    @property
    def called(self) -> str:
        return f"the {'series' if self.series else 'film'} “{self.name}”"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        made = (("Creator" if self.series else "Director", self.director.name), ("Released in", str(self.year)))
        length = ("Seasons", str(len(self.seasons))) if self.series else ("Running time", f"{self.minutes} min")
        money = () if self.series else (("Box office", f"${self.gross} million"),)
        return (*made, length, ("Country", self.country), ("Certificate", self.rating), *money)


@dataclass(frozen=True)
class Archive:
    titles: tuple[Title, ...]
    people: tuple[Person, ...]
    by_slug: dict[str, Title]

    @property
    def films(self) -> tuple[Title, ...]:
        return tuple(title for title in self.titles if not title.series)

    @property
    def series(self) -> tuple[Title, ...]:
        return tuple(title for title in self.titles if title.series)

    def directed(self, person: Person) -> list[Title]:
        return [title for title in self.titles if title.director is person]

    def played(self, person: Person) -> list[tuple[Title, str]]:
        return [(title, role) for title in self.titles for who, role in title.cast if who is person]


def archive(site: Site) -> Archive:
    chance = site.draw("films")
    names = {f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}": None for _ in range(44)}
    people = tuple(
        Person(
            name.lower().replace(" ", "-"),
            name,
            chance.randrange(1940, 2003),
            chance.choice(COUNTRIES),
            chance.randrange(15),
        )
        for name in names
    )
    directors, actors = people[:12], people[12:]
    combos = chance.sample(range(len(OPENING) * len(THING)), 64)
    titles = []
    for place, combo in enumerate(combos):
        name = f"The {OPENING[combo // len(THING)]} {THING[combo % len(THING)]}"
        series = place % 5 == 0
        seasons = tuple(
            tuple(
                (f"{chance.choice(OPENING)} {chance.choice(THING)}", chance.randrange(24, 62))
                for _ in range(chance.randrange(4, 8))
            )
            for _ in range(chance.randrange(1, 5) if series else 0)
        )
        cast = tuple(zip(chance.sample(actors, 5), chance.sample(ROLES, 5), strict=True))
        titles.append(
            Title(
                name.lower().replace(" ", "-"),
                name,
                series,
                chance.randrange(1968, 2026),
                chance.choice(GENRES),
                chance.randrange(78, 190),
                chance.choice(COUNTRIES),
                chance.choice(RATINGS),
                chance.randrange(21, 50) / 10,
                chance.randrange(40, 9000),
                chance.randrange(1, 900),
                chance.choice(directors),
                cast,
                seasons,
            )
        )
    return Archive(tuple(titles), people, {title.slug: title for title in titles})
