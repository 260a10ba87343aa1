"""The loop: for every iteration its phases in order, until the last one; then the last model is evaluated.

    run(settings) -> LoopReport      in an event loop of its own
    train(settings, …)               in one that is there

Invariants. One loop at a time works on a run. Everything that could refuse the run is asked before the first browser starts.
The order of phases follows from the settings and the result files alone, so a loop that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from webgym.errors import ConfigError
from webgym.loop import metrics, trackers
from webgym.loop.display import Display
from webgym.loop.figures import Rate
from webgym.loop.leakage import check_apart, task_ids
from webgym.loop.phases import Stage, Stopped, Stopper, perform
from webgym.loop.plot import Point
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
from webgym.loop.training import Trainer, check
from webgym.loop.verdicts import JudgeKind
from webgym.rolling.assembly import judge_of, signals
from webgym.rolling.plan import task_file
from webgym.rollout.engine import sole
from webgym.store import Run
from webgym.train.checkpoint import sweep
from webgym.train.serving.endpoint import check_checkpoint, model_server
from webgym.train.serving.external import key_of
from webgym.train.serving.settings import ExternalSettings, ModelServerSettings, VllmSettings
from webgym.train.serving.vllm import require_vllm

UNSERVED: Final = Path()


@dataclass(frozen=True)
class LoopReport:
    """What a loop came to. Rates are of the test split: of the first model and of the last one that was evaluated."""

    run: Path
    finished: bool
    iterations: int
    seconds: float
    before: Rate | None
    after: Rate | None
    test: tuple[Point, ...]
    train: tuple[Point, ...]


def run(settings: LoopSettings, console: Console | None = None) -> LoopReport:
    """The whole loop, from here to its end or to a signal."""
    import uvloop

    return uvloop.run(_until_signal(settings, console or Console(stderr=True)))


async def _until_signal(settings: LoopSettings, console: Console) -> LoopReport:
    stopper = Stopper()
    with signals(stopper.stop):
        return await train(settings, console, stopper)


async def train(settings: LoopSettings, console: Console, stopper: Stopper) -> LoopReport:
    """Every phase that is not done yet. Returns when all are, or when the stopper was asked."""
    began, display = time.monotonic(), Display(console, settings.iterations)
    finished = False
    async with AsyncExitStack() as stack:
        stage = await _prepared(settings, display, stopper, stack)
        tracked = trackers.Tracked(settings.project, stage.folder.run, stage.train.info.created)
        listening = stack.enter_context(trackers.opened(settings.track, tracked))
        if listening and (over := over_before(settings, stage.folder)) is not None:
            trackers.tell(listening, await asyncio.to_thread(metrics.collect, stage.folder, over))
        try:
            for iteration, phase in order(settings, stage.folder):
                if stopper.requested:
                    break
                new = await asyncio.to_thread(stage.folder.done, iteration, phase) is None
                done = await perform(stage, iteration, phase)
                if new:
                    await asyncio.to_thread(metrics.write, stage.folder)
                    display.finished(iteration, phase, done.seconds, told(done))
                    if phase == "publish" or iteration == settings.iterations:
                        trackers.tell(listening, await asyncio.to_thread(metrics.collect, stage.folder, iteration))
            else:
                finished = True
        except Stopped:
            pass
        if not finished:
            display.say("Stopped. The same command goes on from here.")
        return await asyncio.to_thread(_report, stage.folder, finished, time.monotonic() - began)


def order(settings: LoopSettings, folder: LoopFolder) -> Iterator[tuple[int, Phase]]:
    """The phases to do, in order. An iteration whose model is published is over, whatever is asked of it later."""
    for iteration in range(settings.iterations):
        if folder.done(iteration, "publish") is not None:
            continue
        yield iteration, "rollout"
        yield iteration, "judge"
        if settings.evaluation.due(iteration, settings.iterations):
            yield iteration, "evaluate"
        yield iteration, "replay"
        yield iteration, "train"
        yield iteration, "publish"
    if settings.evaluation.due(settings.iterations, settings.iterations):
        yield settings.iterations, "evaluate"


def over_before(settings: LoopSettings, folder: LoopFolder) -> int | None:
    """The last iteration that was over when this process began: the one before may have died before trackers heard of it."""
    last = max((version - 1 for version, _ in folder.published()), default=None)
    evaluated = last == settings.iterations - 1 and folder.done(settings.iterations, "evaluate") is not None
    return settings.iterations if evaluated else last


async def _prepared(settings: LoopSettings, display: Display, stopper: Stopper, stack: AsyncExitStack) -> Stage:
    """The stage, set. Raises what speaks against the run."""
    tasks = await asyncio.to_thread(checked_tasks, settings)
    if settings.agent == "model":
        assert settings.checkpoint is not None
        await asyncio.to_thread(check_checkpoint, settings.checkpoint)
    store = stack.enter_context(await asyncio.to_thread(_open, settings.run, settings, None))
    folder = LoopFolder(store.path, store.disk)
    await asyncio.to_thread(store.disk.folder, folder.path)
    stack.enter_context(sole(folder.path))
    await asyncio.to_thread(sweep, folder.checkpoints)
    await asyncio.to_thread(folder.remember, settings.model_dump_json(indent=2).encode() + b"\n")
    test = stack.enter_context(await asyncio.to_thread(_open, folder.test, settings, f"{store.info.name}-test"))
    trainer = Trainer(
        folder=folder,
        store=store,
        first=settings.checkpoint or UNSERVED,
        replay=settings.replay,
        train=settings.train,
        keep=settings.keep_checkpoints,
        tested=tasks.tested,
        continue_optimizer=settings.continue_optimizer,
    )
    host = None
    if settings.agent == "model":
        await asyncio.to_thread(_check_training, settings, trainer)
        server = model_server(_with_log(settings.serving, folder.run / "model-server.log"))
        host = ModelHost(server, stay=settings.serve_while_training)
        await stack.enter_async_context(host)
    return Stage(settings, folder, store, test, tasks.train, tasks.test, tasks.judge, trainer, host, display, stopper, stack)


def _check_training(settings: LoopSettings, trainer: Trainer) -> None:
    """What would refuse the next update, or the server that plays for it. Blocks."""
    if isinstance(settings.serving, VllmSettings):
        require_vllm(settings.serving)
    if isinstance(settings.serving, ExternalSettings):
        key_of(settings.serving)
    following = sum(1 for _ in trainer.folder.published())
    if following < settings.iterations:
        check(trainer, following)


@dataclass(frozen=True)
class Tasks:
    """The task files of both splits, who judges them, and the websites that are tested on."""

    train: Path
    test: Path
    judge: JudgeKind
    tested: frozenset[str]


def checked_tasks(settings: LoopSettings) -> Tasks:
    """The tasks of a loop, if both splits are apart and somebody can judge them. Blocks."""
    train = task_file(settings.rollout("train", 0, settings.run, settings.tasks))
    test = settings.evaluation.tasks or train
    judges = {judge_of(settings, task_ids(train, "train"))}
    tested = check_apart(train, test)  # also if this run evaluates nothing: somebody may, later
    if settings.evaluation.every:
        judges.add(judge_of(settings, task_ids(test, "test")))
        if not tested:
            raise ConfigError(f"{test} has no test task: name a file in evaluation.tasks, or set evaluation.every to 0")
    judge = judges.pop()
    if judge is None or judges:
        raise ConfigError(f"judge is {settings.judge!r}, which leaves tasks without a judge: choose worlds or rubric")
    return Tasks(train, test, judge, tested)


def _with_log(settings: ModelServerSettings, path: Path) -> ModelServerSettings:
    """What a server of ours writes goes to the run's folder, not between the lines of the display."""
    if isinstance(settings, ExternalSettings) or settings.log is not None:
        return settings
    return settings.model_copy(update={"log": path})


