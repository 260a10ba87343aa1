"""The phases of an iteration, each a function from the run's folder to a result. Doing one twice changes nothing.

    rollout    planned episodes to their outcomes; the judge is asked as they end
    judge      verdicts that are still missing, then the figures; what replay learns from gets them of one judge
    evaluate   the same on the test split, in a run of its own: nothing of it is ever trained on
    replay     the samples to learn from
    train      a new checkpoint
    publish    the checkpoint gets its version; the model server is told before the next question is asked

A phase that is stopped by a person raises `Stopped`, and leaves what it did for the next start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from webgym.errors import ConfigError, RolloutStopped
from webgym.judge.models import Meters
from webgym.judging.running import Tally
from webgym.loop import memory, training
from webgym.loop.display import Display, Glance, of_rollout
from webgym.loop.figures import Figures, measure
from webgym.loop.serving import ModelHost
from webgym.loop.settings import LoopSettings
from webgym.loop.state import (
    Done,
    EvaluateDone,
    JudgeDone,
    LoopFolder,
    Phase,
    PublishDone,
    ReplayDone,
    RolloutDone,
    TrainDone,
)
from webgym.loop.verdicts import JudgeKind, judge_rest
from webgym.rolling.assembly import Played, Rolling, acting, browsing, monitor, play
from webgym.rolling.settings import RolloutSettings
from webgym.rollout.agent import NewAgent
from webgym.rollout.client import Client
from webgym.rollout.settings import Again
from webgym.store import Run
from webgym.train.job import Progress
from webgym.types import Split

log = logging.getLogger(__name__)

OURS: Final = frozenset({"policy_unavailable", "circuit_open", "disk_full"})  # of what cancels an episode


class Stopped(Exception):  # not an error: a person asked for it
    """The loop was asked to stop, and a phase is unfinished."""


class Stopper:
    """Asks whatever is under way to stop; the phases between look at `requested`."""

    def __init__(self) -> None:
        self.requested = False
        self._stop: Callable[[], None] | None = None

    def stop(self) -> None:
        self.requested = True
        if self._stop is not None:
            self._stop()

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        """What stops the phase under way."""
        self._stop = stop
        try:
            if self.requested:
                stop()
            yield
        finally:
            self._stop = None

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Give up the block where it stands when a person asks to stop: `Stopped` is raised once it has cleaned up.

        It is cancelled in its own task, where what it has entered is also left, and only once: a second request must not
        cut the clean-up short."""
        task, asked = asyncio.current_task(), False
        assert task is not None
        if self.requested:
            raise Stopped
        before = task.cancelling()

        def give_up() -> None:
            nonlocal asked
            if not asked:
                asked = True
                task.cancel()

        with self.calling(give_up):
            try:
                yield
            except asyncio.CancelledError:
                if asked and task.uncancel() <= before:
                    raise Stopped from None
                raise
            except BaseException:
                if asked:  # its clean-up failed, and that is told
                    task.uncancel()
                raise
            else:
                if asked:  # it had its own way with the cancellation, and came to its end
                    task.uncancel()


