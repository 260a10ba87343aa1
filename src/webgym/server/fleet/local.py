"""Master and workers as processes of one machine, kept running.

Invariants: a child that dies is started again with its old port and its leftovers are swept, for as long as the fleet runs
and whatever the reason it cannot be started just now; when this process ends, by whatever cause, its children drain and
end, because their stdin closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from pydantic import ValidationError

from webgym.errors import ConfigError, ServerError, WebGymError
from webgym.server.fleet.child import EXPECTED_FAILURE, Job, MasterJob, Ready, WorkerJob
from webgym.server.folders import sweep
from webgym.server.listen import near_url
from webgym.server.master import MasterSettings
from webgym.server.settings import ServeSettings, WorkerSettings
from webgym.server.worker import DRAIN_SECONDS

log = logging.getLogger(__name__)

START_SECONDS = 60.0
STEADY_SECONDS = 30.0
LONGEST_BACKOFF = 30.0
PAUSE_SECONDS = 0.3


@dataclass
class Child:
    """A process that is started again when it dies."""

    name: str
    job: Callable[[int], MasterJob | WorkerJob]
    url: str = ""
    process: asyncio.subprocess.Process | None = None
    restarts: int = 0
    port: int = 0

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _start(self) -> None:
        try:
            await self._start_once()
        except BaseException:
            await asyncio.shield(self._stop(within=0))
            raise

    async def _start_once(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "webgym.server.fleet.child", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(Job(job=self.job(self.port)).model_dump_json().encode() + b"\n")
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await self.process.stdout.readline()
        except TimeoutError:
            raise ServerError(f"the {self.name} was not ready in {START_SECONDS:g} s") from None
        try:
            ready = Ready.model_validate_json(line) if line else Ready(error="it ended without a word; its log is above")
        except ValidationError:
            raise ServerError(f"the {self.name} said {line[:200]!r} instead of its address") from None
        if ready.url is None:
            code = await self.process.wait()
            kind = ConfigError if code == EXPECTED_FAILURE else ServerError
            raise kind(f"the {self.name} did not start: {ready.error}")
        self.url = ready.url
        self.port = urlsplit(ready.url).port or 0

    async def keep(self) -> None:
        """Run for ever: start it again whenever it has died."""
        quick_deaths = 0
        while True:
            assert self.process is not None
            started = time.monotonic()
            code = await self.process.wait()
            quick_deaths = quick_deaths + 1 if time.monotonic() - started < STEADY_SECONDS else 0
            # A signal to the whole group ends the children first: leave time for our own to arrive.
            await asyncio.sleep(PAUSE_SECONDS)
            log.error("the %s ended with %d: starting it again", self.name, code)
            await asyncio.to_thread(sweep)
            while True:
                if quick_deaths:
                    await asyncio.sleep(min(LONGEST_BACKOFF, 0.2 * 2**quick_deaths))
                try:
                    await self._start()
                except (WebGymError, OSError) as e:
                    log.error("the %s cannot be started: %s", self.name, e)
                    quick_deaths += 1
                    continue
                self.restarts += 1
                break

    def begin_stop(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()

    async def _stop(self, within: float = DRAIN_SECONDS + 10) -> None:
        process = self.process
        if process is None or process.returncode is not None:
            return
        self.begin_stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await process.wait()
        if process.returncode is None:
            log.error("the %s did not end in %g s: killing it", self.name, within)
            process.kill()
            await process.wait()
            await asyncio.to_thread(sweep)


@dataclass(frozen=True)
class LocalFleet:
    url: str
    master: Child
    workers: list[Child]


@asynccontextmanager
async def running_fleet(settings: ServeSettings, key: str | None) -> AsyncIterator[LocalFleet]:
    """A master and its workers, up and reachable; all gone when the block ends."""
    fleet_key = secrets.token_urlsafe(24)

    def master_job(port: int) -> MasterJob:
        return MasterJob(settings=MasterSettings(serve=settings, key=key, fleet_key=fleet_key), port=port or settings.port)

    async with AsyncExitStack() as stack:
        master = await stack.enter_async_context(Child("master", master_job))
        count = settings.worker_count
        workers = []
        for n in range(count):

            def worker_job(port: int, n: int = n) -> WorkerJob:
                share = WorkerSettings(
                    serve=settings,
                    sessions=_share(settings.sessions, count, n),
                    browsers=_share(settings.browser_count, count, n),
                    master=near_url(settings.host, master.port),
                    beside_master=True,
                    key=key,
                    fleet_key=fleet_key,
                )
                return WorkerJob(settings=share, port=port)

            workers.append(await stack.enter_async_context(Child(f"worker {n + 1}", worker_job)))
        try:
            async with asyncio.TaskGroup() as keepers:
                # A bug in one is loud: it ends the fleet.
                tasks = [keepers.create_task(child.keep()) for child in (master, *workers)]
                try:
                    yield LocalFleet(master.url, master, workers)
                finally:
                    for task in tasks:
                        task.cancel()
                    for child in workers:
                        child.begin_stop()  # all of them drain at the same time; the master goes on saying that they do
        except BaseExceptionGroup as several:
            # What the caller's block raised comes out as it went in.
            if len(several.exceptions) == 1:
                raise several.exceptions[0] from several.exceptions[0].__cause__
            raise


def _share(total: int, parts: int, n: int) -> int:
    return total // parts + (1 if n < total % parts else 0)
