"""Museum tickets: houses with their hours, exhibitions, a collection, tickets for a time slot with a checkout in steps.

Tasks: look up exhibitions, houses and works, compare prices, filter, collect, buy tickets.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

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
    Response,
    Review,
    Reviews,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.museums_content import DAYS, SORTS, TICKETS, Scene, Show, Work, scene
from webgym.worlds.words import money, person

_SHAPES: Final = {"Bronze": "vase", "Marble": "vase", "Silver print": "face"}


def menu(site: Site, content: Scene) -> tuple[Link, ...]:
    return (
        Link(
            "What's on", "/exhibitions", tuple(Link(sort, f"/exhibitions?{urlencode({'sort_of': sort})}") for sort in SORTS)
        ),
        Link("Museums", "/museums", tuple(Link(house.name, house.href) for house in content.houses)),
        Link("The collection", "/collection"),
        Link("Plan your visit", "/visit"),
    )


def findable(content: Scene) -> tuple[Entry, ...]:
    houses = [Entry(house.name, house.href, "Museum") for house in content.houses]
    works = [Entry(work.name, work.href, f"Work by {work.artist}") for work in content.works]
    return (*(Entry(show.name, show.href, show.sort) for show in content.shows), *houses, *works)


def tagline(site: Site, content: Scene) -> str:
    return f"Tickets for {len(content.houses)} museums in {content.city}, without the queue."


kind: Final = Kind(
    "museums",
    subdomain="Ticketed Activities",
    words=("museum", "museums", "exhibits", "galleries", "exhibitions", "admission"),
    content=scene,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(show: Show) -> Card:
    return Card(
        show.name,
        show.href,
        Picture("abstract", show.slug),
        f"from {money(min(show.prices))}",
        badge=show.sort,
        meta=(show.house, f"until {show.closes}"),
        stars=show.stars,
        votes=show.votes,
    )


def _work_picture(work: Work, width: int = 600, height: int = 450) -> Picture:
    shape = _SHAPES.get(work.technique) or ("landscape", "face", "abstract")[len(work.name) % 3]
    return Picture(shape, work.slug, width, height)


@kind.page("/")
def home(visit: Visit[Scene]) -> Response:
    site, content = visit.site, visit.content
    chance = site.draw("home")
    star = chance.choice(content.shows)
    hero = Hero(
        star.name,
        f"Now at the {star.house}. {tagline(site, content)}",
        Picture("abstract", star.slug, 900, 600),
        Link("Buy tickets", f"/tickets/{star.slug}"),
        Link("See what's on", "/exhibitions"),
    )
    shown = CardRow("On now", tuple(map(_card, chance.sample(content.shows, 6))), Link("All exhibitions", "/exhibitions"))
    houses = Tiles(
        "Museums", tuple((Link(h.name, h.href), h.street, Picture("house", h.slug, 300, 200)) for h in content.houses)
    )
    works = CardRow(
        "From the collection",
        tuple(map(_work_card, chance.sample(content.works, 4))),
        Link("The whole collection", "/collection"),
    )
    today = Table(
        "Opening hours on Saturday", ("Museum", "Hours"), tuple((Cell(h.name, h.href), h.hours[5]) for h in content.houses)
    )
    rest: tuple[Block, ...] = (shown, houses, works, today)
    at = site.style.layout % len(rest)
    return Page("Home", (hero, *rest[at:], *rest[:at]))


@kind.page("/exhibitions")
def exhibitions(visit: Visit[Scene]) -> Response:
    listing = Listing(
        visit.content.shows,
        _card,
        lambda show: f"{show.name} {show.house} {show.sort}",
        (
            Facet("house", "Museum", lambda show: show.house),
            Facet("sort_of", "Type", lambda show: show.sort),
        ),
        (Limit("max", "Maximum price", lambda show: show.prices[0] / 100, 0, 30, 1, "$"),),
        (
            Sort("cheap", "Price: low to high", lambda show: show.prices[0]),
            Sort("end", "Closing soon", lambda show: show.closes),
            Sort("short", "Shortest visit", lambda show: show.minutes),
        ),
        per_page=8,
    )
    return Page("What's on", (visit.listing(listing, "Exhibitions and tours"),))


@kind.page("/exhibitions/{slug}")
def show_page(visit: Visit[Scene]) -> Response:
    show = visit.content.show(visit.argument("slug"))
    if show is None:
        return NOT_FOUND
    detail = Detail(
        show.name,
        tuple(Picture("abstract", show.slug if n == 0 else f"{show.slug}-{n}", 720, 540) for n in range(3)),
        f"from {money(min(show.prices))}",
        badge=show.sort,
        stars=show.stars,
        votes=show.votes,
        lead=f"{show.curator} has brought together what was never seen side by side.",
        rows=show.rows,
        links=(
            Link("Buy tickets", f"/tickets/{show.slug}"),
            Link(show.house, f"/museums/{show.house.lower().replace(' ', '-')}"),
        ),
    )
    prices = Table(
        "",
        ("Ticket", "Price"),
        tuple((name, Cell(money(cents), number=True)) for name, cents in zip(TICKETS, show.prices, strict=True)),
    )
    slots = Table("", ("Time slot", "Places a day"), tuple((time, f"{left} places") for time, left in show.slots))
    said = Reviews("", tuple(_review(visit.site, show, n) for n in range(3)))
    tabs = Tabs((("Prices", (prices,)), ("Time slots", (slots,)), ("Voices", (said,))))
    return Page(show.name, (detail, tabs), (Link("What's on", "/exhibitions"), Link(show.name, show.href)))


def _review(site: Site, show: Show, n: int) -> Review:
    chance = site.draw("review", show.slug, n)
    title = chance.choice(("Stayed longer than planned", "Beautifully hung", "Go early", "Moving", "Good for children"))
    text = chance.choice(("The last room alone is worth it.", "The audio guide is excellent.", "Well lit and well told."))
    return Review(person(chance.randrange(500), chance.randrange(500)), chance.randrange(3, 6), title, text)


def ticket_form(show: Show) -> Form:
    when = (
        Field("day", "Day of the visit", "date"),
        Field("slot", "Time slot", "radio", tuple(time for time, _ in show.slots)),
    )
    counts = tuple(
        Field(name.lower(), f"{name} tickets", "stepper", least=0, most=10, value="0", hint=f"{money(cents)} each")
        for name, cents in zip(TICKETS, show.prices, strict=True)
    )
    who = (
        Field("name", "Full name"),
        Field("email", "E-mail", "email"),
        Field("payment", "Payment", "radio", ("Credit card", "Invoice", "Voucher")),
    )
    steps = (FormStep("Date and time", when), FormStep("Tickets", counts), FormStep("Checkout", who))
    return Form(f"tickets-{show.slug}", steps, submit="Buy tickets")


@kind.page("/tickets/{slug}")
def tickets(visit: Visit[Scene]) -> Response:
    show = visit.content.show(visit.argument("slug"))
    if show is None:
        return NOT_FOUND
    form = ticket_form(show)
    values = visit.filled(form)
    if values is not None and not any(int(values[name.lower()]) for name in TICKETS):
        notice = Notice("Choose at least one ticket, then check out again.", "bad", "No tickets")
        return Page("Tickets", (notice, visit.form(form)), heading=f"Tickets: {show.name}")
    if values is None:
        side = (
            Facts(show.name, tuple((name, money(cents)) for name, cents in zip(TICKETS, show.prices, strict=True))),
            Facts("", show.rows),
        )
        return Page("Tickets", (Columns(((visit.form(form),), side)),), heading=f"Tickets: {show.name}")
    total = money(sum(int(values[name.lower()]) * cents for name, cents in zip(TICKETS, show.prices, strict=True)))
    visit.memory.record("tickets", {"show": show.slug, **values, "total": total})
    code = f"{visit.site.number('tickets', show.slug, values['day']) % 900_000 + 100_000}"
    rows = (("Order", code), ("Day", values["day"]), ("Time", values["slot"]), ("Total", total))
    thanks = Notice(f"Your tickets are on their way to {values['email']}.", "good", "Tickets bought")
    return Page("Tickets bought", (thanks, Facts(show.name, rows)), heading="Enjoy your visit")


@kind.page("/museums")
def museums(visit: Visit[Scene]) -> Response:
    places = tuple(Place(house.name, house.x, house.y, house.href) for house in visit.content.houses)
    rows = tuple((Cell(house.name, house.href), house.street, house.phone) for house in visit.content.houses)
    return Page(
        "Museums",
        (Map("", "museums", places), Table("All museums", ("Museum", "Address", "Telephone"), rows)),
        heading="Museums",
    )


@kind.page("/museums/{slug}")
def house_page(visit: Visit[Scene]) -> Response:
    house = next((house for house in visit.content.houses if house.href == visit.path), None)
    if house is None:
        return NOT_FOUND
    detail = Detail(
        house.name,
        (Picture("house", house.slug, 720, 480),),
        lead=f"In {visit.content.city} since {house.founded}.",
        rows=house.rows,
    )
    hours = Table("Opening hours", ("Day", "Open"), tuple(zip(DAYS, house.hours, strict=True)))
    shows = CardRow("On now", tuple(_card(show) for show in visit.content.shows if show.house == house.name))
    return Page(house.name, (detail, hours, shows), (Link("Museums", "/museums"), Link(house.name, house.href)))


def _work_card(work: Work) -> Card:
    return Card(work.name, work.href, _work_picture(work), meta=(work.artist, str(work.year)), text=work.technique)


@kind.page("/collection")
def collection(visit: Visit[Scene]) -> Response:
    listing = Listing(
        visit.content.works,
        _work_card,
        lambda work: f"{work.name} {work.artist} {work.technique}",
        (
            Facet("artist", "Artist", lambda work: work.artist),
            Facet("technique", "Technique", lambda work: work.technique),
            Facet("house", "Museum", lambda work: work.house),
        ),
        (Limit("until", "Latest year", lambda work: work.year, 1500, 2000, 10),),
        (Sort("old", "Oldest first", lambda work: work.year), Sort("name", "Title", lambda work: work.name)),
        per_page=12,
        endless=True,
    )
    return Page("The collection", (visit.listing(listing, "The collection"),))


@kind.page("/collection/{slug}")
def work_page(visit: Visit[Scene]) -> Response:
    work = next((work for work in visit.content.works if work.href == visit.path), None)
    if work is None:
        return NOT_FOUND
    detail = Detail(
        work.name,
        (_work_picture(work, 720, 540),),
        badge=work.technique,
        lead=f"{work.artist}, {work.year}.",
        rows=work.rows,
    )
    others = tuple(
        _work_card(other) for other in visit.content.works if other.technique == work.technique and other is not work
    )[:4]
    blocks = (detail, CardRow("In the same technique", others)) if others else (detail,)
    return Page(work.name, blocks, (Link("The collection", "/collection"), Link(work.name, work.href)))


@kind.page("/visit")
def plan(visit: Visit[Scene]) -> Response:
    chance = visit.site.draw("visit")
    answers = (
        ("Can I change a ticket?", f"Yes, until {chance.choice((2, 6, 12, 24))} hours before the slot."),
        ("Are bags allowed?", f"Up to {chance.choice((20, 25, 30, 40))} centimetres; larger ones go into a locker."),
        ("Is there a guide for children?", "Yes, at the desk of every museum."),
        ("May I take photographs?", "Without flash, unless a sign says otherwise."),
    )
    return Page("Plan your visit", (Accordion("Questions and answers", answers),), heading="Plan your visit")
