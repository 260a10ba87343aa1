"""A list of one's own: a recipe box, a watch list, favourites. A kind calls `saves` and shows `keep_button` beside things.

The list is one record `saved`, made anew with every change: a field `yes` for each thing in it, by slug, and `count`. So a
check can ask for exactly these things and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from webgym.worlds.blocks import Button, Buttons, Card, CardRow, Link, Notice, Page, Redirect, Response
from webgym.worlds.kind import Kind, Visit
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Press, See
from webgym.worlds.state import Memory
from webgym.worlds.subjects import Topic
from webgym.worlds.words import listed

C = TypeVar("C")
T = TypeVar("T")
RECORD: Final = "saved"
MOST: Final = 40


def keep_button(slug: str, text: str) -> Button:
    return Button(text, "/keep", (("slug", slug),))


def _kept(memory: Memory) -> list[str]:
    return [slug for record in memory.all(RECORD) for slug in record.fields if slug != "count"]


def saves(kind: Kind[C], path: str, title: str, card: Callable[[C, str], Card | None], *, members: bool = False) -> None:
    """Give a kind a list at `path`. `card` draws the thing of a slug, if there is one. `members`: only after logging in."""

    def write(visit: Visit[C], slugs: list[str]) -> Redirect:
        memory = visit.memory
        memory.records = [record for record in memory.records if record.kind != RECORD]
        if slugs:
            memory.record(RECORD, {**dict.fromkeys(slugs, "yes"), "count": str(len(slugs))})
        return Redirect(path)

    @kind.page("/keep", members=members)
    def keep(visit: Visit[C]) -> Response:
        slug, kept = (visit.posted or {}).get("slug", ""), _kept(visit.memory)
        known = slug not in kept and len(kept) < MOST and card(visit.content, slug) is not None
        return write(visit, [*kept, slug] if known else kept)

    @kind.page("/keep/not", members=members)
    def drop(visit: Visit[C]) -> Response:
        slug = (visit.posted or {}).get("slug", "")
        return write(visit, [other for other in _kept(visit.memory) if other != slug])

    @kind.page(path, members=members)
    def show(visit: Visit[C]) -> Response:
        kept = [(slug, found) for slug in _kept(visit.memory) if (found := card(visit.content, slug)) is not None]
        if not kept:
            empty = Notice("There is nothing here yet.", link=Link("Look around", "/"))
            return Page(title, (empty,), heading=title)
        removal = tuple(Button(f"Remove {one.title}", "/keep/not", (("slug", slug),), quiet=True) for slug, one in kept)
        return Page(title, (CardRow("", tuple(one for _, one in kept)), Buttons(removal)), heading=title)


def save_some(
    make: Maker[Any],
    things: Sequence[T],
    topic: Callable[[T], Topic],
    slug: Callable[[T], str],
    button: str,
    title: str,
    openings: tuple[str, ...],
) -> Draft:
    """Put given things on the list, and no others."""
    chosen = make.some(things, make.shape[0])
    count = ("count", str(len(chosen)))
    topics = [topic(thing) for thing in chosen]
    facts = tuple(
        make.done(f"{one.name} is saved, and nothing that was not asked for.", RECORD, (slug(thing), "yes"), count)
        for one, thing in zip(topics, chosen, strict=True)
    )
    route = tuple(move for one in topics for move in (*one.way, Press(button), See((title,))))
    return Draft(openings, (Group(listed([one.called for one in topics]), title, facts, route),))
