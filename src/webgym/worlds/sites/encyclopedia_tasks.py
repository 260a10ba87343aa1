"""Tasks of the encyclopedia: boxes, facts far down in the text, comparisons, chains of links, other languages, edits."""

from __future__ import annotations

from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, SortBy
from webgym.worlds.sites.encyclopedia import TONGUES, kind, versions
from webgym.worlds.sites.encyclopedia_content import CATEGORIES, Lemma, Volume
from webgym.worlds.subjects import Known, Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import listed

_NAMES = {"de": "German", "fr": "French", "es": "Spanish"}


def _subject(topic: Lemma) -> Topic:
    called = f"the {topic.title}" if topic.category == "Rivers" else topic.title
    return Topic(topic.title, topic.href, called)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Volume]) -> Draft:
    """From the box and from the text."""
    groups = []
    for topic, size in zip(make.some(make.content.topics, len(make.shape)), make.shape, strict=True):
        known = (*topic.known, *(deep.known for deep in topic.deep))
        groups.append(about(make, _subject(topic), known, size))
    return Draft(
        (
            "Find {}.",
            f"According to {make.site.brand}, what is {{}}?",
            "Look up {}.",
            "I need {}, as the encyclopedia gives it.",
        ),
        tuple(groups),
    )


@kind.task("section", [(1, 2), (0, 2)])
def section(make: Maker[Volume]) -> Draft:
    """Facts that stand only in the running text; the table of contents leads to them."""
    groups = []
    for topic, size in zip(make.some(make.content.topics, len(make.shape)), make.shape, strict=True):
        chosen = make.some(topic.deep, size)
        facts = tuple(fact(make, _subject(topic), deep.known) for deep in chosen)
        moves: list[Move] = list(_subject(topic).way)
        for deep, found in zip(chosen, facts, strict=True):
            moves += [Open(deep.section), *seen([found])]
        names = listed([f"{deep.known.name} (section “{deep.section}”)" for deep in chosen])
        ask = f"the {names} from the article “{topic.title}”"
        groups.append(Group(ask, f"From the text on {topic.title}", facts, tuple(moves)))
    return Draft(("Read the text and find {}.", "Find {}.", "Quote for me {}."), tuple(groups))


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Volume]) -> Draft:
    category, what, best, least = make.one(
        (
            ("Towns", "populations", "largest by population", False),
            ("Rivers", "lengths", "longest", False),
            ("People", "years of birth", "one born first", True),
            ("Animals", "weights", "heaviest", False),
        )
    )
    topics = make.some(make.content.of(category), make.shape[0] - 1)
    group = compared(make, what, best, [(_subject(one), one.known[0], float(one.size)) for one in topics], least=least)
    return Draft(("Find out {}.", "Compare {}.", f"Use {make.site.brand} to find {{}}."), (group,))


@kind.task("first", [(2, 4)])
def first_of_list(make: Maker[Volume]) -> Draft:
    """The first or last article of a category in the alphabet."""
    category = make.one(CATEGORIES)
    word, order = make.one((("first", "A to Z"), ("last", "Z to A")))
    ranked = sorted(make.content.of(category), key=lambda topic: topic.title, reverse=word == "last")
    subject = _subject(ranked[0])
    chosen = make.some((*ranked[0].known, *(deep.known for deep in ranked[0].deep)), make.shape[0] - 1)
    known = tuple(fact(make, subject, one) for one in chosen)
    text = f"The {word} article of the category {category} is {subject.name}."
    facts = (named(make, subject, map(_subject, ranked), text, known), *known)
    start: tuple[Move, ...] = (Open("Topics"), Filter("Category", category), SortBy(order), Open(subject.name))
    which = f"the article of the category “{category}” whose title comes {word} in the alphabet"
    ask = f"{which}: its title and the {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", "Sort the topics and find {}.", "Report {}."),
        (Group(ask, "The article", facts, (*start, *seen(facts))),),
    )


@kind.task("chain", [(2, 3)])
def chain(make: Maker[Volume]) -> Draft:
    """From one article to the one it refers to, and on."""
    start = make.one([*make.content.of("People"), *make.content.of("Animals")])
    link, said = ("Birthplace", "birthplace") if start.category == "People" else ("Described by", "first describer")
    row = next(row for row in start.rows if row.name == link)
    middle = make.content.find(row.href.removeprefix("/wiki/"))
    if middle is None:
        raise CannotMake("it leads nowhere")
    chosen = make.some(middle.known, make.shape[0] - 1)
    hop = fact(make, _subject(start), Known(said, row.value))
    page = Topic(middle.title, middle.href)
    facts = (hop, *(fact(make, page, one) for one in chosen))
    route = (*_subject(start).way, *seen([hop]), Open(middle.title), *seen(facts[1:]))
    then = "town" if start.category == "People" else "person"
    names = listed([one.name for one in chosen])
    ask = f"the {said} of {_subject(start).spoken}, and of that {then} the {names}"
    return Draft(("Find {}.", "Follow the links to find {}.", "Tell me {}."), (Group(ask, "Step by step", facts, route),))


