"""Starting and ending what is run as a browser."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import stat
import sys
import threading
from pathlib import Path

import psutil
import pytest
import uvloop

from tests.processes import running
from webgym.errors import BrowserError
from webgym.server.process import ChromiumProcess

SLEEPS = ["/bin/sh", "-c", "exec sleep 60"]


def test_what_a_process_says_is_heard_through_a_socket_and_its_folder_goes_with_it(tmp_path: Path):
    """No pipe: uvloop closes the descriptor of one twice, and the second time its number may be another thread's."""

    async def run() -> None:
        process = await ChromiumProcess._spawn(["/bin/sh", "-c", "echo said >&2; exec sleep 60"], tmp_path)
        await asyncio.sleep(0.2)
        assert process.last_words == "said"
        assert process._words is not None
        assert stat.S_ISSOCK(os.fstat(process._words.get_extra_info("socket").fileno()).st_mode)
        await process.close()
        assert process.gone.is_set()

    uvloop.run(run())
    assert not tmp_path.exists()


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_browser_counts_as_alive_until_it_has_ended_on_every_system(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if system == "linux" != sys.platform:
        pytest.skip("one cannot look at a dead process there without reaping it")

    async def run() -> None:
        left = tmp_path / "left"
        starting = f"sleep 60 & echo $! > {left}; exec sleep 0.5"
        process = await ChromiumProcess._spawn(["/bin/sh", "-c", starting], tmp_path)
        await asyncio.sleep(0.2)
        assert not process.exited.is_set()
        child = int(left.read_text())
        assert running(child)
        await asyncio.wait_for(process.gone.wait(), 5)
        assert process.exited.is_set()
        async with asyncio.timeout(5):
            while running(child):  # noqa: ASYNC110 - ended with its group; it is another's orphan here, who may take a moment
                await asyncio.sleep(0.01)
        await process.close()

    monkeypatch.setattr(sys, "platform", system)
    asyncio.run(run())


def highest_descriptor() -> int:
    return max(int(one.name) for one in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="there it is read from /proc, with a descriptor")
async def test_memory_that_cannot_be_read_for_want_of_descriptors_is_none(tmp_path: Path):
    process = await ChromiumProcess._spawn(SLEEPS, tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest_descriptor() + 1, hard))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        assert process.members() == []
        assert process.resident_bytes() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)
    assert process.resident_bytes() > 0
    await process.close()


async def test_a_browser_that_no_thread_can_watch_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = set(psutil.Process().children())
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", none_left)
        with pytest.raises(BrowserError, match="can't start new thread"):
            await ChromiumProcess._spawn(SLEEPS, tmp_path)
    assert set(psutil.Process().children()) == before
