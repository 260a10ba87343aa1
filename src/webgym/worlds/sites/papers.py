"""A paper archive: papers by field, authors with their citations, advanced search, a reading list, e-mail alerts.

Tasks: look up papers and authors, compare citations, find by filters and by the advanced search, save papers, set an alert.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from webgym.worlds.account import has_accounts
from webgym.worlds.blocks import (
    Accordion,
    Buttons,
    Card,
    Cell,
    Chart,
    Columns,
    Facts,
    Hero,
    Link,
    Notice,
    Page,
    Picture,
    Prose,
    Redirect,
    Response,
    Stats,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort, found
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.sites.papers_content import LICENCES, SORTS, YEARS, Archive, Paper, archive


def menu(site: Site, content: Archive) -> tuple[Link, ...]:
    inside = tuple(Link(field, f"/list?{urlencode({'field': field})}") for field in content.fields)
    return (
        Link("Browse", "/list", inside),
        Link("Advanced search", "/advanced"),
        Link("Authors", "/authors"),
        Link("Alerts", "/alerts"),
        Link("Guide", "/guide"),
        Link("Reading list", "/saved"),
    )


def findable(content: Archive) -> tuple[Entry, ...]:
    people = [Entry(author.name, author.href, author.institute) for author in content.authors]
    return (*people, *(Entry(paper.title, paper.href, f"{paper.field}, {paper.year}") for paper in content.papers))


def tagline(site: Site, content: Archive) -> str:
    return f"Open access to research in {', '.join(content.fields[:-1])} and {content.fields[-1]}."


kind: Final = Kind(
    "papers",
    subdomain="Research & Academia",
    words=("papers", "preprints", "archive", "scholar", "journals", "research"),
    content=archive,
    nav=menu,
    entries=findable,
    tagline=tagline,
    login=True,
)
has_accounts(kind, home="/saved")


def card(paper: Paper) -> Card:
    return Card(
        paper.title,
        paper.href,
        meta=(f"{paper.authors[0]}{' et al.' if len(paper.authors) > 1 else ''}", str(paper.year), paper.field),
        text=abstract(paper),
        price=f"{paper.citations:,} citations",
    )


saves(
    kind,
    "/saved",
    "Reading list",
    lambda content, number: card(paper) if (paper := content.paper(number)) else None,
    members=True,
)


def abstract(paper: Paper) -> str:
    return (
        f"We study a long-standing question of {paper.field.lower()}. Drawing on {paper.references} earlier works, we show "
        f"where the usual account holds and where it does not, and set out the evidence in {paper.figures} figures."
    )


@kind.page("/")
def home(visit: Visit[Archive]) -> Response:
    site, content = visit.site, visit.content
    latest = sorted(content.papers, key=lambda paper: paper.number, reverse=True)[:8]
    rows = tuple((Cell(p.title, p.href), p.authors[0], p.field, str(p.year)) for p in latest)
    table = Table("Latest submissions", ("Title", "First author", "Field", "Year"), rows)
    ways = Tiles(
        "Fields",
        tuple(
            (
                Link(field, f"/list?{urlencode({'field': field})}"),
                f"{sum(paper.field == field for paper in content.papers)} papers",
                None,
            )
            for field in content.fields
        ),
    )
    figures = Stats(
        (
            ("Papers", str(len(content.papers))),
            ("Authors", str(len(content.authors))),
            ("Citations", f"{sum(paper.citations for paper in content.papers):,}"),
        )
    )
    news = Notice(
        "Narrow down by author, year, licence and citations.", heading="Looking for something particular?",
        link=Link("Use the advanced search", "/advanced"),
    )  # fmt: skip
    hero = Hero(
        site.draw("home").choice(("Research, open to all", "Read what others found", f"The {site.brand} archive")),
        tagline(site, content),
        Picture("abstract", "hero", 900, 600),
        Link("Browse all papers", "/list"),
        Link("Meet the authors", "/authors"),
    )
    order = {0: (ways, table, news), 1: (hero, table, ways), 2: (figures, table, ways, news), 3: (hero, ways, table)}
    return Page("Home", order.get(site.style.layout, (hero, figures, ways, table, news)))


@kind.page("/list")
def browse(visit: Visit[Archive]) -> Response:
    listing = Listing(
        visit.content.papers,
        card,
        lambda paper: f"{paper.title} {paper.field} {' '.join(paper.authors)}",
        (
            Facet("field", "Field", lambda paper: paper.field),
            Facet("sort_of", "Type", lambda paper: paper.sort),
            Facet("year", "Year", lambda paper: str(paper.year)),
            Facet("licence", "Licence", lambda paper: paper.licence),
        ),
        (Limit("cited", "Minimum citations", lambda paper: paper.citations, 0, 2000, 100, lowest=True),),
        (
            Sort("cited", "Most cited", lambda paper: paper.citations, down=True),
            Sort("long", "Longest", lambda paper: paper.pages, down=True),
            Sort("title", "Title", lambda paper: paper.title),
        ),
        per_page=10,
    )
    return Page("Browse", (visit.listing(listing, "All papers"),))


def advanced_form(content: Archive) -> Form:
    return Form.of(
        "advanced",
        Field("title", "Words in the title", required=False),
        Field("author", "Author", required=False),
        Field("field", "Field", "select", content.fields, required=False),
        Field("sort", "Type", "select", SORTS, required=False),
        Field("since", "From year", "number", required=False, least=1990, most=2030),
        Field("until", "To year", "number", required=False, least=1990, most=2030),
        Field("cited", "Minimum citations", "number", required=False, least=0),
        Field("pages", "Maximum pages", "number", required=False, least=1),
        Field("licence", "Licence", "select", LICENCES, required=False),
        submit="Search the archive",
    )


@kind.page("/advanced")
def advanced(visit: Visit[Archive]) -> Response:
    form = advanced_form(visit.content)
    values = visit.filled(form)
    if values is not None:
        return Redirect(f"/results?{urlencode({key: value for key, value in values.items() if value})}")
    hints = Prose("Hints", ("Leave empty what does not matter.", "Years and numbers include their ends."))
    return Page("Advanced search", (Columns(((visit.form(form),), (hints,))),), heading="Advanced search")


def fits(paper: Paper, wanted: dict[str, str]) -> bool:
    """Whether a paper is what the advanced search was asked for."""
    numbers = {key: float(wanted[key]) for key in ("since", "until", "cited", "pages") if wanted.get(key)}
    return (
        found(paper.title, wanted.get("title", ""))
        and (not wanted.get("author") or any(found(name, wanted["author"]) for name in paper.authors))
        and wanted.get("field", paper.field) == paper.field
        and wanted.get("sort", paper.sort) == paper.sort
        and wanted.get("licence", paper.licence) == paper.licence
        and numbers.get("since", 0) <= paper.year <= numbers.get("until", 9999)
        and paper.citations >= numbers.get("cited", 0)
        and paper.pages <= numbers.get("pages", 10**6)
    )


@kind.page("/results")
def results(visit: Visit[Archive]) -> Response:
    form = advanced_form(visit.content)
    wanted = {f.name: visit.query[f.name] for f in form.steps[0].fields if visit.query.get(f.name)}
    wanted = {f.name: wanted[f.name] for f in form.steps[0].fields if f.name in wanted and f.problem(wanted[f.name]) is None}
    chosen = sorted((paper for paper in visit.content.papers if fits(paper, wanted)), key=lambda paper: -paper.citations)
    rows = tuple(
        (Cell(p.title, p.href), str(p.year), Cell(f"{p.pages}", number=True), Cell(f"{p.citations:,}", number=True))
        for p in chosen
    )
    table = Table(f"{len(rows)} papers found", ("Title", "Year", "Pages", "Citations"), rows, sortable=True)
    again = Buttons(links=(Link("Change the search", "/advanced"),))
    asked = Facts("You asked for", tuple((f.label, wanted[f.name]) for f in form.steps[0].fields if f.name in wanted))
    return Page("Results", (asked, table, again), heading="Results of the advanced search")


@kind.page("/paper/{number}")
def paper_page(visit: Visit[Archive]) -> Response:
    paper = visit.content.paper(visit.argument("number"))
    if paper is None:
        return NOT_FOUND
    written = Table("", ("Author", "Order"), tuple(
        (Cell(name, f"/author/{name.lower().replace(' ', '-')}"), "first" if n == 0 else f"no. {n + 1}")
        for n, name in enumerate(paper.authors)
    ))  # fmt: skip
    history = Table("", ("Version", "Date", "Size"), tuple((v, day, f"{size:,} kB") for v, day, size in paper.versions))
    cite = Prose("", (f"{', '.join(paper.authors)} ({paper.year}). {paper.title}. {paper.venue}. {paper.doi}",))
    tabs = Tabs(
        (
            ("Abstract", (Prose("", (abstract(paper),)),)),
            ("Authors", (written,)),
            ("Versions", (history,)),
            ("Cite", (cite,)),
        )
    )
    side = (Facts("About this paper", paper.rows), Buttons((keep_button(paper.number, "Save to reading list"),)))
    crumbs = (Link("Browse", "/list"), Link(paper.number, paper.href))
    lead = f"{', '.join(paper.authors)} · {paper.field} · {paper.sort}"
    wide = visit.site.style.layout in (1, 3)
    blocks = (tabs, *side) if wide else (Columns(((tabs,), side)),)
    return Page(paper.title, blocks, crumbs, heading=paper.title, lead=lead)


@kind.page("/authors")
def authors(visit: Visit[Archive]) -> Response:
    rows = tuple(
        (
            Cell(a.name, a.href),
            a.institute,
            Cell(str(a.h_index), number=True),
            Cell(str(len(visit.content.by(a))), number=True),
        )
        for a in visit.content.authors
    )
    return Page(
        "Authors", (Table("", ("Author", "Institution", "h-index", "Papers"), rows, sortable=True),), heading="Authors"
    )


@kind.page("/author/{slug}")
def author_page(visit: Visit[Archive]) -> Response:
    author = next((author for author in visit.content.authors if author.href == visit.path), None)
    if author is None:
        return NOT_FOUND
    own = visit.content.by(author)
    rows = tuple((Cell(p.title, p.href), str(p.year), Cell(f"{p.citations:,}", number=True)) for p in own)
    chart = Chart("Citations by year", tuple((str(year), float(n)) for year, n in zip(YEARS, author.cited, strict=True)))
    facts = Facts(
        "", (("Institution", author.institute), ("h-index", f"{author.h_index}"), ("First paper in", str(author.since)))
    )
    blocks = (Columns(((chart,), (facts,))), Table("Papers", ("Title", "Year", "Citations"), rows))
    return Page(author.name, blocks, (Link("Authors", "/authors"), Link(author.name, author.href)), heading=author.name)


def alert_form(content: Archive) -> Form:
    return Form.of(
        "alert",
        Field("email", "E-mail", "email"),
        Field("field", "Field", "select", content.fields),
        Field("often", "How often", "radio", ("Daily", "Weekly", "Monthly")),
        Field("word", "Keyword", required=False),
        submit="Create alert",
    )


@kind.page("/alerts")
def alerts(visit: Visit[Archive]) -> Response:
    form = alert_form(visit.content)
    values = visit.filled(form)
    if values is None:
        return Page("Alerts", (visit.form(form),), heading="E-mail alerts", lead="We write when something new appears.")
    visit.memory.record("alert", values)
    notice = Notice(f"{values['often']} news of {values['field']} go to {values['email']}.", "good", "Alert created")
    return Page("Alert created", (notice,), heading="Thank you")


@kind.page("/guide")
def guide(visit: Visit[Archive]) -> Response:
    chance = visit.site.draw("guide")
    steps = (
        ("What can I submit?", "Articles, reviews, dataset papers and short communications in PDF or LaTeX."),
        ("How large may a file be?", f"Up to {chance.choice((20, 40, 50, 80))} megabytes."),
        ("How long does moderation take?", f"About {chance.randrange(2, 9)} working days."),
        ("Can I withdraw a paper?", "It stays listed, with a note that it was withdrawn."),
    )
    return Page("Guide", (Accordion("For authors", steps),), heading="Guide")