@kind.task("collect", [(4, 9)])
def collect(make: Maker[Volume]) -> Draft:
    category = make.one(("Towns", "People", "Animals", "Rivers"))
    topics = make.some(make.content.of(category), make.shape[0])
    place = make.chance.randrange(len(topics[0].known))
    facts, route = each(make, [(_subject(topic), topic.known[place]) for topic in topics])
    ask = f"the {topics[0].known[place].name} of each of these: {listed([topic.title for topic in topics])}"
    return Draft(
        ("Make a table of {}.", "Collect {}.", "I am preparing a quiz and need {}."), (Group(ask, "The list", facts, route),)
    )


@kind.task("language", [(1, 3)])
def language(make: Maker[Volume]) -> Draft:
    """Who translated an article: only its version in that language says so."""
    topic = make.one(make.content.topics)
    chosen = make.some(topic.translators, make.shape[0])
    facts = tuple(
        Fact(
            f"The {_NAMES[code]} version of {topic.title} was translated by {who}.",
            (Shown(make.host, f"/{code}/{topic.slug}", (who,)), Says(who)),
            f"{_NAMES[code]}: {who}",
        )
        for code, who in chosen
    )
    moves: list[Move] = list(_subject(topic).way)
    for (code, who), _ in zip(chosen, facts, strict=True):
        moves += [Open(TONGUES[code][0]), See((who,))]
    ask = f"who translated the article “{topic.title}” into {listed([_NAMES[code] for code, _ in chosen])}"
    return Draft(
        ("Find out {}.", "Tell me {}.", "The versions in other languages name their translators. I need to know {}."),
        (Group(ask, "Translators", facts, tuple(moves)),),
    )


@kind.task("version", [(1, 3)])
def version(make: Maker[Volume]) -> Draft:
    topic = make.one(make.content.topics)
    chosen = make.some(versions(make.site, topic), make.shape[0])
    page = f"{topic.href}/versions"
    facts = tuple(
        Fact(
            f"The change “{what}” of {topic.title} was made by {who}.",
            (Shown(make.host, page, (who, what)), Says(who)),
            f"{what}: {who}",
        )
        for _, who, what in chosen
    )
    ask = f"which editors made the changes {listed([f'“{what}”' for _, _, what in chosen])} to the article “{topic.title}”"
    route = (*_subject(topic).way, Open("Versions"), *seen(facts))
    return Draft(
        ("Find out {}.", "Look into the versions and tell me {}.", "I want to know {}."),
        (Group(ask, "Editors", facts, route),),
    )


@kind.task("edit", [(1, 4)])
def edit(make: Maker[Volume]) -> Draft:
    topic, chance = make.one(make.content.topics), make.chance
    part = make.one(("Introduction", *(deep.section for deep in topic.deep)))
    text = make.one(("Please add a map", "The second sentence is unclear", "Mention the new museum", "Check this year"))
    source, email = f"Yearbook {chance.randrange(1990, 2026)}", f"reader{chance.randrange(10, 99)}@example.com"
    facts = (
        make.done(f"A change is suggested to {topic.title}: {text}.", "edit", ("article", topic.title), ("text", text)),
        make.done(f"It is about the section {part}.", "edit", ("section", part)),
        make.done(f"The source is {source}.", "edit", ("source", source)),
        make.done(f"The sender is {email}.", "edit", ("email", email)),
    )[: make.shape[0]]
    asked = (
        f"a change to the article “{topic.title}” with the text “{text}”",
        f"for the section “{part}”",
        f"source “{source}”",
        f"e-mail {email}",
    )
    route = (
        *_subject(topic).way,
        Open("Suggest a change"),
        Choose("Section", part),
        Fill("Your suggestion", text),
        Fill("Source", source),
        Fill("E-mail", email),
        Press("Send suggestion"),
        See(("Suggestion sent",)),
    )
    ask = ", ".join(asked[: make.shape[0]])
    return Draft(
        ("Suggest {}. Anything else the form asks for is up to you.", "Send the editors {}; invent the rest."),
        (Group(ask, "The suggestion", facts, route),),
    )
