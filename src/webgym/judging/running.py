"""Judging what a run has kept: every episode without a verdict, so many at a time, resumable at any point.

Invariants. An episode is judged once by a judge unless the verdict was `Unscorable`, which is no verdict to keep to: the
next run judges it again. A judgement is on the disk before its episode counts as done, so however the process ends, nothing
that was paid for is lost and nothing is judged twice. At most `at_a_time` episodes are in memory.

When the model has been down for so many episodes in a row, the rest is left for another time. So it is when as many replies
or refusals were of no use and no episode has been scored yet: a judge that has scored one can judge, and what it cannot
score then is that episode's own. A refusal that would meet every question alike (a wrong key, an unknown model) stops at
once, as does a spent budget.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from webgym.endpoint.transport import OF_THE_REQUEST
from webgym.errors import BudgetSpent, EndpointDown, EndpointRefused, StoreError, UnusableReply, WebGymError
from webgym.store import Run
from webgym.types import Episode, Judgement, Task, Unscorable

log = logging.getLogger(__name__)

SCORABLE: Final = ("answered", "step_limit")


class Judge(Protocol):
    @property
    def name(self) -> str: ...

    async def judge(self, episode: Episode) -> Judgement: ...


@dataclass
class Patience:
    """Watches how the endpoints do and says when to stop."""

    give_up_after: int
    has_scored: bool = False  # an episode, now or before
    down: int = 0  # episodes in a row
    useless: int = 0  # episodes that got no verdict although the model answered
    stopped: str | None = None

    def trouble(self, error: WebGymError) -> None:
        """An episode stays unscored because of this."""
        if isinstance(error, EndpointDown):
            self.down += 1
            if self.down >= self.give_up_after:
                self.stop(f"the model was down for {self.down} episodes in a row, the last time so: {error}")
        elif isinstance(error, BudgetSpent) or (isinstance(error, EndpointRefused) and error.status not in OF_THE_REQUEST):
            self.stop(str(error))
        elif isinstance(error, UnusableReply | EndpointRefused):
            self.useless += 1
            if self.useless >= self.give_up_after and not self.has_scored:
                self.stop(f"none of {self.useless} episodes could be scored, the last one so: {error}")

    def relief(self) -> None:
        """An episode was scored."""
        self.down, self.has_scored = 0, True

    def stop(self, why: str) -> None:
        self.stopped = self.stopped or why


@dataclass
class Tally:
    """What a run of the judge came to."""

    wanted: int = 0
    done: int = 0
    rewarded: int = 0
    failed: int = 0
    unscorable: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def scored(self) -> int:
        return self.rewarded + self.failed

    @property
    def unscored(self) -> int:
        return sum(self.unscorable.values())

    def count(self, judgement: Judgement) -> None:
        self.done += 1
        verdict = judgement.verdict
        if isinstance(verdict, Unscorable):
            kind = verdict.reason.partition(":")[0][:80]
            self.unscorable[kind] = self.unscorable.get(kind, 0) + 1
        elif verdict.reward:
            self.rewarded += 1
        else:
            self.failed += 1


def waiting(run: Run, judge: str, *, iteration: int | None = None, again: bool = False) -> list[str]:
    """Kept episodes that can be scored and that a judge has not scored, in the order of the plan. Blocks."""
    planned, outcomes = [one.id for one in run.planned(iteration)], run.outcomes()
    judged = {} if again else run.latest_judgements(judge, planned)
    scored = {one for one, said in judged.items() if said.verdict.kind == "scored"}
    return [
        one
        for one in planned
        if one not in scored
        and (record := outcomes.get(one)) is not None
        and record.stored
        and record.outcome.kind in SCORABLE
    ]


def has_scored(run: Run, judge: str, *, iteration: int | None = None) -> bool:
    """Whether a judge has scored an episode. Blocks."""
    planned = {one.id for one in run.planned(iteration)}
    return any(said.verdict.kind == "scored" and said.episode in planned for said in run.judgements(judge))


async def judge_all(
    run: Run,
    judge: Judge,
    episodes: Iterable[str],
    *,
    at_a_time: int,
    patience: Patience,
    tasks: Callable[[Task], Task] = lambda task: task,
    advance: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Judge these episodes and keep what was said. `tasks` may give an episode's task another rubric."""
    listed = tuple(episodes)
    tally, began, line = Tally(wanted=len(listed)), time.monotonic(), iter(listed)

    async def work() -> None:
        for one in _while(line, patience):
            try:
                episode = await asyncio.to_thread(run.episode, one)
            except StoreError as e:
                log.warning("episode %s cannot be judged: %s", one, e)
                continue
            judgement = await judge.judge(episode.model_copy(update={"task": tasks(episode.task)}))
            del episode
            try:
                await asyncio.to_thread(run.add_judgement, judgement)
            except StoreError as e:  # what was paid for is in the cache of replies
                patience.stop(str(e))
                return
            if judgement.verdict.kind == "scored":
                patience.relief()
            tally.count(judgement)
            tally.seconds = time.monotonic() - began
            advance(tally)

    async with asyncio.TaskGroup() as group:
        for number in range(min(at_a_time, max(1, len(listed)))):
            group.create_task(work(), name=f"judge {number}")
    return tally


def _while(line: Iterator[str], patience: Patience) -> Iterator[str]:
    while patience.stopped is None and (one := next(line, None)) is not None:
        yield one
