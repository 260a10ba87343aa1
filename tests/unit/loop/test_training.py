"""Replay, train and publish as the loop does them; the trainer itself has tests of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.replay.making import JUDGE, Plan, make_run
from webgym.errors import ConfigError, LeakageError, StoreError
from webgym.loop.commands import run_update
from webgym.loop.settings import UpdateSettings
from webgym.loop.state import LoopFolder, PublishDone, ReplayDone, TrainDone
from webgym.loop.training import Trainer, choose, learn, publish
from webgym.replay.settings import ReplaySettings
from webgym.store import Run
from webgym.store.samples import read_samples
from webgym.train.checkpoint import is_complete, publishing
from webgym.train.job import TrainResult, TrainSettings


def trainer(run: Run, *, keep: int = 2, tested: frozenset[str] = frozenset()) -> Trainer:
    folder = LoopFolder(run.path, run.disk)
    return Trainer(folder, run, run.path.parent / "first", ReplaySettings(), TrainSettings(), keep, tested)


def test_replay_writes_the_successes_of_the_judge_that_is_named(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a"), Plan("b", verdict="failure")]) as run:
        done = choose(trainer(run), 0, JUDGE)
        assert (done.samples, done.statistics.kept) == (3, 3)
        assert {one.task for one in read_samples(trainer(run).folder.samples(0))} == {"a"}
        assert choose(trainer(run), 0, "somebody else").samples == 0


def test_a_sample_on_a_website_that_is_tested_on_stops_the_run(tmp_path: Path):
    plans = [Plan("a"), Plan("b", website="http://www.secret.localhost")]
    with make_run(tmp_path / "run", plans) as run, pytest.raises(LeakageError, match=r"www\.secret\.localhost"):
        choose(trainer(run, tested=frozenset({"secret.localhost"})), 0, JUDGE)


async def test_without_samples_the_model_stays_as_it_is(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a", verdict="failure")]) as run:
        mine = trainer(run)
        with pytest.raises(StoreError, match="replay comes first"):
            await learn(mine, 0)
        mine.folder.finish(0, choose(mine, 0, JUDGE))
        done = await learn(mine, 0)
        assert done.result is None
        mine.folder.finish(0, done)
        assert publish(mine, 0) == PublishDone(checkpoint=str(tmp_path / "first"), version=1)


def made(mine: Trainer, version: int) -> TrainDone:
    """A checkpoint as a training job leaves it."""
    path = mine.folder.checkpoint(version)
    with publishing(path, iteration=version) as staging:
        (staging / "model.safetensors").write_bytes(b"weights")
    numbers = {"updates": 1, "samples": 1, "tokens": 1, "loss_before": 1.0, "loss_after": 1.0, "seconds": 1.0}
    return TrainDone(result=TrainResult(checkpoint=path, seconds_total=1.0, **numbers))


def test_the_latest_checkpoints_stay_and_one_that_is_still_served_is_among_them(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run, keep=2)
        for iteration in range(5):
            skipped = iteration == 3  # nothing was learned: version 4 is version 3
            mine.folder.finish(iteration, TrainDone(result=None) if skipped else made(mine, iteration + 1))
            mine.folder.finish(iteration, publish(mine, iteration))
        left = sorted(path.name for path in mine.folder.checkpoints.iterdir())
        assert left == ["000003", "000005"]
        assert mine.folder.model(4, mine.first) == mine.folder.checkpoint(3)
        assert all(is_complete(mine.folder.checkpoints / name) for name in left)


def test_the_first_model_is_never_removed(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run, keep=1)
        mine.first.mkdir()
        mine.folder.finish(0, TrainDone(result=None))
        mine.folder.finish(0, publish(mine, 0))
        mine.folder.finish(1, made(mine, 2))
        mine.folder.finish(1, publish(mine, 1))
        assert mine.first.is_dir()


# ── webgym update ──


def test_update_does_the_first_iteration_that_is_not_updated(tmp_path: Path):
    make_run(tmp_path / "run", [Plan("a", verdict="failure"), Plan("a", iteration=1, verdict="failure")]).close()
    settings = UpdateSettings(run=tmp_path / "run", checkpoint=tmp_path / "first")
    assert run_update(settings) == 0
    assert run_update(settings) == 0
    with Run.open(tmp_path / "run", read_only=True) as run:
        folder = LoopFolder(run.path, run.disk)
        assert [folder.done(n, "publish") is not None for n in range(3)] == [True, True, False]
        replayed = folder.read(1, ReplayDone)
        assert replayed is not None
        assert replayed.statistics.episodes_dropped == {"failed": 2}
    with pytest.raises(StoreError, match=r"every iteration .* is updated"):
        run_update(settings)


def test_update_wants_to_know_whose_verdicts_count(tmp_path: Path):
    make_run(tmp_path / "run", [Plan("a", verdict="none")]).close()
    with pytest.raises(ConfigError, match="judge: nobody has judged"):
        run_update(UpdateSettings(run=tmp_path / "run", checkpoint=tmp_path / "first"))
