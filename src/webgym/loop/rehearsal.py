"""`webgym train --dry-run`: what the run would be and need, without a browser, a model or a download.

Settings are resolved, the phases listed, prompts measured, memory and disk estimated. If tasks are at hand the leakage check
is made; if the checkpoint is, one batch is built by the trainer's own code (`specimen`). What could not be
checked here is said, and never counted as checked. Exit status 1: something was checked and speaks against the run.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from webgym.agents.context import weight
from webgym.errors import WebGymError
from webgym.loop import estimate
from webgym.loop.estimate import MERGED_BYTES, OPTIMIZER_BYTES, ROUNDED_BYTES, Shape, gib
from webgym.loop.running import checked_tasks
from webgym.loop.settings import LoopSettings
from webgym.rollout.settings import Caps
from webgym.train.readiness import devices_of

EXIT_WRONG: Final = 1


class Row(NamedTuple):
    """A line of the table."""

    name: str
    text: str
    wrong: bool = False  # it speaks against the run


def rehearse(settings: LoopSettings, console: Console) -> int:
    """Print what the run would need; the status says whether something speaks against it."""
    rows = [*_plan(settings), *_tasks(settings)]
    if settings.checkpoint is not None:
        shape = estimate.shape_of(settings.checkpoint)
        for part in (_model, _prompt, _training, _serving, _disk):
            rows += part(settings, shape)
        rows += _batch(settings)
    table = Table(title=f"Dry run of {settings.run}", title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for row in rows:
        table.add_row(row.name, row.text, style="red" if row.wrong else None)
    console.print(table)
    console.print("Estimates assume that", style="bold")
    for line in estimate.ASSUMED:
        console.print(f"  - {line}", highlight=False)
    return EXIT_WRONG if any(row.wrong for row in rows) else 0


def _plan(settings: LoopSettings) -> Iterator[Row]:
    train = settings.rollout("train", 0, settings.run, settings.tasks)
    evaluated = [n for n in range(settings.iterations + 1) if settings.evaluation.due(n, settings.iterations)]
    yield Row("iterations", f"{settings.iterations}: rollout, judge, (evaluate,) replay, train, publish")
    yield Row(
        "rollout",
        f"{train.wanted} tasks × {settings.repeats} episodes, {settings.engine.slots} at a time, {settings.agent}",
    )
    count = settings.evaluation.count or "all"
    shown = ", ".join(map(str, evaluated[:8])) + (", …" if len(evaluated) > 8 else "")
    yield Row(
        "evaluation", f"{count} test tasks × {settings.evaluation.repeats} after {shown} updates" if evaluated else "never"
    )
    replay = settings.replay
    yield Row(
        "replay",
        f"{replay.samples or 'all'} samples of the last {replay.iterations} iterations, weight (i + 1)^{replay.power:g}",
    )


def _tasks(settings: LoopSettings) -> Iterator[Row]:
    if settings.tasks is None:
        yield Row("tasks", "made from the offline web's seed at the start; its splits are apart by website")
        return
    test = settings.evaluation.tasks or settings.tasks
    missing = [str(path) for path in {settings.tasks, test} if not path.exists()]
    if missing:
        yield Row("tasks", f"not checked: {', '.join(sorted(missing))} is not here")
        return
    try:
        tasks = checked_tasks(settings)  # what the run itself checks first
    except WebGymError as e:
        yield Row("tasks", str(e), wrong=True)
        return
    tested = f"{len(tasks.tested)} test websites, none of them in train" if settings.evaluation.every else "no evaluation"
    yield Row("tasks", f"{settings.tasks}: {tested}; the judge is {tasks.judge}")


def _model(_: LoopSettings, shape: Shape) -> Iterator[Row]:
    text, vision = shape.text.parameters, shape.vision.parameters
    yield Row("model", f"{shape.parameters:,} parameters ({text:,} text, {vision:,} vision), from {shape.source}")


def _prompt(settings: LoopSettings, shape: Shape) -> Iterator[Row]:
    """The longest prompt that the context settings allow, against what a sample may hold."""
    session, context = settings.engine.session, settings.model.context
    weighed = weight(session.width, session.height, context.image_tokens)
    images = context.window + 1
    reply = settings.model.policy.sampling.max_tokens
    longest = max(images * shape.image_tokens(session.width, session.height), context.token_budget) + reply
    told = f"{images} screenshots × {weighed:,} tokens, as the agent weighs them, = {images * weighed:,}"
    kept = "" if images * weighed <= context.token_budget else ": the oldest rounds of the window will not fit"
    yield Row("prompt", f"{told} of a budget of {context.token_budget:,}{kept}")
    over = longest > settings.train.max_tokens
    fits = "does not fit: if there is one as long, it is left out of training" if over else "fits"
    yield Row(
        "longest sample",
        f"{longest:,} tokens with a reply of {reply:,}; train.max_tokens is {settings.train.max_tokens:,}: {fits}",
    )


def _training(settings: LoopSettings, shape: Shape) -> Iterator[Row]:
    chosen, devices = settings.train, devices_of(settings.train)
    rank = chosen.lora.rank if chosen.lora is not None else None
    needed = estimate.training(
        shape,
        batch=chosen.batch,
        tokens=chosen.max_tokens,
        reply=settings.model.policy.sampling.max_tokens,
        devices=devices,
        lora_rank=rank,
        freeze_vision=chosen.freeze_vision,
        checkpointing=chosen.gradient_checkpointing,
    )
    how = f"LoRA of rank {rank}" if rank is not None else "all weights"
    yield Row("trained", f"{needed.trained:,} parameters ({how}), {chosen.backend}, {chosen.objective}, lr {chosen.lr:g}")
    batch = chosen.batch * chosen.accumulation * devices
    yield Row(
        "batch",
        f"{chosen.batch} a device × {chosen.accumulation} added up × {devices} devices = {batch} samples an update",
    )
    told = f"{gib(needed.total)} a device: weights {gib(needed.weights)}, gradients and optimiser {gib(needed.state)}, "
    yield Row("training memory", f"{told}activations {gib(needed.activations)}, logits {gib(needed.logits)}")
    if rank is not None:
        merged = gib(MERGED_BYTES * shape.parameters)
        yield Row("host memory", f"{merged} while the adapter is merged into the weights that are served")


def _serving(settings: LoopSettings, shape: Shape) -> Iterator[Row]:
    weights, per_token = ROUNDED_BYTES * shape.parameters, shape.text.kv_bytes
    longest = settings.model.context.token_budget + settings.model.policy.sampling.max_tokens
    at_once = min(settings.engine.slots, settings.engine.gates.model)
    together = "up while training, too" if settings.serve_while_training else "stopped while training"
    one = per_token * longest
    told = f"{gib(weights)} of weights, {gib(one)} of keys and values for a sequence of {longest:,} tokens, "
    told += f"{gib(one * at_once)} for {at_once} at once; with less, some wait ({settings.serving.kind}, {together})"
    yield Row("serving memory", told)


def _disk(settings: LoopSettings, shape: Shape) -> Iterator[Row]:
    train, session = settings.rollout("train", 0, settings.run, settings.tasks), settings.engine.session
    image = estimate.IMAGE_BITS_PER_PIXEL * session.width * session.height / 8
    episodes, steps = (train.wanted or 0) * settings.repeats, _most(settings.engine.caps.train)
    iteration = episodes * steps * (image + estimate.STEP_BYTES)
    chosen = settings.train
    trained = shape.adapter(chosen.lora.rank, vision=not chosen.freeze_vision) if chosen.lora else shape.parameters
    checkpoint = ROUNDED_BYTES * shape.parameters + OPTIMIZER_BYTES * trained
    held = settings.keep_checkpoints + 1
    yield Row("disk, episodes", f"{gib(iteration)} an iteration at most, {gib(iteration * settings.iterations)} in all")
    yield Row(
        "disk, checkpoints",
        f"{gib(checkpoint)} each with its optimiser, {held} at most at a time: {gib(held * checkpoint)}",
    )
    where = next(path for path in (settings.run.absolute(), *settings.run.absolute().parents) if path.exists())
    yield Row("disk, free", f"{gib(shutil.disk_usage(where).free)} at {where}")


def _most(caps: Caps) -> int:
    """Steps of an episode at most, weighed as the paper's training set is: 79, 19 and 2 of a hundred."""
    return round(0.79 * caps.easy + 0.19 * caps.medium + 0.02 * caps.hard)


def _batch(settings: LoopSettings) -> Iterator[Row]:
    """One batch by the trainer's own code, if what it needs is here."""
    assert settings.checkpoint is not None
    if not (settings.checkpoint / "config.json").is_file():
        yield Row("one batch", f"not built: {settings.checkpoint} is not here")
        return
    if importlib.util.find_spec("torch") is None:
        yield Row("one batch", "not built: torch is not installed (pip install 'open-webgym[train]')")
        return
    from webgym.loop.specimen import build_batch

    try:
        built = build_batch(settings, newest_samples(settings.run))
    except WebGymError as e:
        yield Row("one batch", f"FAILED: {e}", wrong=True)
    else:
        yield Row("one batch", built.told, wrong=built.over > 0)


def newest_samples(run: Path) -> Path | None:
    found = sorted((run / "loop").glob("*/samples.parquet"))
    return found[-1] if found else None
