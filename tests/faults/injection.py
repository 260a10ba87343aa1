"""Ways to hurt: signals to the right process, scripts in the right page, and a neighbour that must not notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psutil

from tests.conftest import Driver
from tests.processes import command_line
from tests.site.server import Site
from webgym.server.leases import Leased
from webgym.server.process import ChromiumProcess
from webgym.server.protocol import NewSession
from webgym.server.worker import Worker
from webgym.types import Click

FIRST = Click(x=100, y=40)  # the site's first control
SECOND = Click(x=280, y=40)
THIRD = Click(x=460, y=40)
FOURTH = Click(x=640, y=40)
FIFTH = Click(x=820, y=40)
SIXTH = Click(x=1000, y=40)


async def opened(worker: Worker, url: str | None, **options: Any) -> Driver:
    return Driver(worker, await worker.sessions.create(NewSession(url=url, **options), None))


def held(driver: Driver) -> Leased:
    return driver.worker.sessions.leases.find(driver.started.id, driver.started.lease.token)


async def script(driver: Driver, code: str, *, within: float = 5.0) -> Any:
    """Run JavaScript in the page's own world, as if a person had clicked."""
    answer = await held(driver).context.active.channel.call(
        "Runtime.evaluate", {"expression": code, "userGesture": True, "returnByValue": True}, dict[str, Any], within=within
    )
    return answer["result"].get("value")


async def renderer_of(driver: Driver) -> psutil.Process:
    """The process behind a session's page."""
    return await renderer_that_runs(held(driver).browser.process, lambda code: script(driver, code))


async def renderer_that_runs(process: ChromiumProcess, evaluate: Callable[[str], Awaitable[object]]) -> psutil.Process:
    """The process behind a document: the one that grows when the document does."""
    renderers = of_type(process, "renderer")
    before = {renderer.pid: _resident(renderer) for renderer in renderers}
    await evaluate("globalThis.ballast = new Uint8Array(1.5e8).fill(1); 0")
    return max(renderers, key=lambda renderer: _resident(renderer) - before[renderer.pid])


def of_type(process: ChromiumProcess, kind: str) -> list[psutil.Process]:
    return [member for member in process.members() if f"--type={kind}" in command_line(member)]


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


async def until(condition: Callable[[], bool], within: float) -> float:
    """Wait for it; the seconds it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < within, f"not in {within:g} s"
        await asyncio.sleep(0.05)
    return time.monotonic() - started


@asynccontextmanager
async def undisturbed(worker: Worker, site: Site, *, slowest: float = 6.0) -> AsyncIterator[Driver]:
    """A session that works on while the block runs, and must neither fail nor wait nor miss a click."""
    driver = await opened(worker, site.url("/counter"))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        working = group.create_task(_work(driver, stop))
        try:
            yield driver
        finally:
            stop.set()
    clicks, longest = working.result()
    assert clicks > 0
    assert longest < slowest, f"the neighbour waited {longest:.1f} s for a step"
    await driver.release()


async def _work(driver: Driver, stop: asyncio.Event) -> tuple[int, float]:
    clicks, longest = 0, 0.0
    while not clicks or not stop.is_set():
        started = time.monotonic()
        seen = await driver.step(FIRST, image="none")
        clicks += 1
        longest = max(longest, time.monotonic() - started)
        assert seen.title == f"count {clicks}"
        await asyncio.sleep(0.1)
    return clicks, longest


@asynccontextmanager
async def taking(most: float) -> AsyncIterator[None]:
    """The block ends, well or badly, in so many seconds."""
    started = time.monotonic()
    try:
        yield
    finally:
        took = time.monotonic() - started
        assert took < most, f"it took {took:.1f} s"
