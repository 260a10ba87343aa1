"""When a browser draws, and how a picture is taken of what it drew.

A headless shell can draw on command (`HeadlessExperimental.beginFrame`): a page at rest costs nothing between steps, and a
picture is one frame where `Page.captureScreenshot` makes the page draw two more. What pages do by frames (animations, lazy
images, `requestAnimationFrame`) goes on only while somebody calls `draw`, so whoever waits for a page does that meanwhile.
A full Chromium has no such command: it draws by itself, and is asked for a picture.

Invariants. One frame at a time in a browser, from its beginning to its end, whoever has stopped waiting for it: a second
one ends the browser's drawing process, and the sixth time the browser. So that a page which cannot draw holds up no
neighbour, it must first say that it is not busy, or have answered something just before; if it hangs in the middle of a
frame all the same, Escape is pressed in it, then its scripts are stopped, and if others wait for their turn its process
ends. Whoever waits longer than that is told so, and nothing is held against its own page. Every wait has a deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec
import pybase64

from webgym.errors import BrowserError, Unavailable
from webgym.server.cdp import Channel, ConnectionClosed, ProtocolError

T = TypeVar("T")

# Chromium draws on command only when it is started with the first two; without the others a frame may wait for work of
# another thread that is itself waiting for the next frame, and never end: so does one in which a box without a layer of its
# own is scrolled by its bar, hence the last.
ON_COMMAND = (
    "--enable-begin-frame-control",
    "--run-all-compositor-stages-before-draw",
    "--disable-checker-imaging",
    "--disable-image-animation-resync",
    "--disable-new-content-rendering-timeout",
    "--disable-threaded-animation",
    "--enable-prefer-compositing-to-lcd-text",
)

FRAME_SECONDS = 1.0
EVERY = 0.05  # seconds between two frames of a page that somebody waits for
LONGEST = 0.1  # the same where nothing moves
AFTER_FIRST = 0.15  # by then a page that was at rest from the beginning has said so
RETRY_SECONDS = 0.02
# In the middle of a frame: how long until a page is helped, first gently, and until the browser counts as past help.
ESCAPE_SECONDS = 1.0
STOP_SECONDS = 2.0
CRASH_SECONDS = 2.0  # after that: a request that a script waits for without letting go of the page cannot be stopped
LOST_SECONDS = 25.0
TURN_SECONDS = 10.0  # until the pages before it have been drawn, or helped in all these ways
GONE_SECONDS = 0.05  # until a frame whose page went away is over in the browser, too


class _Frame(msgspec.Struct):
    hasDamage: bool = False
    screenshotData: msgspec.Raw = msgspec.Raw(b"")

    @property
    def picture(self) -> bytes | None:
        return _decoded(self.screenshotData) if self.screenshotData else None


class _Shot(msgspec.Struct):
    data: msgspec.Raw


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
        self._drawn: Channel | None = None  # whose turn it is
        self._waiting = 0  # how many wait for theirs

    @property
    def busy(self) -> bool:
        """Whether some page is being drawn, and whoever wants a frame has to wait for it."""
        return self._turn.locked()

    @asynccontextmanager
    async def undisturbed(self) -> AsyncIterator[None]:
        """While nothing is drawn, where that is ours to say: a page that is closed in the middle of a frame may take the
        browser's drawing process with it. Whoever waits too long goes ahead: it may be the page that cannot draw."""
        if not self.on_command:
            yield
            return
        mine = await self._my_turn(ESCAPE_SECONDS)
        try:
            yield
        finally:
            if mine:
                self._turn.release()

    async def draw(self, channel: Channel) -> None:
        """Let the page make and draw a frame, if it needs telling."""
        if self.on_command:
            await self._try(channel, {})

    async def during(self, channel: Channel, work: Awaitable[T], *, every: float = EVERY, calm: bool = False) -> T:
        """Await what happens in a page, and let it draw meanwhile. One that is likely to be calm gets one frame, and time
        to say that it needs no other."""
        return (await self._watch(channel, work, None, every, calm=calm))[0]

    async def during_shot(self, channel: Channel, work: Awaitable[T], picture: Picture) -> tuple[T, bytes | None]:
        """The same for a calm page, with a picture taken at once. It comes back only if nothing was drawn after it: then it
        is also the picture of the page as it is now, and nobody waits for one at the end."""
        return await self._watch(channel, work, picture, EVERY, calm=True)

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
        self, channel: Channel, work: Awaitable[T], picture: Picture | None, every: float, *, calm: bool
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
                await asyncio.wait((future,), timeout=AFTER_FIRST if calm else pause)
                calm = False
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
        return frame.picture

    async def _picture(self, channel: Channel, picture: Picture, within: float) -> bytes | None:
        if self.on_command:
            return (await self._frame(channel, {"screenshot": picture.wire()}, within)).picture
        return _decoded((await channel.call("Page.captureScreenshot", picture.wire(), _Shot, within=within)).data)

    async def _try(self, channel: Channel, params: dict[str, object]) -> _Frame:
        """A frame, or what counts as one that changed everything."""
        try:
            return await self._frame(channel, params, FRAME_SECONDS)
        except BrowserError:
            return _Frame(hasDamage=True)  # whoever needs the page hears of it there

    async def _frame(self, channel: Channel, params: dict[str, object], within: float) -> _Frame:
        """A frame: `within` seconds until the page has time for one, and as many from the moment it is its turn."""
        if not channel.awake:
            with contextlib.suppress(ProtocolError):  # a document that is being left: it is not busy
                await channel.call("Runtime.evaluate", {"expression": "0"}, within=within)
        if not await self._my_turn(TURN_SECONDS):
            if self._drawn is channel:
                raise BrowserError(f"the page did not draw a frame in {TURN_SECONDS:g} s")
            raise Unavailable("another page of this browser has been drawn for too long", retry_after=1.0)
        self._drawn = channel
        drawing = asyncio.ensure_future(self._draw(channel, params))
        drawing.add_done_callback(self._ended)
        await asyncio.wait((drawing,), timeout=within)
        if not drawing.done():
            raise BrowserError(f"the page did not draw a frame in {within:g} s")
        frame = drawing.result()
        channel.has_answered()
        return frame

    async def _draw(self, channel: Channel, params: dict[str, object]) -> _Frame:
        frame = asyncio.ensure_future(channel.call("HeadlessExperimental.beginFrame", params, _Frame, within=LOST_SECONDS))
        for patience, help_out in ((ESCAPE_SECONDS, _press_escape), (STOP_SECONDS, _stop_scripts)):
            await asyncio.wait((frame,), timeout=patience)
            if frame.done():
                break
            help_out(channel)
        while not frame.done():
            await asyncio.wait((frame,), timeout=CRASH_SECONDS)
            if self._waiting and not frame.done():
                channel.post("Page.crash")
        try:
            return await frame
        except ConnectionClosed:
            await asyncio.sleep(GONE_SECONDS)
            raise

    async def _my_turn(self, within: float) -> bool:
        self._waiting += 1
        try:
            async with asyncio.timeout(within):
                await self._turn.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def _ended(self, drawing: asyncio.Future[_Frame]) -> None:
        self._turn.release()
        if not drawing.cancelled():
            drawing.exception()  # whoever stopped waiting does not want to know


def _decoded(text: msgspec.Raw) -> bytes:
    """The bytes of a JSON text in base64: by vector instructions, in a tenth of the time that the JSON decoder takes."""
    try:
        return pybase64.b64decode(memoryview(text)[1:-1], validate=True)
    except ValueError as e:
        raise ProtocolError(f"a picture that is no base64: {e}") from e


def _press_escape(channel: Channel) -> None:
    """It closes a window of the browser's own, such as the list of options in a frame of another site, where `lists.js` is
    not. That is what mostly keeps a page from drawing."""
    key = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
    channel.post("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
    channel.post("Input.dispatchKeyEvent", {"type": "keyUp", **key})


def _stop_scripts(channel: Channel) -> None:
    channel.post("Runtime.terminateExecution")
