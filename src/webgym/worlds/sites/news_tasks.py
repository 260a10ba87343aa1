"""Tasks of the newspaper: stories and writers, the most discussed of a section, markets, weather, newsletter, comments."""

from __future__ import annotations

from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Move, Open, Press, See, SortBy, Tick
from webgym.worlds.sites.news import EDITIONS, kind
from webgym.worlds.sites.news_content import SECTIONS, Paper, Story, Writer
from webgym.worlds.subjects import Known, Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import FAMILY, GIVEN, listed


def _story(story: Story) -> Topic:
    return Topic(story.title, story.href, f"the story “{story.title}”")


def _writer(writer: Writer) -> Topic:
    return Topic(writer.name, writer.href, f"the journalist {writer.name}")


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Paper]) -> Draft:
    groups = []
    for story, size in zip(make.some(make.content.stories, len(make.shape)), make.shape, strict=True):
        subject = _story(story)
        chosen = make.some(story.known, size)
        facts = tuple(fact(make, subject, one) for one in chosen)
        ask = f"the {listed([one.name for one in chosen])} in {subject.spoken}"
        groups.append(Group(ask, f"From the story {story.title}", facts, (*subject.way, *seen(facts))))
    return Draft(
        ("Find {}.", f"What does {make.site.brand} report? I need {{}}.", "Read the paper and tell me {}.", "Look up {}."),
        tuple(groups),
    )


@kind.task("writer", [(1, 3), (0, 2)])
def writer(make: Maker[Paper]) -> Draft:
    groups = []
    for one, size in zip(make.some(make.content.writers, len(make.shape)), make.shape, strict=True):
        known = (
            Known("e-mail address", one.email),
            Known("year of joining the paper", str(one.since)),
            Known("section", one.section),
        )
        groups.append(about(make, _writer(one), known, size))
    return Draft(("Find {}.", "Who is who? Tell me {}.", "Look up {}."), tuple(groups))


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Paper]) -> Draft:
    stories = make.some(make.content.stories, make.shape[0] - 1)
    things = [(_story(story), story.known[4], float(story.comments)) for story in stories]
    group = compared(make, "numbers of comments", "most discussed", things, least=False)
    return Draft(("Find out {}.", "Compare {}.", "Report {}."), (group,))


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[Paper]) -> Draft:
    """The newest, oldest or most discussed story of a section."""
    name = make.one(SECTIONS)
    word, order = make.one((("newest", "Newest first"), ("oldest", "Oldest first"), ("most discussed", "Most comments")))
    stories = list(make.content.of(name))
    values = [story.comments if word == "most discussed" else story.day for story in stories]
    top = min(values) if word == "oldest" else max(values)
    if values.count(top) > 1:
        raise CannotMake("not one that fits best")
    best = stories[values.index(top)]
    subject = _story(best)
    chosen = make.some(best.known, make.shape[0] - 1)
    known = tuple(fact(make, subject, one) for one in chosen)
    text = f"The {word} story of {name} is “{best.title}”."
    facts = (named(make, subject, map(_story, stories), text, known), *known)
    start: tuple[Move, ...] = (Open(name), SortBy(order), Open(best.title))
    ask = f"the {word} story of the section {name}: its headline and its {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", "Sort the stories and find {}.", f"Search {make.site.brand} for {{}}."),
        (Group(ask, "The story", facts, (*start, *seen(facts))),),
    )


@kind.task("collect", [(4, 8)])
def collect(make: Maker[Paper]) -> Draft:
    place = make.one((0, 3, 4))
    stories = make.some(make.content.stories, make.shape[0])
    facts, route = each(make, [(_story(story), story.known[place]) for story in stories])
    ask = f"the {stories[0].known[place].name} of each of these stories: {listed([f'“{story.title}”' for story in stories])}"
    return Draft(
        ("Make a list of {}.", "Collect {}.", "For a press review I need {}."), (Group(ask, "The list", facts, route),)
    )


def _rows(make: Maker[Paper], page: str, rows: list[tuple[str, str, str]]) -> tuple[Fact, ...]:
    """Facts of a table: (subject, what, value)."""
    return tuple(
        Fact(
            f"The {what} of {name} is {value}.",
            (Shown(make.host, page, (name, value), name), Says(value.split()[0].removesuffix("%"))),
            f"{name}: {value}",
        )
        for name, what, value in rows
    )


@kind.task("tables", [(1, 4), (0, 4)])
def tables(make: Maker[Paper]) -> Draft:
    """Markets, and tomorrow's weather."""
    markets = make.some(make.content.markets, make.shape[0])
    facts = _rows(make, "/markets", [(name, "last value", f"{value / 100:,.2f}") for name, value, _ in markets])
    groups = [
        Group(
            f"the last values of {listed([name for name, _, _ in markets])}",
            "Markets",
            facts,
            (Open("Markets"), *seen(facts)),
        )
    ]
    if len(make.shape) > 1:
        towns = make.some(make.content.weather, make.shape[1])
        highs = _rows(make, "/weather", [(town, "high in °C", f"{high} °C") for town, high, _, _ in towns])
        ask = f"the highest temperatures expected tomorrow in {listed([town for town, _, _, _ in towns])}"
        groups.append(Group(ask, "Weather", highs, (Open("Weather"), *seen(highs))))
    return Draft(("Look up {}.", f"{make.site.brand} lists it daily. Tell me {{}}.", "Find {}."), tuple(groups))


@kind.task("newsletter", [(1, 3)])
def newsletter(make: Maker[Paper]) -> Draft:
    email = f"{make.one(GIVEN).lower()}{make.chance.randrange(10, 99)}@example.com"
    edition, topic = make.one(EDITIONS), make.one(SECTIONS)
    facts = (
        make.done(f"{email} is signed up for the newsletter.", "newsletter", ("email", email)),
        make.done(f"The edition is {edition}.", "newsletter", ("edition", edition)),
        make.done(f"The favourite section is {topic}.", "newsletter", ("topic", topic)),
    )[: make.shape[0]]
    asked = (f"the e-mail address {email}", f"{edition} edition", f"favourite section {topic}")[: make.shape[0]]
    route = (
        Open("Newsletter"),
        Fill("E-mail", email),
        Choose("Edition", edition),
        Choose("Favourite section", topic),
        Tick("You may write to me"),
        Press("Sign up"),
        See(("You are signed up",)),
    )
    return Draft(
        (
            "Sign up for the newsletter: {}. Choose the rest yourself.",
            f"Subscribe to the letter of {make.site.brand} with {{}}.",
        ),
        (Group(", ".join(asked), "The subscription", facts, route),),
    )


@kind.task("comment", [(1, 2)])
def comment(make: Maker[Paper]) -> Draft:
    story = make.one(make.content.stories)
    text = make.one(("Well said", "I was there and saw it", "Please follow up on this", "What does it cost us?"))
    name = f"{make.one(GIVEN)} {make.one(FAMILY)}"
    facts = (
        make.done(
            f"The comment “{text}” is posted under “{story.title}”.", "comment", ("story", story.title), ("text", text)
        ),
        make.done(f"The comment is signed {name}.", "comment", ("name", name)),
    )[: make.shape[0]]
    ask = f"the comment “{text}” under the story “{story.title}”" + (f", signed {name}" if make.shape[0] == 2 else "")
    route = (
        *_story(story).way,
        Fill("Your name", name),
        Fill("Your comment", text),
        Press("Post comment"),
        See(("Comment received",)),
    )
    return Draft(("Post {}.", f"Leave {{}} on {make.site.brand}."), (Group(ask, "The comment", facts, route),))
