"""What the loop refuses, and how one set of settings becomes the two rollouts of an iteration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from webgym.config import load
from webgym.errors import ConfigError
from webgym.loop.settings import Evaluation, LoopSettings

ROOT = Path(__file__).parents[3]
GIVEN = ["--run", "runs/x", "--tasks", "tasks.parquet", "--checkpoint", "model"]


def settings(*more: str) -> LoopSettings:
    return load(LoopSettings, [*GIVEN, *more], command="webgym train")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--train.lr=0"], "train.lr"),
        (["--iterations=0"], "iterations"),
        (
            ["--train.objective=reinforce"],
            "which compares episodes of one task, and repeats is 1",
        ),
        (["--train.objective=grpo", "--repeats=8"], "set model.policy.logprobs and model.policy.token_ids"),
        (["--replay.power=-1"], "replay.power"),
        (["--evaluation.every=-1"], "evaluation.every"),
        (["--serving.kind=external"], "serving"),
        (["--track=spreadsheet"], "track"),
    ],
)
def test_a_bad_setting_is_named(more: list[str], said: str):
    with pytest.raises(ConfigError) as e:
        settings(*more)
    assert said in str(e.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ["--model.context.window=16", "--model.context.image-tokens=100"],
            "a prompt has up to 17 screenshots, and serving.engine.images is 16",
        ),
        (["--serving.kind=embedded", "--serving.engine.context=8192"], "16384 together, and serving.engine.context is 8192"),
        (["--serving.kind=vllm", "--model.context.window=5"], "a prompt has up to 6 screenshots, and serving.images is 5"),
        (["--serving.kind=vllm", "--serving.max-model-len=16383"], "16384 together, and serving.max_model_len is 16383"),
        (["--evaluation.sampling.max-tokens=3073"], "16385 together, and serving.engine.context is 16384"),
    ],
)
def test_prompts_that_the_model_server_would_refuse_are_told_at_the_start(more: list[str], said: str):
    with pytest.raises(ConfigError) as e:
        settings(*more)
    assert said in str(e.value)
    assert settings(*more, "--agent=random"), "nobody asks"


def test_a_window_larger_than_the_budget_has_room_for_is_no_fault():
    assert settings("--model.context.window=64").model.context.window == 64


def test_what_a_server_takes_whose_limits_are_not_known_is_its_own_affair():
    assert settings("--serving.kind=vllm", "--model.context.token-budget=100000").serving.kind == "vllm"
    elsewhere = ("--serving.kind=external", "--serving.url=http://gpu/v1", "--serving.reload-url=http://gpu/load")
    assert settings(*elsewhere, "--model.context.window=16").serving.kind == "external"


@pytest.mark.parametrize("name", ["proof", "train-lora-24gb", "train-paper", "train-stack"])
def test_every_config_that_is_shipped_can_be_loaded(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    assert load(LoopSettings, ["--config", f"configs/{name}.yaml"], command="webgym train").agent == "model"


def test_the_demo_can_be_loaded(tmp_path: Path):
    given = yaml.safe_load((ROOT / "src/webgym/demo/train.yaml").read_text())
    assert LoopSettings.model_validate(given | {"run": tmp_path, "tasks": tmp_path / "t", "checkpoint": tmp_path})


def test_a_model_that_acts_needs_a_checkpoint_and_a_script_needs_none():
    with pytest.raises(ConfigError, match="agent is 'model', and checkpoint is not set"):
        load(LoopSettings, GIVEN[:4], command="webgym train")
    assert load(LoopSettings, [*GIVEN[:4], "--agent=random"], command="webgym train").checkpoint is None


def test_evaluation_differs_from_training_only_in_what_it_names(tmp_path: Path):
    given: dict[str, Any] = {"run": tmp_path / "run", "tasks": tmp_path / "t", "checkpoint": tmp_path / "m", "count": 64}
    chosen = LoopSettings(**given, repeats=4, evaluation=Evaluation(count=10, repeats=2))
    train = chosen.rollout("train", 3, tmp_path / "run", tmp_path / "t")
    test = chosen.rollout("test", 3, tmp_path / "run" / "test", tmp_path / "u")
    assert (train.split, train.count, train.repeats, train.iteration, train.resume) == ("train", 64, 4, 3, True)
    assert (test.split, test.count, test.repeats, test.iteration, test.tasks) == ("test", 10, 2, 3, tmp_path / "u")
    different = {name for name in type(train).model_fields if getattr(train, name) != getattr(test, name)}
    assert different == {"run", "tasks", "split", "count", "repeats"}
    assert train.blocklist == tmp_path / "blocked.jsonl"


def test_a_rollout_asks_the_loops_own_model_server(monkeypatch: pytest.MonkeyPatch):
    chosen = settings("--serving.kind=embedded", "--serving.model=mine", "--serving.key-variable=SOME_KEY")
    monkeypatch.delenv("SOME_KEY", raising=False)
    policy = chosen.rollout("train", 0, Path("r"), Path("t"), url="http://127.0.0.1:1234/v1").model.policy
    assert (policy.urls, policy.model, policy.key_variable) == (("http://127.0.0.1:1234/v1",), "mine", None)
    monkeypatch.setenv("SOME_KEY", "secret")
    assert chosen.rollout("train", 0, Path("r"), Path("t")).model.policy.key_variable == "SOME_KEY"


def test_the_tested_model_may_draw_its_replies_otherwise():
    chosen = settings("--evaluation.sampling.temperature=0")
    train = chosen.rollout("train", 0, Path("r"), Path("t")).model.policy.sampling
    test = chosen.rollout("test", 0, Path("r"), Path("t")).model.policy.sampling
    assert (train.temperature, test.temperature) == (1.0, 0.0)


def test_what_evaluation_does_not_name_of_the_sampling_is_as_in_training():
    given = [
        "--model.policy.sampling.max-tokens=48",
        "--model.policy.sampling.top-k=-1",
        "--model.policy.sampling.top-p=0.5",
    ]
    chosen = settings(*given, "--evaluation.sampling.temperature=0")
    test = chosen.rollout("test", 0, Path("r"), Path("t")).model.policy.sampling
    assert (test.temperature, test.top_p, test.top_k, test.max_tokens) == (0.0, 0.5, -1, 48)
    kept = LoopSettings.model_validate_json(chosen.model_dump_json())
    assert kept.rollout("test", 0, Path("r"), Path("t")).model.policy.sampling == test, "what is remembered says the same"


def test_evaluation_can_leave_a_value_to_the_server():
    told = {"run": "r", "tasks": "t", "checkpoint": "m", "evaluation": {"sampling": {"top_k": None}}}
    test = LoopSettings.model_validate(told).rollout("test", 0, Path("r"), Path("t")).model.policy.sampling
    assert (test.top_k, test.top_p) == (None, 0.99)


def test_the_first_and_the_last_model_are_always_evaluated():
    assert [n for n in range(8) if Evaluation(every=3).due(n, 7)] == [0, 3, 6, 7]
    assert not any(Evaluation(every=0).due(n, 7) for n in range(8))
