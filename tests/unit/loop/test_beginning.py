"""Whatever refuses a run is asked before the first browser starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.unit.replay.making import Plan, make_episode
from webgym.errors import ConfigError
from webgym.loop.phases import Stopper
from webgym.loop.running import train
from webgym.loop.settings import LoopSettings
from webgym.tasks.files import write_tasks


@pytest.fixture
def loop(tmp_path: Path) -> dict[str, object]:
    """Settings of a loop that could begin but for a server of browsers: nobody listens where it would look."""
    tasks, model = tmp_path / "tasks.parquet", tmp_path / "model"
    write_tasks(tasks, [make_episode(Plan("worlds-a")).task])
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").touch()
    given = {"run": tmp_path / "run", "tasks": tasks, "checkpoint": model, "server": "http://127.0.0.1:1", "judge": "worlds"}
    return given | {"evaluation": {"every": 0}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"train": {"accelerate_config": "nowhere.yaml"}}, r"accelerate_config: cannot read nowhere\.yaml"),
        ({"train": {"backend": "llamafactory", "llamafactory": {"python": "nowhere/python"}}}, r"llamafactory\.python"),
        ({"serving": {"kind": "vllm", "python": "nowhere/python"}}, "vLLM's environment is not there"),
        (
            {
                "serving": {
                    "kind": "external",
                    "url": "http://gpu/v1",
                    "reload_url": "http://gpu/load",
                    "key_variable": "NO_KEY",
                }
            },
            "environment variable NO_KEY must hold",
        ),
        ({"continue_optimizer": True}, "has no optimizer folder"),
    ],
)
async def test_what_training_and_serving_miss_is_told_at_once(loop: dict[str, object], given: dict[str, object], said: str):
    with pytest.raises(ConfigError, match=said):
        await train(LoopSettings.model_validate(loop | given), Console(quiet=True), Stopper())


async def test_an_optimiser_that_cannot_fit_is_told_at_once(loop: dict[str, object], tmp_path: Path):
    state = tmp_path / "model" / "optimizer"
    state.mkdir()
    (state / "state.json").write_text("{}")
    header = json.dumps({"layer.weight/exp_avg": {}}).encode()
    (state / "moments.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    given = {"continue_optimizer": True, "train": {"lora": {"rank": 4}}}
    with pytest.raises(ConfigError, match="is of a training of all weights"):
        await train(LoopSettings.model_validate(loop | given), Console(quiet=True), Stopper())
