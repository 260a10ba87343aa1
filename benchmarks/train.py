"""Training on a CPU, side by side: `python -m benchmarks.train`, or `make bench-train`.

Contestants: (a) the native backend, (b) a plain transformers Trainer with a collator as its documentation writes them, which
renders, tokenises and pads every batch with the processor. Both get the same tiny Qwen3-VL, the same samples (agents'
prompts of one to four rounds with screenshots of 224 × 160), the same number of updates, optimiser and threads; every sample
is seen equally often, so both read the same tokens. They take turns. The time of (a) includes encoding the samples, that of
neither includes loading the model. Only real tokens count, not padding. `vs_hf_trainer` compares tokens a second,
`vs_hf_trainer_processor` processor time (with loading), which says the truth on a machine that others use too.

`switch_seconds` is the time from "episodes done" to "new weights serving": replay from a run's folder, a training job in a
process of its own, its checkpoint published, and the embedded server answering with it. The last line of stdout is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.train_samples import JUDGE, make_run
from webgym.replay.buffer import replay
from webgym.replay.settings import ReplaySettings
from webgym.store import Run
from webgym.store.samples import Sample, read_samples
from webgym.train import shim
from webgym.train.job import TrainJob, TrainSettings, train


def settings(updates: int, threads: int) -> TrainSettings:
    return TrainSettings(
        lr=1e-4,
        updates=updates,
        batch=4,
        accumulation=2,
        warmup=0,
        bf16=False,
        gradient_checkpointing=False,
        device="cpu",
        threads=threads,
    )


def native(job: TrainJob) -> tuple[int, float]:
    """Tokens and seconds of the native backend."""
    import torch
    from accelerate import Accelerator

    from webgym.train.batches import Collator
    from webgym.train.encoding import ImageFolders, load_processor
    from webgym.train.native import Trainer, load_data

    torch.manual_seed(0)
    accelerator = Accelerator(gradient_accumulation_steps=job.settings.accumulation, cpu=True)
    processor, images = load_processor(job.model), ImageFolders(job.images)
    began = time.perf_counter()
    data = load_data(job, processor, images)
    encoding = time.perf_counter() - began
    trainer = Trainer(job, accelerator, data, Collator(processor, images), lambda _: None)
    result = trainer.train()
    return result.tokens, encoding + result.seconds


def plain(job: TrainJob, folder: Path) -> tuple[int, float]:
    """Tokens and seconds of a plain transformers Trainer."""
    import torch
    from transformers import AutoModelForImageTextToText, Trainer, TrainingArguments

    from webgym.train.encoding import load_processor

    torch.manual_seed(0)
    collator = PlainCollator(load_processor(job.model), job.images[0])
    chosen = job.settings
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=chosen.updates,
        per_device_train_batch_size=chosen.batch,
        gradient_accumulation_steps=chosen.accumulation,
        learning_rate=chosen.lr,
        lr_scheduler_type="constant",
        max_grad_norm=chosen.clip_norm,
        weight_decay=chosen.weight_decay,
        optim="adamw_torch",
        remove_unused_columns=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        logging_steps=10_000,
    )
    model = AutoModelForImageTextToText.from_pretrained(job.model)
    trainer = Trainer(model=model, args=arguments, train_dataset=list(read_samples(job.samples)), data_collator=collator)
    began = time.perf_counter()
    trainer.train()
    return collator.tokens, time.perf_counter() - began


class PlainCollator:
    """A batch by the processor alone: rendered, tokenised, padded, with the last reply as labels."""

    def __init__(self, processor: Any, images: Path) -> None:
        self._processor, self._images = processor, images
        processor.tokenizer.padding_side = "right"
        self.tokens = 0

    def __call__(self, samples: list[Sample]) -> Any:
        from PIL import Image

        from webgym.train.encoding import messages

        prompts = [
            self._processor.apply_chat_template(messages(one.prompt), tokenize=False, add_generation_prompt=True)
            for one in samples
        ]
        shown = [
            [Image.open(self._path(part.sha256)) for turn in one.prompt for part in turn.parts if part.kind == "image"]
            for one in samples
        ]
        whole = [f"{prompt}{one.reply.text}<|im_end|>" for prompt, one in zip(prompts, samples, strict=True)]
        batch = self._processor(text=whole, images=shown, padding=True, return_tensors="pt")
        labels = batch["input_ids"].clone()
        for n, one in enumerate(samples):
            length = int(batch["attention_mask"][n].sum())
            reply = len(self._processor.tokenizer(f"{one.reply.text}<|im_end|>")["input_ids"])
            labels[n, : length - reply] = -100
            labels[n, length:] = -100
            self.tokens += length
        batch["labels"] = labels
        return batch

    def _path(self, sha256: str) -> Path:
        return self._images / sha256[:2] / f"{sha256}.jpg"


async def switch(run: Path, model: Path, folder: Path, chosen: TrainSettings) -> dict[str, float]:
    """Seconds of each part of the way from episodes to new weights, with a server that is up meanwhile."""
    from webgym.train.serving.child import Embedded
    from webgym.train.serving.settings import EmbeddedSettings

    server = Embedded(EmbeddedSettings(log=folder / "server.log"))
    await server.start(model)
    try:
        began = time.perf_counter()
        with Run.open(run, read_only=True) as opened:
            replay(opened, folder / "samples.parquet", judge=JUDGE, iteration=0, settings=ReplaySettings(samples=64))
        replayed = time.perf_counter()
        job = TrainJob(
            model=model,
            samples=folder / "samples.parquet",
            images=(run / "images",),
            output=folder / "checkpoints" / "000000",
            iteration=0,
            settings=chosen,
        )
        result = await train(job)
        trained = time.perf_counter()
        await server.reload(result.checkpoint)
        if not await server.healthy():
            raise RuntimeError("the server does not answer with its new weights")
        served = time.perf_counter()
    finally:
        await server.stop()
    parts = {"replay": replayed - began, "train": trained - replayed, "reload": served - trained}
    return parts | {"updates alone": result.seconds, "all": served - began}


def measure(folder: Path, updates: int, turns: int, threads: int) -> dict[str, float]:
    shim.activate()
    import torch

    from webgym.train.tiny import make_tiny

    torch.set_num_threads(threads)
    chosen = settings(updates, threads)
    model = make_tiny(folder / "model")
    run = make_run(folder / "run", episodes=32)
    samples = folder / "samples.parquet"
    per_update = chosen.batch * chosen.accumulation
    with Run.open(run, read_only=True) as opened:
        replay(opened, samples, judge=JUDGE, iteration=0, settings=ReplaySettings(samples=updates * per_update // 2))
    job = TrainJob(
        model=model,
        samples=samples,
        images=(run / "images",),
        output=folder / "out",
        iteration=0,
        settings=chosen,
    )
    rates: dict[str, list[float]] = {"native": [], "plain Trainer": []}
    work: dict[str, list[float]] = {"native": [], "plain Trainer": []}  # processor time, which neighbours do not change
    for turn in range(turns + 1):
        names = random.Random(turn).sample(sorted(rates), len(rates))
        for name in names:
            spent = time.process_time()
            tokens, seconds = native(job) if name == "native" else plain(job, folder / "plain")
            spent = time.process_time() - spent
            if turn == 0:  # the first turn of each warms caches of the libraries
                continue
            rates[name].append(tokens / seconds)
            work[name].append(spent)
            speed = f"{tokens / seconds:8.0f} tokens/s"
            print(f"{name:14} {tokens:7} tokens {seconds:7.2f} s {speed} {spent:7.2f} s of processor", flush=True)
    ratios = [ours / theirs for ours, theirs in zip(rates["native"], rates["plain Trainer"], strict=True)]
    spared = [theirs / ours for ours, theirs in zip(work["native"], work["plain Trainer"], strict=True)]
    (folder / "switch").mkdir()
    parts = asyncio.run(switch(run, model, folder / "switch", settings(8, threads)))
    for name, seconds in parts.items():
        print(f"switch, {name:14} {seconds:7.2f} s")
    return {
        "vs_hf_trainer": round(statistics.median(ratios), 3),
        "vs_hf_trainer_processor": round(statistics.median(spared), 3),
        "switch_seconds": round(parts["all"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=24, help="of each measurement; even")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of both; 1 where others use the machine")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), given.updates, given.turns, given.threads)))


if __name__ == "__main__":
    main()
