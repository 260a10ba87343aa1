"""One shared Chromium process: it routes its targets to contexts, keeps a few contexts warm, and knows when it is old.

Invariants: a context belongs to one browser; a draining browser takes no new session and disturbs none it has; when the
process dies, exactly its own sessions learn of it, at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from webgym.errors import Unavailable
from webgym.server.display import Display
from webgym.server.process import ChromiumProcess
from webgym.server.surprises import DownloadBegins, DownloadProgress
from webgym.server.tabs import Attached, Context, Detached, TargetInfo

log = logging.getLogger(__name__)

CALL_SECONDS = 15.0


class _InfoChanged(msgspec.Struct):
    targetInfo: TargetInfo


class _TargetEvent(msgspec.Struct):
    targetId: str


class _ContextCreated(msgspec.Struct):
    browserContextId: str


class _DownloadBegins(DownloadBegins):
    frameId: str = ""


@dataclass(frozen=True)
class UpstreamProxy:
    """A session's own way out: Chromium is pointed at the egress proxy that leads there."""

    server: str
    bypass: str


class Browser:
    def __init__(self, process: ChromiumProcess, *, max_download: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.process = process
        self.connection = process.connection
        self.display = Display(on_command=process.draws_on_command)
        self.contexts: dict[str, Context] = {}
        self.spares: deque[Context] = deque()
        self.served = 0
        self._coming = 0  # contexts that have been asked for and not been heard of
        self.draining = False
        self.doubtful = False  # it failed a session: asked soon whether it still answers, and used last until it has
        self.stillborn = 0  # pages in a row that died while they were made
        self.news = asyncio.Event()  # something changed that its keeper may want to see
        self._lost = False
        self._clock = clock
        self.born = clock()
        self._max_download = max_download
        self._numbers = 0
        self._page_channels: dict[str, tuple[Context, str]] = {}  # channel id → (context, target id)
        self._downloads: dict[str, Context] = {}

    @property
    def alive(self) -> bool:
        return not (self._lost or self.connection.closed.is_set() or self.process.exited.is_set())

    @property
    def busy(self) -> int:
        """Contexts handed out to sessions, or about to be."""
        return len(self.contexts) + self._coming - len(self.spares)

    @property
    def age(self) -> float:
        return self._clock() - self.born

    async def next_news(self, within: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.news.wait()
        self.news.clear()

    async def prepare(self) -> None:
        """Attach to every page of every context from its first moment."""
        root = self.connection.root
        root.on("Target.attachedToTarget", Attached, self._attached)
        root.on("Target.detachedFromTarget", Detached, self._detached)
        root.on("Target.targetInfoChanged", _InfoChanged, self._info_changed)
        root.on("Target.targetCrashed", _TargetEvent, self._crashed)
        root.on("Browser.downloadWillBegin", _DownloadBegins, self._download_begins)
        root.on("Browser.downloadProgress", DownloadProgress, self._download_progress)
        await root.call("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]}, within=CALL_SECONDS)
        await root.call(
            "Target.setAutoAttach",
            {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{"type": "page"}]},
            within=CALL_SECONDS,
        )

    async def new_context(self, proxy: UpstreamProxy | None = None) -> Context:
        root = self.connection.root
        params: dict[str, object] = {"disposeOnDetach": True}
        if proxy is not None:
            params |= {"proxyServer": proxy.server, "proxyBypassList": proxy.bypass}
        self._numbers += 1
        folder = self.process.folder / f"files-{self._numbers}"
        try:
            folder.mkdir(mode=0o700)
        except OSError as e:
            raise Unavailable(f"there is no room for a session's files: {e.strerror}", retry_after=5.0) from e
        self._coming += 1
        try:
            made = await root.call("Target.createBrowserContext", params, _ContextCreated, within=CALL_SECONDS)
        except BaseException:
            with contextlib.suppress(OSError):  # gone already, if the browser is
                folder.rmdir()
            raise
        finally:
            self._coming -= 1
        context = Context(
            self.connection,
            self.display,
            made.browserContextId,
            folder,
            user_agent=self.process.user_agent,
            max_download=self._max_download,
        )
        self.contexts[context.id] = context
        try:
            root.post(
                "Browser.setDownloadBehavior",
                {
                    "behavior": "allowAndName",
                    "browserContextId": context.id,
                    "downloadPath": str(folder),
                    "eventsEnabled": True,
                },
            )
            await context.open_tab(within=CALL_SECONDS)
        except BaseException:
            await asyncio.shield(self.drop(context))
            raise
        return context

    async def warm(self) -> None:
        """Add one context to the spares."""
        self.spares.append(await self.new_context())

    async def take(self, proxy: UpstreamProxy | None = None) -> Context:
        """A context for a new session: a warm one if the session needs nothing special."""
        while proxy is None and self.spares:
            context = self.spares.popleft()
            self.news.set()
            if context.alive:
                break
            await asyncio.shield(self.drop(context))
        else:
            context = await self.new_context(proxy)
        self.served += 1
        return context

    async def drop(self, context: Context) -> None:
        """Dispose of a context. If Chromium cannot even do that it is sick, and the whole group goes."""
        done = await context.dispose()
        self.contexts.pop(context.id, None)
        self._page_channels = {key: value for key, value in self._page_channels.items() if value[0] is not context}
        self._downloads = {key: value for key, value in self._downloads.items() if value is not context}
        self.news.set()
        if not done and self.alive:
            log.error("Chromium %d would not let go of a context: ending it", self.process.pid)
            await self.close()

    async def close(self) -> None:
        self.lost()
        await self.process.close()

    def lost(self) -> None:
        """The process is gone or past help: tell every session that lived in it."""
        self._lost = True
        self.draining = True
        for context in self.contexts.values():
            context.end()
        self.contexts.clear()
        self.spares.clear()
        self._page_channels.clear()
        self._downloads.clear()
        self.news.set()

    # events

    def _attached(self, event: Attached) -> None:
        context = self.contexts.get(event.targetInfo.browserContextId or "")
        if context is None or event.targetInfo.type != "page":
            channel = self.connection.channel(event.sessionId)
            channel.post("Runtime.runIfWaitingForDebugger")
            self.connection.root.post("Target.detachFromTarget", {"sessionId": event.sessionId})
            self.connection.drop_channel(event.sessionId)
            return
        self._page_channels[event.sessionId] = (context, event.targetInfo.targetId)
        context.attached(event)

    def _detached(self, event: Detached) -> None:
        found = self._page_channels.pop(event.sessionId, None)
        self.connection.drop_channel(event.sessionId)
        if found is not None:
            found[0].detached(found[1])

    def _info_changed(self, event: _InfoChanged) -> None:
        context = self.contexts.get(event.targetInfo.browserContextId or "")
        if context is not None:
            context.info_changed(event.targetInfo)

    def _crashed(self, event: _TargetEvent) -> None:
        for context in self.contexts.values():
            context.crashed(event.targetId)

    def _download_begins(self, event: _DownloadBegins) -> None:
        # The event names a frame, not a context. A page target's main frame has the target's id; for other frames the
        # context is found by asking each whether the frame is its own.
        for context in self.contexts.values():
            page = context.page_with(event.frameId)
            if page is not None:
                if page.target_id == event.frameId:
                    page.become_download()
                if context.surprises.download_begins(event):
                    self._downloads[event.guid] = context
                return
        self._refuse(event.guid)

    def _refuse(self, guid: str) -> None:
        """Stop a download that is nobody's: its tab is gone, so no session counts its bytes."""
        for context in self.contexts.values():
            context.surprises.cancel(guid)

    def _download_progress(self, event: DownloadProgress) -> None:
        context = self._downloads.get(event.guid)
        if context is None:
            for other in self.contexts.values():
                other.surprises.refuse(event)
        elif context.surprises.download_progress(event):
            self._downloads.pop(event.guid, None)


async def start_browser(process: ChromiumProcess, *, max_download: int, warm: int) -> Browser:
    browser = Browser(process, max_download=max_download)
    try:
        await browser.prepare()
        for _ in range(warm):
            await browser.warm()
    except BaseException:
        await asyncio.shield(browser.close())
        raise
    return browser
