"""torchvision loads beside a torch its binary part does not fit, in our processes and in other environments'."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the train extra is not installed")

LOOK = """
import io, torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_image
from transformers import Qwen3VLProcessor

picture = io.BytesIO()
Image.new("RGBA", (40, 30), (9, 8, 7, 255)).save(picture, "PNG")
pixels = decode_image(torch.frombuffer(bytearray(picture.getvalue()), dtype=torch.uint8), mode=ImageReadMode.RGB)
assert pixels.shape == (3, 30, 40), pixels.shape
assert pixels[:, 0, 0].tolist() == [9, 8, 7]
print("loaded")
"""


def python(code: str, *, path: Path | None = None) -> str:
    start = f"import site; site.addsitedir({str(path)!r})\n" if path else "from webgym.train import shim; shim.activate()\n"
    ran = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=110)
    return ran.stdout + ran.stderr


def test_the_processor_loads_and_images_are_decoded_once_the_shim_is_active() -> None:
    assert "loaded" in python(LOOK)


def test_an_installed_shim_is_active_in_every_process_of_its_environment(tmp_path: Path) -> None:
    from webgym.train.shim import install_shim

    assert install_shim(tmp_path).parent == tmp_path
    assert "loaded" in python(LOOK, path=tmp_path)
