"""Contestant (a): the Chrome DevTools Protocol and nothing between. The least that could work.

It is given the server's own transport (`webgym.server.cdp`), its Chromium switches, its number of browsers and its input
events, so that what differs is only what the server adds. It leaves out: waiting for the page to settle after input (a
navigation waits for the load event, all else is looked at as soon as Chromium took the input), the egress policy and its
proxy, HTTP, leases, step keys, deadlines per stage, our script in an isolated world, dialogs, downloads, popups, tabs,
crash recovery, and validating what comes in and goes out.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.episodes import HEIGHT, QUALITY, WIDTH, Running, Seen
from webgym import types as t
from webgym.server import keyboard
from webgym.server.cdp import Channel
from webgym.server.chromium import Chromium
from webgym.server.process import ChromiumProcess

SECONDS = 60.0
LOOK = "[location.href, document.title, window.scrollY]"


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
    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.loaded = asyncio.Event()
        channel.on("Page.loadEventFired", msgspec.Raw, lambda _: self.loaded.set())

    async def step(self, action: t.Action) -> Seen:
        match action:
            case t.Navigate(url=url):
                self.loaded.clear()
                await self._call("Page.navigate", {"url": url})
                async with asyncio.timeout(SECONDS):
                    await self.loaded.wait()
            case t.Click(x=x, y=y):
                at = {"x": x, "y": y}
                press = {**at, "button": "left", "clickCount": 1}
                await self._burst(
                    [
                        ("Input.dispatchMouseEvent", {"type": "mouseMoved", **at}),
                        ("Input.dispatchMouseEvent", {"type": "mousePressed", "buttons": 1, **press}),
                        ("Input.dispatchMouseEvent", {"type": "mouseReleased", "buttons": 0, **press}),
                    ]
                )
            case t.Type(text=text):
                await self._burst(list(keyboard.write(text)))
            case t.Scroll(dx=dx, dy=dy):
                wheel = {"type": "mouseWheel", "x": WIDTH / 2, "y": HEIGHT / 2, "deltaX": dx, "deltaY": dy}
                await self._call("Input.dispatchMouseEvent", wheel)
            case _:
                raise ValueError(f"no episode has a {action.kind}")
        return await self.look()

    async def look(self) -> Seen:
        shot = await self.channel.call(
            "Page.captureScreenshot",
            {"format": "jpeg", "quality": QUALITY, "optimizeForSpeed": True},
            _Shot,
            within=SECONDS,
        )
        page = await self.channel.call("Runtime.evaluate", {"expression": LOOK, "returnByValue": True}, _Evaluated, within=SECONDS)
        url, title, y = page.result.value
        return Seen(shot.data, url, title, y)

    async def _call(self, method: str, params: dict[str, Any]) -> None:
        await self.channel.call(method, params, within=SECONDS)

    async def _burst(self, commands: list[tuple[str, dict[str, Any]]]) -> None:
        await asyncio.gather(*(self._call(method, params) for method, params in commands))


async def open_session(browser: ChromiumProcess) -> RawSession:
    root = browser.connection.root
    context = await root.call("Target.createBrowserContext", None, _Context, within=SECONDS)
    target = await root.call(
        "Target.createTarget",
        {"url": "about:blank", "browserContextId": context.browserContextId, "width": WIDTH, "height": HEIGHT},
        _Target,
        within=SECONDS,
    )
    attached = await root.call(
        "Target.attachToTarget", {"targetId": target.targetId, "flatten": True}, _Attached, within=SECONDS
    )
    session = RawSession(browser.connection.channel(attached.sessionId))
    metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    await session._burst(
        [
            ("Page.enable", {}),
            ("Emulation.setDeviceMetricsOverride", metrics),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
        ]
    )
    return session


@asynccontextmanager
async def browser(chromium: Chromium, switches: Sequence[str] = ()) -> AsyncIterator[ChromiumProcess]:
    """A fresh browser in a fresh folder."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="webgym-bench-"))
    process = await ChromiumProcess.start(chromium, folder, sandbox=os.geteuid() != 0, switches=switches)
    try:
        yield process
    finally:
        await process.close()


@asynccontextmanager
async def running(chromium: Chromium, sessions: int, browsers: int, switches: Sequence[str] = ()) -> AsyncIterator[Running]:
    async with AsyncExitStack() as stack:
        started = [await stack.enter_async_context(browser(chromium, switches)) for _ in range(browsers)]
        opened = [await open_session(started[n % browsers]) for n in range(sessions)]
        yield Running(list(opened), [process.pid for process in started], [])
