"""What a public library knows: books and their copies in branches, authors, events, and what its one reader has on loan."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, phrases

SUBJECTS: Final = phrases("Novel|Crime|Biography|History|Science|Travel|Children|Poetry")
LANGUAGES: Final = ("English", "English", "English", "German", "French", "Spanish")
FORMATS: Final = ("Hardback", "Paperback", "Large print", "Audiobook")
_OPENINGS: Final = phrases(
    "The Salt|A Winter|The Lighthouse|Seven|The Cartographer's|An Ordinary|The Beekeeper's|Letters from a|The Other|"
    "Under the|The Clock|Our Last|The Weight of a|A History of the|Beyond the"
)
_CLOSINGS: Final = phrases(
    "Archive|Harvest|Promise|Doorway|Inheritance|Voyage|Orchard|Silence|River|Alphabet|Mountain|Wedding|Notebook|Garden|Border"
)
_PUBLISHERS: Final = phrases("Harrow & Finch|Lantern Press|Northgate Books|Blue Heron|Quill House|Meadow Lane")


@dataclass(frozen=True)
class Book:
    slug: str
    title: str
    author: str
    subject: str
    year: int
    pages: int
    publisher: str
    language: str
    format: str
    isbn: str
    shelf: str
    stars: float
    votes: int
    copies: tuple[tuple[str, str], ...]  # branch, and whether it is in or when it is due back

    @property
    def href(self) -> str:
        return f"/book/{self.slug}"

    @property
    def author_href(self) -> str:
        return f"/author/{self.author.lower().replace(' ', '-')}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Author", self.author),
            ("Subject", self.subject),
            ("Published in", str(self.year)),
            ("Publisher", self.publisher),
            ("Pages", f"{self.pages} pages"),
            ("Language", self.language),
            ("Format", self.format),
            ("ISBN", self.isbn),
            ("Shelf mark", self.shelf),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("author", self.author),
            Known("year of publication", str(self.year)),
            Known("publisher", self.publisher),
            Known("number of pages", str(self.pages), f"{self.pages} pages"),
            Known("ISBN", self.isbn),
            Known("shelf mark", self.shelf),
        )


@dataclass(frozen=True)
class House:
    """A branch of the library."""

    name: str
    street: str
    phone: str
    hours: str
    librarian: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/branch/{self.name.split()[0].lower()}"

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("street address", self.street),
            Known("telephone number", self.phone),
            Known("opening hours", self.hours),
            Known("head librarian", self.librarian),
        )


@dataclass(frozen=True)
class Event:
    title: str
    date: str
    time: str
    room: str
    host: str


@dataclass(frozen=True)
class Loan:
    book: Book
    due: str
    barcode: str


@dataclass(frozen=True)
class Shelves:
    books: tuple[Book, ...]
    branches: tuple[House, ...]
    events: tuple[Event, ...]
    loans: tuple[Loan, ...]
    card: str

    def find(self, slug: str) -> Book | None:
        return next((book for book in self.books if book.slug == slug), None)


def _person(chance: random.Random) -> str:
    return f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"


def shelves(site: Site) -> Shelves:
    chance = site.draw("library")
    branches = tuple(
        House(
            f"{city} Library",
            f"{chance.randrange(1, 180)} {chance.choice(STREETS)} Street",
            f"555-{chance.randrange(1000, 9999)}",
            f"{chance.choice((8, 9, 10))}:00 to {chance.choice((17, 18, 19, 20))}:{chance.choice(('00', '30'))}",
            _person(chance),
            round(14 + 72 * (n % 3 + chance.uniform(0.2, 0.8)) / 3, 1),
            round(20 + 66 * (n // 3 + chance.uniform(0.2, 0.8)) / 2, 1),
        )
        for n, city in enumerate(chance.sample(CITIES, 5))
    )
    authors = sorted({_person(chance) for _ in range(18)})
    titles = chance.sample([f"{one} {two}" for one in _OPENINGS for two in _CLOSINGS], 44)
    books = tuple(_book(chance, title, authors, branches) for title in titles)
    loans = tuple(
        Loan(book, f"{chance.randrange(2, 29)} {month} 2026", f"{chance.randrange(10**7, 10**8 - 1)}")
        for book, month in zip(chance.sample(books, 4), ("June", "June", "July", "July"), strict=True)
    )
    topics = chance.sample(
        phrases("Story Hour|Poetry Evening|Book Club|Chess Night|Repair Café|Local History Talk|Writing Workshop|Film Club"),
        6,
    )
    events = tuple(
        Event(
            topic,
            f"{day} June 2026",
            f"{chance.randrange(10, 20)}:{chance.choice(('00', '15', '30'))}",
            f"Room {chance.randrange(1, 30)}",
            _person(chance),
        )
        for topic, day in zip(topics, sorted(chance.sample(range(1, 30), 6)), strict=True)
    )
    return Shelves(books, branches, events, loans, f"L{chance.randrange(10**6, 10**7 - 1)}")


def _book(chance: random.Random, title: str, authors: list[str], branches: tuple[House, ...]) -> Book:
    copies = tuple(
        (branch.name, chance.choice(("Available", "Available", f"Due back on {chance.randrange(2, 29)} June 2026")))
        for branch in sorted(chance.sample(branches, chance.randrange(2, 5)), key=lambda branch: branch.name)
    )
    return Book(
        title.lower().replace(" ", "-").replace("'", ""),
        title,
        chance.choice(authors),
        chance.choice(SUBJECTS),
        chance.randrange(1952, 2026),
        chance.randrange(96, 760),
        chance.choice(_PUBLISHERS),
        chance.choice(LANGUAGES),
        chance.choice(FORMATS),
        f"978-{chance.randrange(10, 99)}-{chance.randrange(1000, 9999)}-{chance.randrange(100, 999)}-{chance.randrange(10)}",
        f"{chance.choice('ABCDEFGHK')}{chance.randrange(10, 99)}.{chance.randrange(100, 999)}",
        round(chance.uniform(2.9, 5.0), 1),
        chance.randrange(5, 700),
        copies,
    )
