"""What a travel site offers: cities, hotels with rooms, flights between the cities, and the forms that book them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, money

_FRONTS: Final = [
    "Grand",
    "Royal",
    "Old",
    "Park",
    "Harbour",
    "Garden",
    "Station",
    "Palace",
    "Villa",
    "Lakeside",
    "Sunset",
    "Corner",
    "Crown",
    "Anchor",
    "Olive",
    "Cedar",
]
_BACKS: Final = ["Hotel", "Inn", "Residence", "Suites", "Guesthouse", "Lodge", "Boutique Hotel"]
AIRLINES: Final = {"Northwind Air": "NW", "Blue Swift": "BS", "Meridian": "ME", "Cloudline": "CL", "Terra Airways": "TA"}
ROOMS: Final = ("Single room", "Double room", "Family room", "Suite")
POLICIES: Final = (
    "Free until 1 day before",
    "Free until 3 days before",
    "Free until 7 days before",
    "Free until 14 days before",
    "Not refundable",
)
KNOWN_FOR: Final = (
    "its canals",
    "its covered markets",
    "its hill gardens",
    "its old harbour",
    "its music halls",
    "its bakeries",
)
SEATS: Final = ("Window", "Aisle", "Middle")
MONTHS: Final = ("Jan", "Mar", "May", "Jul", "Sep", "Nov")


@dataclass(frozen=True)
class City:
    name: str
    code: str
    tongue: str
    known_for: str
    people: int  # thousands
    transfer: int  # minutes from the airport
    warmth: tuple[int, ...]  # degrees in each of MONTHS

    @property
    def href(self) -> str:
        return f"/destinations/{self.name.lower()}"


@dataclass(frozen=True)
class Hotel:
    slug: str
    name: str
    city: str
    street: str
    stars: int
    score: float
    votes: int
    rooms: tuple[tuple[str, int, int], ...]  # name, cents a night, square metres
    metres: int
    check_in: str
    check_out: str
    policy: str
    breakfast: int
    pool: bool
    manager: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/hotels/{self.slug}"

    @property
    def cents(self) -> int:
        return min(cents for _, cents, _ in self.rooms)

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Address", f"{self.street}, {self.city}"),
            ("Distance to the centre", f"{self.metres:,} m"),
            ("Check-in from", self.check_in),
            ("Check-out until", self.check_out),
            ("Cancellation", self.policy),
            ("Breakfast", f"{money(self.breakfast)} a person"),
            ("Pool", "Yes" if self.pool else "No"),
        )


@dataclass(frozen=True)
class Flight:
    number: str
    airline: str
    start: str
    end: str
    leaves: int  # minutes of the day
    minutes: int
    stops: int
    cents: int
    bag: int
    gate: str

    @property
    def href(self) -> str:
        return f"/flights/{self.number.lower()}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Airline", self.airline),
            ("From", self.start),
            ("To", self.end),
            ("Departure", clock(self.leaves)),
            ("Arrival", clock(self.leaves + self.minutes)),
            ("Duration", f"{self.minutes // 60} h {self.minutes % 60:02d} min"),
            ("Stops", "Non-stop" if not self.stops else f"{self.stops} stop{'s' if self.stops > 1 else ''}"),
            ("Checked baggage", f"{self.bag} kg"),
            ("Gate", self.gate),
        )


@dataclass(frozen=True)
class Offers:
    cities: tuple[City, ...]
    hotels: tuple[Hotel, ...]
    flights: tuple[Flight, ...]

    def in_city(self, city: str) -> tuple[Hotel, ...]:
        return tuple(hotel for hotel in self.hotels if hotel.city == city)


def clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def offers(site: Site) -> Offers:
    chance = site.draw("offers")
    names = chance.sample(CITIES, 8)
    tongues = ("English", "French", "Spanish", "Italian", "Portuguese", "German")
    codes = chance.sample(range(100, 999), 8)
    cities = tuple(
        City(
            name,
            f"{name[0]}{'BCDFGHJKLM'[code // 10 % 10]}{'NPQRSTVWXZ'[code % 10]}".upper(),
            chance.choice(tongues),
            chance.choice(KNOWN_FOR),
            chance.randrange(40, 3200),
            chance.randrange(12, 75),
            tuple(chance.randrange(low, low + 9) for low in (1, 7, 14, 20, 15, 6)),
        )
        for name, code in zip(names, codes, strict=True)
    )
    pairs = chance.sample([(front, back) for front in _FRONTS for back in _BACKS], 40)
    hotels = tuple(_hotel(chance, f"{front} {back} {names[n % 8]}", names[n % 8]) for n, (front, back) in enumerate(pairs))
    return Offers(cities, hotels, _flights(chance, names))


def _hotel(chance: random.Random, name: str, city: str) -> Hotel:
    stars = chance.randrange(2, 6)
    base = chance.randrange(28, 60) * stars
    rooms = tuple(
        (room, int(base * factor) * 100 + chance.choice((0, 50, 90)), int(12 * factor) + chance.randrange(6))
        for room, factor in zip(ROOMS, (1.0, 1.35, 1.9, 2.6), strict=True)
        if room != "Suite" or stars > 3
    )
    return Hotel(
        slug=name.lower().replace(" ", "-"),
        name=name,
        city=city,
        street=f"{chance.randrange(1, 160)} {chance.choice(STREETS)} Street",
        stars=stars,
        score=chance.randrange(31, 50) / 10,
        votes=chance.randrange(20, 1900),
        rooms=rooms,
        metres=chance.randrange(10, 620) * 10,
        check_in=f"{chance.randrange(13, 17)}:00",
        check_out=f"{chance.choice((10, 11, 12))}:{chance.choice(('00', '30'))}",
        policy=chance.choice(POLICIES),
        breakfast=chance.randrange(16, 60) * 50,
        pool=chance.random() < 0.4,
        manager=f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
        x=round(chance.uniform(12, 88), 1),
        y=round(chance.uniform(16, 88), 1),
    )


def _flights(chance: random.Random, names: list[str]) -> tuple[Flight, ...]:
    numbers = chance.sample(range(100, 999), 60)
    flights = []
    for number in numbers:
        airline = chance.choice(sorted(AIRLINES))
        start, end = chance.sample(names, 2)
        stops = chance.choice((0, 0, 0, 1, 1, 2))
        flights.append(
            Flight(
                f"{AIRLINES[airline]}{number}",
                airline,
                start,
                end,
                chance.randrange(5 * 12, 22 * 12) * 5,
                chance.randrange(10, 40) * 5 + stops * 95,
                stops,
                chance.randrange(39, 480) * 100 + chance.choice((0, 90)),
                chance.choice((0, 15, 20, 23, 30)),
                f"{chance.choice('ABCD')}{chance.randrange(1, 40)}",
            )
        )
    return tuple(flights)


def booking_form(hotel: Hotel) -> Form:
    stay = (
        Field("arrive", "Check-in date", "date"),
        Field("leave", "Check-out date", "date"),
        Field("adults", "Adults", "stepper", least=1, most=8, value="2"),
        Field("children", "Children", "stepper", least=0, most=6, value="0"),
        Field("room", "Room", "radio", tuple(name for name, _, _ in hotel.rooms)),
    )
    guest = (
        Field("name", "Full name"),
        Field("email", "E-mail", "email"),
        Field("wish", "Special wishes", "textarea", required=False),
    )
    paying = (
        Field("payment", "Payment", "radio", ("Pay at the hotel", "Credit card", "Bank transfer")),
        Field("agree", "I accept the cancellation terms", "checkbox"),
    )
    steps = (FormStep("Your stay", stay), FormStep("Guest", guest), FormStep("Payment", paying))
    return Form("booking", steps, submit="Confirm booking")


def seat_form() -> Form:
    flying = (
        Field("day", "Travel date", "date"),
        Field("people", "Passengers", "stepper", least=1, most=9, value="1"),
        Field("seat", "Seat", "select", SEATS),
    )
    who = (Field("name", "Full name"), Field("email", "E-mail", "email"))
    return Form("seat", (FormStep("Your flight", flying), FormStep("Passenger", who)), submit="Book flight")
