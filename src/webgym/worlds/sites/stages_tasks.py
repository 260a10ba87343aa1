"""Tasks of the box office: look up shows and venues, compare, find the one that fits, collect a programme, book seats."""

from __future__ import annotations

from webgym.worlds.making import CannotMake, Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, Search, See, SortBy, Tick
from webgym.worlds.sites.stages import DELIVERY, PAYMENT, free, kind
from webgym.worlds.sites.stages_content import ROWS, SEATS, Season, Show, Venue
from webgym.worlds.subjects import Known, Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import FAMILY, GIVEN, listed, money


def _subject(thing: Show | Venue) -> Topic:
    if isinstance(thing, Show):
        return Topic(thing.title, thing.href, f"the show “{thing.title}”")
    return Topic(thing.name, thing.href, f"the {thing.name}")


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Season]) -> Draft:
    things: list[Show | Venue] = [*make.content.shows, *make.content.venues]
    chosen = make.some(things, len(make.shape))
    groups = tuple(about(make, _subject(thing), thing.known, size) for thing, size in zip(chosen, make.shape, strict=True))
    return Draft(
        (
            "Find {}.",
            f"On {make.site.brand}, look up {{}}.",
            "I am planning an evening out. Tell me {}.",
            "Please report {}, as given on this site.",
        ),
        groups,
    )


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Season]) -> Draft:
    shows = make.some(make.content.shows, make.shape[0] - 1)
    if make.chance.random() < 0.5:
        things = [(_subject(show), show.known[3], float(show.minutes)) for show in shows]
        group = compared(make, "running times", "shortest", things, least=True)
    else:
        things = [(_subject(show), show.known[5], float(show.cents)) for show in shows]
        group = compared(make, "lowest ticket prices", "cheapest", things, least=True)
    return Draft(("Find out {}.", "Compare for me {}.", "Before I book, I want to know {}."), (group,))


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[Season]) -> Draft:
    """The shortest or cheapest show of a genre, or at a venue."""
    by = make.one(("Genre", "Venue"))
    value = make.one(sorted({show.genre if by == "Genre" else show.venue.name for show in make.content.shows}))
    fitting = [show for show in make.content.shows if value == (show.genre if by == "Genre" else show.venue.name)]
    word, order = make.one((("shortest", "Shortest first"), ("cheapest", "Price: low to high")))
    ranked = sorted(show.minutes if word == "shortest" else show.cents for show in fitting)
    if len(ranked) < 2 or ranked[0] == ranked[1]:
        raise CannotMake("not one that fits best")
    best = next(show for show in fitting if (show.minutes if word == "shortest" else show.cents) == ranked[0])
    subject = _subject(best)
    chosen = make.some([one for one in best.known if one.name != "venue"], make.shape[0] - 1)
    where = f"of the genre {value}" if by == "Genre" else f"at the {value}"
    known = tuple(fact(make, subject, one) for one in chosen)
    text = f"The {word} show {where} is {best.title}."
    facts = (named(make, subject, map(_subject, fitting), text, known), *known)
    route: tuple[Move, ...] = (Open("What's on"), Filter(by, value), SortBy(order), Open(best.title), *seen(facts))
    ask = f"the {word} show {where}: its title and its {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", f"Use the programme of {make.site.brand} to find {{}}.", "Which one is {}?"),
        (Group(ask, "The show that fits", facts, route),),
    )


@kind.task("cast", [(1, 5), (0, 5)])
def cast(make: Maker[Season]) -> Draft:
    """Who plays what: behind a tab of the show's page."""
    groups = []
    for show, size in zip(make.some(make.content.shows, len(make.shape)), make.shape, strict=True):
        subject = _subject(show)
        roles = make.some(show.cast, size)
        facts = tuple(fact(make, subject, Known(f"performer of the role “{role}”", who)) for role, who in roles)
        route = (*subject.way, Press("Cast"), *seen(facts))
        ask = f"who plays {listed([f'“{role}”' for role, _ in roles])} in {subject.spoken}"
        groups.append(Group(ask, f"The cast of {show.title}", facts, route))
    return Draft(("Find out {}.", "I would like to know {}.", "Look at the cast and tell me {}."), tuple(groups))


@kind.task("collect", [(4, 8)])
def collect(make: Maker[Season]) -> Draft:
    """One particular of each of many shows."""
    place = make.one((0, 1, 3))
    shows = make.some(make.content.shows, make.shape[0])
    what = shows[0].known[place].name
    facts, route = each(make, [(_subject(show), show.known[place]) for show in shows])
    ask = f"the {what} of each of these shows: {listed([show.title for show in shows])}"
    return Draft(
        ("Make a list of {}.", "Collect {}.", f"For a leaflet I need {{}}. Take them from {make.site.brand}."),
        (Group(ask, "The list", facts, route),),
    )


@kind.task("book", [(1, 2), (0, 2)])
def book(make: Maker[Season]) -> Draft:
    chance = make.chance
    show = make.one(make.content.shows)
    evening = make.one(show.evenings)
    row = make.one(ROWS)
    open_seats = [f"{row}{n}" for n in range(1, SEATS + 1) if free(make.site, show, evening, f"{row}{n}")]
    seats = sorted(make.some(open_seats, chance.randrange(1, 4)))
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    email, delivery, payment = f"{name.split()[0].lower()}@example.com", make.one(DELIVERY), make.one(PAYMENT)
    chosen = tuple((f"seat:{seat}", "yes") for seat in seats)
    total = money(sum(show.price(seat[0]) for seat in seats))
    facts = (
        make.done(
            f"Seats {listed(seats)} are booked for {show.title} on {evening.date}.",
            "booking",
            ("show", show.title),
            ("date", evening.date),
            ("count", str(len(seats))),
            *chosen,
        ),
        make.find("/booked", "Your booking", "total", total),
    )[: make.shape[0]]
    many = "seat" if len(seats) == 1 else "seats"
    ask = f"{many} {listed(seats)} for “{show.title}” on {evening.date}"
    if make.shape[0] == 2:
        ask += " (and report the total that the confirmation gives)"
    moves: tuple[Move, ...] = (
        Search(show.title),
        Open(show.title),
        Open(evening.date),
        *(Tick(f"Seat {seat}") for seat in seats),
        Press("Continue to booking"),
    )
    groups = [Group(ask, "The seats", facts, moves)]
    if len(make.shape) > 1:
        more = (
            make.done(f"The tickets are delivered as: {delivery}.", "booking", ("delivery", delivery)),
            make.done(f"The booking is for {name}, {email}.", "booking", ("name", name), ("email", email)),
        )[: make.shape[1]]
        asked = f"the ticket delivery “{delivery}”"
        asked += f", booked for {name} ({email})" if make.shape[1] == 2 else ""
        groups.append(Group(asked, "How the tickets are delivered", more))
    end: tuple[Move, ...] = (
        Fill("Full name", name),
        Fill("E-mail", email),
        Press("Continue"),
        Choose("Ticket delivery", delivery),
        Press("Continue"),
        Choose("Payment method", payment),
        Tick("I accept the house rules"),
        Press("Book now"),
        See(("Booking confirmed",)),
        *((See((total,)),) if make.shape[0] == 2 else ()),
    )
    return Draft(
        (
            "Book {}. Invent what the forms ask for beyond that.",
            f"Please get me {{}} at {make.site.brand}; anything else is up to you.",
        ),
        tuple(groups),
        end=end,
    )
