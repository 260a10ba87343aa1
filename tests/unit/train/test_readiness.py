"""Whatever would refuse a job later is told from settings and small files, without a weight being read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from webgym.errors import ConfigError
from webgym.train.job import LlamaFactory, TrainSettings
from webgym.train.readiness import check_ready, devices_of, tensor_names

LORA = {"rank": 8, "alpha": 16}
LAYER = "model.language_model.layers.0.mlp.up_proj"
ADAPTED = f"base_model.model.{LAYER}.lora_A.default.weight"
SEEING = "model.visual.blocks.0.attn.qkv.weight"


def settings(**given: Any) -> TrainSettings:
    return TrainSettings.model_validate(given)


def write_tensors(path: Path, *names: str) -> None:
    """A file of safetensors as far as its header goes."""
    header = json.dumps({"__metadata__": {"format": "pt"}, **{name: {"data_offsets": [0, 0]} for name in names}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)


def adapted(folder: Path, *names: str) -> Path:
    """A model with an adapter of rank 8 and alpha 16."""
    (folder / "adapter").mkdir(parents=True)
    config = {"r": 8, "lora_alpha": 16, "lora_dropout": 0.0, "target_modules": ["up_proj"], "base_model_name_or_path": "b"}
    (folder / "adapter" / "adapter_config.json").write_text(json.dumps(config))
    write_tensors(folder / "adapter" / "adapter_model.safetensors", *names)
    return folder


def optimizer(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "state.json").write_text("{}")
    write_tensors(folder / "moments.safetensors", *(f"{name}/exp_avg" for name in names))
    return folder


def test_a_plain_model_with_plain_settings_is_ready(tmp_path: Path) -> None:
    check_ready(tmp_path, None, settings())
    check_ready(tmp_path, optimizer(tmp_path / "optimizer", f"{LAYER}.weight"), settings())


def test_an_environment_that_is_not_there_is_told_before_it_is_needed(tmp_path: Path) -> None:
    nowhere = settings(backend="llamafactory", llamafactory=LlamaFactory(python=tmp_path / "bin/python").model_dump())
    with pytest.raises(ConfigError, match=r"llamafactory\.python.*webgym env make llamafactory"):
        check_ready(tmp_path, None, nowhere)


@pytest.mark.parametrize(
    ("config", "given", "told"),
    [
        ({"dtype": "bfloat16"}, {"backend": "llamafactory"}, True),
        ({"text_config": {"dtype": "float16"}}, {"backend": "llamafactory"}, True),
        ({"torch_dtype": "float32"}, {"backend": "llamafactory"}, False),
        ({}, {"backend": "llamafactory"}, False),
        ({"dtype": "bfloat16"}, {"backend": "llamafactory", "lora": LORA}, False),
        ({"dtype": "bfloat16"}, {"backend": "native"}, False),
    ],
)
def test_that_llamafactory_rounds_what_an_iteration_learned_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, config: dict[str, Any], given: dict[str, Any], told: bool
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "llamafactory-cli").touch()
    check_ready(tmp_path, None, settings(**given, llamafactory={"python": str(tmp_path / "python")}))
    assert [("small updates are lost" in one.getMessage()) for one in caplog.records] == ([True] if told else [])


def test_a_file_of_accelerate_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"train\.accelerate_config: cannot read"):
        check_ready(tmp_path, None, settings(accelerate_config=tmp_path / "none.yaml"))
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(ConfigError, match="is no file of accelerate's settings"):
        devices_of(settings(accelerate_config=tmp_path / "list.yaml"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "was trained with an adapter, and none is set"),
        ({"lora": {**LORA, "rank": 4}}, r"lora\.rank is 4, and .* made with 8"),
        ({"lora": {**LORA, "alpha": 32}}, r"lora\.alpha is 32, and .* made with 16"),
        ({"lora": {**LORA, "dropout": 0.1}}, r"lora\.dropout is 0\.1, and .* made with 0\.0"),
        ({"lora": {**LORA, "targets": ["q_proj"]}}, r"lora\.targets: the adapter of .* is on other layers"),
        ({"lora": {**LORA, "targets": ["up_proj", "down_proj"]}}, r"lora\.targets: the adapter of .* is on other layers"),
        ({"lora": LORA, "freeze_vision": True}, r"freeze_vision: the adapter of .* trains the vision tower"),
    ],
)
def test_settings_that_a_continued_adapter_would_ignore_are_refused(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    model = adapted(tmp_path / "model", ADAPTED, f"base_model.model.{SEEING.replace('.weight', '.lora_A.weight')}")
    check_ready(model, None, settings(lora=LORA))
    check_ready(model, None, settings(lora={**LORA, "targets": ["up_proj", "attn.qkv"]}))
    with pytest.raises(ConfigError, match=said):
        check_ready(model, None, settings(**given))


def test_an_optimiser_of_other_parameters_is_refused(tmp_path: Path) -> None:
    full = optimizer(tmp_path / "full", f"{LAYER}.weight", SEEING)
    lora = optimizer(tmp_path / "lora", ADAPTED)
    check_ready(tmp_path, lora, settings(lora=LORA))
    for state, given, said in (
        (full, {"lora": LORA}, "of a training of all weights"),
        (lora, {}, "of a training of an adapter"),
        (full, {"freeze_vision": True}, "trained the vision tower"),
        (tmp_path, {}, "holds no state of an optimiser"),
    ):
        with pytest.raises(ConfigError, match=said):
            check_ready(tmp_path, state, settings(**given))


def test_deepspeed_goes_on_from_its_own_state_and_nobody_else_does(tmp_path: Path) -> None:
    (tmp_path / "deepspeed.yaml").write_text("distributed_type: DEEPSPEED\nnum_processes: 2\n")
    sharded, plain = optimizer(tmp_path / "sharded"), optimizer(tmp_path / "plain", f"{LAYER}.weight")
    (sharded / "deepspeed").mkdir()
    theirs = settings(accelerate_config=tmp_path / "deepspeed.yaml")
    check_ready(tmp_path, sharded, theirs)
    with pytest.raises(ConfigError, match="was left by DeepSpeed"):
        check_ready(tmp_path, sharded, settings())
    with pytest.raises(ConfigError, match="was not left by DeepSpeed"):
        check_ready(tmp_path, plain, theirs)


def test_names_are_those_of_a_real_file(model: Path) -> None:
    from safetensors.torch import load_file

    assert sorted(tensor_names(model / "model.safetensors")) == sorted(load_file(model / "model.safetensors"))
    with pytest.raises(ConfigError, match="cannot be read"):
        tensor_names(model / "config.json")
