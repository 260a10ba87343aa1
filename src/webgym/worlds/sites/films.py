"""A database of films and series: casts, episodes, people and their filmographies, charts, reviews, a watch list.

Tasks: look up films, series and people, compare, narrow down, follow a director, save to the watch list, rate a title.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.scenery import POSTER
from webgym.worlds.sites.films_content import Archive, Person, Title, archive
from webgym.worlds.words import FAMILY, GIVEN

KEEP: Final = "Add to watch list"
RATE: Final = "Send rating"


def menu(site: Site, content: Archive) -> tuple[b.Link, ...]:
    return (
        b.Link("Films", "/films"),
        b.Link("Series", "/series"),
        b.Link("People", "/people"),
        b.Link("Top fifty", "/top"),
        b.Link("My watch list", "/watchlist"),
    )


def findable(content: Archive) -> tuple[Entry, ...]:
    titles = [
        Entry(title.name, title.href, f"{'Series' if title.series else 'Film'}, {title.year}") for title in content.titles
    ]
    return (*titles, *(Entry(person.name, person.href, f"Born in {person.born}") for person in content.people))


def tagline(site: Site, content: Archive) -> str:
    return f"{len(content.films)} films and {len(content.series)} series, with everybody who made them."


kind: Final = Kind(
    "films",
    subdomain="Films & TV Shows",
    words=("films", "movies", "cinema", "reel", "screen", "flicks", "filmdb"),
    content=archive,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(title: Title) -> b.Card:
    meta = (str(title.year), title.genre, "Series" if title.series else f"{title.minutes} min")
    poster = b.Picture(POSTER, title.slug, 600, 450)
    return b.Card(title.name, title.href, poster, meta=meta, stars=title.stars, votes=title.votes)


def _face(person: Person, role: str = "") -> b.Card:
    return b.Card(person.name, person.href, b.Picture("face", person.slug), meta=(role or f"Born in {person.born}",))


saves(
    kind,
    "/watchlist",
    "My watch list",
    lambda content, slug: _card(content.by_slug[slug]) if slug in content.by_slug else None,
)


def _ranked(titles: tuple[Title, ...]) -> list[Title]:
    return sorted(titles, key=lambda title: (-title.stars, -title.votes, title.slug))


@kind.page("/")
def home(visit: Visit[Archive]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    star = chance.choice(content.films)
    hero = b.Hero(
        star.name,
        f"{star.genre} from {star.country}, directed by {star.director.name}. {tagline(site, content)}",
        b.Picture(POSTER, star.slug, 900, 600),
        b.Link("See cast and reviews", star.href),
        b.Link("Browse all films", "/films"),
    )
    new = b.CardRow("New and noted", tuple(map(_card, sorted(content.films, key=lambda one: -one.year)[:6])))
    shows = b.CardRow(
        "Series to begin tonight", tuple(map(_card, content.series[:4])), b.Link("All series", "/series"), big=True
    )
    faces = b.CardRow("People", tuple(map(_face, chance.sample(content.people, 4))), b.Link("Everybody", "/people"))
    top = b.Table("Best rated", ("Title", "Year", "Rating"), tuple(_top_row(one) for one in _ranked(content.titles)[:8]))
    grossed = sorted(content.films, key=lambda one: -one.gross)[:6]
    money = b.Chart("Box office, in millions", tuple((one.name.removeprefix("The "), float(one.gross)) for one in grossed))
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, new, b.Columns(((top,), (money,))), faces),
        (new, b.Columns(((shows,), (top,))), faces),
        (b.Columns(((new,), (top,))), shows, money),
        (shows, new, faces, money),
        (hero, faces, new, top),
        (hero, shows, money, new),
    )
    return b.Page("Home", orders[site.style.layout])


def _top_row(title: Title) -> tuple[b.Cell | str, ...]:
    return (b.Cell(title.name, title.href), b.Cell(str(title.year), number=True), b.Cell(f"{title.stars:.1f}", number=True))


def _listing(titles: tuple[Title, ...], endless: bool) -> Listing[Title]:
    return Listing(
        titles,
        _card,
        lambda title: f"{title.name} {title.genre} {title.country} {title.director.name}",
        (
            Facet("genre", "Genre", lambda title: title.genre),
            Facet("country", "Country", lambda title: title.country),
            Facet("rating", "Certificate", lambda title: f"Certificate {title.rating}"),
        ),
        (Limit("from", "Not older than", lambda title: title.year, 1960, 2026, 1, lowest=True),),
        (
            Sort("new", "Newest first", lambda title: title.year, down=True),
            Sort("old", "Oldest first", lambda title: title.year),
            Sort("long", "Longest first", lambda title: title.minutes, down=True),
            Sort("votes", "Most votes", lambda title: title.votes, down=True),
        ),
        endless=endless,
    )


@kind.page("/films")
def films(visit: Visit[Archive]) -> b.Response:
    return b.Page("Films", (visit.listing(_listing(visit.content.films, visit.site.number("endless") % 2 == 0), "Films"),))


@kind.page("/series")
def series(visit: Visit[Archive]) -> b.Response:
    return b.Page("Series", (visit.listing(_listing(visit.content.series, False), "Series"),))


@kind.page("/films/{slug}")
def film_page(visit: Visit[Archive]) -> b.Response:
    return _title(visit)


@kind.page("/series/{slug}")
def series_page(visit: Visit[Archive]) -> b.Response:
    return _title(visit)


def _title(visit: Visit[Archive]) -> b.Response:
    title = visit.content.by_slug.get(visit.argument("slug"))
    if title is None or title.href != visit.path:
        return NOT_FOUND
    chance = visit.site.draw("title", title.slug)
    plot = chance.choice(
        (
            "Two strangers share a secret and a long road.",
            "A small town wakes up to a sound nobody can explain.",
            "An old promise has to be kept on the wrong day.",
            "A family sells its house and finds what was under it.",
        )
    )
    detail = b.Detail(
        title.name,
        tuple(b.Picture(POSTER, f"{title.slug}{f'-{n}' if n else ''}", 600, 800 if n == 0 else 450) for n in range(3)),
        badge=title.genre,
        stars=title.stars,
        votes=title.votes,
        lead=plot,
        rows=title.rows,
        buttons=(keep_button(title.slug, KEEP),),
        links=(b.Link("Rate this title", f"/rate/{title.slug}"), b.Link(f"By {title.director.name}", title.director.href)),
    )
    cast = b.Table("", ("Actor", "Role"), tuple((b.Cell(who.name, who.href), role) for who, role in title.cast))
    said = b.Reviews("", tuple(_review(visit, title, n) for n in range(3)))
    episodes = tuple((f"Season {n}", (_episodes(season),)) for n, season in enumerate(title.seasons, 1))
    parts = b.Tabs((("Cast", (cast,)), *episodes, ("Reviews", (said,))))
    near = [other for other in visit.content.titles if other.genre == title.genre and other is not title]
    crumbs = (b.Link("Series", "/series") if title.series else b.Link("Films", "/films"), b.Link(title.name, title.href))
    return b.Page(title.name, (detail, parts, b.CardRow("If you liked this", tuple(map(_card, near[:4])))), crumbs)


def _episodes(season: tuple[tuple[str, int], ...]) -> b.Table:
    rows = tuple(
        (f"Episode {n}", name, b.Cell(f"{minutes} min", number=True)) for n, (name, minutes) in enumerate(season, 1)
    )
    return b.Table("", ("Number", "Title", "Length"), rows)


def _review(visit: Visit[Archive], title: Title, number: int) -> b.Review:
    chance = visit.site.draw("review", title.slug, number)
    head = chance.choice(
        ("Stays with you", "Half an hour too long", "A small wonder", "Better the second time", "Just fine")
    )
    text = chance.choice(
        ("The light alone is worth the ticket.", "I guessed the end, and cried anyway.", "Everybody whispers far too much.")
    )
    return b.Review(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.randrange(2, 6), head, text)


@kind.page("/people")
def people(visit: Visit[Archive]) -> b.Response:
    listing = Listing(
        visit.content.people,
        _face,
        lambda person: person.name,
        (Facet("country", "Born where", lambda person: person.country),),
        (),
        (
            Sort("old", "Oldest first", lambda person: person.born),
            Sort("prizes", "Most prizes", lambda person: person.prizes, down=True),
        ),
    )
    return b.Page("People", (visit.listing(listing, "People"),))


@kind.page("/people/{slug}")
def person_page(visit: Visit[Archive]) -> b.Response:
    person = next((person for person in visit.content.people if person.href == visit.path), None)
    if person is None:
        return NOT_FOUND
    rows = (("Born in", str(person.born)), ("Country", person.country), ("Prizes", f"{person.prizes} won"))
    detail = b.Detail(person.name, (b.Picture("face", person.slug, 480, 480),), rows=rows)
    acted = tuple(
        (b.Cell(title.name, title.href), role, b.Cell(str(title.year), number=True))
        for title, role in visit.content.played(person)
    )
    made = tuple(
        (b.Cell(title.name, title.href), title.genre, b.Cell(str(title.year), number=True))
        for title in visit.content.directed(person)
    )
    tables = (
        *((b.Table("As director", ("Title", "Genre", "Year"), made, sortable=True),) if made else ()),
        *((b.Table("As actor", ("Title", "Role", "Year"), acted, sortable=True),) if acted else ()),
    )
    return b.Page(person.name, (detail, *tables), (b.Link("People", "/people"), b.Link(person.name, person.href)))


@kind.page("/top")
def top(visit: Visit[Archive]) -> b.Response:
    rows = tuple(
        (b.Cell(str(place), number=True), *_top_row(title), b.Cell(f"{title.votes:,}", number=True))
        for place, title in enumerate(_ranked(visit.content.titles)[:50], 1)
    )
    table = b.Table("", ("Place", "Title", "Year", "Rating", "Votes"), rows, sortable=True)
    return b.Page("Top fifty", (table,), heading="Top fifty", lead="By rating, then by votes.")


@kind.page("/rate/{slug}")
def rate(visit: Visit[Archive]) -> b.Response:
    title = visit.content.by_slug.get(visit.argument("slug"))
    if title is None:
        return NOT_FOUND
    form = Form.of(
        f"rate-{title.slug}",
        Field("score", "Your score out of ten", "slider", least=1, most=10, value="5"),
        Field("headline", "Headline"),
        Field("text", "Review", "textarea", required=False),
        Field("spoiler", "My review gives the end away", "checkbox", required=False),
        Field("name", "Your name"),
        submit=RATE,
    )
    values = visit.filled(form)
    if values is None:
        return b.Page(f"Rate {title.name}", (visit.form(form),), heading=f"Rate {title.name}")
    visit.memory.record("rating", {"title": title.name, **values})
    thanks = b.Notice(f"You gave {title.name} {values['score']} out of ten.", "good", "Rating received")
    return b.Page("Rating received", (thanks,), heading="Thank you")
