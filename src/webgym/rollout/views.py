"""What a watcher of a rollout sees: frozen structures that `events` makes and hands out. Nothing here does anything.

They are msgspec's because a step makes about ten of them, and those are copied in no time.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import field

from webgym.rollout.gates import GateStats
from webgym.types import DifficultyBand

Doing = Literal[
    "planned", "waiting", "opening", "navigating", "screenshot", "model", "executing", "saving", "judging",
    "done", "failed", "cancelled",
]  # fmt: skip
ENDED: Final[frozenset[Doing]] = frozenset({"done", "failed", "cancelled"})
STATES: Final[tuple[Doing, ...]] = (
    "planned", "waiting", "opening", "navigating", "screenshot", "model", "executing", "saving", "judging",
    "done", "failed", "cancelled",
)  # fmt: skip
OutcomeKind = Literal["", "answered", "step_limit", "blocked", "site_error", "infra", "cancelled"]


class EpisodeView(msgspec.Struct, frozen=True, gc=False):
    """One episode, now. Times are seconds since the epoch."""

    id: str
    task: str
    website: str
    instruction: str
    band: DifficultyBand
    replica: int
    doing: Doing = "planned"
    gate: str = ""  # whose line it stands in, if it waits
    since: float = 0.0  # when it began to do this
    step: int = 0  # steps taken
    limit: int = 0  # steps it may take
    attempt: int = 0
    screenshot: str | None = None  # the latest one's hash
    url: str = ""
    title: str = ""
    action: str = ""  # the kind of the latest action, or "invalid"
    started: float | None = None
    ended: float | None = None
    outcome: OutcomeKind = ""
    reason: str = ""  # why it failed or was cancelled; while it is retried, why
    reward: int | None = None  # once judged


class Counts(msgspec.Struct, frozen=True):
    """How many episodes there are of each kind, whether or not their views are still held."""

    total: int = 0
    doing: dict[str, int] = field(default_factory=dict)  # by `Doing`, all of them present
    outcomes: dict[str, int] = field(default_factory=dict)  # by outcome, "cancelled(straggler)" and the like apart
    played: int = 0  # that ended in this process after they had begun
    rewarded: int = 0
    judged: int = 0
    steps: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Rates(msgspec.Struct, frozen=True, gc=False):
    """Throughput of the last minute, or since the beginning if that is shorter."""

    steps_per_second: float = 0.0
    episodes_per_hour: float = 0.0
    tokens_per_second: float = 0.0  # that the model wrote


class State(msgspec.Struct, frozen=True):
    """All there is to show. `number` grows with every change: equal numbers, equal states but for time and gates."""

    run: str
    iteration: int
    number: int
    now: float
    started: float
    notice: str  # what the whole rollout is waiting for or doing: draining, disk full, circuit open; empty if it runs
    finished: bool
    counts: Counts
    rates: Rates
    gates: tuple[GateStats, ...]
    episodes: tuple[EpisodeView, ...]  # in the order they were planned


class Update(msgspec.Struct, frozen=True):
    """What changed since the last one. `dropped` are episodes whose views are no longer held."""

    number: int
    now: float
    notice: str
    finished: bool
    counts: Counts
    rates: Rates
    gates: tuple[GateStats, ...]
    episodes: tuple[EpisodeView, ...]
    dropped: tuple[str, ...]
