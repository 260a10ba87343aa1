"""A training job: what to train on which samples and how, and the child process that does it.

The job runs in a process group of its own, so that its memory is free when it ends, and ends with us: by cancellation, at
its deadline, or when our death closes its stdin. Whatever it says is in a log beside the checkpoint. A job whose checkpoint
is there already is not run again: training is idempotent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from webgym.errors import ConfigError, StoreError, TrainError
from webgym.store.files import trouble
from webgym.store.samples import Objective
from webgym.train.checkpoint import OPTIMIZER, is_complete
from webgym.train.tiles import without_tiles
from webgym.types import Wire

log = logging.getLogger(__name__)

RESULT: Final = "train.json"
UNSEEN: Final = "show screenshots that are damaged or gone"  # of samples that are left out
BAD_CONFIG: Final = 2  # how a child ends that cannot do its job as asked
ENDS_WITH_PARENT: Final = "--ends-with-parent"
_GRACE: Final = 10.0
_LOOK: Final = 0.05
_LINE: Final = 1 << 16

Positive = Annotated[int, Field(ge=1)]


class Lora(Wire):
    """Train a low-rank adapter instead of all weights."""

    rank: Positive = 16
    alpha: Positive = 32
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    targets: tuple[str, ...] = Field((), description="Names of the layers; none: every linear layer that is trained.")


class LlamaFactory(Wire):
    """The environment of LLaMA-Factory, whose pins exclude those of the others."""

    python: Path = Field(Path(".venv-llamafactory/bin/python"), description="`webgym env make llamafactory` makes it.")
    template: str = "qwen3_vl_nothink"


class TrainSettings(Wire):
    """How to train. The defaults are those of the paper's run."""

    backend: Literal["native", "llamafactory"] = "native"
    objective: Objective = "filtered_bc"
    lr: Annotated[float, Field(gt=0, le=1)] = 1e-6
    epochs: Positive = 2
    updates: Positive | None = Field(None, description="How many optimiser updates; overrides epochs.")
    batch: Positive = Field(3, description="Samples a device computes at once.")
    accumulation: Positive = Field(4, description="Batches added up before an update.")
    max_tokens: Annotated[int, Field(ge=16)] = Field(16_384, description="Longer samples are left out, and counted.")
    warmup: Annotated[int, Field(ge=0)] = Field(30, description="Updates until the learning rate is full.")
    decay: bool = Field(False, description="After that it falls to nothing over the updates; else it is constant.")
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    bf16: bool = True
    gradient_checkpointing: bool = True
    freeze_vision: bool = Field(False, description="Keep the vision tower and its projection as they are.")
    lora: Lora | None = None
    clip_low: Annotated[float, Field(gt=0, lt=1)] = Field(0.2, description="GRPO: how far a ratio may fall.")
    clip_high: Annotated[float, Field(gt=0)] = Field(0.28, description="GRPO: how far a ratio may rise.")
    validation: Annotated[float, Field(ge=0, le=0.5)] = Field(0.0, description="Share of the tasks held back.")
    min_pixels: Positive | None = Field(None, description="Of an image; None: as the checkpoint's processor says.")
    max_pixels: Positive | None = Field(None, description="Of an image, as the model server sees it.")
    seed: int = 0
    threads: Positive | None = Field(None, description="Of the processor; None: torch decides.")
    device: Literal["auto", "cpu"] = "auto"
    accelerate_config: Path | None = Field(None, description="FSDP2, DeepSpeed or several devices: accelerate's YAML.")
    llamafactory: LlamaFactory = LlamaFactory()
    deadline: Annotated[float, Field(gt=0)] = Field(12 * 3600.0, description="Seconds until a job counts as hung.")

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.min_pixels and self.max_pixels and self.min_pixels > self.max_pixels:
            raise ValueError(f"min_pixels ({self.min_pixels}) is more than max_pixels ({self.max_pixels})")
        if self.backend == "llamafactory" and self.objective != "filtered_bc":
            raise ValueError(f"objective {self.objective!r} needs backend 'native': LLaMA-Factory only clones")
        if self.backend == "llamafactory" and self.accelerate_config is not None:
            raise ValueError("accelerate_config needs backend 'native': LLaMA-Factory would not read it")
        return self


class TrainJob(Wire):
    """One update of a model: everything a backend needs to know."""

    model: Path = Field(description="The checkpoint to start from.")
    samples: Path = Field(description="A file of `webgym.store.samples`.")
    images: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(description="Image folders of the samples' runs.")
    output: Path = Field(description="The checkpoint to make.")
    optimizer: Path | None = Field(None, description="`optimizer` folder of the last checkpoint; None: starts anew.")
    iteration: int = Field(ge=0)
    settings: TrainSettings = TrainSettings()

    @property
    def log(self) -> Path:
        return self.output.with_name(f"{self.output.name}.log")

    @property
    def file(self) -> Path:
        return self.output.with_name(f"{self.output.name}.job.json")


class TrainResult(Wire):
    """What a job did. Losses are means per token of the replies."""

    checkpoint: Path
    optimizer: Path | None = Field(None, description="State to hand to the next job; None: the backend keeps none.")
    updates: int
    samples: int = Field(description="Trained on, each counted once.")
    left_out: int = Field(0, description="Samples over max_tokens, or that the backend cannot take.")
    tokens: int = Field(description="Passed through the model for an update, without padding.")
    loss_before: float = Field(description="Over the first update.")
    loss_after: float = Field(description="Over the last update.")
    validation_before: float | None = None
    validation_after: float | None = None
    seconds: float = Field(description="Of the updates alone, without loading and saving.")
    seconds_total: float
    peak_memory: int = Field(0, description="Bytes: of the device if it is a GPU, else of the process.")