def _open(path: Path, settings: LoopSettings, name: str | None) -> Run:
    if (path / "run.json").exists():
        return Run.open(path)
    return Run.create(path, name=name, settings=settings.model_dump(mode="json", exclude={"dry_run"}))


def _report(folder: LoopFolder, finished: bool, seconds: float) -> LoopReport:
    lines = [metrics.collect(folder, iteration) for iteration in folder.iterations()]
    test, rolled = metrics.curves(lines)
    return LoopReport(
        run=folder.run,
        finished=finished,
        iterations=sum(1 for _ in folder.published()),
        seconds=seconds,
        before=test[0].rate if test and test[0].version == 0 else None,
        after=test[-1].rate if test and test[-1].version > 0 else None,
        test=tuple(test),
        train=tuple(rolled),
    )


def told(done: Done) -> str:
    """A phase's result in a few words."""
    match done:
        case RolloutDone():
            return f"{done.planned} episodes"
        case JudgeDone() | EvaluateDone():
            figures = done.figures
            return (
                f"success {figures.success}, {figures.steps_per_episode:.1f} steps, "
                f"{figures.invalid_share:.0%} invalid, {figures.infra_share:.0%} infra"
            )
        case ReplayDone():
            dropped = sum(done.statistics.dropped.values())
            return f"{done.samples} samples kept, {dropped} left out"
        case TrainDone(result=None):
            return done.reason
        case TrainDone(result=result):
            assert result is not None
            return f"loss {result.loss_before:.4f} to {result.loss_after:.4f}, {result.tokens:,} tokens"
        case PublishDone():
            return f"version {done.version}: {done.checkpoint}"
        case _:
            return ""
