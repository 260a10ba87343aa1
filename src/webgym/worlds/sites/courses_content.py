"""What a school teaches: subjects with their terms, courses with lessons, teachers, and one learner's progress."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, money, phrases

# Subjects: what courses are about, and terms with what they mean, which lessons explain and quizzes ask.
SUBJECTS: Final = {
    "Data Science": (
        "Statistics|Machine Learning|Data Cleaning|Forecasting|Survey Design|Visualisation",
        "Median=The middle value of an ordered list|Outlier=A value far away from the others|Variance=The mean squared "
        "distance from the mean|Overfitting=Learning the noise of the data by heart|Sample=A part that stands for the whole",
    ),
    "Programming": (
        "Python|Web Development|Databases|Algorithms|Testing|Mobile Apps",
        "Variable=A name for a value|Loop=Steps that are repeated|Recursion=A function that calls itself|Index=A structure "
        "that makes look-ups fast|Compiler=A program that translates programs",
    ),
    "Design": (
        "Typography|Colour|Interface Design|Sketching|Brand Identity|Photography",
        "Kerning=The space between two letters|Contrast=A difference that catches the eye|Grid=Lines that align a page|"
        "Palette=A chosen set of colours|Serif=A small stroke at the end of a letter",
    ),
    "Business": (
        "Accounting|Negotiation|Marketing|Project Management|Entrepreneurship|Leadership",
        "Asset=Something of value that is owned|Liability=Something that is owed|Margin=What remains of a price after costs|"
        "Milestone=A point by which work must be done|Stakeholder=Anyone affected by a decision",
    ),
    "Languages": (
        "Spanish|French|Japanese|Academic Writing|Public Speaking|Translation",
        "Verb=A word for an action|Noun=A word for a thing|Idiom=A phrase that means more than its words|Clause=A part of a "
        "sentence with a verb|Accent=A way of pronouncing",
    ),
    "Science": (
        "Astronomy|Genetics|Climate|Chemistry|Neuroscience|Geology",
        "Hypothesis=A guess that can be tested|Catalyst=It speeds a reaction up and stays|Orbit=The path around a larger "
        "body|Gene=A stretch of DNA with a task|Erosion=The wearing away of land",
    ),
}
SHAPES: Final = (
    "Foundations of {}",
    "{} in Practice",
    "Advanced {}",
    "{} for Beginners",
    "The Art of {}",
    "{} Step by Step",
)
LEVELS: Final = ("Beginner", "Intermediate", "Advanced")
TONGUES: Final = ("English", "Spanish", "French", "German")
_LESSONS: Final = phrases(
    "Welcome|First principles|Tools of the trade|A worked example|Common mistakes|Going deeper|Case study|"
    "Practice session|Peer review|Looking ahead"
)
SESSIONS: Final = ("Spring session", "Summer session", "Autumn session")


@dataclass(frozen=True)
class Course:
    slug: str
    title: str
    subject: str
    level: str
    teacher: str
    weeks: int
    hours: int
    cents: int
    stars: float
    votes: int
    tongue: str
    learners: int
    starts: tuple[str, ...]  # for each of SESSIONS
    lessons: tuple[tuple[str, int], ...]  # title, minutes
    terms: tuple[tuple[str, str], ...]
    passing: int

    @property
    def href(self) -> str:
        return f"/courses/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Level", self.level),
            ("Length", f"{self.weeks} weeks"),
            ("Effort", f"{self.hours} hours a week"),
            ("Teacher", self.teacher),
            ("Language", self.tongue),
            ("Learners", f"{self.learners:,} learners"),
            ("To pass", f"{self.passing}% of the points"),
        )

    @property
    def price(self) -> str:
        return money(self.cents)


@dataclass(frozen=True)
class Teacher:
    name: str
    subject: str
    school: str
    since: int
    office: str

    @property
    def href(self) -> str:
        return f"/teachers/{self.name.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class School:
    subjects: tuple[str, ...]
    courses: tuple[Course, ...]
    teachers: tuple[Teacher, ...]
    mine: tuple[tuple[str, int, int, str], ...]  # slug, percent done, points, due day

    def course(self, slug: str) -> Course | None:
        return next((course for course in self.courses if course.slug == slug), None)


def school(site: Site) -> School:
    chance = site.draw("school")
    subjects = tuple(sorted(chance.sample(sorted(SUBJECTS), 4)))
    names = [f"{g} {f}" for g, f in zip(chance.sample(GIVEN, 12), chance.sample(FAMILY, 12), strict=True)]
    teachers = tuple(
        Teacher(
            name,
            subjects[n % 4],
            f"{chance.choice(('University', 'College', 'Institute'))} of {chance.choice(CITIES)}",
            chance.randrange(1996, 2023),
            f"Room {chance.randrange(100, 490)}",
        )
        for n, name in enumerate(names)
    )
    courses = []
    for subject in subjects:
        topics = phrases(SUBJECTS[subject][0])
        pairs = chance.sample([(shape, topic) for shape in SHAPES for topic in topics], 9)
        own = [teacher.name for teacher in teachers if teacher.subject == subject]
        courses += [_course(chance, shape.format(topic), subject, chance.choice(own)) for shape, topic in pairs]
    mine = tuple(
        (
            course.slug,
            chance.randrange(5, 99),
            chance.randrange(20, 400),
            f"2026-{chance.randrange(6, 12):02d}-{chance.randrange(1, 29):02d}",
        )
        for course in chance.sample(courses, 4)
    )
    return School(subjects, tuple(courses), teachers, mine)


def _course(chance: random.Random, title: str, subject: str, teacher: str) -> Course:
    terms = [term.split("=") for term in phrases(SUBJECTS[subject][1])]
    return Course(
        slug=title.lower().replace(" ", "-"),
        title=title,
        subject=subject,
        level="Advanced" if title.startswith("Advanced") else "Beginner" if "Beginner" in title else chance.choice(LEVELS),
        teacher=teacher,
        weeks=chance.randrange(2, 15),
        hours=chance.randrange(2, 11),
        cents=chance.choice((0, 2900, 3900, 4900, 5900, 7900, 8900, 9900, 12900, 14900)),
        stars=chance.randrange(32, 50) / 10,
        votes=chance.randrange(12, 2600),
        tongue=chance.choice(TONGUES),
        learners=chance.randrange(90, 88_000),
        starts=tuple(f"2026-{month:02d}-{chance.randrange(1, 29):02d}" for month in (3, 6, 10)),
        lessons=tuple((name, chance.randrange(4, 58)) for name in _LESSONS[: chance.randrange(5, 11)]),
        terms=tuple((term, meaning) for term, meaning in chance.sample(terms, 4)),
        passing=chance.choice((50, 55, 60, 65, 70, 75, 80)),
    )


def quiz_form(course: Course) -> Form:
    """One question a step; the options are the course's terms in alphabetical order."""
    options = tuple(sorted(term for term, _ in course.terms))
    steps = tuple(
        FormStep(f"Question {n}", (Field(f"q{n}", f"Which term means: {meaning}?", "radio", options),))
        for n, (_, meaning) in enumerate(course.terms, 1)
    )
    return Form(f"quiz-{course.slug}", steps, submit="Hand in")