@dataclass
class Stage:
    """Everything the phases share. What costs seconds to start is started when it is first needed."""

    settings: LoopSettings
    folder: LoopFolder
    train: Run
    test: Run
    tasks: Path
    test_tasks: Path
    judge: JudgeKind
    trainer: training.Trainer
    host: ModelHost | None
    display: Display
    stopper: Stopper
    lasting: AsyncExitStack  # what stays up from iteration to iteration
    meters: Meters = field(default_factory=Meters, init=False)  # of the judge, whose budget is for the whole process
    _client: Client | None = field(default=None, init=False)
    _monitor: str = field(default="", init=False)  # where people watch

    async def client(self) -> Client:
        """The browsers and the offline web, which serve every rollout of this process."""
        if self._client is None:
            settings = self.settings.rollout("train", 0, self.train.path, self.tasks)
            self._client = await self.lasting.enter_async_context(browsing(settings))
        return self._client

    async def play(self, split: Split, version: int) -> Played:
        """Episodes of one split by one version of the model, without more faults of ours than a phase may have."""
        store = self.train if split == "train" else self.test
        return await persistent(
            lambda: self._play(split, version),
            lambda: asyncio.to_thread(faults, store, version, self.settings.engine.redo),
            most=self.settings.faults,
            steady=self.host.steady if self.host is not None else _always,
            stopped=lambda: self.stopper.requested,
            say=self.display.say,
        )

    async def _play(self, split: Split, version: int) -> Played:
        store, tasks = (self.train, self.tasks) if split == "train" else (self.test, self.test_tasks)
        settings = self.settings.rollout(split, version, store.path, tasks)
        async with AsyncExitStack() as stack:

            async def surroundings() -> tuple[Client, NewAgent]:
                with self.stopper.interrupting():  # a large model takes minutes to start
                    client, asking = await self.client(), settings
                    if self.host is not None:
                        url, _ = await self.host.serve(self.folder.model(version, self.trainer.first))
                        await stack.enter_async_context(self.host.kept_up())
                        asking = self.settings.rollout(split, version, store.path, tasks, url=url)
                    return client, await stack.enter_async_context(acting(asking))

            @asynccontextmanager
            async def watched(rolling: Rolling) -> AsyncIterator[None]:
                await self._show(stack, settings, rolling)
                self.display.follow(of_rollout(rolling.events))
                with self.stopper.calling(rolling.stop):
                    yield

            return await play(settings, store, surroundings, watched, meters=self.meters)

    async def _show(self, stack: AsyncExitStack, settings: RolloutSettings, rolling: Rolling) -> None:
        """The monitor of a rollout, at the address of the one before: whoever watches stays where they are."""
        if settings.monitor is None:
            return
        before = urlsplit(self._monitor).port
        try:
            address = await stack.enter_async_context(monitor(settings, rolling, port=before))
        except ConfigError:
            if before in (None, settings.monitor):
                raise
            # Any port would do when it was chosen, and somebody else has it now.
            address = await stack.enter_async_context(monitor(settings, rolling))
        if address != self._monitor:
            self._monitor = address
            self.display.say(f"Monitor: {address}")


async def persistent(
    attempt: Callable[[], Awaitable[Played]],
    failed: Callable[[], Awaitable[Counter[str]]],
    *,
    most: float,
    steady: Callable[[], Awaitable[bool]],
    stopped: Callable[[], bool],
    say: Callable[[str], None],
) -> Played:
    """Play until few enough episodes ended by faults of ours: once more if too many did, or if the model server died.

    An attempt takes back what may be redone and starts a dead model server anew, so the second costs the failed episodes."""
    for last in (False, True):
        played = await attempt()
        if played.failure is not None and (last or await steady()):
            raise played.failure
        if played.failure is None and played.unfinished:
            if stopped():
                raise Stopped
            raise RolloutStopped(f"the outcomes of {played.unfinished} episodes could not be written: is the disk full?")
        reasons = await failed()
        count = reasons.total()
        if played.failure is None and count <= most * played.planned:
            return played
        told = f"{count} of {played.planned} episodes ended by faults of ours"
        if reasons:
            told += f", most often: {reasons.most_common(1)[0][0]}"
        if stopped():
            raise Stopped
        if last:
            raise RolloutStopped(f"{told}. Put that right; the same command plays them again (`faults` says how many may)")
        say(f"{told}. They are played once more.")
    raise AssertionError("the last attempt returns or raises")


async def _always() -> bool:
    return True


def faults(store: Run, iteration: int, redo: Collection[Again]) -> Counter[str]:
    """Episodes of an iteration that ended by faults of ours and that a resumed run would redo, by reason. Blocks."""
    outcomes, found = store.outcomes(), Counter[str]()
    for planned in store.planned(iteration):
        record = outcomes.get(planned.id)
        if record is None or record.stored:
            continue
        outcome = record.outcome
        if outcome.kind == "infra" and "infra" in redo:
            found[outcome.reason] += 1
        elif outcome.kind == "cancelled" and outcome.reason in redo and outcome.reason in OURS:
            found[outcome.detail or outcome.reason] += 1
    return found


async def rollout(stage: Stage, iteration: int) -> RolloutDone:
    played = await stage.play("train", iteration)
    return RolloutDone(planned=played.planned)


async def judge(stage: Stage, iteration: int) -> JudgeDone:
    name, figures = await _score(stage, stage.train, iteration)
    for earlier in await asyncio.to_thread(judged_by_others, stage, iteration, name):
        await _judge_rest(stage, stage.train, earlier)
    return JudgeDone(judge=name, figures=figures)


