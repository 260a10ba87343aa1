"""A tiny Qwen3-VL, screenshots and samples: everything a training job needs, made in seconds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

from PIL import Image

from webgym.store.files import Disk
from webgym.store.images import Images
from webgym.store.samples import Sample, write_samples
from webgym.train.job import TrainJob, TrainResult, TrainSettings, read_result
from webgym.train.tiny import TinySize, make_tiny
from webgym.types import ImagePart, Reply, TextPart, Turn

SMALL = TinySize(vocabulary=400, hidden=32, layers=1, heads=2, inner=64, vision_hidden=32, vision_layers=1, vision_inner=64)
QUICK = TrainSettings(
    lr=3e-3,
    updates=4,
    batch=2,
    accumulation=2,
    warmup=2,
    bf16=False,
    gradient_checkpointing=False,
    device="cpu",
    threads=2,
)


def make_model(folder: Path, seed: int = 0) -> Path:
    return make_tiny(folder, seed=seed, size=SMALL)


def picture(n: int, size: tuple[int, int] = (96, 64)) -> bytes:
    made = Image.new("RGB", size, (40 * n % 256, 90, 200 - 30 * n % 200))
    made.paste((255, 255, 255), (8 * (n % 8), 8, 8 * (n % 8) + 16, 24))
    out = io.BytesIO()
    made.save(out, "PNG")
    return out.getvalue()


def make_sample(images: Images, n: int, **changes: object) -> Sample:
    """Two rounds: an earlier reply in the prompt, and the reply to learn, of lengths that differ from sample to sample."""
    first, second = (images.put(picture(n + k, (96, 64 + 32 * (n % 2))), "png") for k in range(2))
    base = Sample(
        episode=f"{n:032x}",
        step=1,
        task=f"task-{n}",
        website=f"http://site{n % 3}.localhost",
        iteration=0,
        prompt=(
            Turn(role="system", parts=(TextPart(text="You work in a web browser."),)),
            Turn(role="user", parts=(TextPart(text=f"Task: {'press ' * (n % 4)}button {n}"), ImagePart(sha256=first))),
            Turn(role="assistant", parts=(TextPart(text="I looked first."),)),
            Turn(role="user", parts=(ImagePart(sha256=second), TextPart(text="The page changed."))),
        ),
        reply=Reply(text=f'<tool_call>\n{{"action": "click", "element_id": {n}}}\n</tool_call>'),
    )
    return base.model_copy(update=changes)


def make_images(folder: Path) -> Images:
    return Images(folder, Disk(folder.parent))


def make_job(folder: Path, model: Path, count: int = 8, settings: TrainSettings = QUICK, **changes: object) -> TrainJob:
    """A job on `count` samples; what it needs is in `folder`."""
    images = make_images(folder / "images")
    if not (folder / "samples.parquet").exists():
        write_samples(folder / "samples.parquet", (make_sample(images, n) for n in range(count)))
    job = TrainJob(
        model=model,
        samples=folder / "samples.parquet",
        images=(folder / "images",),
        output=folder / "checkpoints" / "000000",
        iteration=0,
        settings=settings,
    )
    return job.model_copy(update=changes)


def train_in(job: TrainJob, processes: int, environment: dict[str, str], python: str = sys.executable) -> TrainResult:
    """Do a job in one process or several, as accelerate would start them on several devices."""
    job.file.write_text(job.model_dump_json())
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    words = [python, *launch, "-m", "webgym.train.native", str(job.file)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | environment
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=290, check=False)
    assert ran.returncode == 0, ran.stdout[-1000:] + ran.stderr[-3000:]
    result = read_result(job.output)
    assert result is not None
    return result
