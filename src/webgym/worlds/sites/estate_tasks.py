"""Tasks of the estate agency: homes, agents and neighbourhoods, filters with sliders, pins, the calculator, viewings."""

from __future__ import annotations

from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, Search, See, Slide, SortBy
from webgym.worlds.sites.estate import TIMES, kind
from webgym.worlds.sites.estate_content import Agent, Area, Home, Market
from webgym.worlds.subjects import Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import FAMILY, GIVEN, listed


def _subject(thing: Home | Area | Agent) -> Topic:
    if isinstance(thing, Home):
        return Topic(thing.title, thing.href, f"the home at {thing.title}")
    called = f"the neighbourhood {thing.name}" if isinstance(thing, Area) else f"the agent {thing.name}"
    return Topic(thing.name, thing.href, called)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Market]) -> Draft:
    things: list[Home | Area | Agent] = [*make.content.homes, *make.content.areas, *make.content.agents]
    chosen = make.some(things, len(make.shape))
    groups = tuple(about(make, _subject(thing), thing.known, size) for thing, size in zip(chosen, make.shape, strict=True))
    return Draft(
        ("Find {}.", f"On {make.site.brand}, look up {{}}.", "We want to move. Tell me {}.", "Please report {}."), groups
    )


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Market]) -> Draft:
    homes = make.some(make.content.homes, make.shape[0] - 1)
    what, best, place, least = make.one(
        (
            ("prices", "cheapest", 0, True),
            ("living areas", "largest", 1, False),
            ("years of construction", "oldest", 2, True),
        )
    )
    amounts = [(home.thousands, home.metres, home.built)[place] for home in homes]
    things = [(_subject(home), home.known[place], float(amount)) for home, amount in zip(homes, amounts, strict=True)]
    group = compared(make, what, best, things, least=least)
    return Draft(("Find out {}.", "Compare {}.", "To decide, I need {}."), (group,))


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[Market]) -> Draft:
    """The cheapest, largest or newest home of a neighbourhood or a type."""
    by = make.one(("Neighbourhood", "Type"))
    value = make.one(sorted({home.area.name if by == "Neighbourhood" else home.type for home in make.content.homes}))
    fitting = [home for home in make.content.homes if value == (home.area.name if by == "Neighbourhood" else home.type)]
    word, order = make.one(
        (("cheapest", "Price: low to high"), ("largest", "Largest first"), ("newest", "Newest building first"))
    )
    amounts = [
        -home.thousands if word == "cheapest" else home.metres if word == "largest" else home.built for home in fitting
    ]
    if len(amounts) < 2 or amounts.count(max(amounts)) > 1:
        raise CannotMake("not one that fits best")
    best = fitting[amounts.index(max(amounts))]
    start: tuple[Move, ...] = (Open("Homes for sale"), Filter(by, value), SortBy(order), Open(best.title))
    where = f"in the neighbourhood {value}" if by == "Neighbourhood" else f"of the type {value}"
    return _found(make, best, fitting, f"the {word} home {where}", start)


@kind.task("slider", [(2, 4)])
def slider(make: Maker[Market]) -> Draft:
    """The largest home within a budget, or the cheapest of a least size."""
    homes = make.content.homes
    if make.chance.random() < 0.5:
        most = make.chance.randrange(5, 20) * 50
        fitting = [home for home in homes if home.thousands <= most]
        amounts, what, order = [home.metres for home in fitting], "largest", "Largest first"
        asked, label, value = f"that costs at most ${most},000", "Maximum price in thousands", most
    else:
        value = make.chance.randrange(5, 25) * 10
        fitting = [home for home in homes if home.metres >= value]
        amounts, what, order = [-home.thousands for home in fitting], "cheapest", "Price: low to high"
        asked, label = f"with a living area of at least {value} square metres", "Minimum area"
    if len(amounts) < 2 or amounts.count(max(amounts)) > 1:
        raise CannotMake("not one that fits best")
    best = fitting[amounts.index(max(amounts))]
    start: tuple[Move, ...] = (
        Open("Homes for sale"),
        Slide(label, float(value)),
        Press("Apply"),
        SortBy(order),
        Open(best.title),
    )
    return _found(make, best, fitting, f"the {what} home {asked}", start)


def _found(make: Maker[Market], best: Home, fitting: list[Home], what: str, start: tuple[Move, ...]) -> Draft:
    """A draft that asks for one home by what it is best at: its address, and some of what is known about it."""
    subject = _subject(best)
    chosen = make.some(best.known, make.shape[0] - 1)
    text = f"{what[0].upper()}{what[1:]} is {best.title}."
    known = tuple(fact(make, subject, one) for one in chosen)
    facts = (named(make, subject, map(_subject, fitting), text, known), *known)
    ask = f"{what}: its address and its {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", f"Use the filters of {make.site.brand} to find {{}}.", "I am looking for {}."),
        (Group(ask, "The home that fits", facts, (*start, *seen(facts))),),
    )


