"""One tab: what it is loading and what it waits for.

State follows events; whoever waits names a condition and a deadline (`until`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import msgspec

from webgym.errors import BrowserError
from webgym.server.cdp import Channel, ProtocolError
from webgym.server.display import EVERY, Display, Picture
from webgym.server.frame import Frame

T = TypeVar("T")

MAX_REQUESTS = 2000
MAX_CHILD_FRAMES = 10_000
# What a navigation that was stopped says of itself; whoever stopped it knows better why.
ABORTED = "net::ERR_ABORTED"
STUCK_SECONDS = 2.0
MAX_DENIED = 100
MAX_ADDRESS = 500  # of a request: enough to say which host it was for
# Requests that a person does not wait for: they stay open, or nothing on the page shows them.
BACKGROUND = frozenset({"EventSource", "WebSocket", "Ping", "Media", "Prefetch", "Manifest", "CSPViolationReport", "Other"})


class _Frame(msgspec.Struct):
    id: str
    url: str
    loaderId: str = ""
    parentId: str | None = None
    unreachableUrl: str | None = None
    urlFragment: str = ""


class _FrameNavigated(msgspec.Struct):
    frame: _Frame


class _NavigatedWithin(msgspec.Struct):
    frameId: str
    url: str


class _FrameEvent(msgspec.Struct):
    frameId: str


class _StartedNavigating(msgspec.Struct):
    frameId: str
    url: str
    loaderId: str
    navigationType: str = ""


class _Asked(msgspec.Struct):
    url: str = ""


class _RequestSent(msgspec.Struct):
    requestId: str
    request: _Asked
    type: str = ""


class _Response(msgspec.Struct):
    status: int


class _ResponseReceived(msgspec.Struct):
    requestId: str
    response: _Response
    type: str = ""


class _Finished(msgspec.Struct):
    requestId: str


class _Failed(msgspec.Struct):
    requestId: str
    errorText: str = ""
    type: str = ""


class _Nothing(msgspec.Struct):
    pass


def of_proxy(error: str) -> bool:
    """Whether Chromium says no more than that its proxy refused: the egress knows why."""
    return "SOCKS" in error or "PROXY" in error or "TUNNEL" in error


class Asked(NamedTuple):
    """A request, and when it was made."""

    at: float
    url: str


class Page:
    """A tab of a session. `number` is what clients call it; it is never reused within a session."""

    def __init__(self, channel: Channel, display: Display, target_id: str, number: int) -> None:
        self.channel = channel
        self._display = display
        self._calm = True  # the last picture that was taken at once showed the page at rest
        self.target_id = target_id
        self.number = number
        self.frame = Frame(channel, target_id)  # a page target's main frame carries the target's id
        self.children: dict[str, Frame] = {}  # cross-site frames, by their channel
        self.url = "about:blank"
        self.title = ""
        self.status: int | None = None
        self.navigation_error: str | None = None
        self.starved = False  # what it shows is an error page for want of our own means
        self.navigating = False
        self.loaded = True
        self.pristine = False  # empty, and nobody can fill it: no opener, no navigation yet
        self.crashed = False
        self.closed = False
        self._downloading = False
        self.began = 0.0  # the latest navigation
        self._pending_loader = ""
        self._document_request = ""
        self._status_of: tuple[str, int] | None = None
        self._failure_of: tuple[str, str] | None = None
        self.last_request_ended = 0.0  # of those a person would wait for
        self._requests: dict[str, Asked] = {}
        self._denied: list[Asked] = []
        self._changed: asyncio.Future[None] | None = None
        self._frame_ids = {target_id}
        self._listen(channel)

    # conditions

    @property
    def alive(self) -> bool:
        return not (self.crashed or self.closed)

    def requests_in_flight(self, *, younger_than: float) -> int:
        """Requests a person would wait for; what has been open longer than that is a stream."""
        oldest = time.monotonic() - younger_than
        return sum(1 for asked in self._requests.values() if asked.at > oldest)

    def take_denied(self) -> list[Asked]:
        """What this document asked for and its proxy, which is ours, did not let through, since it was asked last."""
        taken, self._denied = self._denied, []
        return taken

    async def until(self, condition: Callable[[], bool], within: float) -> bool:
        """Wait for a condition on this page's state; False if the time ran out or the page ended first."""
        ends = time.monotonic() + within
        while not condition():
            left = ends - time.monotonic()
            if left <= 0 or not self.alive:
                return condition()
            if self._changed is None or self._changed.done():
                self._changed = asyncio.get_running_loop().create_future()
            await asyncio.wait((self._changed,), timeout=left)
        return True

    def wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def owns_frame(self, frame_id: str) -> bool:
        return frame_id in self._frame_ids or any(frame.id == frame_id for frame in self.children.values())

    def begin_navigation(self) -> None:
        """A navigation was asked for; `navigating` holds until Chromium commits it, fails it or drops it."""
        self.navigating = True
        self.began = time.monotonic()
        self.pristine = False
        self.starved = False
        self.navigation_error = None
        self._downloading = False

    def end_navigation(self, error: str | None) -> None:
        self.navigating = False
        if error is not None and not (error == ABORTED and (self._downloading or self.navigation_error is not None)):
            self.navigation_error = error
        self.wake()

    def become_download(self) -> None:
        """What was asked for is a file: it is kept, the document stays, and that is no failure."""
        self._downloading = True
        if self.navigation_error == ABORTED:
            self.navigation_error = None

    def crash(self) -> None:
        self.crashed = True
        self._drop_channels()

    def close(self) -> None:
        self.closed = True
        self._drop_channels()

    def drop_child(self, session_id: str) -> None:
        """A cross-site frame is gone."""
        self.children.pop(session_id, None)
        self.channel.connection.drop_channel(session_id)

    def _drop_channels(self) -> None:
        for session_id in list(self.children):
            self.drop_child(session_id)
        self.channel.connection.drop_channel(self.channel.id)
        self.wake()

    # events

    def _listen(self, channel: Channel) -> None:
        channel.on("Page.frameAttached", _FrameEvent, self._on_frame)
        channel.on("Page.frameDetached", _FrameEvent, lambda event: self._frame_ids.discard(event.frameId))
        channel.on("Page.frameStartedNavigating", _StartedNavigating, self._on_started)
        channel.on("Page.frameNavigated", _FrameNavigated, self._on_navigated)
        channel.on("Page.navigatedWithinDocument", _NavigatedWithin, self._on_within)
        channel.on("Page.frameStoppedLoading", _FrameEvent, self._on_stopped)
        channel.on("Page.loadEventFired", _Nothing, self._on_load)
        self.listen_network(channel)

    def listen_network(self, channel: Channel) -> None:
        """Count requests, those of cross-site frames too."""
        channel.on("Network.requestWillBeSent", _RequestSent, self._on_request)
        channel.on("Network.responseReceived", _ResponseReceived, self._on_response)
        channel.on("Network.loadingFinished", _Finished, self._on_finished)
        channel.on("Network.loadingFailed", _Failed, self._on_failed)

    def _on_frame(self, event: _FrameEvent) -> None:
        if len(self._frame_ids) < MAX_CHILD_FRAMES:
            self._frame_ids.add(event.frameId)

    def _on_started(self, event: _StartedNavigating) -> None:
        if event.frameId != self.frame.id or "same" in event.navigationType.lower():
            return
        self._pending_loader = event.loaderId
        self.begin_navigation()
        self.wake()

    def _on_navigated(self, event: _FrameNavigated) -> None:
        frame = event.frame
        if frame.parentId is not None or frame.id != self.frame.id:
            return
        self.frame.forget_document()
        self.starved = False
        self.url = frame.unreachableUrl or frame.url + frame.urlFragment
        self.loaded = False
        self.status = None
        if self._status_of is not None and self._status_of[0] == frame.loaderId:
            self.status = self._status_of[1]
        self._document_request = frame.loaderId
        self._requests = {key: value for key, value in self._requests.items() if key == frame.loaderId}
        self._denied = []
        error = None
        if frame.unreachableUrl is not None:
            error = self._failure_of[1] if self._failure_of is not None else "net::ERR_FAILED"
        else:
            self.navigation_error = None
        self.end_navigation(error)

    def _on_within(self, event: _NavigatedWithin) -> None:
        if event.frameId == self.frame.id:
            self.url = event.url
            self.wake()

    def _on_stopped(self, event: _FrameEvent) -> None:
        if event.frameId == self.frame.id:
            # Nothing more is coming: committed and loaded, or dropped (a download, a 204, window.stop()).
            self.loaded = True
            if self.navigating:
                dropped = self._failure_of if self._failure_of and self._failure_of[0] == self._pending_loader else None
                self.end_navigation(dropped[1] if dropped else None)
            self.wake()

    def _on_load(self, _: _Nothing) -> None:
        self.loaded = True
        self.wake()

    def _on_request(self, event: _RequestSent) -> None:
        if event.type not in BACKGROUND:
            if len(self._requests) >= MAX_REQUESTS:
                del self._requests[next(iter(self._requests))]  # the oldest
            self._requests[event.requestId] = Asked(time.monotonic(), event.request.url[:MAX_ADDRESS])

    def _on_response(self, event: _ResponseReceived) -> None:
        if event.type == "Document":
            self._status_of = (event.requestId, event.response.status)
            if event.requestId == self._document_request:
                self.status = event.response.status

    def _on_finished(self, event: _Finished) -> None:
        self._done_with(event.requestId)

    def _on_failed(self, event: _Failed) -> None:
        own = self._failure_of is not None and self._failure_of[0] == self._pending_loader
        if event.type == "Document" and not own:  # a frame that fails meanwhile says nothing of the page
            self._failure_of = (event.requestId, event.errorText)
        asked = self._requests.get(event.requestId)
        if asked is not None and of_proxy(event.errorText) and len(self._denied) < MAX_DENIED:
            self._denied.append(asked)
        self._done_with(event.requestId)

    def _done_with(self, request_id: str) -> None:
        if self._requests.pop(request_id, None) is not None:
            self.last_request_ended = time.monotonic()
            if not self._requests:
                self.wake()

    # drawing

    async def draw(self) -> None:
        await self._display.draw(self.channel)

    async def drawing(self, work: Awaitable[T], *, every: float = EVERY) -> T:
        """Await what happens in this page: it draws meanwhile, because much of a page's life goes by frames."""
        return await self._display.during(self.channel, work, every=every)

    @property
    def shoots_early(self) -> bool:
        """Whether a `drawing_shot` begun now tries to take a picture."""
        return self._calm and self._display.on_command and not self._display.busy

    async def drawing_shot(self, work: Awaitable[T], picture: Picture) -> tuple[T, bytes | None]:
        """The same with a picture, if one taken at once is still true when the work is done. A page for which the last such
        picture was too early is not asked for the next. Nor is any while others are drawn: to tell whether it was too early
        takes two frames more, which are worth it for an agent alone, who waits less, and not where others wait for them."""
        if not self._calm:
            self._calm = True
            return await self.drawing(work), None
        if self._display.busy:
            return await self._display.during(self.channel, work, calm=True), None
        result, data = await self._display.during_shot(self.channel, work, picture)
        self._calm = data is not None
        return result, data

    async def shoot(self, picture: Picture, *, within: float) -> bytes:
        return await self._display.shoot(self.channel, picture, within=within)

    # commands

    def load_again(self) -> None:
        self.begin_navigation()
        self.channel.post("Page.reload")

    def stop_loading(self) -> None:
        self.channel.post("Page.stopLoading")

    async def unstick(self) -> bool:
        """Before a navigation: a document whose script never ends cannot be left, so that script is stopped. True if so."""
        if self.channel.awake:
            return False
        try:
            await self.channel.call("Runtime.evaluate", {"expression": "0"}, within=STUCK_SECONDS)
        except ProtocolError:
            return False
        except BrowserError:
            if self.alive:
                await self.frame.stop_scripts()
                return True
        return False
