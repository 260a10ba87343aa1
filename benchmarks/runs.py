"""One run of one contestant: open the sessions, let each do an episode unmeasured, then measure a fixed number of them."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.episodes import Contestant, Seen, Session, episode
from benchmarks.measure import Cpu, Meter

RUN_SECONDS = 1200.0

Page = tuple[str, str, float]


@dataclass(frozen=True)
class Run:
    """What was measured. `pages` are address, title and scroll position after each step of the unmeasured episodes: they
    show whether contestants did the same."""

    sessions: int
    seconds: float
    cpu: Cpu
    chromium_bytes: int
    latencies: list[float]
    image_bytes: float
    retaken: int
    pages: list[Page]

    @property
    def steps_per_second(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def megabytes(self) -> float:
        return self.chromium_bytes / self.sessions / 1e6

    @property
    def python_share(self) -> float:
        """Of the processes between client and Chromium in the processor time of both."""
        return self.cpu.between / (self.cpu.between + self.cpu.chromium)

    @property
    def disturbance(self) -> float:
        """Share of the machine that programs with no part in this were using."""
        return self.cpu.others / self.seconds / (os.cpu_count() or 1)

    def ms_per_step(self, seconds: float) -> float:
        return seconds * 1000 / len(self.latencies)

    def latency_ms(self, percent: int) -> float:
        return statistics.quantiles(self.latencies, n=100, method="inclusive")[percent - 1] * 1000


async def run(
    contestant: Contestant, sessions: int, episodes: int, site: str, meter: Meter, tick: Callable[[], None]
) -> Run:
    async with asyncio.timeout(RUN_SECONDS), contestant(sessions) as opened:
        trial = await asyncio.gather(*(_play(session, site, n, tick) for n, session in enumerate(opened)))
        before, started = meter.cpu(), time.perf_counter()
        played = await asyncio.gather(*(_play_all(one, site, n, episodes, tick) for n, one in enumerate(opened)))
        seconds, after = time.perf_counter() - started, meter.cpu()
        steps = [step for steps in played for step in steps]
        return Run(
            sessions=sessions,
            seconds=seconds,
            cpu=after - before,
            chromium_bytes=meter.chromium_bytes(),
            latencies=[taken for taken, _ in steps],
            image_bytes=statistics.fmean(len(seen.image) for _, seen in steps),
            retaken=sum(seen.retaken for _, seen in steps),
            pages=[(seen.url, seen.title, seen.y) for steps in trial for _, seen in steps],
        )


async def _play_all(
    session: Session, site: str, number: int, episodes: int, tick: Callable[[], None]
) -> list[tuple[float, Seen]]:
    return [step for _ in range(episodes) for step in await _play(session, site, number, tick)]


async def _play(session: Session, site: str, number: int, tick: Callable[[], None]) -> list[tuple[float, Seen]]:
    steps = []
    for action in episode(site, number):
        started = time.perf_counter()
        seen = await session.step(action)
        steps.append((time.perf_counter() - started, seen))
        tick()
    return steps
