"""The warm-up of a tiny model on samples."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from PIL import Image

from webgym.store.files import Disk
from webgym.store.images import Images
from webgym.store.samples import Sample, write_samples
from webgym.train.checkpoint import is_complete
from webgym.train.job import TrainSettings
from webgym.train.tiny import TinySize, warm_up
from webgym.types import ImagePart, Reply, TextPart, Turn

SMALL = TinySize(vocabulary=400, hidden=48, layers=1, heads=2, inner=32, vision_hidden=32, vision_layers=1)
QUICK = TrainSettings(
    lr=1e-2, updates=12, batch=4, accumulation=1, warmup=1, bf16=False, gradient_checkpointing=False, device="cpu", threads=1
)


def lessons(folder: Path) -> tuple[Path, Path]:
    """Samples that all want the same reply, and their images."""
    data = io.BytesIO()
    Image.new("RGB", (64, 64), "white").save(data, "PNG")
    images = folder / "images"
    sha256 = hashlib.sha256(data.getvalue()).hexdigest()
    Images(images, Disk(folder)).put(data.getvalue(), "png")
    samples = [
        Sample(
            episode=f"{number:032x}", step=0, task=f"t{number}", website="http://a.localhost", iteration=0,
            prompt=(Turn(role="user", parts=(TextPart(text=f"Task: open {number}"), ImagePart(sha256=sha256))),),
            reply=Reply(text="Done"),
        )
        for number in range(8)
    ]  # fmt: skip
    write_samples(folder / "samples.parquet", samples)
    return folder / "samples.parquet", images


async def test_a_warm_model_has_learned_the_replies_and_is_not_made_twice(tmp_path):
    samples, images = lessons(tmp_path)
    result = await warm_up(tmp_path / "model", samples, (images,), QUICK, size=SMALL)
    assert result.loss_after < result.loss_before / 2
    assert is_complete(result.checkpoint)
    made = (tmp_path / "model" / "random" / "model.safetensors").stat().st_mtime_ns
    assert await warm_up(tmp_path / "model", samples, (images,), QUICK, size=SMALL) == result
    assert (tmp_path / "model" / "random" / "model.safetensors").stat().st_mtime_ns == made