class NothingToLearn(ConfigError):
    """No sample of the job can be trained on. A caller who can do without an update keeps its model."""


def nothing_to_learn(job: TrainJob, left_out: Mapping[str, int], held_back: int) -> NothingToLearn | StoreError:
    """Why no sample of a job can be trained on, in counts that add up to all of them."""
    why = [*left_out.items(), ("are of tasks that validation holds back", held_back)]
    told = ", ".join(f"{count} {reason}" for reason, count in why if count) or "there are none"
    said = f"samples: none of {job.samples} can be trained on: {told}"
    # A disk may be away, and what it holds can be learned when it is back.
    return StoreError(said) if left_out.get(UNSEEN) else NothingToLearn(said)


def tell_left_out(left_out: Mapping[str, int]) -> None:
    """Into the job's log: a job that learns from some of its samples says why it does not from the others."""
    for reason, count in left_out.items():
        log.warning("%d samples %s", count, reason)


class Refused(Wire):
    """Said by a child that cannot do its job as asked. A launcher in between makes of its exit status what it likes."""

    refused: Literal["config", "nothing"]
    why: str

    def error(self) -> ConfigError:
        return NothingToLearn(self.why) if self.refused == "nothing" else ConfigError(self.why)


class Progress(Wire):
    """Said after every update."""

    update: int
    updates: int
    loss: float
    tokens: int


_SAID: Final[TypeAdapter[Progress | Refused]] = TypeAdapter(Progress | Refused)


def read_result(checkpoint: Path) -> TrainResult | None:
    """What the job that made a checkpoint measured; None if there is no whole checkpoint."""
    if not is_complete(checkpoint):
        return None
    try:
        result = TrainResult.model_validate_json((checkpoint / RESULT).read_bytes())
    except (OSError, ValidationError):
        return None
    state = checkpoint / OPTIMIZER
    # A run may have been moved or copied since: what was read is the checkpoint that is meant.
    return result.model_copy(update={"checkpoint": checkpoint, "optimizer": state if state.is_dir() else None})


async def train(job: TrainJob, report: Callable[[Progress], None] | None = None) -> TrainResult:
    """Run a job to its end; what it made before is returned as it is. Raises TrainError, ConfigError or StoreError."""
    if done := read_result(job.output):
        return done
    with trouble(f"writing {job.file}"):
        job.output.parent.mkdir(parents=True, exist_ok=True)
        job.file.write_text(job.model_dump_json(indent=2) + "\n")
        log = job.log.open("ab")
    try:
        status, refused = await _run(command(job), log.fileno(), job.settings.deadline, report)
    finally:
        log.close()
    if refused is not None:
        raise refused.error()
    if status is None:
        raise TrainError(f"training took longer than {job.settings.deadline:g} s and was stopped; see {job.log}")
    if status != 0 or (result := read_result(job.output)) is None:
        raise TrainError(f"training ended with status {status}: {_last_line(job.log)}; see {job.log}")
    return result


def command(job: TrainJob) -> list[str]:
    """The command line of a job's child process."""
    if job.settings.backend == "llamafactory":
        return [sys.executable, "-m", "webgym.train.llamafactory", str(job.file), ENDS_WITH_PARENT]
    native = ["-m", "webgym.train.native", str(job.file), ENDS_WITH_PARENT]
    if job.settings.accelerate_config is None:
        return [sys.executable, *native]
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(job.settings.accelerate_config)]
    return [*launch, *native]


async def _run(
    words: list[str], log: int, deadline: float, report: Callable[[Progress], None] | None
) -> tuple[int | None, Refused | None]:
    """The exit status of a child, None if its time ran out, and why it refused. Its whole group is gone afterwards."""
    child = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,  # held open: its end tells the child that we are gone
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        start_new_session=True,
        limit=_LINE,
        env=without_tiles(os.environ) | {"PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(deadline):
            refused = await _listen(child.stdout, log, report)
            return await child.wait(), refused
    except TimeoutError:
        return None, None
    finally:
        await asyncio.shield(_end(child))


async def _listen(lines: asyncio.StreamReader, log: int, report: Callable[[Progress], None] | None) -> Refused | None:
    """Pass on what is progress, return a refusal; what others print goes to the log."""
    refused = None
    while line := await _line(lines):
        try:
            said = _SAID.validate_json(line)
        except ValidationError:
            os.write(log, line)
            continue
        if isinstance(said, Refused):
            refused = said
        elif report is not None:
            report(said)
    return refused


async def _line(lines: asyncio.StreamReader) -> bytes:
    try:
        return await lines.readline()
    except ValueError:  # longer than the limit: not ours
        return b"\n"


async def _end(child: asyncio.subprocess.Process) -> None:
    """Ask the group to end, then make it. What outlives that holds memory that the next phase needs: an error."""
    for number, grace in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _GRACE)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), grace)
            if await _group_ended(child.pid, grace if number == signal.SIGKILL else 0.0):
                return
    raise TrainError(f"the training job was stopped and still holds memory, in process group {child.pid}")


async def _group_ended(group: int, within: float) -> bool:
    ends = time.monotonic() + within
    while _group_lives(group):
        if time.monotonic() >= ends:
            return False
        await asyncio.sleep(_LOOK)
    return True


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # what is left of it is being reaped
        return True
    return True


def _last_line(path: Path) -> str:
    """What a child said last, for the message."""
    with suppress(OSError):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 8192))
            lines = file.read().decode(errors="replace").split("\n")
        for line in reversed(lines):
            if line.strip():
                return line.strip()[:500]
    return "it said nothing"
