"""What every contestant does: one episode of twelve steps on the local pages, and the words the contestants share.

An episode is three visits: a form is filled, documentation is read, a gallery is looked at. Sessions begin with different
visits, so that at any moment (and at the end, when memory is measured) all three kinds of page are open. A step is one
action, one screenshot, and the page's address, title and scroll position.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from webgym import types as t

WIDTH, HEIGHT = 1280, 768
QUALITY = 80
STEPS = 12
MOST_RETAKEN = 3

# Pixels of the pages in tests/site/bench.py.
NAME_FIELD = (640, 118)
EMAIL_FIELD = (640, 198)
SECTION_LINK = (100, 230)
NAME, EMAIL = "Ada Lovelace", "ada@example.org"


@dataclass(frozen=True)
class Seen:
    """What a step brought back. Every contestant must bring all of it."""

    image: bytes
    url: str
    title: str
    y: float
    retaken: int = 0


class Session(Protocol):
    async def step(self, action: t.Action) -> Seen: ...


async def retaking(take: Callable[[], Awaitable[bytes]], failure: type[Exception]) -> tuple[bytes, int]:
    """A picture, and how often it failed before. A busy Chromium sometimes answers "Unable to capture screenshot"; whoever
    uses it has to ask again, and so do contestants that would otherwise not finish."""
    for failed in range(MOST_RETAKEN):
        with suppress(failure):
            return await take(), failed
    return await take(), MOST_RETAKEN


# Opens so many sessions in fresh browsers, and closes everything in the end.
Contestant = Callable[[int], AbstractAsyncContextManager[list[Session]]]


def form(site: str) -> str:
    return f"{site}/bench/form"


def episode(site: str, session: int) -> list[t.Action]:
    """The twelve steps, begun at the visit that this session begins with."""
    visits: list[list[t.Action]] = [
        [
            t.Navigate(url=form(site)),
            t.Click(x=NAME_FIELD[0], y=NAME_FIELD[1]),
            t.Type(text=NAME),
            t.Click(x=EMAIL_FIELD[0], y=EMAIL_FIELD[1]),
            t.Type(text=EMAIL),
            t.Scroll(dy=300),
        ],
        [
            t.Navigate(url=f"{site}/bench/docs"),
            t.Scroll(dy=600),
            t.Scroll(dy=600),
            t.Click(x=SECTION_LINK[0], y=SECTION_LINK[1]),
        ],
        [
            t.Navigate(url=f"{site}/bench/images"),
            t.Scroll(dy=700),
        ],
    ]
    first = session % len(visits)
    return [action for visit in visits[first:] + visits[:first] for action in visit]
