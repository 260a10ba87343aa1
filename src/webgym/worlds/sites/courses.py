"""Online courses: subjects, courses with lessons, teachers, quizzes in steps, enrolment, a learner's progress.

Tasks: look up courses and teachers, read one's own progress, compare, filter, collect, enrol, take a quiz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from webgym.worlds.account import has_accounts
from webgym.worlds.blocks import (
    Accordion,
    Block,
    Buttons,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Detail,
    Facts,
    Hero,
    Link,
    Notice,
    Page,
    Picture,
    Prose,
    Response,
    Review,
    Reviews,
    Stats,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.courses_content import SESSIONS, Course, School, quiz_form, school
from webgym.worlds.words import person

_THINGS: Final = {
    "Data Science": "laptop",
    "Programming": "laptop",
    "Design": "camera",
    "Business": "book",
    "Languages": "book",
    "Science": "plant",
}


@dataclass(frozen=True)
class Progress(Block):
    """How far one has come with something."""

    name: str
    href: str
    percent: int
    text: str

    template = "courses/progress.html"


def menu(site: Site, content: School) -> tuple[Link, ...]:
    inside = tuple(Link(name, f"/courses?{urlencode({'subject': name})}") for name in content.subjects)
    return (
        Link("All courses", "/courses", inside),
        Link("Teachers", "/teachers"),
        Link("Study guide", "/guide"),
        Link("My learning", "/my"),
    )


def findable(content: School) -> tuple[Entry, ...]:
    teachers = [Entry(teacher.name, teacher.href, f"Teacher of {teacher.subject}") for teacher in content.teachers]
    return (*(Entry(course.title, course.href, f"Course in {course.subject}") for course in content.courses), *teachers)


def tagline(site: Site, content: School) -> str:
    return f"{len(content.courses)} courses by {len(content.teachers)} teachers. Learn at your own pace."


kind: Final = Kind(
    "courses",
    subdomain="Education & Learning",
    words=("academy", "courses", "learning", "campus", "school", "classes"),
    content=school,
    nav=menu,
    entries=findable,
    tagline=tagline,
    login=True,
)
has_accounts(kind, home="/my")


def _card(course: Course) -> Card:
    return Card(
        course.title,
        course.href,
        Picture(_THINGS[course.subject], course.slug),
        "Free" if not course.cents else course.price,
        badge=course.level,
        meta=(course.subject, f"{course.weeks} weeks"),
        stars=course.stars,
        votes=course.votes,
    )


@kind.page("/")
def home(visit: Visit[School]) -> Response:
    site, content = visit.site, visit.content
    chance = site.draw("home")
    title = chance.choice(("Learn something new", "Knowledge for curious people", "Your next skill starts here"))
    hero = Hero(
        title,
        tagline(site, content),
        Picture("book", "hero", 900, 600),
        Link("Find a course", "/courses"),
        Link("How it works", "/guide"),
    )
    ways = Tiles(
        "Subjects",
        tuple(
            (
                Link(name, f"/courses?{urlencode({'subject': name})}"),
                f"{sum(course.subject == name for course in content.courses)} courses",
                Picture(_THINGS[name], f"tile-{name.replace(' ', '-')}", 300, 200),
            )
            for name in content.subjects
        ),
    )
    picks = CardRow("Popular now", tuple(map(_card, chance.sample(content.courses, 6))), Link("See all", "/courses"))
    figures = Stats(
        (
            ("Courses", str(len(content.courses))),
            ("Learners", f"{sum(c.learners for c in content.courses):,}"),
            ("Teachers", str(len(content.teachers))),
        )
    )
    said = Reviews("What learners say", tuple(_review(site, "home", n) for n in range(3)))
    people = CardRow(
        "Meet the teachers",
        tuple(
            Card(t.name, t.href, Picture("face", t.name.replace(" ", "-"), 400, 300), meta=(t.subject,))
            for t in content.teachers[:4]
        ),
    )
    rest: tuple[Block, ...] = (ways, picks, said, figures, people)
    at = site.style.layout % len(rest)
    return Page("Home", (hero, *rest[at:], *rest[:at]))


def _review(site: Site, about: str, n: int) -> Review:
    chance = site.draw("review", about, n)
    title = chance.choice(("Clear and kind", "Worth the time", "I learnt a lot", "Good pace"))
    text = chance.choice(
        ("The examples come from real work.", "Short lessons, long effect.", "I wish I had taken it earlier.")
    )
    return Review(person(chance.randrange(500), chance.randrange(500)), chance.randrange(4, 6), title, text)


@kind.page("/courses")
def courses(visit: Visit[School]) -> Response:
    listing = Listing(
        visit.content.courses,
        _card,
        lambda course: f"{course.title} {course.subject} {course.teacher}",
        (
            Facet("subject", "Subject", lambda course: course.subject),
            Facet("level", "Level", lambda course: course.level),
            Facet("tongue", "Taught in", lambda course: course.tongue),
        ),
        (Limit("weeks", "Maximum weeks", lambda course: course.weeks, 0, 15, 1),),
        (
            Sort("short", "Shortest first", lambda course: course.weeks),
            Sort("full", "Most learners", lambda course: course.learners, down=True),
            Sort("stars", "Best rated", lambda course: course.stars * 10_000 + course.votes, down=True),
        ),
        per_page=9,
        endless=visit.site.number("endless") % 3 == 0,
    )
    return Page("Courses", (visit.listing(listing, "All courses"),))


@kind.page("/courses/{slug}")
def course_page(visit: Visit[School]) -> Response:
    course = visit.content.course(visit.argument("slug"))
    if course is None:
        return NOT_FOUND
    detail = Detail(
        course.title,
        (Picture(_THINGS[course.subject], course.slug, 720, 540),),
        "Free" if not course.cents else course.price,
        stars=course.stars,
        votes=course.votes,
        badge=course.subject,
        lead=f"A course of {course.weeks} weeks by {course.teacher}, with {len(course.lessons)} lessons and a quiz.",
        rows=course.rows,
        links=(
            Link("Enrol", f"/enrol/{course.slug}"),
            Link("Take the quiz", f"/quiz/{course.slug}"),
            Link("Course notes", f"{course.href}/notes"),
        ),
    )
    lessons = Table(
        "", ("Lesson", "Minutes"), tuple((name, Cell(f"{minutes} min", number=True)) for name, minutes in course.lessons)
    )
    dates = Table("", ("Session", "Starts on"), tuple(zip(SESSIONS, course.starts, strict=True)))
    said = Reviews("", tuple(_review(visit.site, course.slug, n) for n in range(3)))
    tabs = Tabs((("Lessons", (lessons,)), ("Dates", (dates,)), ("Reviews", (said,))))
    return Page(course.title, (detail, tabs), (Link("All courses", "/courses"), Link(course.title, course.href)))


@kind.page("/courses/{slug}/notes")
def notes(visit: Visit[School]) -> Response:
    course = visit.content.course(visit.argument("slug"))
    if course is None:
        return NOT_FOUND
    intro = Prose("", ("Open a meaning to see it. The quiz asks for these terms.",))
    terms = Accordion("Terms of this course", course.terms)
    way = Buttons(links=(Link("Take the quiz", f"/quiz/{course.slug}"), Link("Back to the course", course.href)))
    crumbs = (Link(course.title, course.href), Link("Course notes", visit.path))
    return Page(f"Notes: {course.title}", (intro, terms, way), crumbs, heading="Course notes")


@kind.page("/quiz/{slug}")
def quiz(visit: Visit[School]) -> Response:
    course = visit.content.course(visit.argument("slug"))
    if course is None:
        return NOT_FOUND
    form = quiz_form(course)
    values = visit.filled(form)
    if values is None:
        return Page(
            "Quiz",
            (visit.form(form),),
            (Link(course.title, course.href), Link("Quiz", visit.path)),
            heading=f"Quiz: {course.title}",
        )
    right = sum(values[f"q{n}"] == term for n, (term, _) in enumerate(course.terms, 1))
    visit.memory.record("quiz", {"course": course.slug, "score": str(right), **values})
    tone = "good" if right * 100 >= course.passing * len(course.terms) else "bad"
    notice = Notice(
        f"You have {right} of {len(course.terms)} answers right.", "good" if tone == "good" else "bad", "Quiz handed in"
    )
    bar = Progress(course.title, course.href, right * 100 // len(course.terms), f"{course.passing}% are needed to pass")
    return Page("Quiz handed in", (notice, bar), heading="Quiz handed in")


def enrol_form() -> Form:
    fields = (
        Field("session", "Session", "radio", SESSIONS),
        Field("name", "Full name"),
        Field("email", "E-mail", "email"),
        Field("goal", "What do you want to learn for?", "select", ("Work", "Study", "Pleasure")),
        Field("certificate", "I want a certificate", "checkbox", required=False),
    )
    return Form.of("enrol", *fields, submit="Enrol now")


@kind.page("/enrol/{slug}")
def enrol(visit: Visit[School]) -> Response:
    course = visit.content.course(visit.argument("slug"))
    if course is None:
        return NOT_FOUND
    form = enrol_form()
    values = visit.filled(form)
    if values is None:
        dates = Facts(course.title, tuple(zip(SESSIONS, course.starts, strict=True)))
        return Page("Enrol", (Columns(((visit.form(form),), (dates,))),), heading=f"Enrol in {course.title}")
    visit.memory.record("enrol", {"course": course.slug, **values, "certificate": values["certificate"] or "no"})
    return Page(
        "Enrolled", (Notice(f"See you in the {values['session'].lower()}.", "good", "You are enrolled"),), heading="Welcome"
    )


@kind.page("/teachers")
def teachers(visit: Visit[School]) -> Response:
    cards = tuple(
        Card(t.name, t.href, Picture("face", t.name.replace(" ", "-"), 400, 300), meta=(t.subject,), text=t.school)
        for t in visit.content.teachers
    )
    return Page("Teachers", (CardRow("", cards),), heading="Teachers")


@kind.page("/teachers/{slug}")
def teacher_page(visit: Visit[School]) -> Response:
    teacher = next((teacher for teacher in visit.content.teachers if teacher.href == visit.path), None)
    if teacher is None:
        return NOT_FOUND
    own = tuple(course for course in visit.content.courses if course.teacher == teacher.name)
    rows = (
        ("Subject", teacher.subject),
        ("From", teacher.school),
        ("Teaching since", str(teacher.since)),
        ("Office", teacher.office),
    )
    detail = Detail(
        teacher.name,
        (Picture("face", teacher.name.replace(" ", "-"), 600, 480),),
        lead=f"Teaches {teacher.subject.lower()}.",
        rows=rows,
    )
    blocks: tuple[Block, ...] = (detail, CardRow("Courses", tuple(map(_card, own)))) if own else (detail,)
    return Page(teacher.name, blocks, (Link("Teachers", "/teachers"), Link(teacher.name, teacher.href)))


@kind.page("/my", members=True)
def mine(visit: Visit[School]) -> Response:
    held = [
        (course, done, points, due)
        for slug, done, points, due in visit.content.mine
        if (course := visit.content.course(slug))
    ]
    bars = tuple(Progress(course.title, course.href, done, f"Next hand-in: {due}") for course, done, _, due in held)
    rows = tuple(
        (Cell(course.title, course.href), Cell(f"{points} points", number=True), due) for course, _, points, due in held
    )
    chart = Chart(
        "Minutes learnt each day",
        tuple((day, float(visit.site.number("minutes", day) % 90 + 5)) for day in ("Mon", "Tue", "Wed", "Thu", "Fri")),
    )
    return Page(
        "My learning",
        (*bars, Table("Points", ("Course", "Points", "Due"), rows), chart),
        heading=f"Hello, {visit.site.account.name}",
    )


@kind.page("/guide")
def guide(visit: Visit[School]) -> Response:
    chance = visit.site.draw("guide")
    answers = (
        ("How do quizzes work?", "One question a page. You can go back before you hand in."),
        ("How long is a certificate valid?", f"For {chance.randrange(2, 9)} years."),
        ("Can I get my money back?", f"Yes, within {chance.choice((7, 14, 21, 30))} days."),
    )
    text = Prose(
        "Learn a little every day",
        (
            "Short, regular lessons stay with you longer than long evenings.",
            "Take notes by hand and explain to others what you learnt.",
        ),
    )
    return Page("Study guide", (text, Accordion("Questions", answers)), heading="Study guide")
