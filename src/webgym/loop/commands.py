"""`webgym train`, `webgym train plot` and `webgym update`.

Exit status 0: every phase is done; 1: a rollout stopped itself, or a dry run found what speaks against the run; 3: stopped
by a person, the same command goes on.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from webgym import logs
from webgym.config import Settings, load
from webgym.errors import ConfigError, RolloutStopped, StoreError
from webgym.loop import metrics, training
from webgym.loop.leakage import websites
from webgym.loop.plot import Point, learning_curve
from webgym.loop.running import LoopReport, run, told
from webgym.loop.settings import LoopSettings, UpdateSettings
from webgym.loop.state import Done, JudgeDone, LoopFolder, Phase
from webgym.rollout.engine import sole
from webgym.store import Run
from webgym.store.files import trouble
from webgym.train.checkpoint import sweep

EXIT_STOPPED: Final = 1
EXIT_UNFINISHED: Final = 3


def run_train(settings: LoopSettings) -> int:
    """The command."""
    logs.start(settings.log_level)
    console = Console(stderr=True)
    if settings.dry_run:
        from webgym.loop.rehearsal import rehearse

        return rehearse(settings, Console())
    try:
        report = run(settings, console)
    except RolloutStopped as e:
        console.print(f"[bold red]{escape(str(e))}[/]")
        return EXIT_STOPPED
    console.print(summary(report))
    return 0 if report.finished else EXIT_UNFINISHED


def summary(report: LoopReport) -> Table:
    """Before and after, and where to look."""
    table = Table(title=f"{report.run.name}, {report.iterations} updates", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("before", str(report.before) if report.before else "not evaluated")
    table.add_row("after", str(report.after) if report.after else "not evaluated")
    if report.before and report.after and report.before.share and report.after.share is not None:
        table.add_row("factor", f"{report.after.share / report.before.share:.2f}")
    table.add_row("this time", f"{report.seconds / 60:.1f} minutes")
    table.add_row("metrics", str(report.run / "metrics.jsonl"))
    table.add_row("curve", f"webgym train plot {report.run}")
    return table


# ── Plot ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class PlotSettings(Settings):
    """Draw the learning curve of a run."""

    run: Path = Field(description="The run's folder.")
    out: Path | None = Field(None, description="The SVG to write; curve.svg in the run's folder if unset.")
    title: str | None = None


def run_plot(arguments: list[str]) -> int:
    """`webgym train plot RUN [--out FILE]`."""
    if arguments and not arguments[0].startswith("-"):
        arguments = ["--run", *arguments]
    settings = load(PlotSettings, arguments, command="webgym train plot")
    test, out = draw_curve(settings.run, settings.out, settings.title)
    console = Console()
    for point in test:
        console.print(f"{point.version:>6} updates  {point.rate}", highlight=False)
    console.print(f"drawn: {out}", highlight=False)
    return 0


def draw_curve(run: Path, out: Path | None = None, title: str | None = None) -> tuple[list[Point], Path]:
    """Draw what a run has come to so far: the evaluations and where the picture is."""
    test, train = metrics.curves(metrics.read(run / "metrics.jsonl"))
    if not test and not train:
        raise ConfigError(f"{run} has nothing to draw yet: no iteration is judged")
    out = out or run / "curve.svg"
    drawn = learning_curve(title or f"Success of {run.absolute().name}", test, train)
    with trouble(f"writing {out}"):
        out.write_text(drawn)
    return test, out


# ── Update ───────────────────────────────────────────────────────────────────────────────────────────────────────


def run_update(settings: UpdateSettings) -> int:
    """Replay, train and publish one iteration of a run."""
    logs.start(settings.log_level)
    return asyncio.run(_update(settings, Console(stderr=True)))


async def _update(settings: UpdateSettings, console: Console) -> int:
    with await asyncio.to_thread(Run.open, settings.run) as store:
        folder = LoopFolder(store.path, store.disk)
        await asyncio.to_thread(store.disk.folder, folder.path)
        with sole(folder.path):
            iteration = _next(folder, store) if settings.iteration is None else settings.iteration
            tested = await asyncio.to_thread(websites, settings.tasks, "test") if settings.tasks else ()
            trainer = training.Trainer(
                folder=folder,
                store=store,
                first=settings.checkpoint,
                replay=settings.replay,
                train=settings.train,
                keep=settings.keep_checkpoints,
                tested=frozenset(tested),
                continue_optimizer=settings.continue_optimizer,
            )
            await asyncio.to_thread(sweep, folder.checkpoints)
            await asyncio.to_thread(training.check, trainer, iteration)
            await _three(trainer, iteration, _judge(settings, folder, store, iteration), console)
            await asyncio.to_thread(metrics.write, folder)
    return 0


async def _three(trainer: training.Trainer, iteration: int, judge: str, console: Console) -> None:
    """The phases of an update, as far as they are not done."""
    folder = trainer.folder
    phases: tuple[Phase, ...] = ("replay", "train", "publish")
    for phase in phases:
        if folder.done(iteration, phase) is not None:
            continue
        done: Done
        if phase == "replay":
            done = await asyncio.to_thread(training.choose, trainer, iteration, judge)
        elif phase == "train":
            done = await training.learn(trainer, iteration)
        else:
            done = await asyncio.to_thread(training.publish, trainer, iteration)
        folder.finish(iteration, done)
        console.print(f"iteration {iteration} [bold]{phase:<8}[/] {escape(told(done))}", highlight=False)


def _next(folder: LoopFolder, store: Run) -> int:
    """The first planned iteration that is not published."""
    for iteration in store.plans.iterations():
        if folder.done(iteration, "publish") is None:
            return iteration
    raise StoreError(f"every iteration of {store.path} is updated: roll out another one first")


def _judge(settings: UpdateSettings, folder: LoopFolder, store: Run, iteration: int) -> str:
    """Whose verdicts count: as told, as the loop judged, or the only judge's there is."""
    if settings.judge is not None:
        return settings.judge
    if judged := folder.read(iteration, JudgeDone):
        return judged.judge
    judges = sorted({one.judge for one in store.judgements()})
    if len(judges) != 1:
        found = "nobody has" if not judges else f"{', '.join(judges)} have"
        raise ConfigError(f"judge: {found} judged {store.path}: name the judge whose verdicts count")
    return judges[0]
