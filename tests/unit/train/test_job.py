"""A job as a process: it ends well with a checkpoint, and in every other case it is gone and says why."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError

from tests.unit.train.learning import QUICK, make_job, train_in
from webgym.config import describe
from webgym.errors import ConfigError, TrainError
from webgym.train.checkpoint import is_complete
from webgym.train.job import NothingToLearn, TrainJob, TrainResult, TrainSettings, command, read_result, train

pytestmark = pytest.mark.timeout(300)


def changed(**changes: object) -> TrainSettings:
    return TrainSettings.model_validate(QUICK.model_dump() | changes)


def workers(job: TrainJob) -> list[int]:
    """Processes that work on a job."""
    return [
        process.info["pid"]
        for process in psutil.process_iter(["pid", "cmdline", "status"])
        if str(job.file) in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def until(job: TrainJob, *, working: bool) -> None:
    """Wait until somebody works on a job, or nobody does."""
    async with asyncio.timeout(60):
        while bool(workers(job)) != working:  # noqa: ASYNC110 - other processes have no event to wait for
            await asyncio.sleep(0.05)


async def test_a_job_runs_in_a_process_of_its_own_and_is_not_run_twice(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 4, changed(updates=2))
    told = []
    result = await train(job, told.append)
    assert [one.update for one in told] == [1, 2]
    assert result == read_result(job.output)
    assert result.peak_memory > 10_000_000
    assert "2 updates" in job.log.read_text()
    assert not workers(job)
    written = (job.output / "complete.json").stat().st_mtime_ns
    assert await train(job, told.append) == result
    assert len(told) == 2
    assert (job.output / "complete.json").stat().st_mtime_ns == written
    moved = job.output.rename(tmp_path / "moved")
    found = read_result(moved)
    assert found is not None
    assert (found.checkpoint, found.optimizer) == (moved, moved / "optimizer"), "it is where it was found"


async def test_an_adapter_is_learned_in_bfloat16_and_merged_into_the_models_own_precision(
    model: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    saving = changed(lora={"rank": 4}, lr=1e-2, bf16=True, gradient_checkpointing=True)
    result = await train(make_job(tmp_path, model, 4, saving))
    assert result.loss_after < result.loss_before
    before, after = (load_file(folder / "model.safetensors") for folder in (model, result.checkpoint))
    assert {name: one.dtype for name, one in before.items()} == {name: one.dtype for name, one in after.items()}


async def test_a_job_that_hangs_is_stopped_at_its_deadline(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 4, changed(updates=100_000, deadline=2))
    with pytest.raises(TrainError, match=r"longer than 2 s.*000000\.log"):
        await train(job)
    assert not workers(job)
    assert not is_complete(job.output)


async def test_cancelling_ends_the_whole_process_group(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 4, changed(updates=100_000))
    running = asyncio.create_task(train(job))
    await until(job, working=True)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not workers(job)


PARENT = """
import asyncio, sys
from pathlib import Path
from webgym.train.child import read_job
from webgym.train.job import train
asyncio.run(train(read_job(Path(sys.argv[1]))))
"""


async def test_a_job_does_not_outlive_the_process_that_wanted_it(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 4, changed(updates=100_000))
    job.output.parent.mkdir(parents=True)
    job.file.write_text(job.model_dump_json())
    asked = tmp_path / "asked.json"
    asked.write_text(job.model_dump_json())
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, str(asked))
    try:
        await until(job, working=True)
        await asyncio.sleep(1)  # past the start of the interpreter
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        await asyncio.wait_for(parent.wait(), 10)
    await until(job, working=False)


async def test_what_is_wrong_with_a_job_is_said_with_the_name_of_the_field(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 4, changed(max_tokens=16))
    with pytest.raises(NothingToLearn, match=r"4 are over max_tokens \(16\)"):
        await train(job)
    broken = make_job(tmp_path, tmp_path / "no model here", output=tmp_path / "checkpoints" / "000001")
    with pytest.raises((ConfigError, TrainError), match="model"):
        await train(broken)


async def test_a_refusal_is_heard_through_a_launcher_that_makes_a_failure_of_it(model: Path, tmp_path: Path) -> None:
    config = tmp_path / "one.yaml"
    config.write_text("compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_processes: 1\nuse_cpu: true\n")
    job = make_job(tmp_path, model, 4, changed(max_tokens=16, accelerate_config=config))
    with pytest.raises(NothingToLearn, match="4 are over max_tokens"):
        await train(job)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"lr": -1}, "lr"),
        ({"learning_rate": 1e-3}, "learning_rate: there is no such setting"),
        ({"batch": 0}, "batch"),
        ({"objective": "ppo"}, "objective"),
        ({"lora": {"rank": 0}}, "lora.rank"),
        ({"min_pixels": 900, "max_pixels": 800}, "min_pixels (900) is more than max_pixels (800)"),
        ({"backend": "llamafactory", "objective": "grpo"}, "objective 'grpo' needs backend 'native'"),
        ({"backend": "llamafactory", "accelerate_config": "a.yaml"}, "accelerate_config needs backend 'native'"),
    ],
)
def test_a_bad_setting_is_named(wrong: dict[str, object], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TrainSettings.model_validate(wrong)
    assert field in describe(refused.value)


def test_several_devices_are_accelerates_business(model: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, model, 1, changed(accelerate_config="fsdp.yaml"))
    words = command(job)
    assert words[1:5] == ["-m", "accelerate.commands.launch", "--config_file", "fsdp.yaml"]
    assert words[5:7] == ["-m", "webgym.train.native"]


# `accelerate launch` starts one process on a CPU whatever its config says; these are the variables it would set.
FSDP = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_TRANSFORMER_CLS_TO_WRAP": "Qwen3VLTextDecoderLayer,Qwen3VLVisionBlock",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [{}, FSDP], ids=["DDP", "FSDP2"])
def test_two_processes_learn_what_one_learns_and_resume(model: Path, tmp_path: Path, kind: dict[str, str]) -> None:
    def done(job: TrainJob, processes: int) -> TrainResult:
        return train_in(job, processes, {"ACCELERATE_USE_CPU": "true"} | (kind if processes > 1 else {}))

    one = changed(batch=2, accumulation=2, threads=1)
    two = changed(batch=2, accumulation=1, threads=1, updates=2)
    alone = done(make_job(tmp_path, model, 8, one, output=tmp_path / "alone"), 1)
    half = done(make_job(tmp_path, model, 8, two, output=tmp_path / "half"), 2)
    rest = make_job(tmp_path, half.checkpoint, 8, two, output=tmp_path / "rest", optimizer=half.optimizer)
    ended = done(rest, 2)
    assert half.tokens + ended.tokens == alone.tokens
    assert ended.loss_after == pytest.approx(alone.loss_after, abs=2e-3)
