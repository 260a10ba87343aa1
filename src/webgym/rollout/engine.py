"""The rollout engine: from a plan to one outcome for each of its episodes.

    plan ─▶ slots ─▶ one coroutine an episode (gates inside) ─▶ commit or record ─▶ judge

Invariants. Episodes begin in the order of the plan, as soon as a slot is free; there is no other barrier. Every episode
that began ends with one outcome in the store: kept with its steps if it says something of the website or the agent, recorded
alone if not, and only what was recorded alone may be attempted again by a resumed run. Nothing is held or queued without a
bound: coroutines under way are at most the slots and the judge's backlog. An episode leaves its slot once it is on the disk:
what the judge has no time for yet waits as an id, of which there are no more than the plan has.

It stops admitting when told to (`stop`: those under way and the judge have a grace, a second `stop` ends it), when the disk
is nearly full (until there is room), and for good when most of the last outcomes are faults of ours, or no start page of
many websites in a row could be loaded. What is then unjudged stays so, and is judged when the run is resumed.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from webgym.errors import DiskFull, RolloutStopped, StoreError, WebGymError, ungrouped
from webgym.refusals import refused_by
from webgym.rollout.blocking import BlockList
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events
from webgym.rollout.gates import Gates
from webgym.rollout.keeper import Keeper
from webgym.rollout.settings import Again, EngineSettings
from webgym.store import Run
from webgym.types import Cancelled, Episode, Judgement, Outcome, Unscorable

log = logging.getLogger(__name__)

JUDGE_BACKLOG: Final = 4  # coroutines for each episode that is judged at a time: the others wait in the gate's line
YOUNG: Final = 10_000  # new objects before they are looked through for garbage, of which there is next to none
Why = Literal["shutdown", "straggler", "circuit_open"]


class Judge(Protocol):
    """Says what an episode is worth. A failure is an `Unscorable`, or a WebGymError, which becomes one."""

    @property
    def name(self) -> str:
        """The judge's identity: its verdicts are kept under it."""
        ...

    async def judge(self, episode: Episode) -> Judgement: ...


