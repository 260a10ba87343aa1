"""`--dry-run` resolves the configs that no machine here could run, and builds a batch where it can."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from tests.unit.loop.test_leakage import task, write
from tests.unit.train.learning import make_images, make_sample
from webgym.config import load
from webgym.loop.rehearsal import rehearse
from webgym.loop.settings import LoopSettings
from webgym.store.samples import write_samples
from webgym.train.tiny import make_tiny
from webgym.types import Reply, Task

ROOT = Path(__file__).parents[3]


def rehearsed(*arguments: str, status: int = 0) -> str:
    settings = load(LoopSettings, [*arguments, "--dry-run"], command="webgym train")
    console = Console(record=True, width=400)
    assert rehearse(settings, console) == status
    return console.export_text()


@pytest.mark.parametrize("name", ["train-paper", "train-lora-24gb"])
def test_a_config_is_resolved_and_its_needs_are_told_without_weights(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    said = rehearsed("--config", f"configs/{name}.yaml")
    assert "8,767,123,696 parameters" in said
    assert "train.max_tokens is" in said
    assert "does not fit" not in said
    assert "one batch" in said
    assert "not built: models/Qwen3-VL-8B-Instruct is not here" in said
    assert "Estimates assume that" in said


def test_a_screenshot_counts_in_the_budget_what_the_agent_weighs_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)

    def prompt(*more: str) -> str:
        said = rehearsed("--config", "configs/train-paper.yaml", "--engine.session.width=1280", *more)
        return next(line for line in said.splitlines() if "│ prompt" in line)

    assert "5 screenshots × 1,290 tokens, as the agent weighs them, = 6,450 of a budget of 13,312 " in prompt(
        "--engine.session.height=768"
    ), "46 × 28 patches of 28 pixels and 2, not 40 × 24 of 32"
    assert "× 500 tokens" in prompt("--model.context.image-tokens=500")
    assert "will not fit" in prompt("--engine.session.height=1800")


def test_the_paper_config_is_the_papers_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    settings = load(LoopSettings, ["--config", "configs/train-paper.yaml"], command="webgym train")
    assert (settings.count, settings.replay.samples, settings.replay.iterations, settings.replay.power) == (1024, 1800, 4, 2)
    train = settings.train
    assert (train.lr, train.epochs, train.max_tokens, train.warmup, train.clip_norm) == (1e-6, 2, 16384, 30, 1.0)
    said = rehearsed("--config", "configs/train-paper.yaml")
    assert "4 devices = 12 samples an update" in said


def test_one_gpu_of_24_gb_is_enough_for_its_config(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    said = rehearsed("--config", "configs/train-lora-24gb.yaml")
    line = next(line for line in said.splitlines() if "training memory" in line)
    assert float(line.split("│")[2].split("GiB")[0]) < 22.3, "24 GB are 22.35 GiB"


def test_a_batch_is_built_by_the_trainers_own_code(tmp_path: Path):
    model = make_tiny(tmp_path / "tiny")
    given = ["--run", str(tmp_path / "run"), "--worlds.port=8090", "--checkpoint", str(model), "--train.batch=2"]
    small = ["--engine.session.width=224", "--engine.session.height=160", "--model.policy.sampling.max-tokens=64"]
    said = rehearsed(*given, *small, "--no-model.memory")
    assert "2 samples made for this" in said
    assert "learned from" in said
    assert not (tmp_path / "run").exists(), "a dry run leaves nothing behind"


def test_samples_longer_than_training_takes_are_told(tmp_path: Path):
    model = make_tiny(tmp_path / "tiny")
    given = ["--run", str(tmp_path / "run"), "--worlds.port=8090", "--checkpoint", str(model), "--train.batch=1"]
    said = rehearsed(*given, "--train.max-tokens=64", status=1)
    assert "does not fit" in said
    assert "1 LONGER than train.max_tokens" in said


def test_samples_that_cannot_be_trained_on_are_told_and_no_traceback(tmp_path: Path):
    rebuilt = Reply(text="<think>\nHm.\n</think>", rebuilt=True)
    sample = make_sample(make_images(tmp_path / "run" / "images"), 1, reply=rebuilt)
    write_samples(tmp_path / "run" / "loop" / "000000" / "samples.parquet", [sample])
    model = make_tiny(tmp_path / "tiny")
    said = rehearsed("--run", str(tmp_path / "run"), "--worlds.port=8090", "--checkpoint", str(model), status=1)
    assert "samples.parquet cannot be trained on" in said


@pytest.mark.parametrize("name", ["train-paper", "train-lora-24gb"])
def test_the_prompts_of_a_config_make_a_batch_with_any_model_of_the_family(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    given = ["--config", f"configs/{name}.yaml", "--run", str(tmp_path / "run")]
    said = rehearsed(*given, "--checkpoint", str(make_tiny(tmp_path / "tiny")))
    assert "1 samples made for this" in said
    assert "FAILED" not in said


def test_a_checkpoint_without_its_small_files_is_told_and_no_traceback(tmp_path: Path):
    model = make_tiny(tmp_path / "tiny")
    for path in model.iterdir():
        if path.name != "config.json":
            path.unlink()
    given = ["--run", str(tmp_path / "run"), "--worlds.port=8090", "--checkpoint", str(model)]
    said = rehearsed(*given, status=1)
    assert "FAILED: model: " in said
    assert "has no processor and tokenizer that can be loaded" in said


def test_the_host_memory_of_a_merge_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    line = next(line for line in rehearsed("--config", "configs/train-lora-24gb.yaml").splitlines() if "host memory" in line)
    assert "49.0 GiB while the adapter is merged" in line


def test_tasks_are_checked_as_the_run_itself_checks_them(tmp_path: Path):
    model = make_tiny(tmp_path / "tiny")
    train, test = task("worlds-a", "https://a.example", "train"), task("worlds-b", "https://b.example", "test")
    leaking = task("worlds-c", "https://a.example", "test")

    def said(*tasks: Task, status: int, more: tuple[str, ...] = ()) -> str:
        file = write(tmp_path / "tasks.parquet", *tasks)
        given = ["--run", str(tmp_path / "run"), "--tasks", str(file), "--checkpoint", str(model), "--train.batch=1", *more]
        told = rehearsed(*given, "--engine.session.width=224", "--engine.session.height=160", status=status)
        return next(line for line in told.splitlines() if "│ tasks" in line)

    assert "1 test websites, none of them in train; the judge is worlds" in said(train, test, status=0)
    assert "1 websites have training tasks" in said(train, leaking, status=1)
    assert "has no test task" in said(train, status=1)
    never = ("--evaluation.every=0",)
    assert "no evaluation; the judge is worlds" in said(train, test, status=0, more=never)
    assert "1 websites have training tasks" in said(train, leaking, status=1, more=never), "somebody may test on them later"
