"""What an engine keeps, and who writes it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from webgym.errors import DiskFull, StoreError
from webgym.rollout import keeper as module
from webgym.rollout.events import Events
from webgym.rollout.keeper import Keeper
from webgym.rollout.settings import EngineSettings
from webgym.store import Run
from webgym.types import Screenshot

SETTINGS = EngineSettings.model_validate({"disk": {"poll": 0.01, "patience": 0.2}})


class Writers:
    """Stands where images are put: it notes who came, and does as it is told."""

    def __init__(self, put: Callable[[bytes, str], str]) -> None:
        self._put = put
        self.threads: list[str] = []
        self.seconds, self.failures = 0.0, list[Exception]()

    def put(self, data: bytes, image_format: str) -> str:
        self.threads.append(threading.current_thread().name.partition("_")[0])
        time.sleep(self.seconds)
        if self.failures:
            raise self.failures.pop(0)
        return self._put(data, image_format)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run") as run:
        yield run


@pytest.fixture
def writers(run: Run) -> Writers:
    writers = Writers(run.images.put)
    run.images.put = writers.put  # type: ignore[method-assign,assignment]
    return writers


def shot(number: int) -> Screenshot:
    return Screenshot(format="jpeg", width=1, height=1, sha256="0" * 64, data=b"picture %d" % number)


async def test_a_screenshot_is_written_at_once_and_no_thread_woken_for_it(run: Run, writers: Writers):
    keeper = Keeper(run, SETTINGS, Events())
    keeping = keeper.image(shot(1))
    assert writers.threads == ["MainThread"]
    assert run.images.get(await keeping) == b"picture 1"


async def test_after_a_slow_disk_threads_write_for_a_while_and_then_the_loop_again(run: Run, writers: Writers):
    keeper = Keeper(run, SETTINGS, Events())
    writers.seconds = 1.5 * module.HELD_UP
    await keeper.image(shot(0))
    writers.seconds = 0
    for number in range(module.WARY + 1):
        await keeper.image(shot(number))
    assert writers.threads == ["MainThread", *["keeper"] * module.WARY, "MainThread"]


async def test_a_full_disk_is_waited_for_and_the_screenshot_kept_after_all(run: Run, writers: Writers):
    keeper = Keeper(run, SETTINGS, events := Events())
    writers.failures = [DiskFull("full"), DiskFull("still full")]
    keeping = asyncio.ensure_future(_awaited(keeper, 1))
    await asyncio.sleep(0.005)
    assert "full" in events.notice
    assert run.images.get(await keeping) == b"picture 1"
    assert not events.notice
    assert writers.threads == ["MainThread", "keeper", "keeper"]


async def test_a_disk_that_stays_full_is_told_of_when_patience_ends(run: Run, writers: Writers):
    keeper = Keeper(run, SETTINGS, Events())
    writers.failures = [DiskFull("full")] * 1000
    with pytest.raises(DiskFull):
        await keeper.image(shot(1))


async def test_a_broken_folder_is_heard_of_when_the_screenshot_is_awaited(run: Run, writers: Writers):
    keeper = Keeper(run, SETTINGS, Events())
    writers.failures = [StoreError("broken")]
    keeping = keeper.image(shot(1))
    with pytest.raises(StoreError, match="broken"):
        await keeping


async def _awaited(keeper: Keeper, number: int) -> str:
    return await keeper.image(shot(number))
