"""The browsers of one worker: launched, kept warm, replaced when they die or grow old.

Invariant: the pool strives for `size` browsers that take sessions. A browser past its age, use or memory only stops taking
new ones and is closed when its last session has ended; a dead one is replaced at once. Launch failures back off and are
reported by `take`, so that clients hear a reason instead of waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from webgym.errors import BrowserError, Unavailable, WebGymError
from webgym.server.browser import Browser, UpstreamProxy, start_browser
from webgym.server.chromium import Chromium
from webgym.server.folders import WorkerFolder
from webgym.server.process import ChromiumProcess
from webgym.server.settings import BrowserLimits
from webgym.server.tabs import Context

log = logging.getLogger(__name__)

INSPECT_SECONDS = 10.0
LONGEST_BACKOFF = 30.0
MB = 1024 * 1024


@dataclass
class Pool:
    chromium: Chromium
    folder: WorkerFolder
    size: int
    limits: BrowserLimits
    sandbox: bool
    switches: Sequence[str]
    browsers: list[Browser] = field(default_factory=list)
    retired: Counter[str] = field(default_factory=Counter)
    launched: int = 0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _problem: str = ""
    _failures: int = 0
    _not_before: float = 0.0
    _inspected: float = 0.0
    _closing: bool = False

    async def start(self) -> None:
        """Launch the first browsers; what is wrong with the machine shows here, before any client is let in."""
        for _ in range(self.size):
            await self._launch()

    async def maintain(self) -> None:
        """Run for ever: replace, retire, warm. Woken by deaths and departures, otherwise once a second."""
        async with asyncio.TaskGroup() as watchers:
            for browser in self.browsers:
                watchers.create_task(self._watch(browser))
            while True:
                await self._bury()
                self._retire()
                for browser in await self._replace():
                    watchers.create_task(self._watch(browser))
                await self._warm()
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await self._wake.wait()

    def wake(self) -> None:
        self._wake.set()

    async def take(self, proxy: UpstreamProxy | None = None) -> tuple[Browser, Context]:
        """A fresh context in the least busy browser."""
        ready = [browser for browser in self.browsers if browser.alive and not browser.draining]
        if not ready:
            raise Unavailable(f"no browser is running{': ' + self._problem if self._problem else ''}", retry_after=2.0)
        browser = min(ready, key=lambda one: (one.busy, -len(one.spares)))
        try:
            context = await browser.take(proxy)
        except BrowserError as e:
            raise Unavailable(f"the browser could not open a session: {e}", retry_after=1.0) from e
        self.wake()
        return browser, context

    async def give_back(self, browser: Browser, context: Context) -> None:
        await browser.drop(context)
        self.wake()

    async def close(self) -> None:
        self._closing = True
        await asyncio.gather(*(browser.close() for browser in self.browsers), return_exceptions=True)
        self.browsers.clear()

    # upkeep

    async def _launch(self) -> Browser:
        process = await ChromiumProcess.start(
            self.chromium, self.folder.new_browser(), sandbox=self.sandbox, switches=self.switches
        )
        browser = await start_browser(process, max_download=self.limits.max_download * MB, warm=self.limits.warm)
        self.browsers.append(browser)
        self.launched += 1
        return browser

    async def _watch(self, browser: Browser) -> None:
        """Tell the browser's sessions the moment its process or its connection ends."""
        waits = {
            asyncio.ensure_future(browser.process.exited.wait()),
            asyncio.ensure_future(browser.connection.closed.wait()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        browser.lost()
        self.wake()

    async def _bury(self) -> None:
        for browser in [one for one in self.browsers if not one.alive or (one.draining and not one.busy)]:
            self.browsers.remove(browser)
            if not browser.alive and not self._closing:
                log.warning(
                    "Chromium %d ended: %s", browser.process.pid, browser.process.last_words[-300:] or "no last words"
                )
                self.retired["died"] += 1
            await browser.close()

    def _retire(self) -> None:
        inspect = time.monotonic() - self._inspected >= INSPECT_SECONDS
        if inspect:
            self._inspected = time.monotonic()
        for browser in self.browsers:
            if browser.draining or not browser.alive:
                continue
            reason = self._why_retire(browser, inspect)
            if reason:
                log.info("retiring Chromium %d for its %s", browser.process.pid, reason)
                self.retired[reason] += 1
                browser.draining = True

    def _why_retire(self, browser: Browser, inspect: bool) -> str:
        if browser.age > self.limits.max_age:
            return "age"
        if browser.served >= self.limits.max_sessions:
            return "use"
        if inspect and browser.process.resident_bytes() > self.limits.max_memory * MB:
            return "memory"
        return ""

    async def _replace(self) -> list[Browser]:
        new: list[Browser] = []
        while sum(1 for one in self.browsers if one.alive and not one.draining) < self.size:
            if time.monotonic() < self._not_before:
                break
            try:
                new.append(await self._launch())
            except (WebGymError, OSError) as e:
                self._failures += 1
                pause = min(LONGEST_BACKOFF, 0.5 * 2**self._failures)
                self._not_before = time.monotonic() + pause
                self._problem = str(e).splitlines()[0][:300]
                log.error("a browser did not start, next try in %g s: %s", pause, e)
                break
            self._failures, self._problem = 0, ""
        return new

    async def _warm(self) -> None:
        for browser in self.browsers:
            if browser.alive and not browser.draining and len(browser.spares) < self.limits.warm:
                try:
                    await browser.warm()
                except BrowserError as e:
                    log.warning("Chromium %d could not open a context: %s", browser.process.pid, e)
