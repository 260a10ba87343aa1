"""Tasks of the school: look up, read one's own progress, compare, filter, collect, enrol, take a quiz."""

from __future__ import annotations

from webgym.worlds.account import credentials, login_moves
from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, SortBy
from webgym.worlds.sites.courses import kind
from webgym.worlds.sites.courses_content import SESSIONS, Course, School, Teacher
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, listed


def _course(course: Course) -> Topic:
    dates = (Press("Dates"),)
    starts = tuple(
        Known(f"start date of the {name.lower()}", day, opener=dates)
        for name, day in zip(SESSIONS, course.starts, strict=True)
    )
    return Topic(
        course.title,
        course.href,
        f"the course “{course.title}”",
        (
            Known("length in weeks", str(course.weeks), f"{course.weeks} weeks"),
            Known("effort in hours a week", str(course.hours), f"{course.hours} hours a week"),
            Known("teacher", course.teacher),
            Known("language", course.tongue),
            Known("number of learners", str(course.learners), f"{course.learners:,} learners"),
            Known("percentage needed to pass", str(course.passing), f"{course.passing}% of the points"),
            *starts[:2],
        ),
    )


def _teacher(teacher: Teacher) -> Topic:
    knowns = (
        Known("home institution", teacher.school),
        Known("first year of teaching", str(teacher.since)),
        Known("office", teacher.office),
        Known("subject", teacher.subject),
    )
    return Topic(teacher.name, teacher.href, f"the teacher {teacher.name}", knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[School]) -> Draft:
    topics = [*map(_course, make.content.courses), *map(_teacher, make.content.teachers)]
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I want to learn something. Tell me {}.",
        "Report {}, as the course pages give it.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


@kind.task("progress", [(1, 4), (0, 4)])
def progress(make: Maker[School]) -> Draft:
    """How far one has come, behind the log-in."""
    account, groups = make.site.account, []
    held = [(course, done, points) for slug, done, points, _ in make.content.mine if (course := make.content.course(slug))]
    for place, count in enumerate(make.shape):
        name = ("progress in percent", "number of points")[place]
        facts, seen = [], []
        for course, done, points in make.some(held, count):
            value, shown = (str(done), f"{done}%") if place == 0 else (str(points), f"{points} points")
            facts.append(make.find("/my", course.title, name, value, shown=shown))
            seen.append((course.title, See((shown,))))
        route: tuple[Move, ...] = (Open("My learning"), *(move for _, move in seen))
        ask = f"my {name} in {listed([f'“{title}”' for title, _ in seen])}"
        groups.append(Group(ask, f"My {name}", tuple(facts), route))
    openings = (
        f"Sign in ({credentials(account)}) and tell me {{}}.",
        f"My log-in is {credentials(account)}. What I want to know: {{}}.",
    )
    return Draft(openings, tuple(groups), login_moves(account))


@kind.task("compare", [(3, 5)])
def compared(make: Maker[School]) -> Draft:
    asked = "number of learners"
    return compare(
        make, make.content.courses, _course, asked, lambda course: course.learners, "course with the most learners"
    )


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[School]) -> Draft:
    subject = make.one(make.content.subjects)
    inside = [course for course in make.content.courses if course.subject == subject]
    by = make.one(("Level", "Taught in"))
    value = make.one(sorted({_side(course, by) for course in inside}))
    fitting = [course for course in inside if _side(course, by) == value]
    what, order, short = make.one((("shortest", "Shortest first", True), ("most attended", "Most learners", False)))
    best = one_best(make, fitting, lambda course: -course.weeks if short else course.learners)
    way = (Open("All courses"), Filter("Subject", subject), Filter(by, value), SortBy(order), Open(best.title))
    said = f"at {value.lower()} level" if by == "Level" else f"taught in {value}"
    ask = f"the {what} {subject} course {said}"
    return best_fit(
        make, _course(best), map(_course, fitting), ask, way, ("Find {}.", "Use the filters to find {}.", "Suggest {}.")
    )


def _side(course: Course, by: str) -> str:
    return course.level if by == "Level" else course.tongue


@kind.task("collect", [(4, 10)])
def collect(make: Maker[School]) -> Draft:
    courses = make.some(make.content.courses, make.shape[0])
    asked = make.one(("effort in hours a week", "teacher", "number of learners"))
    return each(make, list(map(_course, courses)), asked, ("Collect {}.", "For a study plan, note {}.", "List {}."))


@kind.task("enrol", [(1, 4)])
def enrol(make: Maker[School]) -> Draft:
    chance, course = make.chance, make.one(make.content.courses)
    session, name = chance.choice(SESSIONS), f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    goal = chance.choice(("Work", "Study", "Pleasure"))
    entered = (
        Entered("course", course.slug, f"in “{course.title}”"),
        Entered("session", session, f"for the {session.lower()}"),
        Entered("name", name, f"as {name}"),
        Entered("goal", goal, f"with the goal {goal}"),
    )
    ask, facts = submitted(make, "enrol", "Somebody is enrolled", entered)
    route = (
        *_course(course).way,
        Open("Enrol"),
        Choose("Session", session),
        Fill("Full name", name),
        Fill("E-mail", "learner@example.com"),
        Choose("What do you want to learn for?", goal),
        Press("Enrol now"),
        See(("You are enrolled",)),
    )
    openings = ("Enrol {}. Anything else is up to you.", f"Sign me up at {make.site.brand}: {{}}; invent what is missing.")
    return Draft(openings, (Group(ask, "The enrolment", facts, route),))


@kind.task("quiz", [(1, 4)])
def quiz(make: Maker[School]) -> Draft:
    """Take a quiz: with everything right (one fact), or with given answers to its first questions."""
    course, count = make.one(make.content.courses), make.shape[0]
    options = sorted(term for term, _ in course.terms)
    given = [term for term, _ in course.terms]
    if count > 1:
        given = [make.chance.choice(options) for _ in course.terms]
    answers: tuple[Move, ...] = tuple(
        move
        for (_, meaning), term, press in zip(course.terms, given, ("Continue",) * 3 + ("Hand in",), strict=True)
        for move in (Choose(f"Which term means: {meaning}?", term), Press(press))
    )
    facts: tuple[Fact, ...]
    if count == 1:
        fields = (("course", course.slug), ("score", str(len(given))))
        facts = (make.done(f"The quiz of “{course.title}” is handed in with every answer right.", "quiz", *fields),)
        ask = f"the quiz of the course “{course.title}” so that every answer is right"
    else:
        facts = tuple(
            make.done(f"Question {n} of the quiz is answered with {term}.", "quiz", ("course", course.slug), (f"q{n}", term))
            for n, term in enumerate(given[:count], 1)
        )
        said = listed([f"question {n} with {term}" for n, term in enumerate(given[:count], 1)])
        ask = f"the quiz of the course “{course.title}”, answering {said}"
    route = (*_course(course).way, Open("Take the quiz"), *answers, See(("Quiz handed in",)))
    openings = ("Take {}. Hand it in.", "Please complete and hand in {}.")
    return Draft(openings, (Group(ask, "The quiz", facts, route),))
