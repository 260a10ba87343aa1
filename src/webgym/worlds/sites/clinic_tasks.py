"""Tasks of the clinic: look up, compare, find a doctor, read leaflets in other languages, gather, book an appointment."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, SortBy, Tick
from webgym.worlds.sites.clinic import AFTER, BOOK, COVER, PREPARE, kind, leaflet_way
from webgym.worlds.sites.clinic_content import SPEECHES, TIMES, Doctor, House, Treatment
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, money

_TONGUE = {"de": "German", "fr": "French", "es": "Spanish"}


def _doctor(doctor: Doctor) -> Topic:
    known = (
        Known("room", doctor.room),
        Known("telephone extension", str(doctor.line)),
        Known("year of starting in practice", str(doctor.since)),
        Known("second language", doctor.speaks, f"English and {doctor.speaks}"),
        Known("day of late surgery", doctor.day),
        Known("price of a first consultation", money(doctor.fee)),
        Known("medical field", doctor.field),
    )
    return Topic(doctor.name, doctor.href, doctor.name, known)


def _treatment(treatment: Treatment) -> Topic:
    known = (
        Known("price", money(treatment.cents)),
        Known("duration in minutes", str(treatment.minutes), f"{treatment.minutes} minutes"),
        Known("department", treatment.field),
        Known(
            "number of hours without food beforehand", str(treatment.fast), f"{treatment.fast} hours", (), (Press(PREPARE),)
        ),
        Known("number of minutes to stay afterwards", str(treatment.rest), f"{treatment.rest} minutes", (), (Press(AFTER),)),
        Known("usual number of visits", str(treatment.visits), f"{treatment.visits} times", (), (Press(COVER),)),
    )
    return Topic(treatment.name, treatment.href, f"the treatment “{treatment.name}”", known)


def _topic(thing: Doctor | Treatment) -> Topic:
    return _doctor(thing) if isinstance(thing, Doctor) else _treatment(thing)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[House]) -> Draft:
    openings = (
        "Find {}.",
        f"On the site of {make.site.brand}, look up {{}}.",
        "I am a new patient. Tell me {}.",
        "For my records I need {}.",
    )
    things: tuple[Doctor | Treatment, ...] = (*make.content.doctors, *make.content.treatments)
    return look_up(make, things, _topic, openings)


@kind.task("compare", [(3, 5)])
def prices(make: Maker[House]) -> Draft:
    if make.chance.random() < 0.5:
        return compare(
            make, make.content.treatments, _treatment, "price", lambda treatment: treatment.cents, "cheapest", most=False
        )
    return compare(
        make,
        make.content.doctors,
        _doctor,
        "year of starting in practice",
        lambda doctor: doctor.since,
        "most experienced",
        most=False,
    )


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[House]) -> Draft:
    """The doctor of a field, a language or a day who costs least or has practised longest."""
    by, side, words = make.one(
        (
            ("Field", "field", "working in"),
            ("Language", "speaks", "speaking"),
            ("Late surgery", "day", "with late surgery on"),
        )
    )
    value = make.one(sorted({getattr(doctor, side) for doctor in make.content.doctors}))
    inside = [doctor for doctor in make.content.doctors if getattr(doctor, side) == value]
    if make.chance.random() < 0.5:
        best, what, order = one_best(make, inside, lambda d: d.fee, most=False), "with the lowest fee", "Lowest fee"
    else:
        best, what = one_best(make, inside, lambda d: d.since, most=False), "with the longest experience"
        order = "Most experienced"
    route = (Open("Doctors"), Filter(by, value), SortBy(order), Open(best.name))
    ask = f"the doctor {what} among those {words} {value}"
    return best_fit(
        make,
        _doctor(best),
        map(_doctor, inside),
        ask,
        route,
        ("Find {}.", "Search the list of doctors for {}."),
        its="their",
    )


@kind.task("leaflet", [(1, 3), (0, 3)])
def leaflet(make: Maker[House]) -> Draft:
    """A leaflet in a language other than English: its title there, and its numbers."""
    groups = []
    for one, count in zip(make.some(make.content.leaflets, len(make.shape)), make.shape, strict=True):
        code, name = make.one(SPEECHES[1:])
        page, sentences = leaflet_way(one, code), one.text(code)
        sides = (
            ("title", one.titles[code], one.titles[code]),
            ("number of minutes to rest", str(one.rest), sentences[1]),
            ("telephone extension to call", str(one.line), sentences[3]),
        )
        facts = tuple(
            Fact(
                f"The {side} of the {_TONGUE[code]} version of “{one.titles['en']}” is {value}.",
                (Shown(make.host, page, (shown,)), Says(value)),
                f"{side} ({_TONGUE[code]}, {one.titles['en']}): {value}",
            )
            for side, value, shown in sides[:count]
        )
        asked = " and the ".join(side for side, _, _ in sides[:count])
        ask = f"the {asked} in the {_TONGUE[code]} version of the leaflet “{one.titles['en']}”"
        way: list[Move] = [Open("Leaflets"), Open(one.titles["en"]), Open(f"{name} version")]
        groups.append(Group(ask, f"“{one.titles['en']}”", facts, (*way, *(See((shown,)) for _, _, shown in sides[:count]))))
    return Draft(("Find {}.", "Look up {}.", "My neighbour asks for {}."), tuple(groups))


@kind.task("collect", [(4, 9)])
def gather(make: Maker[House]) -> Draft:
    count = make.shape[0]
    if make.chance.random() < 0.5:
        return each(
            make, [_doctor(one) for one in make.some(make.content.doctors, count)], make.one(("room", "telephone extension"))
        )
    chosen = make.some(make.content.treatments, count)
    return each(make, [_treatment(one) for one in chosen], make.one(("price", "duration in minutes")))


@kind.task("book", [(1, 5)])
def book(make: Maker[House]) -> Draft:
    chance, doctor = make.chance, make.one(make.content.doctors)
    number, month, time = chance.randrange(1, 29), chance.choice((6, 7, 8)), chance.choice(TIMES)
    day = f"2026-{month:02d}-{number:02d}"
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    born = f"{chance.randrange(1940, 2008)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"
    ask, facts = submitted(
        make,
        "appointment",
        "The appointment",
        (
            Entered("doctor", doctor.name, f"with {doctor.name}"),
            Entered("day", day, f"on {day}"),
            Entered("time", time, f"at {time}"),
            Entered("name", name, f"for {name}"),
            Entered("born", born, f"born on {born}"),
        ),
    )
    pick: tuple[Move, ...] = (Press("Open calendar for Day"), Press(str(number))) if month == 6 else (Fill("Day", day),)
    route = (
        Open("Make an appointment"),
        Choose("Doctor", doctor.name),
        *pick,
        Press("Continue"),
        Choose("Time", time),
        Press("Continue"),
        Fill("Full name", name),
        Fill("Date of birth", born),
        Fill("Telephone", f"555-{chance.randrange(1000, 9999)}"),
        Tick("I agree to the terms"),
        Press(BOOK),
        See(("Appointment booked",)),
    )
    openings = (
        "Book an appointment {}. Whatever else the form asks for is up to you.",
        f"Make an appointment at {make.site.brand} {{}}; invent the rest.",
        "Please arrange an appointment {}, and fill the rest of the form as you like.",
    )
    return Draft(openings, (Group(ask, "The appointment", facts, route),))
