"""Two whole iterations through the real stack: Chromium, the offline web, vLLM, LLaMA-Factory, a tiny Qwen3-VL.

Nothing stands in for anything. The model is warmed up by a few demonstrations, so that it succeeds now and then; two updates
are too few to promise that it gets better, so success is measured before and after and only said. Needs the environments
that `make test-stack` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.canary import free_port
from webgym.loop import metrics
from webgym.loop.state import PHASES, LoopFolder, PublishDone, TrainDone
from webgym.store import Run
from webgym.store.audit import audit
from webgym.store.files import Disk
from webgym.train.checkpoint import is_complete

ROOT = Path(__file__).parents[2]
NEEDED = (ROOT / ".venv-serve" / "bin" / "python", ROOT / ".venv-llamafactory" / "bin" / "llamafactory-cli")
KINDS = "clinic,library,shop"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not all(path.exists() for path in NEEDED), reason="`make test-stack` makes the environments first"),
]


def webgym(log: Path, *arguments: str, within: float) -> int:
    environment = os.environ | ({"WEBGYM_NO_SANDBOX": "1"} if os.geteuid() == 0 else {})
    with log.open("ab") as written:
        return subprocess.run(
            [sys.executable, "-m", "webgym.cli", *arguments],
            cwd=ROOT, env=environment, stdout=written, stderr=written, timeout=within, check=False,
        ).returncode  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the loop that has come to its end."""
    folder, port = tmp_path_factory.mktemp("stack"), free_port()
    log = folder / "log"
    # It practises on kinds of websites that it was shown: this is about the stack, and there must be something to learn.
    kinds = (f"--kinds={KINDS}", f"--practice.kinds={KINDS}", "--practice.train-sites=12", "--practice.test-sites=16")
    shown = ("--demonstrations=240", "--train.updates=140", "--train.threads=1")
    warm = ("warm-up", "--config=configs/proof-warm-up.yaml", f"--folder={folder}", f"--worlds.port={port}", *kinds, *shown)
    assert webgym(log, *warm, within=1500) == 0, log.read_text()
    places = (f"--run={folder}/run", f"--tasks={folder}/tasks.parquet", f"--checkpoint={folder}/seed-0/warm")
    loop = ("train", "--config=configs/train-stack.yaml", *places, f"--worlds.port={port}")
    assert webgym(log, *loop, within=2000) == 0, log.read_text()
    return folder


def test_every_phase_of_two_iterations_is_done_and_both_runs_are_whole(trained: Path):
    run = trained / "run"
    folder = LoopFolder(run, Disk(run))
    wanted = {(n, phase) for n in range(2) for phase in PHASES if (n, phase) != (1, "evaluate")} | {(2, "evaluate")}
    assert {(n, phase) for n in range(3) for phase in PHASES if folder.done(n, phase)} == wanted
    for one in (run, run / "test"):
        report = audit(one, finished=True)
        assert report.clean, report.findings
        assert not report.failed["infra"], report.failed


def test_llamafactory_made_a_checkpoint_of_each_iterations_successes_and_vllm_served_it(trained: Path):
    run = trained / "run"
    folder = LoopFolder(run, Disk(run))
    for iteration in range(2):
        done, published = folder.read(iteration, TrainDone), folder.read(iteration, PublishDone)
        assert done is not None
        assert published is not None
        assert done.result is not None, "the warm model never succeeded: there was nothing to learn from"
        assert done.result.updates == 12
        assert is_complete(done.result.checkpoint)
        assert run / published.checkpoint == done.result.checkpoint
    first, last = trained / "seed-0" / "warm", folder.checkpoint(2)
    assert (first / "model.safetensors").read_bytes() != (last / "model.safetensors").read_bytes()


def test_every_reply_is_kept_with_the_engines_own_tokens(trained: Path):
    with Run.open(trained / "run", read_only=True) as store:
        replies = [step.reply for episode in store.episodes() for step in episode.steps]
    assert replies
    assert all(reply is not None and reply.token_ids and reply.prompt_token_ids for reply in replies)


def test_success_on_unseen_websites_is_measured_before_and_after(trained: Path):
    lines = metrics.read(trained / "run" / "metrics.jsonl")
    rates = {line.iteration: line.test.success for line in lines if line.test is not None}
    assert set(rates) == {0, 2}
    assert all(rate.of >= 40 for rate in rates.values()), "nearly every episode is scored"
    said = {"before": rates[0].share, "after": rates[2].share, "episodes": rates[0].of}
    sys.stdout.write(f"\n{json.dumps(said)}\n")
