"""LLaMA-Factory as a trainer: write its data and its YAML, run `llamafactory-cli train`, collect the checkpoint.

Run it as `python -m webgym.train.llamafactory JOB.json`; `job` does. LLaMA-Factory runs in the environment its settings
name, because its pins exclude those of the others. It clones, and starts its optimiser anew in every job. What it publishes
is laid out like every other checkpoint: its weights, and the files of the model it started from as they were.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ValidationError

from webgym.errors import TrainError
from webgym.train.checkpoint import ADAPTER, publishing
from webgym.train.child import run_child
from webgym.train.job import RESULT, Progress, TrainJob, TrainResult
from webgym.train.readiness import base_of, check_adapter, llamafactory_cli
from webgym.train.sharegpt import PLACEHOLDERS, TRAIN, VALIDATION, Written, write_data

POLL: Final = 0.5
_LIMITLESS: Final = 1 << 40  # pixels: the image processor alone resizes
_PROCESSOR_FILES: Final = ("preprocessor_config.json", "processor_config.json")

Value = str | int | float | bool


class LogLine(BaseModel):
    """A line of its trainer_log.jsonl, as far as it is read."""

    current_steps: int = 0
    total_steps: int = 0
    loss: float | None = None


class Measured(BaseModel):
    """Its all_results.json, as far as it is read."""

    train_runtime: float
    eval_loss: float | None = None


def run(job: TrainJob, report: Callable[[Progress], None]) -> None:
    """Do a job with LLaMA-Factory."""
    began = time.monotonic()
    check_adapter(job.model, job.settings)
    cli = llamafactory_cli(job.settings)
    with _scratch(job) as scratch:
        written = write_data(job, scratch)
        model = _with_limits(job, scratch)
        config = scratch / "train.yaml"
        config.write_text(yaml.safe_dump(configuration(job, model, scratch, written), sort_keys=False))
        _supervise([str(cli), "train", str(config)], job, scratch, written, report)
        result = _measured(job, scratch / "out", written)
        result = result.model_copy(update={"seconds_total": time.monotonic() - began})
        _collect(job, scratch / "out", result)


def _measured(job: TrainJob, made: Path, written: Written) -> TrainResult:
    try:
        measured = Measured.model_validate_json((made / "all_results.json").read_bytes())
        lines = [line for line in _log(made) if line.loss is not None]
        losses = [line.loss for line in lines if line.loss is not None]
        updates, before, after = lines[-1].current_steps, losses[0], losses[-1]
    except (OSError, ValidationError, IndexError) as e:
        raise TrainError(f"LLaMA-Factory ended well, and its results cannot be read: {type(e).__name__}: {e}") from e
    return TrainResult(
        checkpoint=job.output,
        updates=updates,
        samples=written.samples,
        left_out=written.left_out,
        tokens=round(written.tokens * _epochs(job, written)),
        loss_before=before,
        loss_after=after,
        validation_after=measured.eval_loss,
        seconds=measured.train_runtime,
        seconds_total=measured.train_runtime,
    )


def configuration(job: TrainJob, model: Path, folder: Path, written: Written) -> dict[str, Value]:
    """Its YAML: the same training as the native backend's, in its words."""
    settings = job.settings
    found: dict[str, Value] = {
        "model_name_or_path": str(model.absolute()),
        "trust_remote_code": False,
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "lora" if settings.lora else "full",
        "freeze_vision_tower": settings.freeze_vision,
        "freeze_multi_modal_projector": settings.freeze_vision,
        "image_max_pixels": _LIMITLESS,
        "image_min_pixels": 1,
        "dataset": TRAIN,
        "dataset_dir": str(folder.absolute()),
        "template": settings.llamafactory.template,
        "cutoff_len": settings.max_tokens,
        "mask_history": True,
        "overwrite_cache": True,
        "output_dir": str((folder / "out").absolute()),
        "save_strategy": "no",
        "save_only_model": True,
        "logging_steps": 1,
        "report_to": "none",
        "per_device_train_batch_size": settings.batch,
        "gradient_accumulation_steps": settings.accumulation,
        "learning_rate": settings.lr,
        "lr_scheduler_type": "linear" if settings.decay else "constant_with_warmup",
        "warmup_steps": settings.warmup,
        "max_grad_norm": settings.clip_norm,
        "weight_decay": settings.weight_decay,
        "optim": "adamw_torch",
        "bf16": settings.bf16,
        "disable_gradient_checkpointing": not settings.gradient_checkpointing,
        "seed": settings.seed,
        "num_train_epochs": float(settings.epochs),
    }
    if settings.updates is not None:
        found["max_steps"] = settings.updates
    if settings.device == "cpu":
        found["use_cpu"] = True
    if written.validation:
        found |= {"eval_dataset": VALIDATION, "do_eval": True, "eval_strategy": "no", "per_device_eval_batch_size": 1}
    if settings.lora is not None:
        found |= {"lora_rank": settings.lora.rank, "lora_alpha": settings.lora.alpha, "lora_dropout": settings.lora.dropout}
        found["lora_target"] = ",".join(settings.lora.targets) or "all"
        if (job.model / ADAPTER).is_dir():
            found["adapter_name_or_path"] = str((job.model / ADAPTER).absolute())
    return found


