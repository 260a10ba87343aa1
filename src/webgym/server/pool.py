"""The browsers of one worker: launched, kept warm, replaced when they die or grow old.

Invariant: the pool strives for `size` browsers that take sessions, each tended by a task of its own, so that one that is
slow or frozen holds up no other. A browser past its age, use or memory only stops taking new sessions and is closed when
its last one has ended; one that is dead or does not answer is replaced at once. Launch failures back off and are reported
by `take`, so that clients hear a reason instead of waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from webgym.errors import BrowserError, Unavailable, WebGymError
from webgym.server.browser import Browser, UpstreamProxy, start_browser
from webgym.server.cdp import ConnectionClosed, ProtocolError
from webgym.server.chromium import Chromium
from webgym.server.folders import WorkerFolder
from webgym.server.process import ChromiumProcess
from webgym.server.settings import BrowserLimits
from webgym.server.tabs import Context

log = logging.getLogger(__name__)

TEND_SECONDS = 1.0
MAX_STILLBORN = 3  # pages in a row that died while they were made
INSPECT_SECONDS = 10.0  # between looks at a browser's memory, and between questions whether it still answers
STEADY_SECONDS = 10.0  # a browser that lived as long did not die of being started
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
    patience: float = 15.0  # how long a browser may take to answer before it counts as frozen
    inspect_every: float = INSPECT_SECONDS
    browsers: list[Browser] = field(default_factory=list)
    retired: Counter[str] = field(default_factory=Counter)
    launched: int = 0
    _problem: str = ""

    async def start(self) -> None:
        """Launch the first browsers; what is wrong with the machine shows here, before any client is let in."""
        at_once = asyncio.Semaphore(os.cpu_count() or 1)

        async def launch() -> None:
            async with at_once:
                await self._launch()

        for outcome in await asyncio.gather(*(launch() for _ in range(self.size)), return_exceptions=True):
            if outcome is not None:
                raise outcome

    async def maintain(self) -> None:
        """Run for ever: replace, retire, warm."""
        async with asyncio.TaskGroup() as group:
            for browser in list(self.browsers):
                group.create_task(self._place(group, browser))

    async def take(self, proxy: UpstreamProxy | None = None) -> tuple[Browser, Context]:
        """A fresh context in the least busy browser."""
        ready = [browser for browser in self.browsers if browser.alive and not browser.draining]
        if not ready:
            raise Unavailable(f"no browser is running{': ' + self._problem if self._problem else ''}", retry_after=2.0)
        browser = min(ready, key=lambda one: (one.doubtful, one.busy, -len(one.spares)))
        try:
            context = await browser.take(proxy)
        except BrowserError as e:
            browser.doubtful = True
            browser.news.set()
            raise Unavailable(f"the browser could not open a session: {e}", retry_after=1.0) from e
        return browser, context

    async def give_back(self, browser: Browser, context: Context) -> None:
        await browser.drop(context)

    async def close(self) -> None:
        await asyncio.gather(*(browser.close() for browser in self.browsers), return_exceptions=True)
        self.browsers.clear()

    # upkeep

    async def _launch(self) -> Browser:
        folder = await asyncio.to_thread(self.folder.new_browser)
        process = await ChromiumProcess.start(
            self.chromium, folder, sandbox=self.sandbox, switches=self.switches, in_batch=True
        )
        browser = await start_browser(process, max_download=self.limits.max_download * MB, warm=self.limits.warm)
        self.browsers.append(browser)
        self.launched += 1
        return browser

    async def _place(self, group: asyncio.TaskGroup, browser: Browser) -> None:
        """One of the pool's places: always a browser that takes sessions, or the attempt to start one."""
        quick_deaths = 0
        while True:
            watching = group.create_task(_watch(browser))
            await self._tend(browser)
            group.create_task(self._bury(browser, watching))
            quick_deaths = quick_deaths + 1 if not browser.alive and browser.age < STEADY_SECONDS else 0
            if quick_deaths > 1:
                await asyncio.sleep(min(LONGEST_BACKOFF, 0.5 * 2**quick_deaths))
            browser = await self._relaunch()

    async def _tend(self, browser: Browser) -> None:
        """Keep a browser warm until it is dead, frozen or past its limits."""
        inspected = time.monotonic()
        while browser.alive and not browser.draining:
            inspect = time.monotonic() - inspected >= self.inspect_every or browser.doubtful
            if inspect:
                inspected = time.monotonic()
            reason = await self._why_retire(browser, inspect)
            if reason and browser.alive:
                log.info("retiring Chromium %d for its %s", browser.process.pid, reason)
                self.retired[reason] += 1
                browser.draining = True
                return
            if not await self._warm(browser, inspect) and browser.alive:
                log.error("Chromium %d has not answered for %g s: ending it", browser.process.pid, self.patience)
                self.retired["frozen"] += 1
                browser.lost()
                return
            await browser.next_news(TEND_SECONDS)

    async def _why_retire(self, browser: Browser, inspect: bool) -> str:
        if browser.age > self.limits.max_age:
            return "age"
        if browser.served >= self.limits.max_sessions:
            return "use"
        if browser.stillborn >= MAX_STILLBORN:
            return "stillborn pages"
        # Reading the memory of every process of a group takes a while: not on the loop that serves steps.
        if inspect and await asyncio.to_thread(browser.process.resident_bytes) > self.limits.max_memory * MB:
            return "memory"
        return ""

    async def _warm(self, browser: Browser, ask: bool) -> bool:
        """Add a context if one is missing; False if the browser does not answer."""
        try:
            async with asyncio.timeout(self.patience):
                if len(browser.spares) < self.limits.warm:
                    await browser.warm()
                elif ask:
                    await browser.connection.root.call("Browser.getVersion", within=self.patience)
        except Unavailable as e:
            log.warning("Chromium %d could not open a context: %s", browser.process.pid, e)
        except (ProtocolError, ConnectionClosed) as e:
            # One page that died while it was made says nothing of the browser; one after the other does.
            log.warning("Chromium %d could not open a page: %s", browser.process.pid, e)
            browser.doubtful = True
            browser.stillborn += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TEND_SECONDS):
                    await browser.connection.closed.wait()
            return True
        except (BrowserError, TimeoutError):
            return False
        browser.doubtful, browser.stillborn = False, 0
        return True

    async def _bury(self, browser: Browser, watching: asyncio.Task[None]) -> None:
        """Close a browser when its last session has ended, or now if there is nothing to wait for."""
        while browser.alive and browser.busy:
            await browser.next_news(TEND_SECONDS)
        if browser.process.exited.is_set() or browser.connection.closed.is_set():
            log.warning("Chromium %d ended: %s", browser.process.pid, browser.process.last_words[-300:] or "no last words")
            self.retired["died"] += 1
        watching.cancel()
        await browser.close()
        self.browsers.remove(browser)

    async def _relaunch(self) -> Browser:
        failures = 0
        while True:
            try:
                browser = await self._launch()
            except (WebGymError, OSError) as e:
                failures += 1
                pause = min(LONGEST_BACKOFF, 0.5 * 2**failures)
                lines = str(e).splitlines() or [type(e).__name__]
                self._problem = lines[0][:200] if len(lines) == 1 else f"{lines[0][:200]} … {lines[-1][-200:]}"
                log.error("a browser did not start, next try in %g s: %s", pause, e)
                await asyncio.sleep(pause)
            else:
                self._problem = ""
                return browser


async def _watch(browser: Browser) -> None:
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
