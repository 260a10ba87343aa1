"""Supervision: whatever ends, nothing of a server is left behind. Real processes throughout."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import running
from webgym.errors import EndpointDown
from webgym.train.serving.process import ServerProcess

WITHIN = 30.0

# A server that starts a child, and one that leaves the process group, and says who they are.
SERVER = """
import os, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
one = subprocess.Popen(sleep)
other = subprocess.Popen(sleep, start_new_session=True)
print("pids", os.getpid(), one.pid, other.pid, flush=True)
time.sleep(600)
"""

# A program that starts such a server and waits to be killed.
PARENT = """
import asyncio, sys
from webgym.train.serving.process import ServerProcess
async def main():
    process = await ServerProcess.start([sys.executable, "-c", sys.argv[1]], name="it")
    print(await process.hears("pids"), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def start(code: str, **given: Path) -> ServerProcess:
    return await ServerProcess.start([sys.executable, "-c", code], name="the server", **given)


async def pids_of(process: ServerProcess) -> list[int]:
    async with asyncio.timeout(WITHIN):
        line = await process.hears("pids")
    assert line is not None
    return [int(word) for word in line.split()[1:]]


def await_end(pids: list[int]) -> None:
    ends = time.monotonic() + WITHIN
    while any(map(running, pids)):
        assert time.monotonic() < ends, f"still there: {[pid for pid in pids if running(pid)]}"
        time.sleep(0.05)


async def test_a_stop_ends_the_whole_tree_and_gives_its_memory_back():
    process = await start(SERVER)
    pids = await pids_of(process)
    assert all(map(running, pids))
    freed = await process.stop()
    assert not any(map(running, pids))
    assert freed.before > 10 << 20
    assert freed.after == 0
    assert not process.running


async def test_the_tree_ends_when_its_own_root_ends():
    process = await start(SERVER)
    pids = await pids_of(process)
    os.kill(pids[0], signal.SIGKILL)
    async with asyncio.timeout(WITHIN):
        assert await process.ended() == 128 + signal.SIGKILL
    assert not any(map(running, pids))
    await process.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a guard that is killed cannot end its server")
async def test_the_server_dies_even_if_its_guard_is_killed():
    process = await start(SERVER)
    pids = await pids_of(process)
    os.kill(process.pid, signal.SIGKILL)
    await process.ended()
    await asyncio.to_thread(await_end, pids[:1])
    await process.stop()  # what the server had started is nobody's any more, and found all the same
    assert not any(map(running, pids))


def test_a_server_dies_with_the_program_that_started_it():
    parent = subprocess.Popen([sys.executable, "-c", PARENT, SERVER], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()[1:]]
    assert len(pids) == 3
    parent.kill()
    parent.wait(WITHIN)
    parent.stdout.close()
    await_end(pids)


async def test_one_that_will_not_end_is_killed(monkeypatch: pytest.MonkeyPatch):
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('pids', flush=True); time.sleep(600)"
    process = await start(deaf)
    await process.hears("pids")
    await process.stop()
    assert not process.running


async def test_last_words_and_status_are_told():
    process = await start("import sys; print('no such thing', file=sys.stderr); sys.exit(7)")
    async with asyncio.timeout(WITHIN):
        assert await process.hears("never") is None
        assert await process.ended() == 7
    assert process.last_words == "no such thing"
    await process.stop()


async def test_what_it_writes_goes_to_its_log(tmp_path: Path):
    process = await start("print('hello'); print('x' * 200_000); print('bye')", write_to=tmp_path / "log")
    await process.ended()
    await process.stop()
    assert (tmp_path / "log").read_text().startswith("hello\n")
    assert process.last_words.endswith("bye")


async def test_a_program_that_is_not_there_is_an_error_with_its_name():
    process = await ServerProcess.start(["/no/such/program"], name="the server")
    async with asyncio.timeout(WITHIN):
        assert await process.ended() != 0
        assert await process.hears("never") is None
    assert "/no/such/program" in process.last_words
    await process.stop()


async def test_a_stop_twice_is_a_stop_once():
    process = await start(SERVER)
    await pids_of(process)
    await process.stop()
    try:
        await process.stop()
    except EndpointDown as e:  # pragma: no cover
        pytest.fail(str(e))


async def test_a_log_that_cannot_be_written_is_said_at_once_and_its_folder_is_made(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(EndpointDown, match="cannot be started"):
        await ServerProcess.start(["true"], name="it", write_to=tmp_path / "file" / "log")
    says_hello = [sys.executable, "-c", "print('hello')"]
    process = await ServerProcess.start(says_hello, name="it", write_to=tmp_path / "new" / "log")
    assert await process.hears("hello") == "hello"
    await process.stop()
    assert (tmp_path / "new" / "log").read_text() == "hello\n"
