"""A browser session's inside: one BrowserContext, its tabs, its folder, its surprises.

A context shares nothing with its neighbours: cookies, storage, cache, service workers and renderer processes are its own,
and it is disposed when its session ends, never used again. The browser's clipboard would be shared, so what is copied is
kept here, and nothing is ever pasted from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from webgym.errors import BrowserError, BrowserGone
from webgym.server.cdp import Channel, Connection, ProtocolError
from webgym.server.display import Display
from webgym.server.frame import Frame
from webgym.server.marks import Marking
from webgym.server.numbers import Numbered
from webgym.server.page import Page
from webgym.server.surprises import Surprises

MAX_TABS = 10
MAX_FRAMES = 50
MAX_ORIGINS = 50  # whose storage is saved; of more, the latest
OPEN_SECONDS = 15.0
DISPOSE_SECONDS = 15.0  # as long as a browser may take for anything: its other sessions go with it
# Chromium holds workers back, too, whatever the filter says: those it hid from us would never begin.
CHILDREN = [{"type": "iframe"}, {"type": "worker"}, {"type": "worklet"}]
# Nothing of any response or form is kept for us: a page that sends 100 MB must not have them copied into an event.
NETWORK = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 1}


class TargetInfo(msgspec.Struct):
    targetId: str
    type: str
    title: str = ""
    url: str = ""
    openerId: str | None = None
    browserContextId: str | None = None
    subtype: str | None = None


class Attached(msgspec.Struct):
    sessionId: str
    targetInfo: TargetInfo
    waitingForDebugger: bool = False


class Detached(msgspec.Struct):
    sessionId: str


class _Created(msgspec.Struct):
    targetId: str


class _Document(msgspec.Struct):
    securityOrigin: str = ""
    parentId: str | None = None


class _Navigated(msgspec.Struct):
    frame: _Document


@dataclass(frozen=True)
class Emulation:
    """How the browser presents itself to pages. Applied to every tab before its first byte is fetched."""

    width: int = 1280
    height: int = 768
    locale: str | None = None
    time_zone: str | None = None
    user_agent: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def commands(self, default_user_agent: str) -> list[tuple[str, dict[str, Any]]]:
        listed: list[tuple[str, dict[str, Any]]] = [
            (
                "Emulation.setDeviceMetricsOverride",
                {"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": False},
            )
        ]
        if self.locale:
            listed.append(("Emulation.setLocaleOverride", {"locale": self.locale.replace("-", "_")}))
        if self.time_zone:
            listed.append(("Emulation.setTimezoneOverride", {"timezoneId": self.time_zone}))
        if self.user_agent or self.locale:
            override = {"userAgent": self.user_agent or default_user_agent}
            if self.locale:
                override["acceptLanguage"] = self.locale
            listed.append(("Emulation.setUserAgentOverride", override))
        if self.headers:
            listed.append(("Network.setExtraHTTPHeaders", {"headers": dict(self.headers)}))
        return listed


class Context:
    """The tabs of one session. Exactly one of them is active: it is what actions act on and observations show."""

    def __init__(
        self, connection: Connection, display: Display, context_id: str, folder: Path, *, user_agent: str, max_download: int
    ) -> None:
        self.connection = connection
        self.display = display
        self.id = context_id
        self.folder = folder
        self.emulation = Emulation()
        self.surprises = Surprises(connection.root, context_id, folder, max_download)
        self.tabs: dict[int, Page] = {}
        self.origins: dict[str, None] = {}  # of the tabs' documents, the latest last
        self.clipboard = ""  # what was copied last
        self.last_shot = ""  # content hash of the last screenshot
        self.last_numbered: Numbered | None = None  # the last screenshot with marks
        self.marking: Marking | None = None  # what the element ids of the latest marks mean
        self.ended = asyncio.Event()
        self.created = time.monotonic()
        self._user_agent = user_agent
        self._active: Page | None = None
        self._next_number = 1
        self._opening = 0
        self._reopening: asyncio.Task[Page] | None = None
        self._arrivals: dict[str, asyncio.Future[Page]] = {}
        self._by_target: dict[str, Page] = {}

    @property
    def active(self) -> Page:
        if self._active is None or not self._active.alive:
            raise BrowserGone("the browser under this session is gone")
        return self._active

    @property
    def alive(self) -> bool:
        if self.ended.is_set() or self.connection.closed.is_set():
            return False
        return self._reopening is not None or (self._active is not None and self._active.alive)

    # tabs

    async def open_tab(self, *, spare: bool = False, within: float = OPEN_SECONDS) -> Page:
        """A new, empty, active tab; a `spare` one is let in over the limit, for whoever closes it at once."""
        if len(self.tabs) >= MAX_TABS and not spare:
            raise ProtocolError(f"a session has at most {MAX_TABS} tabs; close one first")
        self._opening += 1  # even if pages take the last places meanwhile, this one is let in
        try:
            created = await self.connection.root.call(
                "Target.createTarget",
                {
                    "url": "about:blank",
                    "browserContextId": self.id,
                    "width": self.emulation.width,
                    "height": self.emulation.height,
                    "enableBeginFrameControl": self.display.on_command,
                },
                _Created,
                within=within,
            )
            page = self._by_target.get(created.targetId) or await self._arrival(created.targetId, within)
        finally:
            self._opening -= 1
        # A navigation that overtakes the tab's configuration would go unreported: wait until the tab has taken it in.
        await page.channel.call("Page.enable", within=within)
        await page.draw()
        return page

    async def _arrival(self, target_id: str, within: float) -> Page:
        arrival = self._arrivals.setdefault(target_id, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(within):
                return await arrival
        except TimeoutError as e:
            raise BrowserError(f"a new tab did not appear in {within:g} s") from e
        finally:
            self._arrivals.pop(target_id, None)

    def activate(self, page: Page) -> None:
        self._active = page
        page.channel.post("Page.bringToFront")

    async def close_tab(self, page: Page) -> None:
        """Close a tab; the last one is replaced by an empty one, because a session always shows something."""
        others = [other for other in self.tabs.values() if other is not page]
        if not others:
            await self.open_tab()
        elif page is self._active:
            self.activate(others[-1])
        async with self.display.undisturbed():
            await self.connection.root.call("Target.closeTarget", {"targetId": page.target_id}, within=5.0)

    def attached(self, event: Attached) -> None:
        """A tab of this context exists: ours or one that a page opened. It is paused until it is configured."""
        info = event.targetInfo
        channel = self.connection.channel(event.sessionId)
        if len(self.tabs) >= MAX_TABS + self._opening:
            self.surprises.note(f"a page wanted more than {MAX_TABS} tabs; further ones were refused")
            # Its opener waits until it is let go on. What it starts in that moment, `Browser` refuses.
            channel.post("Runtime.runIfWaitingForDebugger")
            self.connection.root.post("Target.closeTarget", {"targetId": info.targetId})
            self.connection.drop_channel(event.sessionId)
            return
        page = Page(channel, self.display, info.targetId, self._next_number)
        self._next_number += 1
        page.url = info.url or "about:blank"
        self.tabs[page.number] = page
        self._by_target[info.targetId] = page
        self._watch(page, channel)
        channel.on("Page.frameNavigated", _Navigated, self._note_origin)
        self.configure(page)
        channel.post("Emulation.setFocusEmulationEnabled", {"enabled": True})
        channel.post("Runtime.runIfWaitingForDebugger")
        if info.openerId is not None and info.url not in ("", "about:blank"):
            page.begin_navigation()
        page.pristine = info.openerId is None and not page.navigating
        self.activate(page)
        arrival = self._arrivals.get(info.targetId)
        if arrival is not None and not arrival.done():
            arrival.set_result(page)

    def configure(self, page: Page) -> None:
        for method, params in self.emulation.commands(self._user_agent):
            page.channel.post(method, params)

    def emulate(self, emulation: Emulation) -> None:
        self.emulation = emulation
        for page in self.tabs.values():
            self.configure(page)

    def _note_origin(self, event: _Navigated) -> None:
        """A document that is only passed through, as at a sign-in, leaves something in its storage all the same."""
        origin = event.frame.securityOrigin
        if event.frame.parentId is None and origin.startswith(("http://", "https://")):
            self.origins.pop(origin, None)
            self.origins[origin] = None
            if len(self.origins) > MAX_ORIGINS:
                del self.origins[next(iter(self.origins))]

    def info_changed(self, info: TargetInfo) -> None:
        page = self._by_target.get(info.targetId)
        if page is not None:
            page.title = info.title

    def page_with(self, frame_id: str) -> Page | None:
        return next((page for page in self.tabs.values() if page.owns_frame(frame_id)), None)

    def detached(self, target_id: str) -> None:
        page = self._by_target.pop(target_id, None)
        if page is None:
            return
        self.tabs.pop(page.number, None)
        page.close()
        # Chromium has one locale and one time zone a process, and takes them back with the tab that set them.
        for other in self.tabs.values():
            self.configure(other)
        if page is self._active:
            if self.tabs:
                self.activate(list(self.tabs.values())[-1])
            elif not self.ended.is_set():
                self.surprises.note("the last tab closed itself; an empty one was opened")
                self._reopening = asyncio.create_task(self.open_tab())

    async def reopened(self) -> bool:
        """Wait for the empty tab that replaces a last one that closed itself; False if there was no such thing."""
        if self._reopening is None:
            return False
        try:
            await asyncio.shield(self._reopening)
        except asyncio.CancelledError:
            if self.ended.is_set():  # it is the opening that was cancelled, not we
                raise BrowserGone("the browser under this session is gone") from None
            raise
        finally:
            if self._reopening is not None and self._reopening.done():
                self._reopening = None
        return True

    def crashed(self, target_id: str) -> None:
        page = self._by_target.get(target_id)
        if page is not None:
            page.crash()
            self.end()

    def end(self) -> None:
        """The browser under this session is gone: nobody waits any longer."""
        self.ended.set()
        self._stop_reopening()
        for page in self.tabs.values():
            page.crash()

    def _stop_reopening(self) -> None:
        if self._reopening is not None:
            self._reopening.cancel()
            self._reopening = None

    def _child_attached(self, page: Page, parent: Channel, event: Attached) -> None:
        channel = self.connection.channel(event.sessionId)
        if event.targetInfo.type != "iframe":
            # We want nothing of a worker, but it would wait for us for ever if we did not let it go on.
            channel.post("Runtime.runIfWaitingForDebugger")
            parent.post("Target.detachFromTarget", {"sessionId": event.sessionId})
            self.connection.drop_channel(event.sessionId)
            return
        if len(page.children) < MAX_FRAMES:
            page.children[event.sessionId] = Frame(channel, event.targetInfo.targetId)
            page.listen_network(channel)
            channel.on("Page.frameNavigated", msgspec.Raw, lambda _: _forget_document(page, event.sessionId))
            # A frame whose process died answers nothing more: waiting for it would cost every look its deadline.
            channel.on("Inspector.targetCrashed", msgspec.Raw, lambda _: page.drop_child(event.sessionId))
            self._watch(page, channel)
            channel.post("Inspector.enable")
            for method, params in self.emulation.commands(self._user_agent)[1:]:
                channel.post(method, params)
        channel.post("Runtime.runIfWaitingForDebugger")

    def _watch(self, page: Page, channel: Channel) -> None:
        """What a tab and a cross-site frame in it have in common."""
        self.surprises.watch(channel, page.wake)
        channel.on("Target.attachedToTarget", Attached, lambda child: self._child_attached(page, channel, child))
        channel.on("Target.detachedFromTarget", Detached, lambda child: page.drop_child(child.sessionId))
        channel.post("Page.enable")
        channel.post("Network.enable", NETWORK)
        channel.post("Page.setInterceptFileChooserDialog", {"enabled": True})
        channel.post(
            "Target.setAutoAttach",
            {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": CHILDREN},
        )

    async def dispose(self) -> bool:
        """Close every tab and forget everything. False if Chromium did not manage: then its process has to go."""
        self.ended.set()
        self._stop_reopening()
        done = True
        if not self.connection.closed.is_set():
            try:
                async with self.display.undisturbed():
                    await self.connection.root.call(
                        "Target.disposeBrowserContext", {"browserContextId": self.id}, within=DISPOSE_SECONDS
                    )
            except BrowserError:
                done = self.connection.closed.is_set()
        for page in list(self.tabs.values()):
            page.close()
        self.tabs.clear()
        with contextlib.suppress(OSError):
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        return done


def _forget_document(page: Page, session_id: str) -> None:
    frame = page.children.get(session_id)
    if frame is not None:
        frame.forget_document()
