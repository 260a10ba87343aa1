"""Tasks of the paper archive: look up, compare citations, narrow down, search by many criteria, save, set an alert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from webgym.worlds.account import credentials, login_moves
from webgym.worlds.asking import best_fit, compare, each, look_up, one_best
from webgym.worlds.making import CannotMake, Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, SortBy
from webgym.worlds.saved import save_some
from webgym.worlds.sites.papers import fits, kind
from webgym.worlds.sites.papers_content import YEARS, Archive, Author, Paper
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import listed


def _paper(paper: Paper) -> Topic:
    return Topic(
        paper.title,
        paper.href,
        f"the paper “{paper.title}”",
        (
            Known("number of citations", f"{paper.citations}", f"{paper.citations:,} citations"),
            Known("number of pages", f"{paper.pages}", f"{paper.pages} pages"),
            Known("number of figures", f"{paper.figures}", f"{paper.figures} figures"),
            Known("submission date", paper.submitted),
            Known("DOI", paper.doi),
            Known("licence", paper.licence),
            Known("identifier", paper.number, as_text=True),
            Known(
                "file size of version v1 in kB",
                f"{paper.versions[0][2]}",
                f"{paper.versions[0][2]:,} kB",
                opener=(Press("Versions"),),
            ),
        ),
    )


def _author(author: Author) -> Topic:
    years = tuple(
        Known(f"number of citations in {year}", str(count))
        for year, count in zip(YEARS[-3:], author.cited[-3:], strict=True)
    )
    knowns = (Known("institution", author.institute), Known("h-index", str(author.h_index)), *years)
    return Topic(author.name, author.href, f"the author {author.name}", knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Archive]) -> Draft:
    topics = [*map(_paper, make.content.papers), *map(_author, make.content.authors)]
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "For a literature review I need {}.",
        "Report {}, as this archive gives it.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


@kind.task("compare", [(3, 5)])
def compared(make: Maker[Archive]) -> Draft:
    return compare(make, make.content.papers, _paper, "number of citations", lambda paper: paper.citations, "most cited")


@kind.task("collect", [(4, 10)])
def collect(make: Maker[Archive]) -> Draft:
    asked = make.one(("number of pages", "DOI", "number of figures"))
    papers = make.some(make.content.papers, make.shape[0])
    return each(
        make, [_paper(paper) for paper in papers], asked, ("Collect {}.", "For a bibliography, note {}.", "List {}.")
    )


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[Archive]) -> Draft:
    """The most cited paper of a field with a given licence, type or year."""
    field = make.one(make.content.fields)
    sides: dict[str, Callable[[Paper], str]] = {
        "Type": lambda paper: paper.sort,
        "Licence": lambda paper: paper.licence,
        "Year": lambda paper: str(paper.year),
    }
    by = make.one(sorted(sides))
    inside = [paper for paper in make.content.papers if paper.field == field]
    value = make.one(sorted({sides[by](paper) for paper in inside}))
    fitting = [paper for paper in inside if sides[by](paper) == value]
    best = one_best(make, fitting, lambda paper: paper.citations)
    way = (Open("Browse"), Filter("Field", field), Filter(by, value), SortBy("Most cited"), Open(best.title))
    what = f"the most cited paper in {field} with {by.lower()} {value}"
    return best_fit(
        make,
        _paper(best),
        map(_paper, fitting),
        what,
        way,
        ("Find {}.", "Use the archive's filters to find {}.", "I am after {}."),
    )


@kind.task("advanced", [(1, 4)])
def advanced(make: Maker[Archive]) -> Draft:
    """The only paper that meets several criteria of the advanced search."""
    paper = make.one(make.content.papers)
    given: tuple[tuple[str, str, str, str], ...] = (
        ("field", "Field", paper.field, f"in {paper.field}"),
        ("sort", "Type", paper.sort, f"of type {paper.sort}"),
        ("since", "From year", str(paper.year), f"from {paper.year} or later"),
        (
            "cited",
            "Minimum citations",
            str(paper.citations // 50 * 50),
            f"with at least {paper.citations // 50 * 50} citations",
        ),
        ("pages", "Maximum pages", str(paper.pages // 5 * 5 + 5), f"of at most {paper.pages // 5 * 5 + 5} pages"),
    )
    wanted = {key: value for key, _, value, _ in given}
    if sum(fits(other, wanted) for other in make.content.papers) != 1:
        raise CannotMake("several papers fit")
    fill = tuple(Choose(label, value) if key in ("field", "sort") else Fill(label, value) for key, label, value, _ in given)
    way: tuple[Move, ...] = (Open("Advanced search"), *fill, Press("Search the archive"), Open(paper.title))
    what = f"the only paper {listed([said for *_, said in given])}"
    openings = ("Find {}.", "Use the advanced search to find {}.", "I am looking for {}.")
    return best_fit(make, _paper(paper), map(_paper, make.content.papers), what, way, openings)


@kind.task("save", [(1, 4)])
def save(make: Maker[Archive]) -> Draft:
    account = make.site.account
    openings = (
        f"Sign in ({credentials(account)}) and put {{}} on the reading list, and nothing else.",
        f"Save exactly this to my reading list: {{}}. My log-in is {credentials(account)}.",
    )
    papers = make.content.papers
    saved = save_some(make, papers, _paper, lambda paper: paper.number, "Save to reading list", "Reading list", openings)
    return replace(saved, start=login_moves(account))


@kind.task("alert", [(1, 4)])
def alert(make: Maker[Archive]) -> Draft:
    chance = make.chance
    email = f"reader{chance.randrange(100, 999)}@example.com"
    field, often = chance.choice(make.content.fields), chance.choice(("Daily", "Weekly", "Monthly"))
    word = chance.choice(("climate", "energy", "networks", "imaging", "policy"))
    given = (("email", f"to {email}", email), ("field", f"about {field}", field), ("often", f"sent {often.lower()}", often),
             ("word", f"with the keyword {word}", word))[: make.shape[0]]  # fmt: skip
    facts = tuple(make.done(f"An alert is created {said}.", "alert", (key, value)) for key, said, value in given)
    route = (
        Open("Alerts"),
        Fill("E-mail", email),
        Choose("Field", field),
        Choose("How often", often),
        Fill("Keyword", word),
        Press("Create alert"),
        See(("Alert created",)),
    )
    openings = ("Create an e-mail alert {}. The rest is up to you.", "Set up an alert on this archive, {}; choose the rest.")
    return Draft(openings, (Group(", ".join(said for _, said, _ in given), "The alert", facts, route),))
