"""One judge in all phases: its budget is one for the whole process, and a run whose judge changes says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.faults.injection import until
from tests.standin.judge import JudgingModel
from tests.unit.judge.judged import QUICK, make_task, put_in, walk
from tests.unit.judge.judged import make_episode as make_judged
from tests.unit.replay.making import JUDGE, Plan, make_run
from webgym.errors import EndpointDown
from webgym.judging.programmatic import WorldsJudge
from webgym.loop import phases
from webgym.loop.display import Display
from webgym.loop.figures import Figures
from webgym.loop.phases import Stage, Stopped, Stopper
from webgym.loop.settings import LoopSettings
from webgym.loop.state import JudgeDone, LoopFolder
from webgym.loop.training import Trainer
from webgym.store import Run, episode_id
from webgym.tasks.files import write_tasks

ONE_QUESTION = 9_000.0  # dollars: enough to ask once, and not twice
BEFORE = JudgeDone(judge=JUDGE, figures=Figures())

MakeStage = Callable[..., Stage]


@pytest.fixture
async def lasting() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def make_stage(tmp_path: Path, lasting: AsyncExitStack) -> MakeStage:
    """A stage on which every episode has been played: no phase here needs a browser or a model to act."""

    def make(train: Run, test: Run | None = None, /, **given: Any) -> Stage:
        tasks = tmp_path / "tasks.parquet"
        write_tasks(tasks, [make_task(n=n) for n in range(4)])
        told = {"run": train.path, "tasks": tasks, "agent": "random", "monitor": None, **given}
        settings = LoopSettings.model_validate(told)
        folder = LoopFolder(train.path, train.disk)
        trainer = Trainer(folder, train, Path(), settings.replay, settings.train, keep=2)
        display = Display(Console(file=StringIO()), settings.iterations)
        return Stage(
            settings, folder, train, test or train, tasks, tasks, "rubric" if settings.judge == "rubric" else "worlds",
            trainer, None, display, Stopper(), lasting,
        )  # fmt: skip

    return make


def said(stage: Stage) -> str:
    file = stage.display.console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def played(folder: Path, n: int) -> Run:
    """A run with one episode that a model can judge."""
    run = Run.create(folder)
    run.plan(0, [f"task-{n}"])
    run.commit(make_judged(put_in(run), walk(2, marked=f"of {n}"), task=make_task(n=n), run=run.info.name))
    return run


# the budget


async def test_the_judges_budget_is_one_for_all_phases_of_a_process(tmp_path: Path, make_stage: MakeStage):
    async with JudgingModel() as model:
        prices = {"large": {"input": 1e6, "output": 0.0}}  # a dollar a token
        endpoint = {"url": model.url, "model": "large", "prices": prices, "budget": ONE_QUESTION, **QUICK}
        with played(tmp_path / "train", 0) as train, played(tmp_path / "test", 1) as test:
            stage = make_stage(train, test, judge="rubric", rubric={"endpoint": endpoint})
            done = await phases.judge(stage, 0)
            assert done.figures.success.of == 1
            with pytest.raises(EndpointDown, match="the budget of 9000"):
                await phases.evaluate(stage, 0)
    assert len(model.kinds) == 1, "neither the rollout of the evaluation nor its second look had a budget of its own"
    assert 0 < done.figures.judge_dollars <= ONE_QUESTION


# a stop


async def test_a_stop_ends_judging_and_the_same_phase_goes_on_later(tmp_path: Path, make_stage: MakeStage):
    async with JudgingModel() as model:
        endpoint = {"url": model.url, "model": "large", **QUICK, "timeout": 60.0}
        with played(tmp_path / "train", 0) as train:
            stage = make_stage(train, judge="rubric", rubric={"endpoint": endpoint})
            model.latency = 60.0
            judging = asyncio.create_task(phases.judge(stage, 0))
            await until(lambda: bool(model.arrivals), 20)
            stage.stopper.stop()
            with pytest.raises(Stopped):
                await asyncio.wait_for(judging, 10)
            model.latency = 0.0
            done = await phases.judge(make_stage(train, judge="rubric", rubric={"endpoint": endpoint}), 0)
            assert done.figures.success.of == 1


# another judge


async def test_another_judge_is_told_and_judges_what_replay_still_learns_from(
    tmp_path: Path, make_stage: MakeStage, caplog: pytest.LogCaptureFixture
):
    with make_run(tmp_path / "run", [Plan("a", iteration=n) for n in range(4)]) as run:
        stage = make_stage(run, replay={"iterations": 3})
        for iteration in range(3):
            stage.folder.finish(iteration, BEFORE)
        with caplog.at_level(logging.WARNING):
            done = await phases.judge(stage, 3)
        assert done.judge == WorldsJudge.name
        assert set(run.latest_judgements(done.judge)) == {episode_id("run", n, "a", 0) for n in (1, 2, 3)}
        (warning,) = [one.getMessage() for one in caplog.records]
        assert JUDGE in warning
        assert WorldsJudge.name in warning
        assert "test curve" in warning
        assert warning in said(stage)

        stage.folder.finish(3, done)
        run.plan(4, ["a"])
        caplog.clear()
        before = len(list(run.judgements(done.judge)))
        await phases.judge(stage, 4)
        assert not caplog.records, "it is told once"
        assert len(list(run.judgements(done.judge))) == before, "what it has judged it does not judge again"


async def test_what_replay_does_not_learn_from_is_left_to_the_old_judge(tmp_path: Path, make_stage: MakeStage):
    with make_run(tmp_path / "run", [Plan("a", iteration=n) for n in range(2)]) as run:
        stage = make_stage(run, train={"objective": "reinforce"}, repeats=2)
        stage.folder.finish(0, BEFORE)
        done = await phases.judge(stage, 1)
        assert set(run.latest_judgements(done.judge)) == {episode_id("run", 1, "a", 0)}


async def test_the_same_judge_is_no_news(tmp_path: Path, make_stage: MakeStage, caplog: pytest.LogCaptureFixture):
    with make_run(tmp_path / "run", [Plan("a", iteration=n) for n in range(2)]) as run:
        stage = make_stage(run)
        stage.folder.finish(0, JudgeDone(judge=WorldsJudge.name, figures=Figures()))
        with caplog.at_level(logging.WARNING):
            done = await phases.judge(stage, 1)
        assert not caplog.records
        assert said(stage) == ""
        assert set(run.latest_judgements(done.judge)) == {episode_id("run", 1, "a", 0)}


async def test_another_judge_of_the_test_is_told(tmp_path: Path, make_stage: MakeStage, caplog: pytest.LogCaptureFixture):
    with played(tmp_path / "train", 0) as train, played(tmp_path / "test", 1) as test:
        stage = make_stage(train, test, judge="worlds")
        stage.folder.finish(0, BEFORE)
        with caplog.at_level(logging.WARNING):
            await phases.evaluate(stage, 0)
        assert [JUDGE in one.getMessage() for one in caplog.records] == [True]
