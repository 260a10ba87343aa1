"""Replay, train and publish as the loop does them; the trainer itself has tests of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.replay.making import JUDGE, Plan, make_episode, make_run
from tests.unit.train.learning import make_model, make_sample
from webgym.errors import ConfigError, LeakageError, StoreError
from webgym.loop.commands import run_update
from webgym.loop.settings import UpdateSettings
from webgym.loop.state import LoopFolder, PublishDone, ReplayDone, TrainDone
from webgym.loop.training import Trainer, check, choose, learn, publish
from webgym.replay.settings import ReplaySettings
from webgym.store import Run
from webgym.store.samples import read_samples, write_samples
from webgym.tasks.files import write_tasks
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


def test_replay_clears_what_one_that_was_killed_left(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        left = trainer(run).folder.samples(0).with_name(".samples.parquet.0a0b.staging")
        left.parent.mkdir(parents=True)
        left.touch()
        choose(trainer(run), 0, JUDGE)
        assert [path.name for path in left.parent.iterdir()] == ["samples.parquet"]


def test_a_sample_on_a_website_that_is_tested_on_stops_the_run(tmp_path: Path):
    plans = [Plan("a"), Plan("b", website="http://www.secret.localhost")]
    with make_run(tmp_path / "run", plans) as run, pytest.raises(LeakageError, match=r"www\.secret\.localhost"):
        choose(trainer(run, tested=frozenset({"secret.localhost"})), 0, JUDGE)


STRAY = ("http://a.localhost/", "http://www.secret.localhost/page?q=1#there", "http://b.localhost/")


def test_a_step_that_strayed_to_a_tested_website_is_left_out(tmp_path: Path):
    plans = [Plan("none named", website="", urls=STRAY), Plan("another named", urls=STRAY)]
    with make_run(tmp_path / "run", plans) as run:
        mine = trainer(run, tested=frozenset({"secret.localhost"}))
        done = choose(mine, 0, JUDGE)
        assert done.statistics.dropped == {"test_website": 2}
        assert sorted((one.task, one.step) for one in read_samples(mine.folder.samples(0))) == [
            ("another named", 0), ("another named", 2), ("none named", 0), ("none named", 2),
        ]  # fmt: skip


def test_a_task_that_names_a_tested_website_stops_the_run_wherever_its_steps_were(tmp_path: Path):
    plans = [Plan("a", website="http://secret.localhost", urls=("http://secret.localhost/",) * 3)]
    with make_run(tmp_path / "run", plans) as run, pytest.raises(LeakageError, match=r"secret\.localhost"):
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


async def test_samples_that_replay_made_for_another_objective_are_refused(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run)
        mine.folder.finish(0, choose(mine, 0, JUDGE))
        changed = replace(mine, train=TrainSettings(objective="grpo"))
        said = r"train\.objective is 'grpo', and the samples of iteration 0 were made for 'filtered_bc'.*replay\.json"
        with pytest.raises(ConfigError, match=said):
            check(changed, 0)
        with pytest.raises(ConfigError, match=said):
            await learn(changed, 0)
        check(mine, 0)
        mine.folder.finish(0, made(mine, 1))
        check(changed, 0)  # they are learned already


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


def test_the_model_that_a_kept_adapter_belongs_to_is_not_removed(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run, keep=1)
        for iteration in range(4):
            done = made(mine, iteration + 1)
            if iteration:  # from the second update on an adapter is trained, on what the first one made
                adapter = mine.folder.checkpoint(iteration + 1) / "adapter" / "adapter_config.json"
                adapter.parent.mkdir()
                adapter.write_text(json.dumps({"base_model_name_or_path": str(mine.folder.checkpoint(1))}))
            mine.folder.finish(iteration, done)
            mine.folder.finish(iteration, publish(mine, iteration))
        assert sorted(path.name for path in mine.folder.checkpoints.iterdir()) == ["000001", "000004"]


def test_the_first_model_is_never_removed(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run, keep=1)
        mine.first.mkdir()
        mine.folder.finish(0, TrainDone(result=None))
        mine.folder.finish(0, publish(mine, 0))
        mine.folder.finish(1, made(mine, 2))
        mine.folder.finish(1, publish(mine, 1))
        assert mine.first.is_dir()


async def test_samples_that_cannot_be_trained_on_leave_the_model_as_it_is(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a", verdict="failure")]) as run:
        short = TrainSettings(max_tokens=16, device="cpu", threads=1)
        mine = replace(trainer(run), first=make_model(tmp_path / "first"), train=short)
        mine.folder.finish(0, choose(mine, 0, JUDGE).model_copy(update={"samples": 3}))
        write_samples(mine.folder.samples(0), [make_sample(run.images, n) for n in range(3)])
        done = await learn(mine, 0)
        assert done.result is None
        assert "3 are over max_tokens (16)" in done.reason
        mine.folder.finish(0, done)
        assert publish(mine, 0).checkpoint == str(tmp_path / "first")


def test_a_model_is_published_where_the_run_is_now(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run)
        done = made(mine, 1)
        assert done.result is not None
        elsewhere = done.result.model_copy(update={"checkpoint": tmp_path / "before it was moved" / "000001"})
        mine.folder.finish(0, done.model_copy(update={"result": elsewhere}))
        assert publish(mine, 0).checkpoint == "checkpoints/000001"


# the optimiser


def test_the_optimiser_of_the_first_model_is_taken_only_if_that_is_asked_for(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run)
        (mine.first / "optimizer").mkdir(parents=True)
        assert mine.start(0) == (mine.first, None)
        assert replace(mine, continue_optimizer=True).start(0) == (mine.first, mine.first / "optimizer")
        mine.folder.finish(0, TrainDone(result=None))
        mine.folder.finish(0, publish(mine, 0))
        assert mine.start(1) == (mine.first, None), "an iteration that learned nothing leaves the first model the first"


def test_an_update_goes_on_with_the_optimiser_of_the_one_before(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = trainer(run)
        mine.folder.finish(0, made(mine, 1))
        mine.folder.finish(0, publish(mine, 0))
        checkpoint = mine.folder.checkpoint(1)
        (checkpoint / "optimizer").mkdir()
        assert mine.start(1) == (checkpoint, checkpoint / "optimizer")


def test_an_optimiser_that_is_asked_for_and_is_not_there_or_not_used_is_an_error(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        mine = replace(trainer(run), continue_optimizer=True)
        with pytest.raises(ConfigError, match=r"continue_optimizer is set, and .* has no optimizer folder"):
            check(mine, 0)
        with pytest.raises(ConfigError, match=r"continue_optimizer needs train\.backend 'native'"):
            check(replace(mine, train=TrainSettings(backend="llamafactory")), 0)


# webgym update


def test_update_refuses_a_sample_on_a_website_that_its_tasks_test(tmp_path: Path):
    make_run(tmp_path / "run", [Plan("a", website="http://www.secret.localhost")]).close()
    tasks = tmp_path / "tasks.parquet"
    write_tasks(tasks, [make_episode(Plan("t", website="http://secret.localhost", split="test")).task])
    settings = UpdateSettings(run=tmp_path / "run", checkpoint=tmp_path / "first", tasks=tasks)
    with pytest.raises(LeakageError, match=r"www\.secret\.localhost"):
        run_update(settings)


def test_update_leaves_out_steps_that_strayed_to_a_website_that_its_tasks_test(tmp_path: Path):
    make_run(tmp_path / "run", [Plan("a", website="", urls=("https://secret.localhost/",) * 3)]).close()
    tasks = tmp_path / "tasks.parquet"
    write_tasks(tasks, [make_episode(Plan("t", website="http://secret.localhost", split="test")).task])
    assert run_update(UpdateSettings(run=tmp_path / "run", checkpoint=tmp_path / "first", tasks=tasks)) == 0
    with Run.open(tmp_path / "run", read_only=True) as run:
        replayed = LoopFolder(run.path, run.disk).read(0, ReplayDone)
    assert replayed is not None
    assert (replayed.samples, replayed.statistics.dropped) == (0, {"test_website": 3})


def test_update_clears_what_a_job_that_died_left(tmp_path: Path):
    make_run(tmp_path / "run", [Plan("a", verdict="failure")]).close()
    left = tmp_path / "run" / "checkpoints" / ".000001.0a0b.staging"
    left.mkdir(parents=True)
    assert run_update(UpdateSettings(run=tmp_path / "run", checkpoint=tmp_path / "first")) == 0
    assert not left.exists()


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