@kind.task("pin", [(1, 4)])
def pin(make: Maker[Market]) -> Draft:
    """What lies behind a pin of a neighbourhood's map."""
    area = make.one(make.content.areas)
    inside = make.content.inside(area)
    home = make.one(inside)
    if [other.pin for other in inside].count(home.pin) > 1:
        raise CannotMake("two pins are alike")
    chosen = make.some([one for one in home.known if one.name != "price"], make.shape[0])
    facts = tuple(fact(make, _subject(home), one) for one in chosen)
    route: tuple[Move, ...] = (Search(area.name), Open(area.name), Open(home.pin), *seen(facts))
    names = listed([one.name for one in chosen])
    ask = f"the {names} of the home behind the pin “{home.pin}” on the map of the neighbourhood {area.name}"
    return Draft(
        ("Find {}.", "Open the map and find {}.", "Tell me {}."), (Group(ask, "The home on the map", facts, route),)
    )


@kind.task("collect", [(4, 8)])
def collect(make: Maker[Market]) -> Draft:
    place = make.one((0, 1, 3, 6))
    homes = make.some(make.content.homes, make.shape[0])
    facts, route = each(make, [(_subject(home), home.known[place]) for home in homes])
    ask = f"the {homes[0].known[place].name} of each of these homes: {listed([home.title for home in homes])}"
    return Draft(
        ("Make a list of {}.", "Collect {}.", "For our shortlist I need {}."), (Group(ask, "The list", facts, route),)
    )


@kind.task("loan", [(1, 2)])
def loan(make: Maker[Market]) -> Draft:
    """The calculator, once or twice."""
    facts, moves, asked = [], list[Move](), []
    for _ in range(make.shape[0]):
        amount, years = make.chance.randrange(5, 91) * 10, make.chance.randrange(1, 9) * 5
        monthly = make.content.payment(amount, years)
        checks = (Shown(make.host, "/calculator", (monthly, f"{years} years")), Says(monthly))
        text = f"A loan of ${amount},000 over {years} years costs {monthly} a month."
        facts.append(Fact(text, checks, f"${amount},000 over {years} years: {monthly}"))
        moves += [Open("Calculator"), Slide("Loan in thousand dollars", float(amount)), Slide("Years", float(years))]
        moves += [Press("Calculate"), See((monthly, f"{years} years"))]
        asked.append(f"${amount},000 over {years} years")
    ask = f"the monthly payment for a loan of {listed(asked)}"
    return Draft(
        ("Use the calculator to find {}.", f"What does the calculator of {make.site.brand} say is {{}}?"),
        (Group(ask, "Monthly payments", tuple(facts), tuple(moves)),),
    )


@kind.task("viewing", [(1, 5)])
def viewing(make: Maker[Market]) -> Draft:
    chance, home = make.chance, make.one(make.content.homes)
    given = (
        ("home", "home", home.title),
        ("day", "day", f"2026-0{chance.randrange(6, 10)}-{chance.randrange(1, 29):02d}"),
        ("time", "time", make.one(TIMES)),
        ("name", "name", f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"),
        ("phone", "telephone", f"555-{chance.randrange(1000, 9999)}"),
    )
    values = {key: value for key, _, value in given}
    kept = given[: make.shape[0]]
    facts = tuple(
        make.done(f"A viewing is requested with {label} {value}.", "viewing", (key, value)) for key, label, value in kept
    )
    route = (
        *_subject(home).way,
        Open("Request a viewing"),
        Fill("Day", values["day"]),
        Choose("Time", values["time"]),
        Fill("Your name", values["name"]),
        Fill("Telephone", values["phone"]),
        Press("Request viewing"),
        See(("Viewing requested",)),
    )
    ask = ", ".join(f"{label} {value}" for _, label, value in kept)
    return Draft(
        (
            "Request a viewing: {}. Anything else the form asks for is up to you.",
            "Arrange a viewing with {}; invent the rest.",
        ),
        (Group(ask, "The viewing", facts, route),),
    )


@kind.task("save", [(1, 2)])
def save(make: Maker[Market]) -> Draft:
    home = make.one(make.content.homes)
    known = home.known[6]
    facts = (
        make.done(f"The home at {home.title} is saved, and no other.", "saved", ("home", home.title)),
        fact(make, _subject(home), known),
    )[: make.shape[0]]
    ask = f"the home at {home.title} (and no other)" + (" and tell me its reference" if make.shape[0] == 2 else "")
    route = (*_subject(home).way, *seen(facts), Press("Save home"), See(("Saved homes",)))
    return Draft(("Save {}.", "Put on the list of saved homes {}."), (Group(ask, "The saved home", facts, route),))
