"""Contestant (a): the Chrome DevTools Protocol and nothing between. The least that could work.

It is given the server's own transport (`webgym.server.cdp`), its Chromium switches, its number of browsers and its input
events, so that what differs is only what the server adds. It leaves out: waiting for the page to come to rest (a navigation
waits for the load event; after input the picture is taken as soon as Chromium took the input), the egress policy and its
proxy, HTTP, leases, step keys, deadlines per stage, our script in an isolated world, dialogs, downloads, popups, tabs,
crash recovery, validation of what comes in and goes out; and its browsers are started as any program is, while the server
has Linux schedule its own for throughput (`python -m benchmarks.steps --raw-in-batch` grants that to both).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.episodes import HEIGHT, QUALITY, WIDTH, Seen, Session, retaking
from webgym import types as t
from webgym.server import keyboard
from webgym.server.cdp import Channel, ProtocolError
from webgym.server.chromium import Chromium
from webgym.server.process import ChromiumProcess

SECONDS = 60.0
WHERE = "[location.href, document.title, window.scrollY]"

Command = tuple[str, dict[str, Any]]


class _Context(msgspec.Struct):
    browserContextId: str


class _Target(msgspec.Struct):
    targetId: str


class _Attached(msgspec.Struct):
    sessionId: str


class _Shot(msgspec.Struct):
    data: bytes


class _Value(msgspec.Struct):
    value: tuple[str, str, float]


class _Evaluated(msgspec.Struct):
    result: _Value


class RawSession:
    """One page in a context of its own."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._loaded = asyncio.Event()
        channel.on("Page.loadEventFired", msgspec.Raw, lambda _: self._loaded.set())

    async def step(self, action: t.Action) -> Seen:
        match action:
            case t.Navigate():
                await self._navigate(action.url)
            case t.Click():
                await self.burst(_click(action))
            case t.Type():
                await self.burst(keyboard.write(action.text))
            case t.Scroll():
                await self.burst([_mouse("mouseWheel", WIDTH / 2, HEIGHT / 2, deltaX=action.dx, deltaY=action.dy)])
            case _:
                raise ValueError(f"no episode has a {action.kind}")
        return await self.look()

    async def burst(self, commands: Iterable[Command]) -> None:
        """Send all, then wait for all, as the server does."""
        await asyncio.gather(*(self.channel.call(method, params, within=SECONDS) for method, params in commands))

    async def _navigate(self, url: str) -> None:
        self._loaded.clear()
        await self.channel.call("Page.navigate", {"url": url}, within=SECONDS)
        async with asyncio.timeout(SECONDS):
            await self._loaded.wait()

    async def look(self) -> Seen:
        image, retaken = await retaking(self._shoot, ProtocolError)
        where = {"expression": WHERE, "returnByValue": True}
        found = await self.channel.call("Runtime.evaluate", where, _Evaluated, within=SECONDS)
        return Seen(image, *found.result.value, retaken)

    async def _shoot(self) -> bytes:
        params = {"format": "jpeg", "quality": QUALITY, "optimizeForSpeed": True}
        return (await self.channel.call("Page.captureScreenshot", params, _Shot, within=SECONDS)).data


def _mouse(kind: str, x: float, y: float, **more: Any) -> Command:
    return "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more}


def _click(action: t.Click) -> list[Command]:
    assert action.x is not None
    assert action.y is not None
    return [
        _mouse("mouseMoved", action.x, action.y),
        _mouse("mousePressed", action.x, action.y, button="left", buttons=1, clickCount=1),
        _mouse("mouseReleased", action.x, action.y, button="left", buttons=0, clickCount=1),
    ]


async def open_session(browser: ChromiumProcess) -> RawSession:
    root = browser.connection.root
    context = await root.call("Target.createBrowserContext", None, _Context, within=SECONDS)
    tab = {"url": "about:blank", "browserContextId": context.browserContextId, "width": WIDTH, "height": HEIGHT}
    target = await root.call("Target.createTarget", tab, _Target, within=SECONDS)
    attach = {"targetId": target.targetId, "flatten": True}
    attached = await root.call("Target.attachToTarget", attach, _Attached, within=SECONDS)
    session = RawSession(browser.connection.channel(attached.sessionId))
    metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    await session.burst(
        [
            ("Page.enable", {}),
            ("Emulation.setDeviceMetricsOverride", metrics),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
        ]
    )
    return session


@asynccontextmanager
async def fresh_browser(chromium: Chromium, *, in_batch: bool = False) -> AsyncIterator[ChromiumProcess]:
    folder = Path(tempfile.mkdtemp(prefix="webgym-bench-"))
    process = await ChromiumProcess.start(chromium, folder, sandbox=os.geteuid() != 0, switches=(), in_batch=in_batch)
    try:
        yield process
    finally:
        await process.close()


@asynccontextmanager
async def running(chromium: Chromium, sessions: int, *, in_batch: bool = False) -> AsyncIterator[list[Session]]:
    """One browser a core, as the server has, with the sessions spread over them."""
    async with AsyncExitStack() as stack:
        count = min(sessions, os.cpu_count() or 1)
        browsers = [await stack.enter_async_context(fresh_browser(chromium, in_batch=in_batch)) for _ in range(count)]
        yield [await open_session(browsers[n % count]) for n in range(sessions)]