class Engine:
    """Runs jobs to their outcomes. One use: make it, `run` it; `stop` it from a signal handler."""

    def __init__(
        self,
        keeper: Keeper,
        player: Player | None,
        jobs: Sequence[Job],
        gates: Gates,
        events: Events,
        settings: EngineSettings,
        *,
        total: int | None = None,
        blocklist: BlockList | None = None,
        judge: Judge | None = None,
    ) -> None:
        """`total` is the size of the iteration, if some of it was done before. Without jobs nobody need be there to play."""
        self._keeper, self._player, self._jobs, self._gates, self._events = keeper, player, jobs, gates, events
        self._settings, self._blocklist, self._judge = settings, blocklist, judge
        self._total = len(jobs) if total is None else total
        self._ended = self._total - len(jobs)
        self._next = 0  # the first job that has not begun
        self._running: dict[str, asyncio.Task[None]] = {}
        self._why: dict[str, Cancelled] = {}
        self._recent: deque[str] = deque(maxlen=settings.breaker.last if settings.breaker else 1)
        self._unjudged: deque[tuple[str, Outcome | None]] = deque()  # without an outcome: of an earlier process
        self._judging: dict[str, tuple[asyncio.Task[None], Outcome | None]] = {}
        self._lost = 0  # verdicts that the disk had no room for
        self._judges = judge is not None  # until judging is cut short, too
        self._told = False  # to stop
        self._stopping: Why | None = None
        self._fault: RolloutStopped | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._admitting: asyncio.Task[None] | None = None
        self._work: asyncio.TaskGroup | None = None

    @property
    def unfinished(self) -> int:
        """Episodes of the iteration without an outcome, and those that a stop cut short."""
        return self._total - self._ended

    @property
    def unjudged(self) -> int:
        """Kept episodes that the judge was to see, and has not."""
        return len(self._unjudged) + self._lost

    async def run(self, unjudged: Sequence[str] = ()) -> None:
        """Every job to its outcome, unless it is stopped. Raises RolloutStopped when the breaker opens, or when the whole
        iteration came to nothing but faults of ours.

        `unjudged` are episodes that were kept before and that the judge has not seen."""
        self._events.watch(self._gates.stats)
        for job in self._jobs:
            self._events.plan(job.id, job.task, job.planned.replica, limit=job.limit)
        gc.freeze()  # modules and plans stay: to look through them for garbage stops every episode for a tenth of a second
        often = gc.get_threshold()
        gc.set_threshold(YOUNG, *often[1:])
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as self._work:
                    self._admitting = self._work.create_task(self._admit(), name="admit")
                    self._unjudged.extend((one, None) for one in unjudged)
                    self._judge_more()
            if self._stopping in ("straggler", "circuit_open"):
                await self._cancel_unbegun(self._stopping)
            self._look_back()
        finally:
            for timer in self._timers:
                timer.cancel()
            self._events.finish()
            gc.set_threshold(*often)
            gc.unfreeze()
        if self._fault is not None:
            raise self._fault

    def stop(self) -> None:
        """Once: admit nobody, and give those under way and the judge a grace. Twice: end them too."""
        if not self._told:
            self._told = True
            log.warning("stopping: no new episodes; %d under way have %g s", len(self._running), self._settings.grace)
            self._stop_admitting("shutdown")
            self._events.say("stopping: those under way may finish")
            self._after_grace(self._cancel_all)
        else:
            self._keeper.hurried = True
            self._cancel_all()

    # admission

    async def _admit(self) -> None:
        assert self._work is not None
        while self._next < len(self._jobs) and self._stopping is None:
            await self._keeper.room()
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._gates.slots.enter())
                job = self._jobs[self._next]
                self._next += 1
                slot = self._slot(job, stack.pop_all())
                self._running[job.id] = self._work.create_task(slot, name=f"episode {job.id}")

    def _stop_admitting(self, why: Why) -> None:
        self._stopping = self._stopping or why
        if self._admitting is not None:
            self._admitting.cancel()

    async def _slot(self, job: Job, place: AsyncExitStack) -> None:
        """One episode in its slot."""
        async with place:
            self._events.begin(job.id, job.task, job.planned.replica, limit=job.limit)
            result: Episode | Outcome
            try:
                if self._blocklist is not None and job.task.split == "train" and job.task.website in self._blocklist:
                    result = Cancelled(reason="blocked_site")
                else:
                    assert self._player is not None
                    result = await self._player.play(job)
            except asyncio.CancelledError:
                why = self._why.pop(job.id, None)
                if why is None:
                    raise
                _own_task().uncancel()
                result = why
            finally:
                self._running.pop(job.id, None)  # from here on it is not cancelled: its outcome is on its way to the disk
            await self._end(job, result)

    # outcomes

    async def _end(self, job: Job, result: Episode | Outcome) -> None:
        self._events.doing(job.id, "saving")
        outcome = result.outcome if isinstance(result, Episode) else result
        try:
            if isinstance(result, Episode):
                first = await self._keeper.patiently(self._keeper.run.commit, result)
            else:
                first = await self._keeper.patiently(self._keeper.run.record, job.id, result)
        except DiskFull as e:
            log.error("episode %s has no outcome: %s; resume the run when there is room", job.id, e)
            self._events.end(job.id, Cancelled(reason="disk_full", detail=str(e)[:300]))
            return
        if not first:
            log.warning("episode %s had ended before: what was done now is dropped", job.id)
        website = refused_by(result) if isinstance(result, Episode) else None
        if outcome.kind == "blocked" and self._blocklist is not None and website is not None:
            await asyncio.to_thread(self._blocklist.add, website, outcome.reason)
        self._count(outcome)
        if first and isinstance(result, Episode) and result.trainable and self._judge is not None:
            self._unjudged.append((job.id, outcome))
            self._events.kept(job.id)
            if self._judges:
                self._events.doing(job.id, "waiting", gate="judge")
                self._judge_more()
                return
        self._events.end(job.id, outcome)

    def _count(self, outcome: Outcome) -> None:
        if outcome.kind == "cancelled" and outcome.reason == "shutdown":
            return
        self._ended += 1
        self._watch_breaker(outcome)
        stragglers, loop = self._settings.stragglers, asyncio.get_running_loop()
        if stragglers is None or self._stopping is not None or not self.unfinished:
            return
        here, enough = self._ended - (self._total - len(self._jobs)), stragglers.share * len(self._jobs)
        if here >= enough > here - 1:  # of what this process has to do: what a resumed run finds left is a batch of its own
            self._timers.append(loop.call_later(stragglers.grace, self._cancel_rest, "straggler", ""))

    def _watch_breaker(self, outcome: Outcome) -> None:
        breaker = self._settings.breaker
        ours = outcome.kind == "infra" or (outcome.kind == "cancelled" and outcome.reason == "policy_unavailable")
        if breaker is None or self._stopping is not None or (outcome.kind == "cancelled" and not ours):
            return
        said = outcome.reason if outcome.kind == "infra" else getattr(outcome, "detail", "")
        self._recent.append(said or outcome.kind if ours else "")
        failed = [reason for reason in self._recent if reason]
        unloaded = self._player.unloaded if self._player is not None else ()
        if outcome.kind == "site_error" and len(unloaded) >= breaker.last:
            # Each is its website's fault. So many of them, and none in between that could be loaded, are the network's.
            why = self._blame(f"the start pages of {len(unloaded)} websites in a row could not be loaded", outcome.reason)
        elif len(self._recent) == breaker.last and len(failed) > breaker.share * breaker.last:
            why = self._blame(f"{len(failed)} of the last {breaker.last} episodes failed for reasons of ours")
        else:
            return
        self._cancel_rest("circuit_open", why)
        self._after_grace(self._cancel_judging)

    def _look_back(self) -> None:
        """An iteration too small for the breaker, all of which failed for reasons of ours, has not gone well either."""
        if self._stopping is None and self._recent and len(self._recent) == self._total and all(self._recent):
            self._blame(f"all {self._total} episodes of the iteration failed for reasons of ours")

    def _blame(self, what: str, reason: str = "") -> str:
        """What went wrong, the most often if no reason is given; the rollout ends with it."""
        why = reason or Counter(filter(None, self._recent)).most_common(1)[0][0]
        message = f"{what}, {'at last' if reason else 'most often'}: {why}"
        self._fault = RolloutStopped(f"{message}. Put that right, then resume the run")
        self._events.say(f"stopped: {message}")
        return why

    # cancelling

    def _cancel_rest(self, why: Why, detail: str) -> None:
        self._stop_admitting(why)
        self._cancel_running(why, detail)

    def _after_grace(self, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(self._settings.grace, call))

    def _cancel_all(self) -> None:
        self._cancel_running("shutdown", "")
        self._cancel_judging()

    def _cancel_running(self, why: Why, detail: str) -> None:
        for episode, task in self._running.items():
            if episode not in self._why:
                self._why[episode] = Cancelled(reason=why, detail=detail[:300])
                task.cancel()

    async def _cancel_unbegun(self, why: Why) -> None:
        """Also those that were cancelled between their admission and their first step."""
        outcome = Cancelled(reason=why, detail="not begun")
        for job in (*(one for one in self._jobs[: self._next] if one.id in self._why), *self._jobs[self._next :]):
            await self._keeper.patiently(self._keeper.run.record, job.id, outcome)
            self._ended += 1
            self._events.end(job.id, outcome)
        self._next = len(self._jobs)

    # judging

    def _judge_more(self) -> None:
        """Have the judge see to those who wait, as far as its backlog has room; to nobody once it is cut short."""
        assert self._work is not None
        while self._judges and self._unjudged and len(self._judging) < JUDGE_BACKLOG * self._settings.gates.judge:
            one, outcome = self._unjudged.popleft()
            self._judging[one] = self._work.create_task(self._judge_it(one, outcome), name=f"judge {one}"), outcome

    async def _judge_it(self, one: str, outcome: Outcome | None) -> None:
        async with self._gates.judge.enter():
            self._events.doing(one, "judging")
            judgement = await self._judgement(one)
        if self._judging.pop(one, None) is None:  # from here on it is not cancelled: its verdict is on its way to the disk
            return
        if judgement is not None:
            try:
                await self._keeper.patiently(self._keeper.run.add_judgement, judgement)
                self._events.judged(one, judgement.verdict.reward if judgement.verdict.kind == "scored" else None)
            except DiskFull as e:
                log.error("the verdict on episode %s is lost, judge it again: %s", one, e)
                self._lost += 1
        if outcome is not None:
            self._events.end(one, outcome)
        self._judge_more()

    async def _judgement(self, one: str) -> Judgement | None:
        assert self._judge is not None
        try:
            episode = await asyncio.to_thread(self._keeper.run.episode, one)
        except StoreError as e:
            log.warning("episode %s cannot be judged: %s", one, e)
            return None
        try:
            return await self._judge.judge(episode)
        except WebGymError as e:
            verdict = Unscorable(reason=f"{type(e).__name__}: {e}"[:500])
            return Judgement(episode=one, judge=self._judge.name, verdict=verdict, judged=time.time())

    def _cancel_judging(self) -> None:
        """Leave what is not judged as it is: on the disk, for a resumed run."""
        if not self._judges:
            return
        self._judges = False
        under_way, self._judging = self._judging, {}
        for one, (task, outcome) in under_way.items():
            task.cancel()
            self._unjudged.append((one, outcome))
        for one, outcome in self._unjudged:
            if outcome is not None:
                self._events.end(one, outcome)


