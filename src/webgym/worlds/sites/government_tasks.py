"""Tasks of the administration: services, offices and notices, fees compared, cases, applications, appointments."""

from __future__ import annotations

from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, Search, See, Slide, SortBy, Tick
from webgym.worlds.sites.government import SLOTS, kind, reference
from webgym.worlds.sites.government_content import CONTACTS, DISTRICTS, County, Office, Service
from webgym.worlds.subjects import Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, listed


def _subject(thing: Service | Office) -> Topic:
    called = f"the service “{thing.name}”" if isinstance(thing, Service) else f"the {thing.name}"
    return Topic(thing.name, thing.href, called)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[County]) -> Draft:
    things: list[Service | Office] = [*make.content.services, *make.content.offices]
    chosen = make.some(things, len(make.shape))
    groups = tuple(about(make, _subject(thing), thing.known, size) for thing, size in zip(chosen, make.shape, strict=True))
    return Draft(
        (
            "Find {}.",
            f"On the site of {make.site.brand}, look up {{}}.",
            "I have to go to the authorities. Tell me {}.",
            "Report {}.",
        ),
        groups,
    )


@kind.task("compare", [(3, 5)])
def compare(make: Maker[County]) -> Draft:
    services = make.some(make.content.services, make.shape[0] - 1)
    if make.chance.random() < 0.5:
        things = [(_subject(one), one.known[0], float(one.cents)) for one in services]
        group = compared(make, "fees", "cheapest", things, least=True)
    else:
        things = [(_subject(one), one.known[1], float(one.days)) for one in services]
        group = compared(make, "processing times", "fastest", things, least=True)
    return Draft(("Find out {}.", "Compare {}.", "I want to know {}."), (group,))


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[County]) -> Draft:
    """The cheapest or fastest service of a topic, or of an office."""
    by = make.one(("Topic", "Office"))
    value = make.one(sorted({one.topic if by == "Topic" else one.office for one in make.content.services}))
    fitting = [one for one in make.content.services if value == (one.topic if by == "Topic" else one.office)]
    word, order = make.one((("cheapest", "Lowest fee"), ("fastest", "Fastest first")))
    values = [one.cents if word == "cheapest" else one.days for one in fitting]
    if len(values) < 2 or values.count(min(values)) > 1:
        raise CannotMake("not one that fits best")
    best = fitting[values.index(min(values))]
    subject = _subject(best)
    chosen = make.some([one for one in best.known if one.name != "responsible office"], make.shape[0] - 1)
    where = f"of the topic {value}" if by == "Topic" else f"that the {value} is responsible for"
    known = tuple(fact(make, subject, one) for one in chosen)
    text = f"The {word} service {where} is {best.name}."
    facts = (named(make, subject, map(_subject, fitting), text, known), *known)
    start: tuple[Move, ...] = (Open("Services"), Filter(by, value), SortBy(order), Open(best.name))
    ask = f"the {word} service {where}: its name and its {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", "Use the list of services to find {}.", "Which one is {}?"),
        (Group(ask, "The service", facts, (*start, *seen(facts))),),
    )


@kind.task("collect", [(4, 8)])
def collect(make: Maker[County]) -> Draft:
    place = make.one((1, 3, 4))
    services = make.some(make.content.services, make.shape[0])
    facts, route = each(make, [(_subject(one), one.known[place]) for one in services])
    ask = f"the {services[0].known[place].name} of each of these services: {listed([one.name for one in services])}"
    return Draft(("Make a list of {}.", "Collect {}.", "Our office needs {}."), (Group(ask, "The list", facts, route),))


@kind.task("notice", [(1, 3), (0, 3)])
def notice(make: Maker[County]) -> Draft:
    groups = []
    for one, size in zip(make.some(make.content.notices, len(make.shape)), make.shape, strict=True):
        known = (("district", one.place), ("last day for comments", one.closes), ("contact person", one.contact))
        facts = tuple(make.find(one.href, one.title, name, value) for name, value in make.some(known, size))
        names = listed([found.answer.partition(" of ")[0] for found in facts])
        route: tuple[Move, ...] = (Open("Public notices"), Open(one.title), *seen(facts))
        groups.append(Group(f"the {names} of the public notice “{one.title}”", f"The notice {one.title}", facts, route))
    return Draft(("Find {}.", "Read the public notices and report {}.", "Tell me {}."), tuple(groups))


