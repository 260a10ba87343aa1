"""What every contestant does: one episode of twelve steps on the local pages, and the words the contestants share.

An episode is three visits: a form is filled, documentation is read, a gallery is looked at. Sessions start at different
visits, so that at any moment (and at the end, when memory is measured) all three kinds of page are open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from webgym import types as t

WIDTH, HEIGHT = 1280, 768
QUALITY = 80
STEPS = 12

# Pixels of the pages in tests/site/bench.py; `Seen.typed` of the trial episode proves that they hit.
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


class Session(Protocol):
    async def step(self, action: t.Action) -> Seen: ...


Processes = Callable[[], tuple[list[int], list[int]]]


@dataclass(frozen=True)
class Running:
    """A contestant with its sessions open. `browsers` are the process ids of its Chromium browser processes, `drivers`
    those of the processes between this one and Chromium; both with their descendants, taken once all is started."""

    sessions: list[Session]
    browsers: list[int]
    drivers: list[int]


Contestant = Callable[[int], AbstractAsyncContextManager[Running]]


def episode(site: str, session: int) -> list[t.Action]:
    """The twelve steps, begun at the visit that this session begins with."""
    visits: list[list[t.Action]] = [
        [
            t.Navigate(url=f"{site}/bench/form"),
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