def environment(job: TrainJob, folder: Path) -> dict[str, str]:
    """What its process sees: nothing of our environment's packages, no network, caches that vanish with the job."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    threads = {"OMP_NUM_THREADS": str(job.settings.threads)} if job.settings.threads else {}
    quiet = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "DISABLE_VERSION_CHECK": "1"}
    return kept | threads | quiet | PLACEHOLDERS | {"HF_DATASETS_CACHE": str(folder / "cache")}


@contextmanager
def _scratch(job: TrainJob) -> Iterator[Path]:
    folder = job.output.with_name(f".{job.output.name}.llamafactory.staging")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with_limits(job: TrainJob, folder: Path) -> Path:
    """The model with the job's limits for images: it takes them from the processor's file, so that file is another."""
    model, settings = base_of(job.model).absolute(), job.settings
    if settings.min_pixels is None and settings.max_pixels is None:
        return model
    shown = folder / "model"
    shown.mkdir()
    for path in model.iterdir():
        if path.is_file() and path.name not in _PROCESSOR_FILES:
            (shown / path.name).symlink_to(path)
    for name in _PROCESSOR_FILES:
        if (model / name).is_file():
            config = json.loads((model / name).read_text())
            images = config.get("image_processor", config)
            given = {"shortest_edge": settings.min_pixels, "longest_edge": settings.max_pixels}
            images["size"] = images.get("size", {}) | {edge: limit for edge, limit in given.items() if limit is not None}
            (shown / name).write_text(json.dumps(config, indent=2) + "\n")
    return shown


def _supervise(words: list[str], job: TrainJob, folder: Path, written: Written, report: Callable[[Progress], None]) -> None:
    """Run it to its end, passing on how far it is. Its group is ours: whoever ends us ends it."""
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment(job, folder), cwd=folder)
    per_update = written.tokens / written.samples * job.settings.batch * job.settings.accumulation
    told = 0
    try:
        while True:
            status = child.poll()  # before its log is read: what it wrote last is read too
            for line in _log(folder / "out"):
                if line.loss is not None and line.current_steps > told:
                    told = line.current_steps
                    tokens = round(told * per_update)
                    report(Progress(update=told, updates=line.total_steps, loss=line.loss, tokens=tokens))
            if status is not None:
                break
            time.sleep(POLL)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait(timeout=30)
    if status != 0:
        raise TrainError(f"llamafactory-cli train ended with status {status}")


def _log(folder: Path) -> Iterator[LogLine]:
    """Its log so far; a line half written is no line yet."""
    try:
        text = (folder / "trainer_log.jsonl").read_text()
    except FileNotFoundError:
        return
    for line in text.splitlines():
        try:
            yield LogLine.model_validate_json(line)
        except ValidationError:
            continue


def _epochs(job: TrainJob, written: Written) -> float:
    settings = job.settings
    if settings.updates is None:
        return float(settings.epochs)
    return settings.updates / math.ceil(written.samples / (settings.batch * settings.accumulation))


def _collect(job: TrainJob, made: Path, result: TrainResult) -> None:
    """Publish what it made."""
    from webgym.train.weights import copy_rest, publish_adapter, publish_files

    with publishing(job.output, iteration=job.iteration) as folder:
        if job.settings.lora is not None:
            publish_adapter(job.model, made, folder)
        else:
            publish_files(job.model, made, folder)
        copy_rest(job.model, folder)
        (folder / RESULT).write_text(result.model_dump_json(indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(run_child(sys.argv[1:], run))
