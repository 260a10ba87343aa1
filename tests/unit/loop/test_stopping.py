"""A person who asks to stop is heard at once, whatever is under way, and what was begun is cleaned up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from io import StringIO
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from tests.unit.judge.judged import make_task
from webgym.loop import phases
from webgym.loop.display import Display
from webgym.loop.phases import Stage, Stopped, Stopper
from webgym.loop.serving import ModelHost
from webgym.loop.settings import LoopSettings
from webgym.loop.state import LoopFolder
from webgym.loop.training import Trainer
from webgym.store import Run
from webgym.tasks.files import write_tasks


class Slow:
    """A model server that takes longer to start than anybody waits."""

    url, model, running = "http://127.0.0.1:1/v1", "policy", True

    def __init__(self) -> None:
        self.starting, self.cleaned = asyncio.Event(), 0

    async def start(self, checkpoint: Path) -> None:
        self.starting.set()
        try:
            await asyncio.sleep(600)
        finally:
            await asyncio.sleep(0.05)
            self.cleaned += 1

    async def revive(self, checkpoint: Path) -> None:
        raise AssertionError

    async def reload(self, checkpoint: Path) -> None:
        raise AssertionError

    async def stop(self) -> None:
        return

    async def healthy(self) -> bool:
        return False

    def tree(self) -> list[psutil.Process]:
        return []


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[tuple[Stage, Slow]]:
    """A stage whose next episode waits for a model server; nobody listens where its browsers would be."""
    tasks, server = tmp_path / "tasks.parquet", Slow()
    write_tasks(tasks, [make_task(n=0)])
    given = {
        "run": tmp_path / "run",
        "tasks": tasks,
        "checkpoint": tmp_path,
        "server": "http://127.0.0.1:1",
        "monitor": None,
    }
    settings = LoopSettings.model_validate(given | {"judge": "worlds", "count": 1})
    with Run.create(tmp_path / "run") as run:
        folder = LoopFolder(run.path, run.disk)
        trainer = Trainer(folder, run, tmp_path, settings.replay, settings.train, keep=2)
        async with AsyncExitStack() as lasting, ModelHost(server, stay=False) as host:
            display = Display(Console(file=StringIO()), settings.iterations)
            yield (
                Stage(
                    settings, folder, run, run, tasks, tasks, "worlds", trainer, host, display, Stopper(), lasting,
                ),
                server,
            )  # fmt: skip


async def test_a_stop_is_heard_while_the_model_server_starts(stage: tuple[Stage, Slow]):
    played, server = stage
    rolling = asyncio.create_task(phases.rollout(played, 0))
    await asyncio.wait_for(server.starting.wait(), 30)
    played.stopper.stop()
    played.stopper.stop()  # a second one does not cut the clean-up short
    with pytest.raises(Stopped):
        await asyncio.wait_for(rolling, 10)
    assert server.cleaned == 1
    assert rolling.cancelling() == 0


async def test_nothing_is_started_for_a_person_who_has_asked_to_stop(stage: tuple[Stage, Slow]):
    played, server = stage
    played.stopper.stop()
    with pytest.raises(Stopped):
        await phases.rollout(played, 0)
    assert not server.starting.is_set()


async def test_being_cancelled_by_somebody_else_is_not_a_stop(stage: tuple[Stage, Slow]):
    played, server = stage
    rolling = asyncio.create_task(phases.rollout(played, 0))
    await asyncio.wait_for(server.starting.wait(), 30)
    rolling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(rolling, 10)
    assert server.cleaned == 1
