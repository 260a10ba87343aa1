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
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path

from webgym.demonstrating.settings import WarmUpSettings
from webgym.demonstrating.teacher import Demonstrators
from webgym.errors import RolloutStopped
from webgym.judging.programmatic import WorldsJudge
from webgym.replay.buffer import replay
from webgym.replay.settings import ReplaySettings
from webgym.rolling.assembly import Rolling, browsing, play
from webgym.rolling.plan import open_run
from webgym.rollout.agent import NewAgent
from webgym.rollout.client import Client
from webgym.tasks.files import write_tasks
from webgym.train.job import Progress, TrainResult
from webgym.worlds.families import opening
from webgym.worlds.sites import KINDS

Say = Callable[[str], None]


async def prepare(settings: WarmUpSettings, say: Say) -> TrainResult:
    """A warm model, and tasks to practise; all that is not there yet is made."""
    from webgym.train.tiny import warm_up

    shown = settings.folder / "shown.parquet"
    await asyncio.to_thread(write_families, settings, shown)
    samples = settings.folder / "samples.parquet"
    if not samples.exists():
        say(f"{settings.demonstrations} demonstrations")
        await demonstrate(settings, shown, samples)
    say("warm-up")

    def told(progress: Progress) -> None:
        if progress.update % 20 == 0:
            say(f"update {progress.update} of {progress.updates}, loss {progress.loss:.3f}")

    images = (settings.folder / "demonstrations" / "images",)
    return await warm_up(settings.folder / f"seed-{settings.train.seed}", samples, images, settings.train, report=told)


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
        write_tasks(shown, opening(web.seed, "demonstrations", sites, settings.kinds, port=web.port))


async def demonstrate(settings: WarmUpSettings, shown: Path, samples: Path) -> None:
    """Play the guide's episodes and keep the replies of those that succeeded."""
    rollout = settings.rollout(shown)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(await asyncio.to_thread(open_run, rollout))

        async def surroundings() -> tuple[Client, NewAgent]:
            return await stack.enter_async_context(browsing(rollout)), Demonstrators(settings.model)

        played = await play(rollout, store, surroundings, _unwatched)
        if played.failure is not None:
            raise played.failure
        if played.unfinished:
            raise RolloutStopped(f"{played.unfinished} demonstrations are unfinished: the same command goes on")
        whole = ReplaySettings(samples=None)
        await asyncio.to_thread(replay, store, samples, judge=WorldsJudge.name, iteration=0, settings=whole)


@asynccontextmanager
async def _unwatched(_: Rolling) -> AsyncIterator[None]:
    yield
