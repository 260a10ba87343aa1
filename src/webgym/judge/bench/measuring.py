"""A judge at work on labelled episodes: so many at a time, each within its time, each verdict beside the truth.

Invariants. Every labelled episode becomes exactly one case, unless it is stopped. A judge that fails, is late, or speaks of
another episode has said nothing of this one: unscorable, with the reason, and never a guess. Episodes are read one by one as
places get free.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from webgym.errors import WebGymError, ungrouped
from webgym.judge.bench.figures import Case
from webgym.judge.bench.labelled import Labelled
from webgym.types import Episode, Judgement, Unscorable

WITHIN: Final = 900.0  # seconds a verdict may take


class Judge(Protocol):
    """What is measured."""

    @property
    def name(self) -> str: ...

    async def judge(self, episode: Episode) -> Judgement: ...


def _ignore(_: object) -> None:
    return


async def measure(
    judge: Judge,
    episodes: Iterable[Labelled],
    *,
    at_once: int = 8,
    within: float = WITHIN,
    told: Callable[[Case], None] = _ignore,
    keep: Callable[[Judgement], None] = _ignore,
    stop: Callable[[], bool] = lambda: False,
) -> list[Case]:
    """Judge them all, or until `stop`. `told` hears of every case as it is known; `keep` stores a judgement, and may block
    on the disk."""
    waiting, turn, cases = iter(episodes), asyncio.Lock(), []

    async def work() -> None:
        while not stop():
            async with turn:  # one reader at a time: a generator has one
                one = await asyncio.to_thread(_next, waiting)
            if one is None:
                return
            case, judgement = await _judged(judge, one, within)
            await asyncio.to_thread(keep, judgement)
            cases.append(case)
            told(case)

    with ungrouped():
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())
    return sorted(cases, key=lambda case: case.episode)


def _next(waiting: Iterator[Labelled]) -> Labelled | None:
    return next(waiting, None)


async def _judged(judge: Judge, one: Labelled, within: float) -> tuple[Case, Judgement]:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(within):
            judgement = await judge.judge(one.episode)
        if judgement.episode != one.episode.id:
            judgement = _failed(judge, one.episode, f"the judge spoke of episode {judgement.episode}")
    except TimeoutError:
        judgement = _failed(judge, one.episode, f"no verdict in {within:g} s")
    except WebGymError as e:
        judgement = _failed(judge, one.episode, f"{type(e).__name__}: {e}"[:300])
    return (
        Case(
            episode=one.episode.id,
            kind=one.episode.agent,
            truth=one.truth,
            said=judgement.verdict,
            seconds=time.perf_counter() - began,
            dollars=judgement.dollars,
            tokens=judgement.tokens,
        ),
        judgement,
    )


def _failed(judge: Judge, episode: Episode, reason: str) -> Judgement:
    return Judgement(episode=episode.id, judge=judge.name, verdict=Unscorable(reason=reason), judged=time.time())
