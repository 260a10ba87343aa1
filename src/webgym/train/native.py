"""The native trainer: transformers for the model, accelerate for the devices, and one loop to read from top to bottom.

    samples ─▶ encode ─▶ (validation) ─▶ batches ─▶ forward, loss, backward ─▶ clip, step ─▶ … ─▶ checkpoint

Run it as `python -m webgym.train.native JOB.json`, or under `accelerate launch` for several devices, FSDP2 or DeepSpeed;
`job` does either. An update is always `batch × accumulation` samples a process, and its loss the mean over all their tokens,
however they are spread over batches and processes. On a CPU the same job gives the same bytes.

Left out on purpose: packing (the attention kernels it needs are not everywhere, and sorting by length leaves little
padding), and saving within a job.
"""

from __future__ import annotations

import hashlib
import logging
import math
import resource
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from webgym.errors import ConfigError, TrainError
from webgym.store.samples import read_samples
from webgym.train import shim
from webgym.train.batches import Batch, Collator, ahead, cut, endless, held_back
from webgym.train.checkpoint import OPTIMIZER, publishing
from webgym.train.child import run_child
from webgym.train.encoding import Encoded, Encoder, ImageFolders, LeftOut, load_processor
from webgym.train.job import RESULT, Progress, TrainJob, TrainResult, TrainSettings, nothing_to_learn, tell_left_out
from webgym.train.objectives import check, loss_of, token_logprobs
from webgym.train.readiness import LORA, SHARDS
from webgym.train.weights import (
    Resume,
    adopt_shards,
    load_model,
    load_optimizer,
    load_shards,
    optimizer_tensors,
    save_model,
    save_optimizer,
    save_shards,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Data:
    """The samples of a job as tokens."""

    train: list[Encoded]
    validation: list[Encoded]
    left_out: int


def run(job: TrainJob, report: Callable[[Progress], None]) -> None:
    """Do a job in this process, or this process's part of it."""
    shim.activate()
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    settings, began = job.settings, time.monotonic()
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    accelerator = make_accelerator(settings)
    processor = load_processor(job.model, min_pixels=settings.min_pixels, max_pixels=settings.max_pixels)
    images = ImageFolders(job.images)
    data = load_data(job, processor, images, need_images=accelerator.num_processes > 1)
    trainer = Trainer(job, accelerator, data, Collator(processor, images), report)
    before = trainer.validate()
    result = trainer.train()
    after = trainer.validate()
    trainer.publish(
        result.model_copy(
            update={
                "validation_before": before,
                "validation_after": after,
                "seconds_total": time.monotonic() - began,
                "peak_memory": _peak_memory(),
            }
        )
    )
    accelerator.wait_for_everyone()
    accelerator.end_training()


def make_accelerator(settings: TrainSettings) -> Any:
    """The devices as accelerate's own configuration has them; what a job says of its updates is the job's."""
    from accelerate import Accelerator, InitProcessGroupKwargs
    from accelerate.utils import parse_flag_from_env

    cpu = settings.device == "cpu" or parse_flag_from_env("ACCELERATE_USE_CPU")
    deepspeed = parse_flag_from_env("ACCELERATE_USE_DEEPSPEED")
    if cpu and deepspeed:  # accelerate would train without it and not say so
        raise ConfigError("device: told to use the CPU, accelerate leaves DeepSpeed out; 'auto' takes it if there is no GPU")
    # Without a GPU accelerate takes DeepSpeed's processes for one each, unless it is told how they talk.
    talk = [InitProcessGroupKwargs(backend="gloo")] if deepspeed and not torch.accelerator.is_available() else []
    accelerator = Accelerator(mixed_precision="bf16" if settings.bf16 else "no", cpu=cpu, kwargs_handlers=talk)
    accelerator.gradient_accumulation_steps = settings.accumulation
    if (plugin := accelerator.state.deepspeed_plugin) is not None:  # it clips and accumulates by itself
        plugin.deepspeed_config |= {
            "train_micro_batch_size_per_gpu": settings.batch,
            "gradient_accumulation_steps": settings.accumulation,
            "gradient_clipping": settings.clip_norm,
        }
    return accelerator


def load_data(job: TrainJob, processor: Any, images: ImageFolders, *, need_images: bool = False) -> Data:
    """Every sample as tokens; those that are too long, or cannot be taught as they were said, are counted and left out."""
    encoder, settings = Encoder(processor, images), job.settings
    train: list[Encoded] = []
    validation: list[Encoded] = []
    left_out: Counter[str] = Counter()
    for sample in read_samples(job.samples):
        row = encoder.read(sample)
        if isinstance(row, LeftOut):
            left_out[row.reason] += 1
        elif len(row) > settings.max_tokens:
            left_out[f"are over max_tokens ({settings.max_tokens})"] += 1
        elif need_images and not row.images:
            left_out["have no image, which several processes need"] += 1
        else:
            check(row, settings.objective)
            (validation if held_back(row.task, settings.validation, settings.seed) else train).append(row)
    if not train:
        raise nothing_to_learn(job, left_out, len(validation))
    tell_left_out(left_out)
    return Data(train, validation, left_out.total())


class Trainer:
    """A model, its optimiser and their data, from the first update of a job to its checkpoint."""

    def __init__(
        self, job: TrainJob, accelerator: Any, data: Data, collator: Collator, report: Callable[[Progress], None]
    ) -> None:
        self._job, self._settings, self._accelerator = job, job.settings, accelerator
        self._data, self._collator, self._report = data, collator, report
        self._loss = loss_of(job.settings)
        model = load_model(job)
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=job.settings.lr, weight_decay=job.settings.weight_decay)
        self._model, self._optimizer = accelerator.prepare(model, optimizer)
        self._sharded = accelerator.distributed_type.value == "DEEPSPEED"  # its state has a format of its own
        if self._sharded:
            self._resume = load_shards(self._model, job)
        else:
            self._resume = load_optimizer(self._model, self._plain_optimizer, job.optimizer)
        with job.samples.open("rb") as file:
            self._digest = hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def _plain_optimizer(self) -> Any:
        return getattr(self._optimizer, "optimizer", self._optimizer)

    @property
    def _per_update(self) -> int:
        return self._settings.batch * self._settings.accumulation * int(self._accelerator.num_processes)

    def train(self) -> TrainResult:
        """All updates of the job."""
        settings, rows = self._settings, self._data.train
        updates = settings.updates or max(1, round(settings.epochs * len(rows) / self._per_update))
        start = self._resume.position if self._resume.samples == self._digest else 0
        losses: list[float] = []
        tokens, began = 0, time.monotonic()
        self._model.train()
        work = ahead(self._work(updates, start))
        for update in range(updates):
            number = self._resume.updates + update
            loss, seen = self._update(number, self._rate(update, updates), islice(work, settings.accumulation))
            losses.append(loss)
            tokens += seen
            if self._accelerator.is_main_process:
                self._report(Progress(update=update + 1, updates=updates, loss=loss, tokens=tokens))
        position = start + updates * self._per_update
        self._resume = Resume(updates=self._resume.updates + updates, samples=self._digest, position=position)
        seconds = time.monotonic() - began
        log.info("%d updates, %d tokens, %.0f tokens/s", updates, tokens, tokens / seconds)
        return TrainResult(
            checkpoint=self._job.output,
            optimizer=self._job.output / OPTIMIZER,
            updates=updates,
            samples=min(len(rows), updates * self._per_update),
            left_out=self._data.left_out,
            tokens=tokens,
            loss_before=losses[0],
            loss_after=losses[-1],
            seconds=seconds,
            seconds_total=seconds,
        )

    def _work(self, updates: int, start: int) -> Iterator[tuple[Batch, int]]:
        """The batches of this process, each with the number of tokens that its whole update learns."""
        rows, lengths = self._data.train, list(map(len, self._data.train))
        order = endless(len(rows), self._settings.seed, start)
        accelerator = self._accelerator
        for _ in range(updates):
            chosen = list(islice(order, self._per_update))
            learned = sum(rows[one].reply for one in chosen)
            mine = {"processes": accelerator.num_processes, "mine": accelerator.process_index}
            for batch in cut(chosen, lengths, self._settings.batch, **mine):
                yield self._collator.collate([rows[one] for one in batch]), learned

    def _rate(self, update: int, updates: int) -> float:
        """The learning rate of an update of this job. It rises over the optimiser's updates, falls over the job's."""
        settings = self._settings
        rising = (self._resume.updates + update + 1) / max(1, settings.warmup)
        falling = (updates - update) / max(1, updates - settings.warmup) if settings.decay else 1.0
        return settings.lr * min(1.0, rising, falling)

    def _update(self, number: int, rate: float, work: Iterator[tuple[Batch, int]]) -> tuple[float, int]:
        """One step of the optimiser; returns the mean loss over its tokens, and how many tokens were read."""
        accelerator, settings = self._accelerator, self._settings
        # By the number of the update and not of the job: what a layer drops is drawn anew by every one of them.
        torch.manual_seed((settings.seed * 1_000_003 + number) * int(accelerator.num_processes) + accelerator.process_index)
        for group in self._plain_optimizer.param_groups:
            group["lr"] = rate
        total = torch.zeros(2, device=accelerator.device)
        for made, learned in work:
            batch = made.to(accelerator.device)
            with accelerator.accumulate(self._model):
                losses = self._loss(token_logprobs(self._model(**batch.inputs).logits, batch), batch)
                loss = losses.sum() / learned
                # Gradients are averaged over batches and processes; the mean wanted is over tokens.
                accelerator.backward(loss * settings.accumulation * accelerator.num_processes)
                if accelerator.sync_gradients:
                    norm = accelerator.clip_grad_norm_(self._model.parameters(), settings.clip_norm)
                    if norm is not None and not math.isfinite(norm):  # one step along it, and no weight is a number any more
                        raise TrainError(f"the gradient of update {number + 1} is {norm}: the learning rate may be too high")
                self._optimizer.step()
                self._optimizer.zero_grad()
            total += torch.stack([loss.detach().float(), torch.tensor(float(batch.tokens), device=accelerator.device)])
        loss_sum, tokens = accelerator.reduce(total, "sum").tolist()
        if not math.isfinite(loss_sum):
            raise TrainError(f"the loss of update {number + 1} is {loss_sum}: the learning rate may be too high")
        return loss_sum, int(tokens)

    def validate(self) -> float | None:
        """Mean loss of cloning over the held-back successes; None if nothing is held back."""
        rows = [row for row in self._data.validation if row.advantage > 0]
        if not rows:
            return None
        self._model.eval()
        total = torch.zeros(2, device=self._accelerator.device)
        lengths, device = list(map(len, rows)), self._accelerator.device
        for chosen in cut(range(len(rows)), lengths, self._settings.batch, processes=1, mine=0):
            batch = self._collator.collate([rows[one] for one in chosen]).to(device)
            with torch.no_grad():
                logprobs = token_logprobs(self._model(**batch.inputs).logits, batch)
            total += torch.stack([-logprobs.sum(), torch.tensor(float(logprobs.numel()), device=device)])
        loss, count = total.tolist()
        return float(loss / count)

    def publish(self, result: TrainResult) -> None:
        """Write the checkpoint. Every process gathers, the first one writes; DeepSpeed's write what each of them has."""
        model, output = self._accelerator.unwrap_model(self._model), self._job.output
        gathered = self._accelerator.get_state_dict(self._model) or {}  # ZeRO-3 gives it to the first process alone
        adapter = self._settings.lora is not None  # of which the weights below it are no part: they stay where they are
        state = {name: one.detach().cpu() for name, one in gathered.items() if not adapter or LORA in name}
        moments = {} if self._sharded else optimizer_tensors(self._model, self._plain_optimizer)
        shards = output.with_name(f".{output.name}.{SHARDS}.staging")
        if self._sharded:
            if self._accelerator.is_main_process:
                shutil.rmtree(shards, ignore_errors=True)  # of a job that was killed
            self._accelerator.wait_for_everyone()
            save_shards(self._model, shards)
            self._accelerator.wait_for_everyone()
        writing = publishing(output, iteration=self._job.iteration)
        with writing if self._accelerator.is_main_process else nullcontext() as folder:
            if folder is None:
                return
            if self._sharded:
                adopt_shards(folder / OPTIMIZER, shards, self._resume)
            else:
                save_optimizer(folder / OPTIMIZER, moments, self._resume)
            save_model(model, state, self._job, folder, keep_exact=not self._sharded)
            (folder / RESULT).write_text(result.model_dump_json(indent=2) + "\n")


def _peak_memory() -> int:
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(arguments: Sequence[str] | None = None) -> int:
    return run_child(list(sys.argv[1:] if arguments is None else arguments), run)


if __name__ == "__main__":
    sys.exit(main())
