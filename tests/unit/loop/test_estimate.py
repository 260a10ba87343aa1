"""Parameters are counted exactly; what a run needs follows from them."""

from __future__ import annotations

import json
import struct
from math import prod
from pathlib import Path

import pytest

from webgym.errors import ConfigError
from webgym.loop.estimate import GIB, KNOWN, shape_of, training
from webgym.train.tiny import make_tiny


def stored_parameters(folder: Path) -> int:
    """As the weight files' own headers say."""
    total = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
        total += sum(prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
    return total


def test_the_parameters_of_a_real_model_are_counted_to_the_last(tmp_path: Path):
    folder = make_tiny(tmp_path / "tiny")
    assert shape_of(folder).parameters == stored_parameters(folder)


def test_the_published_models_have_the_sizes_their_names_say():
    counted = {shape.name: round(shape.parameters / 1e9, 2) for shape in KNOWN}
    assert counted == {"Qwen3-VL-2B": 2.13, "Qwen3-VL-4B": 4.44, "Qwen3-VL-8B": 8.77, "Qwen3-VL-32B": 33.36}


def test_a_model_that_is_not_here_is_known_by_its_name():
    assert shape_of(Path("models/Qwen3-VL-8B-Instruct")).name == "Qwen3-VL-8B"
    with pytest.raises(ConfigError, match=r"checkpoint: models/other has no config\.json, and its name is none of"):
        shape_of(Path("models/other"))


def test_a_config_of_another_family_is_refused(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"hidden_size": 64}')
    with pytest.raises(ConfigError, match="does not describe a Qwen3-VL"):
        shape_of(tmp_path)


def test_a_screenshot_weighs_a_token_for_32_by_32_pixels():
    assert shape_of(Path("Qwen3-VL-8B-Instruct")).image_tokens(1280, 768) == 40 * 24


def test_lora_fits_where_all_weights_do_not_and_sharding_divides():
    shape = shape_of(Path("Qwen3-VL-8B-Instruct"))
    full = training(shape, batch=1, tokens=6144, reply=768)
    lora = training(shape, batch=1, tokens=6144, reply=768, lora_rank=16, freeze_vision=True)
    sharded = training(shape, batch=1, tokens=6144, reply=768, devices=4)
    assert lora.total < 24 * GIB < full.total
    assert (sharded.weights + sharded.state) * 4 == pytest.approx(full.weights + full.state)
    assert sharded.activations == full.activations


def test_without_checkpointing_every_layer_stays_in_memory():
    shape = shape_of(Path("Qwen3-VL-8B-Instruct"))
    kept = training(shape, batch=1, tokens=1024, reply=64, checkpointing=False)
    assert kept.activations > 10 * training(shape, batch=1, tokens=1024, reply=64).activations
