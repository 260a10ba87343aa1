"""`webgym warm-up`: tasks, demonstrations in real browsers, replay, and a first training of a tiny model.

    FOLDER/tasks.parquet           tasks to practise: the train and the test split
    FOLDER/shown.parquet           tasks that are demonstrated
    FOLDER/demonstrations/         the guide's episodes, an ordinary run
    FOLDER/samples.parquet         its replies
    FOLDER/seed-<n>/random, warm   the model before and after

Invariants. No website is in two of demonstrations, training and test. Every part is written whole or not at all and is not
made again, so a warm-up that was stopped goes on where it was, and several seeds share the demonstrations.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import chain, islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from webgym.demonstrating.settings import WarmUpSettings
from webgym.demonstrating.teacher import Demonstrators
from webgym.errors import RolloutStopped
from webgym.judging.programmatic import WorldsJudge
from webgym.replay.buffer import replay
from webgym.replay.settings import ReplaySettings
from webgym.replay.statistics import ReplayStatistics
from webgym.rolling.assembly import Rolling, browsing, play, signals
from webgym.rolling.plan import open_run
from webgym.rolling.show import progress as show_progress
from webgym.rollout.agent import NewAgent
from webgym.rollout.client import Client
from webgym.store import Run
from webgym.tasks.files import write_tasks
from webgym.train.job import Progress, TrainResult
from webgym.worlds.families import opening
from webgym.worlds.sites import KINDS


async def prepare(settings: WarmUpSettings, console: Console) -> TrainResult:
    """A warm model, and tasks to practise; all that is not there yet is made, and the console told how it goes."""
    from webgym.train.tiny import warm_up

    shown = settings.folder / "shown.parquet"
    await asyncio.to_thread(write_families, settings, shown)
    samples = settings.folder / "samples.parquet"
    if not samples.exists():
        console.print(f"{settings.episodes} demonstrations", highlight=False)
        await demonstrate(settings, shown, samples, console)
    images = (settings.folder / "demonstrations" / "images",)
    with _updates(console) as told:
        return await warm_up(settings.folder / f"seed-{settings.train.seed}", samples, images, settings.train, report=told)


@contextmanager
def _updates(console: Console) -> Iterator[Callable[[Progress], None]]:
    """A bar of the updates; lines where there is no terminal."""
    columns = (TextColumn("first training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as shown:
        bar = shown.add_task("", total=None)

        def told(progress: Progress) -> None:
            text = f"loss {progress.loss:.3f}"
            shown.update(bar, total=progress.updates, completed=progress.update, description=text)
            if not console.is_terminal and progress.update % 20 == 0:
                console.print(f"update {progress.update} of {progress.updates}, {text}", highlight=False)

        yield told


def write_families(settings: WarmUpSettings, shown: Path) -> None:
    """The tasks to practise and those to demonstrate. Blocks."""
    web, practice = settings.worlds, settings.practice
    assert web is not None, "without the offline web there is nothing to demonstrate"
    settings.folder.mkdir(parents=True, exist_ok=True)
    if not settings.tasks_file.exists():
        train = opening(web.seed, "train", practice.train_sites, practice.kinds, each=practice.each, port=web.port)
        test = opening(web.seed, "test", practice.test_sites, practice.kinds, port=web.port)
        write_tasks(settings.tasks_file, chain(train, test))
    if not shown.exists():
        sites = -(-settings.demonstrations // len(settings.kinds or KINDS))
        known = opening(web.seed, "demonstrations", sites, settings.kinds, port=web.port)
        added = settings.added_kinds  # no kinds at all would stand for all of them
        few = opening(web.seed, "demonstrations", practice.shown, added, port=web.port) if added else ()
        write_tasks(shown, chain(islice(known, settings.demonstrations), few))


async def demonstrate(settings: WarmUpSettings, shown: Path, samples: Path, console: Console) -> None:
    """Play the guide's episodes and keep the replies of those that succeeded. Raises RolloutStopped if none did."""
    rollout = settings.rollout(shown)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(await asyncio.to_thread(open_run, rollout))

        async def surroundings() -> tuple[Client, NewAgent]:
            return await stack.enter_async_context(browsing(rollout)), Demonstrators(settings.model)

        @asynccontextmanager
        async def watched(rolling: Rolling) -> AsyncIterator[None]:
            with signals(rolling.stop):
                async with show_progress(console, rolling.events):
                    yield

        played = await play(rollout, store, surroundings, watched)
        if played.failure is not None:
            raise played.failure
        if left := played.unfinished + played.unjudged:
            raise RolloutStopped(f"{left} demonstrations are unfinished or not judged: the same command goes on")
        await asyncio.to_thread(keep_replies, store, samples)


def keep_replies(run: Run, samples: Path) -> None:
    """Write the replies of the demonstrations that succeeded; none at all are an error, and no file. Blocks."""
    staging = samples.with_name(f".{samples.name}.staging")  # a file without samples would pass for finished demonstrations
    try:
        account = replay(run, staging, judge=WorldsJudge.name, iteration=0, settings=ReplaySettings(samples=None))
        if not account.kept:
            raise RolloutStopped(_taught_nothing(run, account))
        staging.replace(samples)
    finally:
        staging.unlink(missing_ok=True)


def _taught_nothing(run: Run, account: ReplayStatistics) -> str:
    left_out = [f"{count} episodes {reason}" for reason, count in account.episodes_dropped.items()]
    left_out += [f"{count} steps {reason}" for reason, count in account.dropped.items()]
    return (
        f"none of the {account.planned} demonstrations has a reply to learn from: {', '.join(left_out)}; "
        f"see why in {run.path}, and remove that folder to have them played again"
    )
