"""From a model that knows nothing to one that has seen a few demonstrations.

The samples are those of a run of demonstrations, and the trainer is the one of the loop: a warm-up is an update like any
other, only longer. The tokenizer is learned from the same samples, so whatever else the model will meet is new to it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from webgym.store.samples import read_samples
from webgym.train.job import Progress, TrainJob, TrainResult, TrainSettings, train
from webgym.train.tiny.model import TinySize, make_tiny

FIRST: Final = "random"  # the model before the warm-up, in the same folder
WARM: Final = "warm"


async def warm_up(
    folder: Path,
    samples: Path,
    images: tuple[Path, ...],
    settings: TrainSettings,
    *,
    size: TinySize | None = None,
    report: Callable[[Progress], None] | None = None,
) -> TrainResult:
    """Make a tiny model by the settings' seed and train it on samples; what was made before is returned as it is."""
    job = TrainJob(
        model=folder / FIRST, samples=samples, images=images, output=folder / WARM, iteration=0, settings=settings
    )
    staging = folder / f".{FIRST}.staging"
    if not job.model.is_dir():
        shutil.rmtree(staging, ignore_errors=True)
        make_tiny(staging, settings.seed, texts=_texts(samples), size=size)
        staging.rename(job.model)
    return await train(job, report)


def _texts(samples: Path) -> Iterator[str]:
    """Everything the model will read and write in them."""
    for sample in read_samples(samples):
        for turn in sample.prompt:
            yield from (part.text for part in turn.parts if part.kind == "text")
        yield sample.reply.text
