"""Fixtures of the trainers' tests. Without the train extra there is nothing to test."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the train extra is not installed")

from tests.unit.train.learning import make_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with random weights. Nobody writes into it."""
    return make_model(tmp_path_factory.mktemp("tiny") / "model")
