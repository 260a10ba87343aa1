"""A public library: a catalogue with copies in several branches, authors, events, and an account with loans and holds.

Mechanics: log-in with given credentials, holds and renewals behind it (records `hold` with `book, pickup, format` and
`renewal` with `book`), a tab for the copies, a frame with today's notice, registration for events (`event`), a map.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds.account import has_accounts
from webgym.worlds.blocks import (
    Accordion,
    Button,
    Buttons,
    Card,
    CardRow,
    Cell,
    Columns,
    Detail,
    Facts,
    Frame,
    Link,
    Map,
    Notice,
    Page,
    Picture,
    Place,
    Prose,
    Redirect,
    Response,
    Stats,
    Table,
    Tabs,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.fronts import Finder, arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.library_content import FORMATS, SUBJECTS, Book, Shelves, shelves
from webgym.worlds.words import listed


def _menu(site: Site, content: Shelves) -> tuple[Link, ...]:
    inside = tuple(Link(subject, f"/catalogue?subject={subject}") for subject in SUBJECTS)
    return (
        Link("Catalogue", "/catalogue", inside),
        Link("Events", "/events"),
        Link("Branches", "/branches"),
        Link("Using the library", "/help"),
        Link("My account", "/account"),
    )


def _findable(content: Shelves) -> tuple[Entry, ...]:
    books = [Entry(book.title, book.href, f"{book.subject}, by {book.author}") for book in content.books]
    return (*books, *(Entry(branch.name, branch.href, branch.street) for branch in content.branches))


kind: Final = Kind(
    "library",
    subdomain="Books & Reading",
    words=("library", "books", "reading", "bookhouse", "shelves", "athenaeum", "readers", "pages"),
    content=shelves,
    nav=_menu,
    entries=_findable,
    tagline=lambda site, content: f"{len(content.branches)} branches, one card, and all the books you can carry.",
    login=True,
)
has_accounts(kind, home="/account")


def _card(book: Book) -> Card:
    return Card(
        book.title,
        book.href,
        Picture("book", book.slug, 420, 420),
        badge=book.format if book.format != "Paperback" else "",
        meta=(book.author, str(book.year), book.subject),
        stars=book.stars,
        votes=book.votes,
    )


@kind.page("/")
def home(visit: Visit[Shelves]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    panel = Finder(
        chance.choice(("What are you reading next?", "Find a book", "Search our shelves", f"Welcome to {visit.site.brand}")),
        "/catalogue",
        (("subject", "Subject", SUBJECTS), ("language", "Language", ("English", "French", "German", "Spanish"))),
        "Show books",
        "Browse by subject or language, or use the search above for a title or an author.",
    )
    picks = chance.sample(content.books, 10)
    new = CardRow("New on the shelves", tuple(map(_card, picks[:5])), Link("Whole catalogue", "/catalogue"))
    liked = CardRow("Readers recommend", tuple(map(_card, picks[5:9])))
    rows = tuple((event.date, event.time, Cell(event.title, "/events"), event.room) for event in content.events[:4])
    events = Table("What's on", ("Date", "Time", "Event", "Room"), rows)
    hours = Facts("Open today", tuple((branch.name, branch.hours) for branch in content.branches))
    notice = Frame("From the desk", "/desk", 190)
    side = Columns(((events,), (hours,)))
    return Page("Home", arranged(visit.site.style.layout, panel, new, side, liked, notice))


@kind.page("/desk")
def desk(visit: Visit[Shelves]) -> Response:
    text = visit.site.draw("desk").choice(
        (
            "The lift is being repaired. Please ask us for books of the upper floor.",
            "Holds are now kept for ten days instead of seven.",
            "We collect old reading glasses until the end of the month.",
        )
    )
    return Page("From the desk", (Notice(text),), bare=True)


@kind.page("/catalogue")
def books(visit: Visit[Shelves]) -> Response:
    listing = Listing(
        visit.content.books,
        _card,
        lambda book: f"{book.title} {book.author} {book.subject} {book.publisher}",
        (
            Facet("subject", "Subject", lambda book: book.subject),
            Facet("language", "Language", lambda book: book.language),
            Facet("format", "Format", lambda book: book.format),
        ),
        (Limit("since", "Published since", lambda book: book.year, 1950, 2025, 5, lowest=True),),
        (
            Sort("new", "Newest first", lambda book: book.year, down=True),
            Sort("old", "Oldest first", lambda book: book.year),
            Sort("short", "Shortest first", lambda book: book.pages),
            Sort("title", "Title", lambda book: book.title),
        ),
        per_page=10,
    )
    return Page("Catalogue", (visit.listing(listing, "Catalogue"),))


@kind.page("/book/{slug}")
def book_page(visit: Visit[Shelves]) -> Response:
    book = visit.content.find(visit.argument("slug"))
    if book is None:
        return NOT_FOUND
    links = (Link("Place a hold", f"/hold/{book.slug}"), Link(f"All by {book.author}", book.author_href))
    lead = f"A {book.subject.lower()} title of {book.pages // 10 * 10} pages or so, asked for often at the desk."
    plain = visit.site.style.layout in (1, 4)
    detail = Detail(
        book.title,
        (Picture("book", book.slug, 560, 560),),
        stars=book.stars,
        votes=book.votes,
        lead=lead,
        rows=() if plain else book.rows,
        links=links,
    )
    copies = Table("", ("Branch", "Status"), book.copies)
    about = Prose("", (f"{book.title} came out at {book.publisher} in {book.year}.", "Our copy is in good condition."))
    tabs = (("Details", (Facts("", book.rows),)), ("Copies", (copies,)), ("About this book", (about,)))
    shown = tabs if plain else tabs[1:]
    return Page(book.title, (detail, Tabs(shown)), (Link("Catalogue", "/catalogue"), Link(book.title, book.href)))


@kind.page("/author/{slug}")
def author_page(visit: Visit[Shelves]) -> Response:
    written = [book for book in visit.content.books if book.author_href == visit.path]
    if not written:
        return NOT_FOUND
    name = written[0].author
    years = sorted(book.year for book in written)
    stats = Stats((("Books in our catalogue", str(len(written))), ("First published in", str(years[0]))))
    return Page(name, (stats, CardRow(f"Books by {name}", tuple(map(_card, written)))), heading=name)


@kind.page("/hold/{slug}", members=True)
def hold(visit: Visit[Shelves]) -> Response:
    book = visit.content.find(visit.argument("slug"))
    if book is None:
        return NOT_FOUND
    form = Form.of(
        "hold",
        Field("pickup", "Pick-up branch", "select", tuple(branch.name for branch in visit.content.branches)),
        Field("format", "Preferred format", "radio", FORMATS),
        Field("until", "Needed until", "date", required=False, hint="Leave empty if you can wait"),
        submit="Confirm hold",
    )
    values = visit.filled(form)
    if values is None:
        aside = Prose("How holds work", ("We set the book aside at the branch you choose and write to you.",))
        return Page("Place a hold", (Columns(((visit.form(form),), (aside,))),), heading=f"Hold: {book.title}")
    visit.memory.record("hold", {"book": book.title, **values})
    return Redirect("/account")


@kind.page("/renew", members=True)
def renew(visit: Visit[Shelves]) -> Response:
    wanted = (visit.posted or {}).get("book", "")
    if any(loan.book.title == wanted for loan in visit.content.loans) and wanted not in _renewed(visit):
        visit.memory.record("renewal", {"book": wanted})
    return Redirect("/account")


def _renewed(visit: Visit[Shelves]) -> list[str]:
    return [record.fields["book"] for record in visit.memory.all("renewal")]


@kind.page("/account", members=True)
def account(visit: Visit[Shelves]) -> Response:
    content, renewed = visit.content, _renewed(visit)
    rows = tuple(
        (
            Cell(loan.book.title, loan.book.href),
            loan.barcode,
            f"{loan.due} (renewed)" if loan.book.title in renewed else loan.due,
        )
        for loan in content.loans
    )
    more = tuple(
        Button(f"Renew {loan.book.title}", "/renew", (("book", loan.book.title),), quiet=True)
        for loan in content.loans
        if loan.book.title not in renewed
    )
    held = tuple((record.fields["book"], record.fields["pickup"]) for record in visit.memory.all("hold"))
    figures = Stats((("Reader", visit.site.account.name), ("Card number", content.card), ("Books on loan", str(len(rows)))))
    loans = Table("On loan", ("Book", "Barcode", "Due back"), rows)
    holds = Table("Holds", ("Book", "Pick-up branch"), held) if held else Notice("You have no holds.", heading="Holds")
    return Page("My account", (figures, loans, Buttons(more), holds), heading="My account")


@kind.page("/branches")
def branches(visit: Visit[Shelves]) -> Response:
    places = tuple(Place(branch.name, branch.x, branch.y, branch.href) for branch in visit.content.branches)
    rows = tuple((Cell(branch.name, branch.href), branch.street, branch.hours) for branch in visit.content.branches)
    table = Table("", ("Branch", "Address", "Opening hours"), rows)
    return Page("Branches", (Map("", "library", places), table), heading="Branches")


@kind.page("/branch/{slug}")
def branch_page(visit: Visit[Shelves]) -> Response:
    branch = next((branch for branch in visit.content.branches if branch.href == visit.path), None)
    if branch is None:
        return NOT_FOUND
    rows = (
        ("Address", branch.street),
        ("Telephone", branch.phone),
        ("Opening hours", branch.hours),
        ("Head librarian", branch.librarian),
    )
    here = [book for book in visit.content.books if any(name == branch.name for name, _ in book.copies)]
    picks = visit.site.draw("branch", branch.name).sample(here, min(4, len(here)))
    detail = Detail(branch.name, (Picture("house", branch.name.split()[0], 720, 480),), rows=rows)
    return Page(
        branch.name, (detail, CardRow("On these shelves", tuple(map(_card, picks)))), (Link("Branches", "/branches"),)
    )


@kind.page("/events")
def events(visit: Visit[Shelves]) -> Response:
    titles = tuple(event.title for event in visit.content.events)
    form = Form.of(
        "event",
        Field("event", "Event", "select", titles),
        Field("name", "Your name"),
        Field("email", "E-mail", "email"),
        Field("seats", "Number of seats", "number", least=1, most=6),
        submit="Reserve seats",
    )
    values = visit.filled(form)
    if values is not None:
        visit.memory.record("event", values)
        text = f"{values['seats']} seats are kept for {values['name']} at {values['event']}."
        return Page("Reserved", (Notice(text, "good", "See you there"),), heading="Seats reserved")
    rows = tuple((event.title, event.date, event.time, event.room, event.host) for event in visit.content.events)
    table = Table("", ("Event", "Date", "Time", "Room", "Hosted by"), rows)
    return Page("Events", (table, visit.form(form)), heading="Events", lead="All events are free. Please reserve a seat.")


@kind.page("/help")
def using(visit: Visit[Shelves]) -> Response:
    chance = visit.site.draw("help")
    answers = (
        ("How long can I keep a book?", f"You can keep books for {chance.choice((14, 21, 28))} days."),
        ("What does a late book cost?", f"{chance.choice((10, 20, 25, 50))} cents a day, and never more than the book."),
        ("How many books can I borrow?", f"Up to {chance.choice((10, 15, 20, 30))} at a time."),
        ("Which languages do you have?", f"Books in {listed(['English', 'German', 'French', 'Spanish'])}."),
    )
    return Page("Using the library", (Accordion("Questions and answers", answers),), heading="Using the library")
