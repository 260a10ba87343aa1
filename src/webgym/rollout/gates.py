"""Gates: how many at a time may do one kind of thing, and how long that took.

The engine has two levels of them. `slots` bounds the episodes under way; behind it every operation has a gate of its own
(allocate, navigate, step, model, judge), so that no kind of call starves another.

    async with gate.enter():
        ...                       # at most `size` are here at once

Invariants. First come, first served: a free place goes to whoever has waited longest, handed over directly, so that nobody
overtakes. Being cancelled gives up the place, also in the moment it is handed over. Wait and service times of everyone who
left are in `stats()`. A gate belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from webgym.rollout.settings import GateSizes

SHORTEST: Final = 1e-4  # seconds; the first bucket of a histogram ends here
BUCKETS_PER_OCTAVE: Final = 4
BUCKETS: Final = 96  # up to 24 octaves: half an hour
BOUNDS: Final = tuple(SHORTEST * 2 ** (place / BUCKETS_PER_OCTAVE) for place in range(BUCKETS - 1))


@dataclass(frozen=True, slots=True)
class Times:
    """How long something took, in seconds. Quantiles are good to a fifth."""

    count: int = 0
    total: float = 0.0
    longest: float = 0.0
    p50: float = 0.0
    p95: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class GateStats:
    """A gate as it stands. `busy` sums service times, also of those inside: busy / (size × elapsed) is its use."""

    name: str
    size: int
    inside: int
    waiting: int
    wait: Times
    service: Times
    busy: float


class Histogram:
    """Seconds in buckets whose bounds grow by a constant factor: fixed memory, whatever comes."""

    __slots__ = ("_counts", "count", "longest", "total")

    def __init__(self) -> None:
        self._counts = [0] * BUCKETS
        self.count = 0
        self.total = self.longest = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        if seconds > self.longest:
            self.longest = seconds
        self._counts[bisect_left(BOUNDS, seconds)] += 1

    def quantile(self, share: float) -> float:
        """The middle of the bucket in which this share of all is reached."""
        wanted, seen = share * self.count, 0
        for place, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                middle = SHORTEST * 2 ** ((place - 0.5) / BUCKETS_PER_OCTAVE) if place else SHORTEST / 2
                return min(middle, self.longest)
        return 0.0

    def times(self) -> Times:
        return Times(self.count, self.total, self.longest, self.quantile(0.5), self.quantile(0.95))


class Gate:
    """At most `size` inside at once; the others wait in line."""

    def __init__(self, name: str, size: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        if size < 1:
            raise ValueError(f"gate {name} would let nobody in: its size is {size}")
        self.name, self.size = name, size
        self._clock = clock
        self._line: deque[asyncio.Future[None]] = deque()
        self._inside = 0
        self._entered = 0.0  # the sum of the entry times of those inside
        self._wait, self._service = Histogram(), Histogram()

    @property
    def full(self) -> bool:
        """Whether who comes now has to wait."""
        return self._inside >= self.size

    def enter(self) -> Passage:
        return Passage(self)

    async def admit(self) -> float:
        """Wait for a place; when it was had. `Passage` calls this, and `leave` with what it returned."""
        came = entered = self._clock()
        if self.full:
            await self._wait_in_line()
            entered = self._clock()
        else:
            self._inside += 1
        self._wait.add(entered - came)
        self._entered += entered
        return entered

    def leave(self, entered: float) -> None:
        self._entered -= entered
        self._service.add(self._clock() - entered)
        self._hand_over()

    async def _wait_in_line(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._hand_over()  # the place was handed over in the moment of the cancellation
            elif turn in self._line:  # whoever left in between has taken it out already
                self._line.remove(turn)
            raise

    def _hand_over(self) -> None:
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)  # the place goes on as it is: `_inside` stays
                return
        self._inside -= 1

    def stats(self) -> GateStats:
        busy = self._service.total + self._inside_seconds()
        return GateStats(
            self.name, self.size, self._inside, len(self._line), self._wait.times(), self._service.times(), busy
        )

    def _inside_seconds(self) -> float:
        # Those who were handed a place and have not run yet are inside without an entry time; they count as just entered.
        return max(0.0, self._holders * self._clock() - self._entered) if self._holders else 0.0

    @property
    def _holders(self) -> int:
        return self._wait.count - self._service.count


class Passage:
    """One entry: `async with gate.enter()`. A class because a step makes several: a generator costs ten times as much."""

    __slots__ = ("_entered", "_gate")

    def __init__(self, gate: Gate) -> None:
        self._gate, self._entered = gate, 0.0

    async def __aenter__(self) -> None:
        self._entered = await self._gate.admit()

    async def __aexit__(self, *_: object) -> None:
        self._gate.leave(self._entered)


class Gates:
    """The gates of an engine, one an operation."""

    def __init__(self, sizes: GateSizes, slots: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.slots = Gate("slots", slots, clock=clock)
        self.allocate = Gate("allocate", sizes.allocate, clock=clock)
        self.navigate = Gate("navigate", sizes.navigate, clock=clock)
        self.step = Gate("step", sizes.step, clock=clock)
        self.model = Gate("model", sizes.model, clock=clock)
        self.judge = Gate("judge", sizes.judge, clock=clock)

    def stats(self) -> tuple[GateStats, ...]:
        every = (self.slots, self.allocate, self.navigate, self.step, self.model, self.judge)
        return tuple(gate.stats() for gate in every)
