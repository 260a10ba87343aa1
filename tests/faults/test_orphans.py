"""Whoever dies, no Chromium, no zombie and no profile outlives it for long (G6)."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp
import psutil

from tests.conftest import KEY, SANDBOX
from tests.faults.injection import until
from tests.processes import command_line
from tests.site.server import Site
from webgym.server.folders import WorkerFolder, sweep

NO_SANDBOX = [] if SANDBOX else ["--no-sandbox"]


@dataclass
class Served:
    """`webgym serve` as a person starts it, with a temporary folder of its own."""

    process: asyncio.subprocess.Process
    url: str
    root: Path

    def worker(self) -> psutil.Process:
        """The child that has browsers."""
        for child in psutil.Process(self.process.pid).children():
            if any("--remote-debugging-pipe" in command_line(grandchild) for grandchild in child.children()):
                return child
        raise AssertionError("no worker has a browser")

    def browsers(self) -> list[psutil.Process]:
        return [child for child in self.worker().children() if "--remote-debugging-pipe" in command_line(child)]

    def groups(self) -> set[int]:
        return {os.getpgid(browser.pid) for browser in self.browsers()}

    def folders(self) -> set[str]:
        return {path.name for path in self.root.glob("webgym-*/worker-*")}

    async def open(self, url: str, ttl: float = 2) -> None:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"}) as http:
            body = {"url": url, "ttl": ttl, "wait": 20}
            async with http.post(f"{self.url}/v1/sessions", json=body) as answer:
                assert answer.status == 200, await answer.text()


@asynccontextmanager
async def served(root: Path, site: Site) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webgym.cli", "serve", "--port", "0", "--sessions", "2", "--workers", "1", "--browsers", "1", *NO_SANDBOX),
        *("--egress.allow", f'["*.localhost:{site.port}"]'),
        env={**os.environ, "WEBGYM_API_KEY": KEY, "TMPDIR": str(root)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(40):
            while (found := re.search(rb"http://127\.0\.0\.1:\d+", said)) is None:
                line = await process.stdout.readline()
                assert line, f"it ended: {said.decode()}"
                said += line
        yield Served(process, found[0].decode(), root)
    finally:
        if process.returncode is None:
            process.terminate()
            async with asyncio.timeout(30):
                await process.wait()


def members(groups: set[int]) -> dict[int, str]:
    """What is left of some process groups: status by number, zombies included."""
    left = {}
    for pid in psutil.pids():
        try:
            if os.getpgid(pid) in groups:
                left[pid] = psutil.Process(pid).status()
        except (OSError, psutil.Error):
            continue
    return left


async def test_a_killed_worker_leaves_no_chromium_and_is_replaced(tmp_path: Path, site: Site):
    """Three times: as it is, with its renderers frozen, with its browser frozen, which then cannot end by themselves."""
    async with served(tmp_path, site) as server:
        for frozen in ("nothing", "renderers", "browser"):
            await server.open(site.url("/counter"))
            worker, groups, folders = server.worker(), server.groups(), server.folders()
            (browser,) = server.browsers()
            assert len(members(groups)) > 3
            assert len(folders) == 1
            for process in {"nothing": [], "renderers": _renderers(browser), "browser": [browser]}[frozen]:
                process.send_signal(signal.SIGSTOP)
            worker.kill()
            took = await until(partial(_none_left, groups), within=20)
            assert took < 10
            await until(partial(_replaced, server, folders), within=20)


def _none_left(groups: set[int]) -> bool:
    return not members(groups)


def _replaced(server: Served, former: set[str]) -> bool:
    try:
        return server.worker().pid > 0 and not server.folders() & former
    except (AssertionError, psutil.Error):
        return False


def _renderers(browser: psutil.Process) -> list[psutil.Process]:
    return [process for process in browser.children(recursive=True) if "--type=renderer" in command_line(process)]


async def test_a_killed_supervisor_takes_everything_with_it(tmp_path: Path, site: Site):
    async with served(tmp_path, site) as server:
        await server.open(site.url("/counter"))
        children = psutil.Process(server.process.pid).children()
        groups = server.groups()
        server.process.kill()
        await server.process.wait()
        await until(lambda: not any(child.is_running() for child in children), within=15)
        assert not members(groups)
        assert not server.folders()


async def test_a_server_that_is_asked_to_stop_leaves_nothing(tmp_path: Path, site: Site):
    async with served(tmp_path, site) as server:
        groups = server.groups()
        server.process.terminate()
        async with asyncio.timeout(20):
            assert await server.process.wait() == 0
        assert not members(groups)
        assert not server.folders()


def test_a_folder_whose_worker_died_before_it_had_its_name_is_swept_when_it_is_old(tmp_path: Path):
    young, old, locked = (tmp_path / f"new-{name}" for name in ("young", "old", "locked"))
    for folder in (young, old, locked):
        folder.mkdir()
    hour_ago = time.time() - 3600
    with (locked / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for folder in (old, locked):
            os.utime(folder, (hour_ago, hour_ago))
        assert sweep(tmp_path) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["new-locked", "new-young"]


def test_a_sweep_never_takes_the_folder_of_a_worker_that_is_just_starting(tmp_path: Path):
    over = threading.Event()
    swept = 0

    def sweeping() -> None:
        nonlocal swept
        while not over.is_set():
            swept += sweep(tmp_path)

    sweepers = [threading.Thread(target=sweeping) for _ in range(2)]
    for sweeper in sweepers:
        sweeper.start()
    try:
        folders = [WorkerFolder(tmp_path) for _ in range(300)]
    finally:
        over.set()
        for sweeper in sweepers:
            sweeper.join()
    assert swept == 0
    assert all(folder.path.is_dir() for folder in folders)
    for folder in folders:
        folder.close()
    assert not list(tmp_path.iterdir())
