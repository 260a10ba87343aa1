"""What a job board lists: employers with offices and benefits, openings with salaries, deadlines and skills."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, FIRST, GIVEN, SECOND, phrases

# Fields of work: what people are called there and what they know, with a yearly salary in thousands.
FIELDS: Final = {
    "Engineering": ("Backend Developer|Data Engineer|Test Engineer|Network Engineer", "Python|SQL|Linux|Docker|Git", 78),
    "Design": ("Product Designer|Illustrator|Interface Designer|Art Director", "Sketching|Figma|Typography|Research", 64),
    "Health": ("Staff Nurse|Physiotherapist|Lab Technician|Care Manager", "First aid|Shift work|Records|Empathy", 52),
    "Education": ("Maths Teacher|Course Author|School Librarian|Language Tutor", "Teaching|Writing|Patience|English", 46),
    "Finance": ("Accountant|Risk Analyst|Payroll Clerk|Tax Adviser", "Spreadsheets|Law|Reporting|Accuracy", 68),
    "Logistics": ("Warehouse Lead|Route Planner|Fleet Manager|Customs Agent", "Planning|Driving licence|Forklift|Rail", 44),
}
LEVELS: Final = ("Junior", "Regular", "Senior", "Lead")
CONTRACTS: Final = ("Full-time", "Part-time", "Temporary", "Internship")
PLACES: Final = ("On site", "Hybrid", "Remote")
BENEFITS: Final = ("Bicycle leasing", "Free lunch", "Company pension", "Child care", "Learning budget", "Language classes")
INDUSTRIES: Final = ("Software", "Hospitals", "Publishing", "Insurance", "Transport", "Energy")
YEARS: Final = ("2021", "2022", "2023", "2024", "2025")


@dataclass(frozen=True)
class Company:
    slug: str
    name: str
    industry: str
    city: str
    founded: int
    staff: tuple[int, ...]  # by year
    score: float
    head: str
    benefits: tuple[str, ...]

    @property
    def href(self) -> str:
        return f"/companies/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Industry", self.industry),
            ("Head office", self.city),
            ("Founded in", str(self.founded)),
            ("Chief executive", self.head),
            ("Rating by staff", f"{self.score:.1f} of 5"),
        )


@dataclass(frozen=True)
class Job:
    ref: str
    title: str
    field: str
    level: str
    company: str
    city: str
    contract: str
    place: str
    low: int  # yearly, in dollars
    high: int
    posted: str
    deadline: str
    hours: int
    holiday: int
    skills: tuple[str, ...]
    contact: str

    @property
    def name(self) -> str:
        """The title as it is listed; the reference makes it unique."""
        return f"{self.title} ({self.ref})"

    @property
    def href(self) -> str:
        return f"/jobs/{self.ref.lower()}"

    @property
    def pay(self) -> str:
        return f"${self.low:,} – ${self.high:,}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Reference", self.ref),
            ("Contract", self.contract),
            ("Place of work", self.place),
            ("Salary from", f"${self.low:,} a year"),
            ("Salary to", f"${self.high:,} a year"),
            ("Weekly hours", f"{self.hours} hours"),
            ("Holidays", f"{self.holiday} days a year"),
            ("Apply until", self.deadline),
            ("Contact", self.contact),
        )


@dataclass(frozen=True)
class Board:
    jobs: tuple[Job, ...]
    companies: tuple[Company, ...]

    def job(self, ref: str) -> Job | None:
        return next((job for job in self.jobs if job.ref == ref), None)


def board(site: Site) -> Board:
    chance = site.draw("board")
    cities = chance.sample(CITIES, 8)
    companies: dict[str, Company] = {}
    for first, second in zip(chance.sample(FIRST, 12), chance.sample(SECOND, 12), strict=True):
        name = f"{first}{second}".title() + f" {chance.choice(('Group', 'Labs', 'Partners', 'Works', 'Systems'))}"
        size = chance.randrange(12, 4000)
        companies[name] = Company(
            name.lower().replace(" ", "-"),
            name,
            chance.choice(INDUSTRIES),
            chance.choice(cities),
            chance.randrange(1921, 2020),
            tuple(int(size * (1 + n * chance.uniform(0.02, 0.2))) for n in range(len(YEARS))),
            chance.randrange(28, 50) / 10,
            f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
            tuple(sorted(chance.sample(BENEFITS, 3))),
        )
    refs = chance.sample(range(1000, 9999), 60)
    jobs = tuple(_job(chance, ref, tuple(companies), cities) for ref in refs)
    return Board(jobs, tuple(companies.values()))


def _job(chance: random.Random, ref: int, companies: tuple[str, ...], cities: list[str]) -> Job:
    field = chance.choice(sorted(FIELDS))
    titles, skills, base = FIELDS[field]
    level = chance.choice(LEVELS)
    low = int(base * (0.7 + 0.25 * LEVELS.index(level)) * chance.uniform(0.85, 1.2)) * 1000 + chance.choice((0, 500))
    title = chance.choice(phrases(titles))
    return Job(
        ref=f"{field[:2].upper()}{ref}",
        title=title if level == "Regular" else f"{level} {title}",
        field=field,
        level=level,
        company=chance.choice(companies),
        city=chance.choice(cities),
        contract=chance.choice(CONTRACTS),
        place=chance.choice(PLACES),
        low=low,
        high=low + chance.randrange(6, 30) * 1000,
        posted=f"2026-{chance.randrange(3, 6):02d}-{chance.randrange(1, 29):02d}",
        deadline=f"2026-{chance.randrange(7, 11):02d}-{chance.randrange(1, 29):02d}",
        hours=chance.choice((20, 24, 30, 35, 37, 38, 40)),
        holiday=chance.randrange(21, 36),
        skills=tuple(chance.sample(phrases(skills), 3)),
        contact=f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
    )
