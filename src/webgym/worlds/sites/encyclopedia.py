"""An encyclopedia: long articles with a box, a table of contents and links to one another, in four languages.

Mechanics: anchors inside a page, links inside text, facts far down, views of one article (text, discussion, versions),
short versions in other languages, an index, and suggestions for changes (record `edit` with `article, section, text`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.blocks import (
    Accordion,
    Block,
    Card,
    CardRow,
    Cell,
    Columns,
    Link,
    Notice,
    Page,
    Picture,
    Prose,
    Redirect,
    Response,
    Stats,
    Table,
    Tiles,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.fronts import arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Listing, Sort
from webgym.worlds.sites.encyclopedia_content import CATEGORIES, Lemma, Volume, volume
from webgym.worlds.words import FAMILY, GIVEN

Paragraph = tuple[str | Link, ...]
PICTURE_OF: Final = {"Towns": "city", "Rivers": "landscape", "People": "face", "Animals": "abstract"}
# For each language: its name as a link, then words for the short version's frame.
TONGUES: Final = {
    "de": (
        "Auf Deutsch",
        "Kurzfassung",
        "Übersetzt von",
        "Dieser Artikel ist eine Kurzfassung. Der volle Text steht auf Englisch.",
    ),
    "fr": ("En français", "Résumé", "Traduit par", "Cet article est un résumé. Le texte complet est en anglais."),
    "es": ("En español", "Resumen", "Traducido por", "Este artículo es un resumen. El texto completo está en inglés."),
}
_FILLER: Final = {
    "Towns": (
        "For much of its past the town lived from the market, which was held twice a week under the lime trees.",
        "After the great fire the streets were laid out anew, wider than before and with stone gutters.",
        "The old quarter has kept its narrow lanes, and most of its houses are listed.",
        "Small workshops gave way to mills, and the mills in turn to offices and studios.",
        "A ring of gardens marks where the walls once stood.",
    ),
    "Rivers": (
        "In its upper course the water is cold and quick, and the valley is hardly wider than the road beside it.",
        "Further down it spreads over gravel banks that change with every flood.",
        "Rafts of timber went this way until the middle of the last century.",
        "Anglers value the deep pools below the weirs.",
        "Several mills along the banks have been restored and can be visited.",
    ),
    "People": (
        "Little is known of the early years, which were spent between the workshop and the parish school.",
        "Contemporaries describe a quick temper, a low voice and a great love of walking.",
        "The first success came late and was followed by a decade of steady work.",
        "Several pupils became well known in their own right.",
        "Streets and schools bear the name to this day.",
    ),
    "Animals": (
        "It is most active at dusk and is heard more often than seen.",
        "Its coat or plumage changes with the season, from a pale grey to a warm brown.",
        "Young animals stay with their parents until the second spring.",
        "It avoids open ground and keeps to hedges, banks and reeds.",
        "Old names in the dialects of the country show how familiar it once was.",
    ),
}


@dataclass(frozen=True)
class Article(Block):
    """A long text with a box of particulars and a table of contents; paragraphs are runs of text and links."""

    title: str
    views: tuple[Link, ...]
    picture: Picture | None
    rows: tuple[tuple[str, str, str], ...]
    lead: tuple[Paragraph, ...]
    sections: tuple[tuple[str, tuple[Paragraph, ...]], ...]
    contents: str = "Contents"

    template = "encyclopedia/article.html"


def _menu(site: Site, content: Volume) -> tuple[Link, ...]:
    inside = tuple(Link(name, f"/topics?category={name}") for name in CATEGORIES)
    return (
        Link("Topics", "/topics", inside),
        Link("Index A to Z", "/index"),
        Link("Random article", "/random"),
        Link("Recent changes", "/changes"),
        Link("How we work", "/method"),
    )


kind: Final = Kind(
    "encyclopedia",
    subdomain="General Info.",
    words=("encyclopedia", "wiki", "almanac", "compendium", "lexicon", "pedia", "knowledge", "atlas"),
    content=volume,
    nav=_menu,
    entries=lambda content: [Entry(topic.title, topic.href, f"{topic.category}: {topic.lead}") for topic in content.topics],
    tagline=lambda site, content: f"{len(content.topics)} articles, checked and signed by their editors.",
)


def _picture(topic: Lemma) -> Picture:
    return Picture(PICTURE_OF[topic.category], topic.slug, 560, 420)


def _card(topic: Lemma) -> Card:
    return Card(topic.title, topic.href, _picture(topic), meta=(topic.category,), text=topic.lead)


@kind.page("/")
def home(visit: Visit[Volume]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    picks = chance.sample(content.topics, 12)
    star = picks[0]
    today = CardRow("Article of the day", (_card(star), *map(_card, picks[1:3])), big=True)
    counts = Stats(tuple((name, str(len(content.of(name)))) for name in CATEGORIES), f"Welcome to {visit.site.brand}")
    rows = tuple((Cell(topic.title, topic.href), topic.deep[0].sentence) for topic in picks[3:8])
    facts = Table("Did you know?", ("Article", "From the text"), rows)
    ways = Tiles(
        "Browse",
        tuple((Link(name, f"/topics?category={name}"), f"{len(content.of(name))} articles", None) for name in CATEGORIES),
    )
    people = Columns(
        (
            (facts,),
            (
                Prose(
                    "In the making",
                    (
                        "Every article is written by two people and read by a third.",
                        "Found a mistake? Every page has a form for it.",
                    ),
                ),
            ),
        )
    )
    return Page("Home", arranged(visit.site.style.layout, counts, today, people, ways))


@kind.page("/topics")
def topics(visit: Visit[Volume]) -> Response:
    listing = Listing(
        visit.content.topics,
        _card,
        lambda topic: f"{topic.title} {topic.lead}",
        (
            Facet("category", "Category", lambda topic: topic.category),
            Facet("letter", "First letter", lambda topic: topic.title.removeprefix("River ")[0]),
        ),
        (),
        (Sort("az", "A to Z", lambda topic: topic.title), Sort("za", "Z to A", lambda topic: topic.title, down=True)),
        per_page=12,
        endless=visit.site.number("endless") % 3 == 0,
    )
    return Page("Topics", (visit.listing(listing, "Topics"),))


@kind.page("/index")
def index(visit: Visit[Volume]) -> Response:
    ordered = sorted(visit.content.topics, key=lambda topic: topic.title)
    rows = tuple(
        (Cell(topic.title, topic.href), topic.category, topic.rows[0].name, topic.rows[0].value) for topic in ordered
    )
    return Page("Index", (Table("", ("Article", "Category", "", ""), rows, sortable=True),), heading="Index A to Z")


@kind.page("/random")
def anything(visit: Visit[Volume]) -> Response:
    return Redirect(visit.content.topics[visit.site.number("random") % len(visit.content.topics)].href)


def _views(topic: Lemma) -> tuple[Link, ...]:
    tongues = tuple(Link(words[0], f"/{code}/{topic.slug}") for code, words in TONGUES.items())
    return (
        Link("Read", topic.href),
        Link("Discussion", f"{topic.href}/discussion"),
        Link("Versions", f"{topic.href}/versions"),
        Link("Suggest a change", f"{topic.href}/edit"),
        *tongues,
    )


def _text(visit: Visit[Volume], topic: Lemma) -> tuple[tuple[str, tuple[Paragraph, ...]], ...]:
    """The sections: filler around the facts that stand in them, and the articles it refers to."""
    chance = visit.site.draw("text", topic.slug)
    filler = list(_FILLER[topic.category])
    chance.shuffle(filler)
    sections: list[tuple[str, tuple[Paragraph, ...]]] = []
    for name in dict.fromkeys(deep.section for deep in topic.deep):
        inside = " ".join(deep.sentence for deep in topic.deep if deep.section == name)
        paragraphs: list[Paragraph] = [
            (filler[len(sections) % len(filler)],),
            (inside,),
            (filler[(len(sections) + 1) % len(filler)],),
        ]
        if chance.random() < 0.5:
            paragraphs.insert(1, (filler[(len(sections) + 2) % len(filler)],))
        sections.append((name, tuple(paragraphs)))
    near = [other for slug in topic.refers if (other := visit.content.find(slug)) is not None]
    more = tuple((Link(other.title, other.href), f": {other.lead}") for other in near)
    return (*sections, ("See also", more))


@kind.page("/wiki/{slug}")
def article(visit: Visit[Volume]) -> Response:
    topic = visit.content.find(visit.argument("slug"))
    if topic is None:
        return NOT_FOUND
    rows = tuple((row.name, row.value, row.href) for row in topic.rows)
    lead: tuple[Paragraph, ...] = ((topic.lead,), (_FILLER[topic.category][len(topic.slug) % 5],))
    block = Article(topic.title, _views(topic), _picture(topic), rows, lead, _text(visit, topic))
    crumbs = (Link(topic.category, f"/topics?category={topic.category}"), Link(topic.title, topic.href))
    return Page(topic.title, (block,), crumbs)


@kind.page("/wiki/{slug}/discussion")
def discussion(visit: Visit[Volume]) -> Response:
    topic = visit.content.find(visit.argument("slug"))
    if topic is None:
        return NOT_FOUND
    items = (
        (
            "Is the first figure still right?",
            f"Checked against the printed edition: {topic.rows[0].name} {topic.rows[0].value}.",
        ),
        ("A better picture?", "A photograph in spring would help. Volunteers welcome."),
        ("Section order", "We agreed to keep the order of the other articles in this category."),
    )
    return Page(
        f"Discussion: {topic.title}", (Accordion("", items),), (Link(topic.title, topic.href),), f"Discussion: {topic.title}"
    )


def versions(site: Site, topic: Lemma) -> tuple[tuple[str, str, str], ...]:
    """Day, editor and what was changed, the newest first."""
    chance = site.draw("versions", topic.slug)
    days = sorted(chance.sample(range(1, 29), 5), reverse=True)
    changes = chance.sample(
        ("Corrected a date", "Added a picture", "New section", "Spelling", "Checked sources", "Shortened"), 5
    )
    return tuple(
        (f"2026-04-{day:02d}", f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", change)
        for day, change in zip(days, changes, strict=True)
    )


@kind.page("/wiki/{slug}/versions")
def versions_page(visit: Visit[Volume]) -> Response:
    topic = visit.content.find(visit.argument("slug"))
    if topic is None:
        return NOT_FOUND
    table = Table("", ("Day", "Editor", "Change"), versions(visit.site, topic))
    return Page(f"Versions of {topic.title}", (table,), (Link(topic.title, topic.href),), f"Versions of {topic.title}")


@kind.page("/wiki/{slug}/edit")
def edit(visit: Visit[Volume]) -> Response:
    topic = visit.content.find(visit.argument("slug"))
    if topic is None:
        return NOT_FOUND
    sections = ("Introduction", *dict.fromkeys(deep.section for deep in topic.deep))
    form = Form.of(
        "edit",
        Field("section", "Section", "select", sections),
        Field("text", "Your suggestion", "textarea"),
        Field("source", "Source", hint="A book, a paper or a letter"),
        Field("email", "E-mail", "email"),
        submit="Send suggestion",
    )
    values = visit.filled(form)
    if values is None:
        return Page(
            "Suggest a change", (visit.form(form),), (Link(topic.title, topic.href),), f"Suggest a change to {topic.title}"
        )
    visit.memory.record("edit", {"article": topic.title, **values})
    return Page("Thank you", (Notice("An editor will read it this week.", "good", "Suggestion sent"),), heading="Thank you")


def _foreign(visit: Visit[Volume], code: str) -> Response:
    topic = visit.content.find(visit.argument("slug"))
    if topic is None:
        return NOT_FOUND
    _, heading, translated, note = TONGUES[code]
    who = dict(topic.translators)[code]
    rows = tuple((row.value, "", row.href) for row in topic.rows[:3])
    block = Article(
        topic.title,
        _views(topic),
        _picture(topic),
        ((translated, who, ""), *rows),
        ((note,),),
        ((heading, ((topic.lead,),)),),
    )
    return Page(topic.title, (block,), (Link(topic.title, topic.href),))


@kind.page("/de/{slug}")
def german(visit: Visit[Volume]) -> Response:
    return _foreign(visit, "de")


@kind.page("/fr/{slug}")
def french(visit: Visit[Volume]) -> Response:
    return _foreign(visit, "fr")


@kind.page("/es/{slug}")
def spanish(visit: Visit[Volume]) -> Response:
    return _foreign(visit, "es")


@kind.page("/changes")
def changes(visit: Visit[Volume]) -> Response:
    picks = visit.site.draw("changes").sample(visit.content.topics, 12)
    rows = tuple(
        (day, Cell(topic.title, topic.href), who, what)
        for topic in picks
        for day, who, what in versions(visit.site, topic)[:1]
    )
    return Page(
        "Recent changes",
        (Table("", ("Day", "Article", "Editor", "Change"), tuple(sorted(rows, key=lambda row: str(row[0]), reverse=True))),),
        heading="Recent changes",
    )


@kind.page("/method")
def method(visit: Visit[Volume]) -> Response:
    text = (
        "Articles are written by volunteers, read by two editors and signed.",
        "Figures are taken from the national yearbook unless the text says otherwise.",
        "Translations are short on purpose; the English text is the one we keep up to date.",
    )
    return Page("How we work", (Prose("", text),), heading="How we work")