async def evaluate(stage: Stage, version: int) -> EvaluateDone:
    await stage.play("test", version)
    name, figures = await _score(stage, stage.test, version)
    return EvaluateDone(judge=name, figures=figures)


async def _score(stage: Stage, store: Run, iteration: int) -> tuple[str, Figures]:
    """Verdicts that are missing, then the figures; also whose verdicts they are."""
    name = await _judge_rest(stage, store, iteration)
    before = await asyncio.to_thread(last_judge, stage.folder)
    if before is not None and before != name:
        _tell_of_another_judge(stage.display, before, name)
    return name, await asyncio.to_thread(measure, store, iteration, name)


async def _judge_rest(stage: Stage, store: Run, iteration: int) -> str:
    with stage.stopper.interrupting():
        return await judge_rest(stage.settings, stage.judge, store, iteration, _judging(stage.display), meters=stage.meters)


def last_judge(folder: LoopFolder) -> str | None:
    """Whose verdicts the latest result of a run follows; None: nothing is judged yet. Blocks."""
    for iteration in reversed(folder.iterations()):
        if (done := folder.read(iteration, EvaluateDone) or folder.read(iteration, JudgeDone)) is not None:
            return done.judge
    return None


def judged_by_others(stage: Stage, iteration: int, name: str) -> list[int]:
    """The iterations before this one that replay still learns from, and whose verdicts are not this judge's. Blocks."""
    clones = stage.trainer.train.objective == "filtered_bc"  # other objectives learn from the latest iteration alone
    first = max(0, iteration - stage.trainer.replay.iterations + 1) if clones else iteration
    found = ((one, stage.folder.read(one, JudgeDone)) for one in range(first, iteration))
    return [one for one, done in found if done is not None and done.judge != name]


def _tell_of_another_judge(display: Display, before: str, now: str) -> None:
    text = (
        f"The judge has changed from {before!r} to {now!r}: the test curve and the success of training now join figures of "
        "both, which do not compare. Where replay learns from episodes of earlier iterations, the new one judges these, too."
    )
    log.warning("%s", text)
    display.say(text)


async def replay(stage: Stage, iteration: int) -> ReplayDone:
    judged = await asyncio.to_thread(stage.folder.read, iteration, JudgeDone)
    assert judged is not None, "the loop judges before it replays"
    return await asyncio.to_thread(training.choose, stage.trainer, iteration, judged.judge)


async def train(stage: Stage, iteration: int) -> TrainDone:
    if stage.host is not None:
        await stage.host.rest()
    with stage.stopper.interrupting():
        return await training.learn(stage.trainer, iteration, _following(stage.display))


async def publish(stage: Stage, iteration: int) -> PublishDone:
    return await asyncio.to_thread(training.publish, stage.trainer, iteration)


def _judging(display: Display) -> Callable[[Tally], None]:
    def advance(tally: Tally) -> None:
        display.follow(lambda: Glance(tally.done, tally.wanted, f"{tally.rewarded} rewarded, {tally.unscored} unscorable"))

    return advance


def _following(display: Display) -> training.Report:
    def report(progress: Progress) -> None:
        text = f"loss {progress.loss:.4f}, {progress.tokens:,} tokens"
        display.follow(lambda: Glance(progress.update, progress.updates, text))

    return report


async def perform(stage: Stage, iteration: int, phase: Phase) -> Done:
    """Do a phase and say that it is done, unless it is."""
    done = await asyncio.to_thread(stage.folder.done, iteration, phase)
    if done is not None:
        return done
    began = time.monotonic()
    async with stage.display.phase(iteration, phase):
        match phase:
            case "rollout":
                result: Done = await rollout(stage, iteration)
            case "judge":
                result = await judge(stage, iteration)
            case "evaluate":
                result = await evaluate(stage, iteration)
            case "replay":
                result = await replay(stage, iteration)
            case "train":
                result = await train(stage, iteration)
            case "publish":
                result = await publish(stage, iteration)
    measured = {"seconds": time.monotonic() - began, "memory": await asyncio.to_thread(memory.held), "ended": time.time()}
    result = result.model_copy(update=measured)
    await asyncio.to_thread(stage.folder.finish, iteration, result)
    return result
