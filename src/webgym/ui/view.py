"""What the monitor shows: a cell an episode, the head above them, and the detail behind a cell.

`Board` is all the monitor knows of a run in progress. The rollout engine's events become one through a small adapter where
the stages meet, and a run's folder is one by itself (`FolderBoard`), so live and finished runs look the same.

Invariant: everything here is a copy. Nothing that the monitor holds or serves can change a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from webgym.types import FactGroup, FactResult, Wire

Doing = Literal[
    "planned", "waiting", "navigating", "screenshot", "model", "executing", "saving", "judging",
    "done", "failed", "cancelled",
]  # fmt: skip
ENDS: Final[frozenset[Doing]] = frozenset({"done", "failed", "cancelled"})

LONGEST_WHY: Final = 240


@dataclass(frozen=True, slots=True)
class Cell:
    """One episode at a glance."""

    id: str
    label: str  # the task, in a few words
    doing: Doing
    step: int = 0
    limit: int = 0  # 0: not known
    reward: int | None = None
    why: str = ""  # how it ended, if not well


class Gate(Wire):
    """The queue in front of one operation. Times are seconds."""

    name: str
    size: int
    busy: int
    queued: int
    passed: int = 0
    wait: float = 0.0
    wait_p95: float = 0.0
    service: float = 0.0
    service_p95: float = 0.0


class Head(Wire):
    """The run as a whole."""

    run: str
    agent: str = ""
    live: bool
    total: int
    counts: dict[Doing, int]
    scored: int = 0
    passed: int = 0
    steps: int = 0
    retries: int = 0
    notice: str = ""  # what the whole run waits for, if it does
    elapsed: float = 0.0
    tokens_per_second: float = 0.0
    episodes_per_hour: float = 0.0
    steps_per_second: float = 0.0
    model_use: float | None = None  # the part of the model's places that are taken
    browser_use: float | None = None  # likewise, of the browsers' fullest gate
    gates: tuple[Gate, ...] = ()

    @property
    def ended(self) -> int:
        return sum(self.counts.get(one, 0) for one in ENDS)


class Happened(Wire):
    """One step, in words."""

    index: int
    screenshot: str | None
    url: str
    title: str
    words: str
    aim: tuple[float, float] | None = None
    reply: str = ""
    invalid: str | None = None
    error: str | None = None
    unchanged: bool = False
    seconds: float = 0.0


class Ruling(Wire):
    """What one judge said."""

    judge: str
    reward: int | None
    reason: str
    facts: tuple[FactResult, ...] = ()


class Detail(Wire):
    """One episode, whole, or as far as it has come."""

    id: str
    task: str
    instruction: str = ""
    website: str = ""
    groups: tuple[FactGroup, ...] = ()
    agent: str = ""
    doing: Doing
    why: str = ""
    step: int = 0
    limit: int = 0
    width: int = 0
    height: int = 0
    steps: tuple[Happened, ...] = ()
    screenshot: str | None = None  # what the browser shows now, or showed last
    url: str = ""
    title: str = ""
    answer: str | None = None
    seconds: float = 0.0
    rulings: tuple[Ruling, ...] = ()


class Board(Protocol):
    """A run in progress. Calls come from the event loop, a few times a second: they must be quick and never block."""

    def head(self) -> Head: ...

    def cells(self) -> Sequence[Cell]:
        """Every episode to draw, in order. One that has not changed is the same object as before, which makes it cheap."""
        ...

    def detail(self, episode: str) -> Detail | None:
        """What an episode has done so far; None if there is nothing that the run's folder would not tell better."""
        ...
