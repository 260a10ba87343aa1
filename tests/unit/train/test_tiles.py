"""Processes that compute in bfloat16 use no part of the processor that a virtual machine may only seem to have."""

import os
import subprocess
import sys

import pytest

from webgym.train.tiles import MOST_OF_PROCESSOR, without_tiles

PRODUCT = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); print(int((a @ a)[0, 0]))"


def test_a_product_in_bfloat16_does_not_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MOST_OF_PROCESSOR, raising=False)
    done = subprocess.run([sys.executable, "-c", PRODUCT], env=without_tiles(os.environ), capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, b"64"), done.stderr


def test_who_has_chosen_is_heeded() -> None:
    assert without_tiles({MOST_OF_PROCESSOR: "ALL", "HOME": "/"}) == {MOST_OF_PROCESSOR: "ALL", "HOME": "/"}
