"""What a bank holds: savings, loans and cards on offer, branches, and a customer's accounts with their bookings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, money

CATEGORIES: Final = {
    "Savings accounts": ("Saver", "Growth Account", "Young Saver", "Bonus Saver", "Notice Account"),
    "Loans": ("Home Loan", "Car Loan", "Green Loan", "Student Loan", "Renovation Loan"),
    "Credit cards": ("Classic Card", "Gold Card", "Travel Card", "Student Card", "Cashback Card"),
}
TIERS: Final = ("Easy", "Prime", "Direct", "Plus", "Select", "Smart", "First", "Flex")
MERCHANTS: Final = (
    "Corner Bakery",
    "City Transit",
    "Green Grocer",
    "Blue Cinema",
    "Book Nook",
    "Power & Light",
    "Cafe Luna",
    "Gym Central",
    "Pharmacy Vita",
    "Hardware Hub",
)
PURPOSES: Final = ("Car", "Renovation", "Education", "Travel")
MONTHS: Final = ("January", "February", "March", "April", "May", "June")


@dataclass(frozen=True)
class Offer:
    slug: str
    name: str
    category: str
    rate: float
    fee: int
    least: int
    months: int

    @property
    def href(self) -> str:
        return f"/offers/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Interest rate", f"{self.rate:.2f}%"),
            ("Yearly fee", money(self.fee)),
            ("Minimum amount", money(self.least)),
            ("Minimum term", f"{self.months} months"),
        )


@dataclass(frozen=True)
class Branch:
    city: str
    street: str
    phone: str
    manager: str
    opens: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/branches/{self.city.lower()}"


@dataclass(frozen=True)
class Booking:
    day: str
    payee: str
    cents: int
    reference: str


@dataclass(frozen=True)
class Holding:
    name: str
    number: str
    cents: int
    bookings: tuple[Booking, ...]

    @property
    def href(self) -> str:
        return f"/my/{self.number[-4:]}"


@dataclass(frozen=True)
class House:
    offers: tuple[Offer, ...]
    branches: tuple[Branch, ...]
    holdings: tuple[Holding, ...]
    spending: tuple[tuple[str, int], ...]


def house(site: Site) -> House:
    chance = site.draw("bank")
    offers: dict[str, Offer] = {}
    for category, nouns in CATEGORIES.items():
        for tier in chance.sample(TIERS, 6):
            name = f"{tier} {chance.choice(nouns)}"
            low, high = {"Savings accounts": (50, 450), "Loans": (240, 990), "Credit cards": (900, 2100)}[category]
            slug = name.lower().replace(" ", "-")
            offers[slug] = Offer(
                slug,
                name,
                category,
                chance.randrange(low, high) / 100,
                chance.randrange(0, 24) * 500,
                chance.choice((1, 5, 10, 25, 50)) * 10_000,
                chance.choice((0, 3, 6, 12, 24, 60)),
            )
    cities = chance.sample(CITIES, 9)
    branches = tuple(
        Branch(
            city,
            f"{chance.randrange(1, 180)} {chance.choice(STREETS)} Street",
            f"555-{chance.randrange(1000, 9999)}",
            f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
            f"{chance.choice((8, 9, 10))}:00 to {chance.choice((15, 16, 17, 18))}:30",
            10 + 80 * ((n % 3) + chance.uniform(0.15, 0.85)) / 3,
            12 + 78 * ((n // 3) + chance.uniform(0.15, 0.85)) / 3,
        )
        for n, city in enumerate(cities)
    )
    holdings = []
    for name in ("Current account", "Savings account", "Travel account")[: chance.randrange(2, 4)]:
        days = sorted(chance.sample(range(1, 29), 12), reverse=True)
        payees = (*chance.sample(MERCHANTS, 10), "Salary Office", "Rent Partner")
        bookings = tuple(
            Booking(
                f"2026-05-{day:02d}",
                payee,
                (1 if payee == "Salary Office" else -1) * chance.randrange(450, 240_000),
                f"REF{chance.randrange(10_000, 99_999)}",
            )
            for day, payee in zip(days, payees, strict=True)
        )
        holdings.append(
            Holding(name, f"{chance.randrange(10**11, 10**12 - 1)}", chance.randrange(50_000, 2_500_000), bookings)
        )
    spending = tuple((month, chance.randrange(600, 3200)) for month in MONTHS)
    return House(tuple(offers.values()), branches, tuple(holdings), spending)