def _own_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


@contextmanager
def sole(folder: Path) -> Iterator[None]:
    """One rollout at a time works on a run. The lock is on the folder itself and falls with the process."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as e:
        raise StoreError(f"{folder}: {e.strerror}") from e
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"another rollout is at work on {folder}: wait for it, or stop it") from None
        yield
    finally:
        os.close(handle)


def take_back(run: Run, iteration: int, redo: Collection[Again]) -> int:
    """Withdraw the records of an iteration that a resumed run should attempt again; how many there were. Blocks."""
    outcomes, count = run.outcomes(), 0
    for planned in run.planned(iteration):
        record = outcomes.get(planned.id)
        if record is None or record.stored:
            continue
        why = record.outcome.reason if record.outcome.kind == "cancelled" else record.outcome.kind
        if why in redo:
            count += run.withdraw(planned.id, f"resumed: it had ended by {why}")
    return count


def unjudged(run: Run, iteration: int, judge: str) -> list[str]:
    """Kept episodes that can be scored and that a judge has not judged. Blocks."""
    planned, outcomes = [one.id for one in run.planned(iteration)], run.outcomes()
    judged = run.latest_judgements(judge, planned)
    return [
        one
        for one in planned
        if one not in judged
        and (record := outcomes.get(one)) is not None
        and record.stored
        and record.outcome.kind in ("answered", "step_limit")
    ]
