"""Tickets for live shows: plays, operas, ballets and concerts in the theatres of a region, with dates, seats, a box office.

Mechanics: a panel that narrows the programme, a sortable calendar, tabs, a seat plan of boxes to tick with seats already
sold, a booking in steps. A booking becomes the record `booking` with `show, date, count`, `seat:<seat>` for each, and the
form's `name, email, delivery, payment`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.blocks import (
    Accordion,
    Block,
    Card,
    CardRow,
    Cell,
    Columns,
    Detail,
    Facts,
    Hero,
    Link,
    Map,
    Notice,
    Page,
    Picture,
    Place,
    Prose,
    Redirect,
    Response,
    Review,
    Reviews,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.fronts import Finder, arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.pictures import gradient, hsl, subject
from webgym.worlds.sites.stages_content import GENRES, MONTHS, ROWS, SEATS, Evening, Season, Show, person, season
from webgym.worlds.words import listed, money

DELIVERY: Final = ("E-ticket", "Collect at the box office", "By post")
PAYMENT: Final = ("Credit card", "Gift voucher", "Invoice")


def _menu(site: Site, content: Season) -> tuple[Link, ...]:
    inside = tuple(Link(genre, f"/shows?genre={genre}") for genre in GENRES)
    return (
        Link("What's on", "/shows", inside),
        Link("Calendar", "/calendar"),
        Link("Venues", "/venues"),
        Link("Plan your visit", "/visit"),
        Link("My booking", "/booked"),
    )


def _findable(content: Season) -> tuple[Entry, ...]:
    shows = [Entry(show.title, show.href, f"{show.genre} at the {show.venue.name}") for show in content.shows]
    return (*shows, *(Entry(venue.name, venue.href, f"{venue.street}, {venue.city}") for venue in content.venues))


kind: Final = Kind(
    "stages",
    subdomain="Live Shows & Performances",
    words=("theatre", "stage", "stages", "playhouse", "opera", "boxoffice", "curtain", "footlights"),
    content=season,
    nav=_menu,
    entries=_findable,
    tagline=lambda site, content: f"{len(content.shows)} productions on {len(content.venues)} stages. Be there.",
)


@subject("stage")
def draw_stage(chance: random.Random, width: int, height: int) -> str:
    """A stage between curtains, under a light, with somebody or something on it."""
    hue, back = chance.choice((350, 0, 280, 220, 160)), chance.randrange(360)
    folds = max(4, width // 60)
    parts = [
        gradient("t", hsl(back, 45, 16), hsl(back + 30, 55, 42)),
        f'<rect width="{width}" height="{height}" fill="url(#t)"/>',
        f'<g fill="#fff3c4"><polygon points="{width * 0.5:.0f},0 {width * 0.22:.0f},{height} {width * 0.78:.0f},{height}"',
        f' opacity=".3"/><ellipse cx="{width / 2:.0f}" cy="{height * 0.9:.0f}" rx="{width * 0.34:.0f}"',
        f' ry="{height * 0.09:.0f}" opacity=".55"/></g>',
    ]
    for _ in range(chance.randrange(1, 4)):
        x, tall = width * chance.uniform(0.34, 0.66), height * chance.uniform(0.26, 0.42)
        r, foot = tall * 0.15, height * 0.9
        parts.append(
            f'<circle cx="{x:.0f}" cy="{foot - tall:.0f}" r="{r:.0f}" fill="#14110f"/>'
            f'<path d="M{x - r * 1.5:.0f} {foot:.0f} Q{x - r:.0f} {foot - tall * 0.9:.0f} {x:.0f} {foot - tall * 0.86:.0f} '
            f'Q{x + r:.0f} {foot - tall * 0.9:.0f} {x + r * 1.5:.0f} {foot:.0f}Z" fill="#14110f"/>'
        )
    for n in range(folds):
        wide = width * 0.2 / folds
        for left in (n * wide, width - (n + 1) * wide):
            tone = hsl(hue, 62, 30 + 9 * (n % 2))
            parts.append(f'<rect x="{left:.1f}" width="{wide + 0.6:.1f}" height="{height}" fill="{tone}"/>')
    parts.append(f'<rect width="{width}" height="{height * 0.1:.0f}" fill="{hsl(hue, 62, 26)}"/>')
    return "".join(parts)


@dataclass(frozen=True)
class SeatPlan(Block):
    """Seats to tick, row by row: (row, price, ((seat, free), …)). It posts `seat-A1=yes` for each."""

    heading: str
    action: str
    rows: tuple[tuple[str, str, tuple[tuple[str, bool], ...]], ...]
    submit: str
    problem: str = ""

    template = "stages/seat_plan.html"


def free(site: Site, show: Show, evening: Evening, seat: str) -> bool:
    return site.number("sold", show.slug, evening.number, seat) % 3 != 0


def _card(show: Show) -> Card:
    return Card(
        show.title,
        show.href,
        Picture("stage", show.slug, 480, 600),
        f"from {money(show.cents)}",
        badge=show.genre,
        meta=(show.venue.name, f"{show.minutes} min", f"from {show.evenings[0].date}"),
        stars=show.stars,
        votes=show.votes,
    )


@kind.page("/")
def home(visit: Visit[Season]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    picks = chance.sample(content.shows, 9)
    star = picks[0]
    soon = sorted(((show.evenings[0], show) for show in picks), key=lambda pair: pair[0].order)[:6]
    hero = Hero(
        star.title,
        f"A {star.genre.lower()} by {star.writer}, directed by {star.director}. At the {star.venue.name}.",
        Picture("stage", star.slug, 1000, 620),
        Link("Book tickets", star.href),
        Link("Whole programme", "/shows"),
    )
    panel = Finder(
        "What would you like to see?",
        "/shows",
        (("genre", "Genre", GENRES), ("venue", "Venue", tuple(sorted(venue.name for venue in content.venues)))),
        "Show programme",
    )
    rows = tuple(
        (evening.date, evening.time, Cell(show.title, show.href), show.venue.name, Cell(money(show.cents), number=True))
        for evening, show in soon
    )
    table = Table("Next on stage", ("Date", "Time", "Show", "Venue", "From"), rows)
    posters = CardRow("Now booking", tuple(map(_card, picks[1:7])), Link("All shows", "/shows"))
    houses = Tiles("Our stages", tuple((Link(venue.name, venue.href), venue.city, None) for venue in content.venues[:6]))
    return Page("Home", arranged(visit.site.style.layout, hero, panel, table, posters, houses))


@kind.page("/shows")
def shows(visit: Visit[Season]) -> Response:
    listing = Listing(
        visit.content.shows,
        _card,
        lambda show: f"{show.title} {show.genre} {show.venue.name} {show.director}",
        (
            Facet("genre", "Genre", lambda show: show.genre),
            Facet("venue", "Venue", lambda show: show.venue.name),
            Facet("month", "Opens in", lambda show: show.evenings[0].month),
        ),
        (Limit("max", "Maximum price", lambda show: show.cents / 100, 0, 100, 5, "$"),),
        (
            Sort("short", "Shortest first", lambda show: show.minutes),
            Sort("cheap", "Price: low to high", lambda show: show.cents),
            Sort("stars", "Best rated", lambda show: show.stars * 10_000 + show.votes, down=True),
        ),
        per_page=9,
    )
    return Page("What's on", (visit.listing(listing, "What's on"),))


@kind.page("/calendar")
def calendar(visit: Visit[Season]) -> Response:
    tabs = []
    for month in MONTHS:
        evenings = [(one, show) for show in visit.content.shows for one in show.evenings if one.month == month]
        rows = tuple(
            (one.date, one.time, Cell(show.title, show.href), show.genre, show.venue.name)
            for one, show in sorted(evenings, key=lambda pair: (pair[0].order, pair[0].time, pair[1].title))
        )
        tabs.append((month, (Table("", ("Date", "Time", "Show", "Genre", "Venue"), rows),)))
    return Page("Calendar", (Tabs(tuple(tabs)),), heading="Calendar")


@kind.page("/show/{slug}")
def show_page(visit: Visit[Season]) -> Response:
    show = visit.content.find(visit.argument("slug"))
    if show is None:
        return NOT_FOUND
    chance = visit.site.draw("show", show.slug)
    lead = chance.choice(
        (
            f"{show.cast[0][0]} and {show.cast[1][0]} meet where nobody should be. A {show.genre.lower()} about loyalty.",
            f"One night, {len(show.cast)} people and a secret: the {show.genre.lower()} everybody talks about.",
            f"{show.company} returns with a {show.genre.lower()} that is as funny as it is sad.",
        )
    )
    detail = Detail(
        show.title,
        (Picture("stage", show.slug, 720, 520),),
        stars=show.stars,
        votes=show.votes,
        lead=lead,
        rows=show.rows,
        links=(Link(f"About the {show.venue.name}", show.venue.href),),
    )
    rows = tuple((Cell(one.date, f"{show.href}/{one.number}"), one.time, "Choose seats") for one in show.evenings)
    dates = Table("", ("Date", "Time", ""), rows, note="Choose a date to see the seats.")
    cast = Table("", ("Role", "Played by"), tuple((role, who) for role, who in show.cast))
    reviews = Reviews(
        "",
        tuple(
            Review(person(chance), chance.randrange(3, 6), title, text)
            for title, text in (
                ("An evening to remember", "The second half had the whole house on its feet."),
                ("Worth the trip", "Fine voices, a clever set, and seats that are kind to long legs."),
            )
        ),
    )
    tabs = Tabs((("Dates and tickets", (dates,)), ("Cast", (cast,)), ("Reviews", (reviews,))))
    return Page(show.title, (detail, tabs), (Link("What's on", "/shows"), Link(show.title, show.href)))


@kind.page("/show/{slug}/{number}")
def seats_page(visit: Visit[Season]) -> Response:
    show = visit.content.find(visit.argument("slug"))
    wanted = visit.argument("number")
    evening = next((one for one in show.evenings if str(one.number) == wanted), None) if show else None
    if show is None or evening is None:
        return NOT_FOUND
    problem = ""
    every = [f"{row}{place}" for row in ROWS for place in range(1, SEATS + 1)]
    if visit.posted is not None:
        taken = [seat for seat in every if f"seat-{seat}" in visit.posted and free(visit.site, show, evening, seat)]
        if taken:
            visit.memory.choices["seats"] = f"{show.slug}/{evening.number}/{','.join(taken)}"
            return Redirect("/book")
        problem = "Choose at least one seat."
    rows = tuple(
        (
            row,
            money(show.price(row)),
            tuple((seat, free(visit.site, show, evening, seat)) for seat in every if seat[0] == row),
        )
        for row in ROWS
    )
    facts = Facts("", (("Date", evening.date), ("Time", evening.time), ("Venue", show.venue.name)))
    plan = SeatPlan("", visit.path, rows, "Continue to booking", problem)
    crumbs = (Link(show.title, show.href), Link("Seats", visit.path))
    return Page(f"Seats for {show.title}", (facts, plan), crumbs, heading=f"Choose your seats for {show.title}")


_BOOKING: Final = Form(
    "booking",
    (
        FormStep("Your details", (Field("name", "Full name"), Field("email", "E-mail", "email"))),
        FormStep("Tickets", (Field("delivery", "Ticket delivery", "radio", DELIVERY),)),
        FormStep(
            "Payment",
            (Field("payment", "Payment method", "select", PAYMENT), Field("terms", "I accept the house rules", "checkbox")),
        ),
    ),
    submit="Book now",
)


@kind.page("/book")
def book(visit: Visit[Season]) -> Response:
    slug, _, rest = visit.memory.choices.get("seats", "").partition("/")
    number, _, taken = rest.partition("/")
    show = visit.content.find(slug)
    if show is None:
        return Redirect("/shows")
    evening, seats = show.evenings[int(number) - 1], taken.split(",")
    total = sum(show.price(seat[0]) for seat in seats)
    values = visit.filled(_BOOKING)
    rows = (("Show", show.title), ("Date", evening.date), ("Seats", listed(seats)), ("Total", money(total)))
    if values is None:
        return Page("Booking", (Columns(((visit.form(_BOOKING),), (Facts("Your seats", rows),))),), heading="Booking")
    booked = {f"seat:{seat}": "yes" for seat in seats}
    fields = {"show": show.title, "date": evening.date, "count": str(len(seats)), **booked, **values, "total": money(total)}
    visit.memory.record("booking", fields)
    del visit.memory.choices["seats"]
    return Redirect("/booked")


@kind.page("/booked")
def booked_page(visit: Visit[Season]) -> Response:
    made = visit.memory.all("booking")
    if not made:
        nothing = Notice("You have not booked anything yet.", link=Link("See what's on", "/shows"))
        return Page("My booking", (nothing,), heading="My booking")
    fields = made[-1].fields
    seats = [key.removeprefix("seat:") for key in fields if key.startswith("seat:")]
    number = f"T{visit.site.number('booking', len(made)) % 900_000 + 100_000}"
    rows = (
        ("Booking number", number),
        ("Show", fields["show"]),
        ("Date", fields["date"]),
        ("Seats", listed(seats)),
        ("Ticket delivery", fields["delivery"]),
        ("Total", fields["total"]),
    )
    thanks = Notice(f"A confirmation is on its way to {fields['email']}.", "good", "Your seats are booked")
    return Page("My booking", (thanks, Facts("Your booking", rows)), heading="Booking confirmed")


@kind.page("/venues")
def venues(visit: Visit[Season]) -> Response:
    places = tuple(Place(venue.name, venue.x, venue.y, venue.href, venue.city) for venue in visit.content.venues)
    rows = tuple(
        (Cell(venue.name, venue.href), venue.city, venue.street, Cell(f"{venue.seats} seats", number=True))
        for venue in visit.content.venues
    )
    table = Table("All venues", ("Venue", "City", "Address", "Capacity"), rows)
    return Page("Venues", (Map("", "venues", places), table), heading="Venues")


@kind.page("/venue/{slug}")
def venue_page(visit: Visit[Season]) -> Response:
    venue = next((venue for venue in visit.content.venues if venue.href == visit.path), None)
    if venue is None:
        return NOT_FOUND
    inside = tuple(_card(show) for show in visit.content.shows if show.venue is venue)
    detail = Detail(
        venue.name,
        (Picture("house", venue.slug, 720, 480),),
        lead=f"Opened in {venue.opened} and loved ever since: the {venue.name} is the stage of {venue.city}.",
        rows=venue.rows,
        links=(Link("All venues", "/venues"),),
    )
    blocks = (detail, CardRow(f"On at the {venue.name}", inside)) if inside else (detail,)
    return Page(venue.name, blocks, (Link("Venues", "/venues"), Link(venue.name, venue.href)))


@kind.page("/visit")
def plan_visit(visit: Visit[Season]) -> Response:
    chance = visit.site.draw("visit")
    answers = (
        ("When do the doors open?", f"Doors open {chance.choice((30, 45, 60))} minutes before the show."),
        ("Can I return my tickets?", f"Until {chance.randrange(2, 10)} days before the show, for a fee of $2.00 each."),
        ("Is there a cloakroom?", "Yes, in every house, free of charge."),
        ("What if I am late?", "We let you in at the next pause. Please be quiet."),
    )
    text = ("Come early, have something to drink, and switch off your phone.", "All our houses have seats for wheelchairs.")
    return Page("Plan your visit", (Prose("", text), Accordion("Good to know", answers)), heading="Plan your visit")
