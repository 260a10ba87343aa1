"""How contestants are measured: each alone for what it takes, and two at a time for how quick they are.

A shared machine is now faster and now slower, within seconds. So the server and one other are open at once and play by turns
of a few seconds, there and back, each going on where it stopped; the one that waits does next to nothing. A turn begins with
a while that is not measured, until its sessions are out of step with each other, and ends with the step each is in: what is
measured in between is the pace of a rollout that goes on, not the wait for its last episode. Two turns side by side are a
`Pair`.
Memory is measured of a contestant alone, because browsers that run beside it share their pages with it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.episodes import Contestant, Seen, Session, episode
from benchmarks.measure import Cpu, Meter
from webgym import types as t

RUN_SECONDS = 1200.0
WARMING_SECONDS = 1.5
TURN_SECONDS = 5.0
QUIET = 0.1  # of the machine: what other programs may use before the figures say more about them
FEWEST = 2  # steps of a turn that a pace can be told from

Page = tuple[str, str, float]


@dataclass(frozen=True)
class Alone:
    """A contestant by itself after some episodes of each session. `pages` are address, title and scroll position after each
    step: they show whether contestants did the same."""

    sessions: int
    chromium_bytes: int
    pages: list[Page]

    @property
    def megabytes(self) -> float:
        return self.chromium_bytes / self.sessions / 1e6


@dataclass(frozen=True)
class Turn:
    """What was measured in one turn: seconds each step took, and of the processor."""

    seconds: float
    cpu: Cpu
    latencies: list[float]
    image_bytes: float
    retaken: int

    @property
    def steps_per_second(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def python_share(self) -> float:
        """Of the processes between client and Chromium in the processor time of both."""
        return self.cpu.between / (self.cpu.between + self.cpu.chromium)

    @property
    def disturbance(self) -> float:
        """Share of the machine that programs with no part in this were using, on this machine or beside it on its host."""
        return self.cpu.others / self.seconds / (os.cpu_count() or 1)

    def ms_per_step(self, seconds: float) -> float:
        return seconds * 1000 / len(self.latencies)

    def latency_ms(self, percent: int) -> float:
        return statistics.quantiles(self.latencies, n=100, method="inclusive")[percent - 1] * 1000


@dataclass(frozen=True)
class Pair:
    """A turn of the server and one of another, one right after the other."""

    ours: Turn
    theirs: Turn

    @property
    def speed(self) -> float:
        """Steps a second of the server for each of the other's."""
        return self.ours.steps_per_second / self.theirs.steps_per_second

    @property
    def quiet(self) -> bool:
        return max(self.ours.disturbance, self.theirs.disturbance) <= QUIET


@dataclass
class Player:
    """A contestant's sessions and how far each is in its episodes."""

    sessions: list[Session]
    site: str
    actions: list[Iterator[t.Action]] = field(init=False)

    def __post_init__(self) -> None:
        self.actions = [itertools.cycle(episode(self.site, n)) for n in range(len(self.sessions))]

    async def turn(self, meter: Meter, *, warming: float = WARMING_SECONDS, seconds: float = TURN_SECONDS) -> Turn:
        """Play, and measure all but the first seconds. Ends when every session has finished the step it is in."""
        steps: list[tuple[float, Seen]] = []
        over = asyncio.Event()

        async def play(session: Session, actions: Iterator[t.Action]) -> None:
            while not over.is_set():
                started = time.perf_counter()
                seen = await session.step(next(actions))
                steps.append((time.perf_counter() - started, seen))

        async with asyncio.TaskGroup() as group:
            for session, actions in zip(self.sessions, self.actions, strict=True):
                group.create_task(play(session, actions))
            await asyncio.sleep(warming)
            first, before, started = len(steps), meter.cpu(), time.perf_counter()
            await asyncio.sleep(seconds)
            taken, used, measured = time.perf_counter() - started, meter.cpu() - before, steps[first:]
            over.set()
        if len(measured) < FEWEST:
            raise RuntimeError(f"{len(measured)} steps in {taken:.1f} s: too few to measure anything")
        return Turn(
            seconds=taken,
            cpu=used,
            latencies=[latency for latency, _ in measured],
            image_bytes=statistics.fmean(len(seen.image) for _, seen in measured),
            retaken=sum(seen.retaken for _, seen in measured),
        )


async def alone(contestant: Contestant, sessions: int, episodes: int, site: str, meter: Meter) -> Alone:
    async with asyncio.timeout(RUN_SECONDS), contestant(sessions) as opened:
        played = await asyncio.gather(*(_play(session, episode(site, n) * episodes) for n, session in enumerate(opened)))
        pages = [(seen.url, seen.title, seen.y) for steps in played for seen in steps]
        return Alone(sessions, meter.chromium_bytes(), pages)


async def by_turns(
    ours: Contestant, theirs: Contestant, sessions: int, pairs: int, site: str, meter: Meter, tick: Callable[[], None]
) -> list[Pair]:
    """So many pairs of turns, and one more for each that other programs disturbed, up to as many again."""
    async with asyncio.timeout(RUN_SECONDS), ours(sessions) as our_sessions, theirs(sessions) as their_sessions:
        us, them = Player(our_sessions, site), Player(their_sessions, site)
        played: list[Pair] = []
        while len(played) < 2 * pairs and sum(pair.quiet for pair in played) < pairs:
            # There and back: before the other as often as after it.
            if len(played) % 2 == 0:
                our_turn, their_turn = await us.turn(meter), await them.turn(meter)
            else:
                their_turn, our_turn = await them.turn(meter), await us.turn(meter)
            played.append(Pair(our_turn, their_turn))
            if played[-1].quiet or len(played) > pairs:
                tick()
        return played


async def _play(session: Session, actions: Iterable[t.Action]) -> list[Seen]:
    return [await session.step(action) for action in actions]
