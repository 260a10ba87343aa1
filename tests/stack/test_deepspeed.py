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
from webgym.train.job import TrainSettings

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


def test_two_processes_of_deepspeed_learn_what_one_process_learns(python: str, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    alone = train_in(make_job(tmp_path, model, 8, changed(accumulation=4), output=tmp_path / "alone"), 1, {})
    job = make_job(tmp_path, model, 8, changed(accumulation=2), output=tmp_path / "shared")
    shared = train_in(job, 2, ZERO, python)
    assert shared.optimizer is None  # a state that DeepSpeed keeps: it was not left out
    assert shared.tokens == alone.tokens
    assert shared.loss_before == pytest.approx(alone.loss_before, abs=2e-3)
    assert shared.loss_after == pytest.approx(alone.loss_after, abs=2e-2)
    assert alone.loss_after < 0.9 * alone.loss_before
