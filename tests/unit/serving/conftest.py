"""A tiny Qwen3-VL in two versions, loaded once."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the train extra is not installed")

from webgym.train.serving.prompt import Prompter
from webgym.train.serving.settings import EngineSettings
from webgym.train.serving.weights import Loaded, load
from webgym.train.tiny import TinySize, make_tiny

SMALL = TinySize(vocabulary=400, hidden=32, layers=2, heads=2, inner=64, vision_hidden=32, vision_layers=1, vision_inner=64)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    return make_tiny(folder / "first", 0, size=SMALL), make_tiny(folder / "second", 1, size=SMALL)


@pytest.fixture(scope="session")
def loaded(checkpoints: tuple[Path, Path]) -> Loaded:
    import torch

    torch.set_num_threads(1)
    return load(checkpoints[0])


@pytest.fixture(scope="session")
def prompter(loaded: Loaded) -> Prompter:
    return Prompter(loaded.folder, loaded.image_token, EngineSettings(images=4, image_pixels=256 * 256))
