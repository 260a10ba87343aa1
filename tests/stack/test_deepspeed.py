"""The native trainer under DeepSpeed: two processes that share the optimiser's state learn what one learns.

DeepSpeed is no dependency of ours; it is installed for this test into an environment of its own, on top of ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.unit.train.learning import QUICK, make_job, make_model, train_in
from webgym.errors import ConfigError
from webgym.train.job import TrainSettings
from webgym.train.weights import SHARDS, load_shards

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
DEEPSPEED = "deepspeed==0.19.8"
# What `accelerate launch` would set; on a CPU it starts one process whatever its config says.
ZERO = {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_ZERO_STAGE": "2", "DS_ACCELERATOR": "cpu"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has what ours has, and DeepSpeed."""
    folder = tmp_path_factory.mktemp("deepspeed")
    run(sys.executable, "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    place = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(place) / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    run(python, "-m", "pip", "install", "-q", "setuptools", "wheel")
    run(python, "-m", "pip", "install", "-q", "--no-build-isolation", DEEPSPEED)
    return python


def run(*words: str) -> str:
    done = subprocess.run(
        words, env=os.environ | {"DS_BUILD_OPS": "0"}, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def changed(**changes: object) -> TrainSettings:
    return TrainSettings.model_validate(QUICK.model_dump() | {"batch": 2, "threads": 1, "device": "auto"} | changes)


def test_two_processes_of_deepspeed_learn_what_one_process_learns_and_resume(python: str, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    alone = train_in(make_job(tmp_path, model, 8, changed(accumulation=4), output=tmp_path / "alone"), 1, {})
    two = changed(accumulation=2, updates=2)
    half = train_in(make_job(tmp_path, model, 8, two, output=tmp_path / "half"), 2, ZERO, python)
    assert half.optimizer is not None
    assert (half.optimizer / SHARDS).is_dir()  # DeepSpeed was not left out
    rest = make_job(tmp_path, half.checkpoint, 8, two, output=tmp_path / "rest", optimizer=half.optimizer)
    ended = train_in(rest, 2, ZERO, python)
    assert half.tokens + ended.tokens == alone.tokens
    assert half.loss_before == pytest.approx(alone.loss_before, abs=2e-3)
    assert ended.loss_after == pytest.approx(alone.loss_after, abs=2e-2)
    assert alone.loss_after < 0.9 * alone.loss_before
    assert not list(tmp_path.glob(".*.staging"))


def test_a_state_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{}")
    job = make_job(tmp_path, tmp_path / "model", optimizer=tmp_path)
    with pytest.raises(ConfigError, match="was not left by DeepSpeed"):
        load_shards(None, job)
