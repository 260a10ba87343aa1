"""A newspaper: a front page of headlines, sections, long stories, writers, markets and weather, a newsletter, comments.

Mechanics: a cookie wall before stories on some sites (it goes once cookies are answered), a page that turns robots away,
an endless archive, charts, a sortable market table, a frame with the weather, a dialog that asks for a subscription,
a newsletter (record `newsletter` with `email, edition, topic`) and comments (`comment` with `story, name, text`).
"""

from __future__ import annotations

from typing import Final

from webgym.worlds.blocks import (
    Button,
    Buttons,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Detail,
    Facts,
    Frame,
    Link,
    Modal,
    Notice,
    Page,
    Picture,
    Prose,
    Redirect,
    Response,
    Table,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.fronts import Headlines, arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Listing, Sort
from webgym.worlds.sites.news_content import SECTIONS, Paper, Story, paper

EDITIONS: Final = ("Morning", "Evening", "Weekend")
_SCENES: Final = {
    "Politics": "city",
    "Business": "city",
    "Culture": "abstract",
    "Science": "landscape",
    "Sport": "landscape",
    "City": "house",
}


def _menu(site: Site, content: Paper) -> tuple[Link, ...]:
    sections = tuple(Link(name, f"/section/{name.lower()}") for name in SECTIONS)
    more = (Link("Markets", "/markets"), Link("Weather", "/weather"), Link("Newsletter", "/newsletter"))
    return (*sections, *more, Link("Archive", "/archive"))


def _findable(content: Paper) -> tuple[Entry, ...]:
    stories = [Entry(story.title, story.href, f"{story.section}, {story.date}") for story in content.stories]
    return (*stories, *(Entry(writer.name, writer.href, f"Writes for {writer.section}") for writer in content.writers))


kind: Final = Kind(
    "news",
    subdomain="News",
    words=("news", "herald", "times", "gazette", "tribune", "courier", "chronicle", "observer"),
    content=paper,
    nav=_menu,
    entries=_findable,
    tagline=lambda site, content: "Independent, local, and printed every day but Sunday.",
)


def _picture(story: Story, width: int = 640, height: int = 420) -> Picture:
    return Picture(_SCENES[story.section], story.slug, width, height)


def _card(story: Story) -> Card:
    return Card(
        story.title, story.href, _picture(story), badge=story.section, meta=(story.author, story.date), text=story.sentence
    )


def _walled(visit: Visit[Paper]) -> Page | None:
    """Half of the papers show no story before cookies are answered."""
    if visit.site.number("wall") % 2 or "consent" in visit.memory.choices:
        return None
    back = ("back", visit.path)
    choice = Buttons(
        (
            Button("Accept all", "/_/consent", (("consent", "all"), back)),
            Button("Only necessary", "/_/consent", (("consent", "needed"), back), quiet=True),
        )
    )
    text = ("Our journalism is paid for by advertising. Before you read on, please choose which cookies we may keep.",)
    return Page("Before you continue", (Prose("", text), choice), heading=f"{visit.site.brand} and your privacy", bare=True)


@kind.page("/")
def home(visit: Visit[Paper]) -> Response:
    content = visit.content
    stories = content.stories
    front = Headlines(
        _card(stories[0]),
        tuple(map(_card, stories[1:5])),
        tuple((f"{story.day} May, {story.hour}", Link(story.title, story.href)) for story in stories[5:11]),
    )
    rows = tuple(
        CardRow(name, tuple(map(_card, content.of(name)[:4])), Link(f"More {name}", f"/section/{name.lower()}"))
        for name in SECTIONS[:3]
    )
    weather = Frame("Weather", "/weather/brief", 240)
    return Page("Home", (front, *arranged(visit.site.style.layout, rows[0], rows[1], weather, rows[2])))


def _listing(stories: tuple[Story, ...], *, endless: bool, by_section: bool) -> Listing[Story]:
    sections = (Facet[Story]("section", "Section", lambda story: story.section),) if by_section else ()
    return Listing(
        stories,
        _card,
        lambda story: f"{story.title} {story.author} {story.sentence}",
        (*sections, Facet("writer", "Author", lambda story: story.author)),
        (),
        (
            Sort("new", "Newest first", lambda story: story.day, down=True),
            Sort("old", "Oldest first", lambda story: story.day),
            Sort("talk", "Most comments", lambda story: story.comments, down=True),
        ),
        per_page=8,
        endless=endless,
    )


@kind.page("/section/{name}")
def section(visit: Visit[Paper]) -> Response:
    name = next((name for name in SECTIONS if name.lower() == visit.argument("name")), None)
    if name is None:
        return NOT_FOUND
    listing = _listing(visit.content.of(name), endless=False, by_section=False)
    return Page(name, (visit.listing(listing, name),), (Link(name, visit.path),))


@kind.page("/archive")
def archive(visit: Visit[Paper]) -> Response:
    listing = _listing(visit.content.stories, endless=visit.site.number("endless") % 2 == 0, by_section=True)
    blocked = Notice("Scanned pages of the printed paper are for readers only.", link=Link("Printed pages", "/printed"))
    return Page("Archive", (visit.listing(listing, "Archive"), blocked))


@kind.page("/printed")
def printed(visit: Visit[Paper]) -> Response:
    return Redirect("/partners")  # where robots are turned away


@kind.page("/story/{slug}")
def story_page(visit: Visit[Paper]) -> Response:
    story = next((story for story in visit.content.stories if story.href == visit.path), None)
    if story is None:
        return NOT_FOUND
    if (wall := _walled(visit)) is not None:
        return wall
    form = Form.of("comment", Field("name", "Your name"), Field("text", "Your comment", "textarea"), submit="Post comment")
    values = visit.filled(form)
    if values is not None:
        visit.memory.record("comment", {"story": story.title, **values})
        thanks = Notice("It appears once an editor has read it.", "good", "Comment received", Link(story.title, story.href))
        return Page("Comment received", (thanks,), heading="Thank you")
    chance = visit.site.draw("story", story.slug)
    colour = chance.sample(
        (
            "It was raining when the news came, and the square filled all the same.",
            "For once the coffee house opposite closed early.",
            "Critics doubt that the plan will hold for long.",
            "Those who remember the last time speak of it with a smile.",
            "A first date has been named, and then a second.",
            "The details will be discussed in public on Thursday.",
        ),
        4,
    )
    body = (
        f"{story.city}. {colour[0]} {colour[1]}",
        story.sentence,
        f"“{story.quote},” said {story.witness}, {story.office}.",
        f"{colour[2]} {colour[3]}",
        "More on this in tomorrow's edition.",
    )
    facts = Facts(
        "",
        (
            ("By", story.author),
            ("Published", story.date),
            ("Reading time", f"{story.minutes} minutes"),
            ("Discussion", f"{story.comments} comments"),
        ),
    )
    near = [other for other in visit.content.of(story.section) if other is not story]
    more = CardRow("Read next", tuple(map(_card, chance.sample(near, 3))))
    picture = Detail(
        story.title,
        (_picture(story, 960, 540),),
        badge=story.section,
        lead=f"{story.section} · {story.city}",
        links=(Link(f"More by {story.author}", story.author_href),),
    )
    ask = Modal(
        "Support this paper",
        "Support this paper",
        (Prose("", ("Good reporting costs money. A subscription is $4.00 a week.",)),),
    )
    blocks = (picture, Columns(((Prose("", body),), (facts, ask))), more, visit.form(form))
    return Page(story.title, blocks, (Link(story.section, f"/section/{story.section.lower()}"),))


@kind.page("/writer/{slug}")
def writer_page(visit: Visit[Paper]) -> Response:
    writer = next((writer for writer in visit.content.writers if writer.href == visit.path), None)
    if writer is None:
        return NOT_FOUND
    written = tuple(_card(story) for story in visit.content.stories if story.author == writer.name)
    rows = (("Section", writer.section), ("With the paper since", str(writer.since)), ("E-mail", writer.email))
    detail = Detail(
        writer.name,
        (Picture("face", writer.name.replace(" ", "-"), 420, 420),),
        lead=f"{writer.name} writes for {writer.section}.",
        rows=rows,
    )
    return Page(writer.name, (detail, CardRow("Latest stories", written)) if written else (detail,))


@kind.page("/markets")
def markets(visit: Visit[Paper]) -> Response:
    rows = tuple(
        (
            name,
            Cell(f"{value / 100:,.2f}", number=True),
            Cell(f"{change / 100:+.2f}%", number=True, tone="good" if change >= 0 else "bad"),
        )
        for name, value, change in visit.content.markets
    )
    chance = visit.site.draw("markets")
    days = ("Mon", "Tue", "Wed", "Thu", "Fri")
    chart = Chart(
        f"{visit.content.markets[0][0]} this week", tuple((day, float(chance.randrange(300, 900))) for day in days), "line"
    )
    return Page("Markets", (Table("", ("Name", "Last", "Change"), rows, sortable=True), chart), heading="Markets")


@kind.page("/weather")
def weather(visit: Visit[Paper]) -> Response:
    rows = tuple(
        (town, sky, Cell(f"{high} °C", number=True), Cell(f"{low} °C", number=True))
        for town, high, low, sky in visit.content.weather
    )
    return Page("Weather", (Table("", ("Town", "Sky", "High", "Low"), rows),), heading="Weather tomorrow")


@kind.page("/weather/brief")
def weather_brief(visit: Visit[Paper]) -> Response:
    rows = tuple((town, f"{high} °C, {sky.lower()}") for town, high, _, sky in visit.content.weather[:3])
    return Page("Weather", (Facts("Tomorrow", rows),), bare=True)


@kind.page("/newsletter")
def newsletter(visit: Visit[Paper]) -> Response:
    form = Form.of(
        "newsletter",
        Field("email", "E-mail", "email"),
        Field("edition", "Edition", "radio", EDITIONS),
        Field("topic", "Favourite section", "select", SECTIONS),
        Field("agree", "You may write to me", "checkbox"),
        submit="Sign up",
    )
    values = visit.filled(form)
    if values is None:
        return Page("Newsletter", (visit.form(form),), heading="Newsletter", lead="The day's stories in five minutes.")
    visit.memory.record("newsletter", values)
    return Page(
        "Signed up",
        (Notice(f"The first letter goes to {values['email']}.", "good", "You are signed up"),),
        heading="Thank you",
    )
