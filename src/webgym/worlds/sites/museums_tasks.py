"""Tasks of the museums: look up, compare prices, filter, collect, buy tickets for a time slot."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Open, Press, See, SortBy
from webgym.worlds.sites.museums import kind
from webgym.worlds.sites.museums_content import DAYS, TICKETS, House, Scene, Show, Work
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, money


def _show(show: Show) -> Topic:
    prices = tuple(
        Known(
            f"price of a ticket for {'an adult' if name == 'Adult' else f'a {name.lower()}'}",
            money(cents),
            opener=(Press("Prices"),),
        )
        for name, cents in zip(TICKETS, show.prices, strict=True)
    )
    time, left = show.slots[0]
    places = Known(f"number of places in the {time} slot", str(left), f"{left} places", opener=(Press("Time slots"),))
    return Topic(
        show.name,
        show.href,
        f"the exhibition “{show.name}”",
        (
            *prices[:3],
            places,
            Known("closing date", show.closes),
            Known("opening date", show.opens),
            Known("time needed in minutes", str(show.minutes), f"{show.minutes} minutes"),
            Known("curator", show.curator),
        ),
    )


def _house(house: House) -> Topic:
    hours = tuple(Known(f"opening hours on {day}", open_) for day, open_ in zip(DAYS, house.hours, strict=True))
    knowns = (
        Known("founding year", str(house.founded)),
        Known("director", house.director),
        Known("number of objects", str(house.objects), f"{house.objects:,} objects"),
        Known("telephone number", house.phone),
        *hours[3:6],
    )
    return Topic(house.name, house.href, f"the {house.name}", knowns)


def _work(work: Work) -> Topic:
    knowns = (
        Known("artist", work.artist),
        Known("year", str(work.year)),
        Known("technique", work.technique),
        Known("inventory number", work.inventory),
        Known("size", work.size),
    )
    return Topic(work.name, work.href, f"the work “{work.name}”", knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Scene]) -> Draft:
    content = make.content
    topics = [*map(_show, content.shows), *map(_house, content.houses), *map(_work, content.works)]
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "We are planning a day of museums. Tell me {}.",
        "Check this site for {}.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


@kind.task("compare", [(3, 5)])
def compared(make: Maker[Scene]) -> Draft:
    if make.chance.random() < 0.5:
        return compare(make, make.content.works, _work, "year", lambda work: work.year, "oldest work", most=False)
    asked = "price of a ticket for an adult"
    return compare(make, make.content.shows, _show, asked, lambda show: show.prices[0], "dearest exhibition")


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[Scene]) -> Draft:
    if make.chance.random() < 0.5:
        return _oldest(make)
    by = make.one(("Museum", "Type"))
    value = make.one(sorted({show.house if by == "Museum" else show.sort for show in make.content.shows}))
    fitting = [show for show in make.content.shows if (show.house if by == "Museum" else show.sort) == value]
    what, order, short = make.one(
        (("cheapest for an adult", "Price: low to high", False), ("shortest", "Shortest visit", True))
    )
    best = one_best(make, fitting, lambda show: show.minutes if short else show.prices[0], most=False)
    way = (Open("What's on"), Filter(by, value), SortBy(order), Open(best.name))
    said = f"at the {value}" if by == "Museum" else f"of type “{value}”"
    ask = f"among the exhibitions {said}, the one that is {what}"
    return best_fit(
        make,
        _show(best),
        map(_show, fitting),
        ask,
        way,
        ("Find, {}.", "Use the filters and find, {}.", "We want to see, {}."),
    )


def _oldest(make: Maker[Scene]) -> Draft:
    technique = make.one(sorted({work.technique for work in make.content.works}))
    fitting = [work for work in make.content.works if work.technique == technique]
    best = one_best(make, fitting, lambda work: work.year, most=False)
    way = (Open("The collection"), Filter("Technique", technique), SortBy("Oldest first"), Open(best.name))
    ask = f"the oldest work of the technique “{technique}” in the collection"
    return best_fit(
        make, _work(best), map(_work, fitting), ask, way, ("Find {}.", "Look through the collection for {}.", "Show me {}.")
    )


@kind.task("collect", [(4, 10)])
def collect(make: Maker[Scene]) -> Draft:
    openings = ("Collect {}.", "For a catalogue, note {}.", "List {}.")
    if make.chance.random() < 0.5:
        works = make.some(make.content.works, make.shape[0])
        return each(make, list(map(_work, works)), make.one(("artist", "inventory number", "year")), openings)
    shows = make.some(make.content.shows, make.shape[0])
    return each(make, list(map(_show, shows)), make.one(("closing date", "curator", "time needed in minutes")), openings)


@kind.task("tickets", [(1, 6)])
def tickets(make: Maker[Scene]) -> Draft:
    chance, show = make.chance, make.one(make.content.shows)
    day = f"2026-{chance.randrange(7, 10):02d}-{chance.randrange(1, 29):02d}"
    slot, name = chance.choice(show.slots)[0], f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    counts = {ticket: str(chance.randrange(1, 6)) for ticket in TICKETS[:3]}
    entered = (
        Entered("show", show.slug, f"for “{show.name}”"),
        Entered("adult", counts["Adult"], f"number of adult tickets {counts['Adult']}"),
        Entered("day", day, f"on {day}"),
        Entered("slot", slot, f"time slot {slot}"),
        Entered("child", counts["Child"], f"number of child tickets {counts['Child']}"),
        Entered("student", counts["Student"], f"number of student tickets {counts['Student']}"),
    )
    ask, facts = submitted(make, "tickets", "Tickets are bought", entered)
    route = (
        *_show(show).way,
        Open("Buy tickets"),
        Fill("Day of the visit", day),
        Choose("Time slot", slot),
        Press("Continue"),
        *(Fill(f"{ticket} tickets", count) for ticket, count in counts.items()),
        Press("Continue"),
        Fill("Full name", name),
        Fill("E-mail", "visitor@example.com"),
        Choose("Payment", "Credit card"),
        Press("Buy tickets"),
        See(("Tickets bought",)),
    )
    openings = ("Buy tickets {}. Anything else is up to you.", f"On {make.site.brand}, get tickets {{}}; invent the rest.")
    return Draft(openings, (Group(ask, "The tickets", facts, route),))
