"""When a browser draws, and how a picture is taken of what it drew.

A headless shell can draw on command (`HeadlessExperimental.beginFrame`): a page at rest costs nothing between steps, and a
picture is one frame where `Page.captureScreenshot` makes the page draw two more. What pages do by frames (animations, lazy
images, `requestAnimationFrame`) goes on only while somebody calls `draw`, so whoever waits for a page does that meanwhile.
A full Chromium has no such command: it draws by itself, and is asked for a picture.

Invariants: one frame at a time in a browser (of two at once, neither brings its picture), and never a second one of a page
whose last has not ended, whoever has stopped waiting for it: that ends the browser's drawing process. Every frame has a
deadline, so a page that cannot draw holds its neighbours for no longer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec

from webgym.errors import BrowserError
from webgym.server.cdp import Channel, ProtocolError

T = TypeVar("T")

# Chromium draws on command only when it is started with the first two; without the others a frame may wait for work of
# another thread that is itself waiting for the next frame, and never end.
ON_COMMAND = (
    "--enable-begin-frame-control",
    "--run-all-compositor-stages-before-draw",
    "--disable-checker-imaging",
    "--disable-image-animation-resync",
    "--disable-new-content-rendering-timeout",
    "--disable-threaded-animation",
    "--disable-threaded-scrolling",
)

FRAME_SECONDS = 1.0
EVERY = 0.05  # seconds between two frames of a page that somebody waits for
LONGEST = 0.1  # the same where nothing moves
RETRY_SECONDS = 0.02
STUCK_SECONDS = 30.0  # a page that has not drawn a frame is not told to draw another before this


class _NoFrame(BrowserError):
    """A page that was told to draw did not, in time."""


class _Frame(msgspec.Struct):
    hasDamage: bool = False
    screenshotData: bytes | None = None


class _Shot(msgspec.Struct):
    data: bytes


@dataclass(frozen=True)
class Picture:
    """How a picture is wanted."""

    format: Literal["jpeg", "png"]
    quality: int = 80

    def wire(self) -> dict[str, object]:
        # optimizeForSpeed picks the quick PNG compressor; JPEG does not heed it.
        wanted: dict[str, object] = {"format": self.format, "optimizeForSpeed": True}
        return wanted | {"quality": self.quality} if self.format == "jpeg" else wanted


class Display:
    """What a browser's pages are drawn on; one a browser."""

    def __init__(self, *, on_command: bool) -> None:
        self.on_command = on_command
        self._turn = asyncio.Lock()
        self._unfinished: set[str] = set()  # channels of pages whose last frame has not ended

    @asynccontextmanager
    async def undisturbed(self) -> AsyncIterator[None]:
        """While nothing is drawn, where that is ours to say: a page that is closed in the middle of a frame may take the
        browser's drawing process with it."""
        async with self._turn if self.on_command else nullcontext():
            yield

    async def draw(self, channel: Channel) -> None:
        """Let the page make and draw a frame, if it needs telling."""
        if self.on_command:
            await self._try(channel, {})

    async def during(self, channel: Channel, work: Awaitable[T], *, every: float = EVERY) -> T:
        """Await what happens in a page, and let it draw meanwhile."""
        return (await self._watch(channel, work, None, every))[0]

    async def during_shot(self, channel: Channel, work: Awaitable[T], picture: Picture) -> tuple[T, bytes | None]:
        """The same, with a picture taken at once. It comes back only if nothing was drawn after it: then it is also the
        picture of the page as it is now, and the page has drawn one frame in all."""
        return await self._watch(channel, work, picture, EVERY)

    async def shoot(self, channel: Channel, picture: Picture, *, within: float) -> bytes:
        """A picture of the page as it is now. A document that has not been drawn before may need several tries."""
        ends = time.monotonic() + within
        while True:
            left = ends - time.monotonic()
            try:
                data = await self._picture(channel, picture, left)
            except ProtocolError:
                data = None
                if left < 1:
                    raise
            if data is not None:
                return data
            if left < 1:
                raise BrowserError(f"the page was not drawn in {within:g} s")
            await asyncio.sleep(RETRY_SECONDS)

    async def _watch(
        self, channel: Channel, work: Awaitable[T], picture: Picture | None, every: float
    ) -> tuple[T, bytes | None]:
        if not self.on_command:
            return await work, None
        early: bytes | None = None
        future = asyncio.ensure_future(work)
        try:
            pause = every
            while not future.done():
                if picture is not None:
                    early, picture = await self._early(channel, picture), None
                elif (await self._try(channel, {})).hasDamage:
                    early, pause = None, every
                else:
                    pause = min(2 * pause, LONGEST)  # nothing moves
                await asyncio.wait((future,), timeout=pause)
            result = await future
        finally:
            future.cancel()
        if early is not None and (await self._try(channel, {})).hasDamage:
            early = None
        return result, early

    async def _early(self, channel: Channel, picture: Picture) -> bytes | None:
        """A picture, and the frame after it: one that follows a picture always counts as damaged."""
        frame = await self._try(channel, {"screenshot": picture.wire()})
        await self._try(channel, {})
        return frame.screenshotData

    async def _picture(self, channel: Channel, picture: Picture, within: float) -> bytes | None:
        if self.on_command:
            return (await self._frame(channel, {"screenshot": picture.wire()}, within)).screenshotData
        return (await channel.call("Page.captureScreenshot", picture.wire(), _Shot, within=within)).data

    async def _try(self, channel: Channel, params: dict[str, object]) -> _Frame:
        """A frame, or what counts as one that changed everything."""
        try:
            return await self._frame(channel, params, FRAME_SECONDS)
        except _NoFrame:
            # What mostly keeps a page from drawing is a window of the browser's own (a list of options in a frame of another
            # site, where `lists.js` is not), and Escape closes it.
            key = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
            channel.post("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
            channel.post("Input.dispatchKeyEvent", {"type": "keyUp", **key})
        except BrowserError:
            pass  # whoever needs the page hears of it there
        return _Frame(hasDamage=True)

    async def _frame(self, channel: Channel, params: dict[str, object], within: float) -> _Frame:
        """A frame. It ends by itself, even if nobody waits for it any longer."""
        drawing = asyncio.ensure_future(self._in_turn(channel, params, within))
        drawing.add_done_callback(_heard)
        return await asyncio.shield(drawing)

    async def _in_turn(self, channel: Channel, params: dict[str, object], within: float) -> _Frame:
        async with self._turn:
            if channel.id in self._unfinished:
                raise _NoFrame("the page has not drawn its last frame yet")
            frame = asyncio.ensure_future(
                channel.call("HeadlessExperimental.beginFrame", params, _Frame, within=within + STUCK_SECONDS)
            )
            self._unfinished.add(channel.id)
            frame.add_done_callback(_heard)
            frame.add_done_callback(lambda _: self._unfinished.discard(channel.id))
            await asyncio.wait((frame,), timeout=within)
            if not frame.done():
                raise _NoFrame(f"the page did not draw a frame in {within:g} s")
            return frame.result()


def _heard(ended: asyncio.Future[_Frame]) -> None:
    """Whoever stopped waiting does not want to know how it ended."""
    if not ended.cancelled():
        ended.exception()
