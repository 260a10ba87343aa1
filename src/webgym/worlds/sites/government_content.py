"""What a county's administration offers: services with fees and papers, offices, applications that are under way."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, money, phrases

TOPICS: Final[dict[str, tuple[str, ...]]] = {
    "Identity": phrases("Passport renewal|Identity card|Certified copy of a document|Change of name"),
    "Vehicles": phrases("Driving licence exchange|Vehicle registration|Disabled parking badge|Taxi permit"),
    "Family": phrases("Birth certificate|Marriage registration|Child benefit|School enrolment"),
    "Home and land": phrases("Building permit|Tree felling permit|Resident parking permit|Change of address"),
    "Business": phrases("Trade licence|Street market stall|Food hygiene certificate|Event permit"),
    "Environment": phrases("Dog licence|Fishing licence|Bulky waste collection|Garden water permit"),
}
_PAPERS: Final = phrases(
    "Proof of identity|Proof of address|Recent photograph|Signed declaration|Birth certificate|Site plan|"
    "Insurance certificate|Bank statement|Proof of ownership"
)
STAGES: Final = ("Received", "Under review", "Waiting for documents", "Approved", "Ready for collection")
DISTRICTS: Final = ("North", "East", "South", "West", "Centre")
CONTACTS: Final = ("E-mail", "Telephone", "Letter")


@dataclass(frozen=True)
class Service:
    slug: str
    name: str
    topic: str
    cents: int
    days: int
    valid: int
    form: str
    office: str
    papers: tuple[str, ...]
    online: bool

    @property
    def href(self) -> str:
        return f"/services/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Topic", self.topic),
            ("Fee", money(self.cents)),
            ("Processing time", f"{self.days} working days"),
            ("Valid for", f"{self.valid} years"),
            ("Form number", self.form),
            ("Responsible office", self.office),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("fee", money(self.cents)),
            Known("processing time in working days", str(self.days), f"{self.days} working days"),
            Known("number of years it is valid for", str(self.valid), f"{self.valid} years"),
            Known("form number", self.form),
            Known("responsible office", self.office),
        )


@dataclass(frozen=True)
class Office:
    name: str
    street: str
    phone: str
    hours: str
    head: str
    x: float
    y: float

    @property
    def href(self) -> str:
        return f"/offices/{self.name.split()[0].lower()}"

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("street address", self.street),
            Known("telephone number", self.phone),
            Known("opening hours", self.hours),
            Known("head of office", self.head),
        )


@dataclass(frozen=True)
class Case:
    """An application that somebody has made before."""

    reference: str
    surname: str
    service: str
    stage: str
    officer: str
    due: str


@dataclass(frozen=True)
class Notice:
    slug: str
    title: str
    date: str
    place: str
    closes: str
    contact: str

    @property
    def href(self) -> str:
        return f"/notices/{self.slug}"


@dataclass(frozen=True)
class County:
    services: tuple[Service, ...]
    offices: tuple[Office, ...]
    cases: tuple[Case, ...]
    notices: tuple[Notice, ...]

    def find(self, slug: str) -> Service | None:
        return next((service for service in self.services if service.slug == slug), None)


def _person(chance: random.Random) -> str:
    return f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"


def county(site: Site) -> County:
    chance = site.draw("government")
    offices = tuple(
        Office(
            f"{city} Office",
            f"{chance.randrange(1, 180)} {chance.choice(STREETS)} Street",
            f"555-{chance.randrange(1000, 9999)}",
            f"{chance.choice(('7:30', '8:00', '8:30', '9:00'))} to {chance.choice(('15:30', '16:00', '17:00', '18:00'))}",
            _person(chance),
            round(14 + 72 * (n % 3 + chance.uniform(0.2, 0.8)) / 3, 1),
            round(20 + 66 * (n // 3 + chance.uniform(0.2, 0.8)) / 2, 1),
        )
        for n, city in enumerate(chance.sample(CITIES, 6))
    )
    services = tuple(
        Service(
            name.lower().replace(" ", "-"),
            name,
            topic,
            chance.randrange(4, 190) * 50,
            chance.randrange(2, 45),
            chance.randrange(1, 16),
            f"{chance.choice('ABCDFGH')}{chance.randrange(100, 999)}",
            chance.choice(offices).name,
            tuple(chance.sample(_PAPERS, 3)),
            chance.random() < 0.7,
        )
        for topic, names in TOPICS.items()
        for name in names
    )
    surnames = chance.sample(FAMILY, 14)
    cases = tuple(
        Case(
            f"{chance.choice('KLMNPR')}{chance.choice('STVWXZ')}-{chance.randrange(10_000, 99_999)}",
            surname,
            chance.choice(services).name,
            chance.choice(STAGES),
            _person(chance),
            f"{chance.randrange(1, 29)} {chance.choice(('June', 'July', 'August'))} 2026",
        )
        for surname in surnames
    )
    plans = chance.sample(
        phrases("New cycle path|Bridge repair|School extension|Market square|Water main|Night bus depot"), 6
    )
    notices = tuple(
        Notice(
            plan.lower().replace(" ", "-"),
            plan,
            f"{chance.randrange(1, 29)} May 2026",
            chance.choice(DISTRICTS),
            f"{chance.randrange(1, 29)} June 2026",
            _person(chance),
        )
        for plan in plans
    )
    return County(services, offices, cases, notices)