@kind.task("status", [(1, 3), (0, 3)])
def status(make: Maker[County]) -> Draft:
    """A case by its reference and surname."""
    groups = []
    for case, size in zip(make.some(make.content.cases, len(make.shape)), make.shape, strict=True):
        known = (("stage", case.stage), ("case officer", case.officer), ("expected date of the decision", case.due))
        chosen = make.some(known, size)
        facts = tuple(
            Fact(
                f"The {name} of application {case.reference} is {value}.",
                (Shown(make.host, "/status", (case.reference, value), case.reference), Says(value)),
                f"{name} of {case.reference}: {value}",
            )
            for name, value in chosen
        )
        route: tuple[Move, ...] = (
            Open("Check a status"),
            Fill("Reference number", case.reference),
            Fill("Surname", case.surname),
            Press("Show status"),
            *seen(facts),
        )
        ask = f"the {listed([name for name, _ in chosen])} of the application {case.reference} (surname {case.surname})"
        groups.append(Group(ask, f"Application {case.reference}", facts, route))
    return Draft(("Find out {}.", "Check {}.", f"Ask {make.site.brand} for {{}}."), tuple(groups))


@kind.task("apply", [(1, 6), (0, 1)])
def apply(make: Maker[County]) -> Draft:
    """An application in four steps; it ends with a reference number."""
    chance, service = make.chance, make.one(make.content.services)
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    given = (
        ("name", "Full name", name),
        ("district", "District", make.one(DISTRICTS)),
        ("id", "Identity number", f"{chance.choice('ABCD')}{chance.choice('KLMN')}{chance.randrange(10**5, 10**6 - 1)}"),
        ("contact", "contact by", make.one(CONTACTS)),
        ("postcode", "Postal code", f"{chance.randrange(10_000, 99_999)}"),
        (
            "born",
            "Date of birth",
            f"{chance.randrange(1950, 2004)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}",
        ),
    )
    values = {key: value for key, _, value in given}
    kept = given[: make.shape[0]]
    facts = tuple(
        make.done(
            f"An application for {service.name} is sent with {label.lower()} {value}.",
            "application",
            ("service", service.name),
            (key, value),
        )
        for key, label, value in kept
    )
    number = reference(make.site, service, name)
    ask = f"the service “{service.name}” with {listed([f'{label.lower()} {value}' for _, label, value in kept])}"
    groups = [Group(ask, "The application", facts)]
    last: tuple[Move, ...] = ()
    if len(make.shape) > 1:
        told = make.find(f"/apply/{service.slug}", "Your application", "reference number", number)
        groups.append(Group(f"the reference number you are given for {name}", "The reference number", (told,)))
        last = seen([told])
    route: tuple[Move, ...] = (
        Search(service.name),
        Open(service.name),
        Open("Start application"),
        Fill("Full name", name),
        Fill("Date of birth", values["born"]),
        Fill("Identity number", values["id"]),
        Press("Continue"),
        Fill("Street and number", f"{chance.randrange(1, 99)} {chance.choice(STREETS)} Street"),
        Fill("Town", chance.choice(CITIES)),
        Fill("Postal code", values["postcode"]),
        Choose("District", values["district"]),
        Press("Continue"),
        Fill("E-mail", f"{name.split()[0].lower()}@example.com"),
        Choose("How shall we reach you?", values["contact"]),
        Press("Continue"),
        Tick("Everything I have entered is true"),
        Press("Submit application"),
        See(("Application received",)),
        *last,
    )
    openings: tuple[str, ...] = (
        "Fill in the form for {}. Invent whatever else it asks for.",
        f"Apply on {make.site.brand} for {{}}; the rest is up to you.",
    )
    if len(make.shape) > 1:
        openings = ("Fill in the form and report the outcome: {}. Invent whatever else it asks for.",)
    return Draft(openings, tuple(groups), end=route)


@kind.task("appointment", [(1, 5)])
def appointment(make: Maker[County]) -> Draft:
    chance = make.chance
    given = (
        ("office", "office", make.one(make.content.offices).name),
        ("day", "day", f"2026-07-{chance.randrange(1, 31):02d}"),
        ("time", "time", make.one(SLOTS)),
        ("name", "name", f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"),
        ("people", "number of people", str(chance.randrange(2, 7))),
    )
    values = {key: value for key, _, value in given}
    kept = given[: make.shape[0]]
    facts = tuple(
        make.done(f"An appointment is booked with {label} {value}.", "appointment", (key, value))
        for key, label, value in kept
    )
    route = (
        Open("Appointments"),
        Choose("Office", values["office"]),
        Fill("Day", values["day"]),
        Choose("Time", values["time"]),
        Slide("Number of people", float(values["people"])),
        Fill("Your name", values["name"]),
        Press("Book appointment"),
        See(("Appointment booked",)),
    )
    ask = ", ".join(f"{label} {value}" for _, label, value in kept)
    return Draft(
        (
            "Book an appointment: {}. Anything else is up to you.",
            f"Get me an appointment at {make.site.brand} with {{}}; invent the rest.",
        ),
        (Group(ask, "The appointment", facts, route),),
    )
