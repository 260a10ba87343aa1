"""Fixtures shared by all suites: a local site, a worker with real browsers in this process, a whole fleet of processes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.site.server import Site
from webgym.server.fleet.local import LocalFleet, running_fleet
from webgym.server.protocol import NewSession, SessionStarted, StepRequest
from webgym.server.settings import ServeSettings, WorkerSettings
from webgym.server.settle import SettleLimits
from webgym.server.worker import Worker, running_worker
from webgym.types import Action, Look, Observation

KEY = "a-key-for-the-tests-only"
QUICK = SettleLimits(commit=3, load=3, quiet=2, network=2)
# As root it cannot run, and where an ordinary user cannot have it either the person says so.
SANDBOX = os.geteuid() != 0 and os.environ.get("WEBGYM_NO_SANDBOX") != "1"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


def settings_for(site: Site, **changes: Any) -> ServeSettings:
    """Settings for tests: the local site may be visited, waits are short, no sandbox only where it cannot run."""
    given: dict[str, Any] = {
        "port": 0,
        "sessions": 4,
        "browsers": 1,
        "sandbox": SANDBOX,
        "egress": {"allow": [f"*.localhost:{site.port}"]},
        "settle": QUICK,
    }
    return ServeSettings(**(given | changes))


WorkerMaker = Callable[..., AbstractAsyncContextManager[Worker]]


@pytest.fixture
def new_worker(site: Site) -> WorkerMaker:
    """A worker of this process: `async with new_worker(sessions=2, limits=…) as worker`."""

    @asynccontextmanager
    async def make(**changes: Any) -> AsyncIterator[Worker]:
        serve = settings_for(site, **changes)
        async with running_worker(
            WorkerSettings(serve=serve, sessions=serve.sessions, browsers=serve.browser_count)
        ) as worker:
            yield worker

    return make


@pytest.fixture
async def worker(new_worker: WorkerMaker) -> AsyncIterator[Worker]:
    async with new_worker() as running:
        yield running


@dataclass
class Driver:
    """One session of an in-process worker, driven as a client would."""

    worker: Worker
    started: SessionStarted

    @property
    def first(self) -> Observation:
        return self.started.observation

    async def step(self, action: Action, **look: Any) -> Observation:
        request = StepRequest(action=action, look=Look(**look))
        return (await self.worker.sessions.step(self.started.id, self.started.lease.token, request)).observation

    async def look(self, **look: Any) -> Observation:
        return await self.worker.sessions.observe(self.started.id, self.started.lease.token, Look(**look))

    async def release(self) -> None:
        await self.worker.sessions.release(self.started.id, self.started.lease.token)


Opener = Callable[..., Awaitable[Driver]]


@pytest.fixture
def open_page(worker: Worker, site: Site) -> Opener:
    """Open a page of the local site in a new session: `driver = await open_page("/form", marks=True)`."""

    async def open_it(path: str | None, *, options: dict[str, Any] | None = None, **look: Any) -> Driver:
        url = None if path is None else path if "://" in path else site.url(path)
        request = NewSession(url=url, look=Look(**look), **(options or {}))
        return Driver(worker, await worker.sessions.create(request, None))

    return open_it


FleetMaker = Callable[..., AbstractAsyncContextManager[LocalFleet]]


@pytest.fixture
def new_fleet(site: Site) -> FleetMaker:
    """Master and workers as real processes, with the key `KEY`: `async with new_fleet(sessions=2) as fleet`."""

    def make(**changes: Any) -> AbstractAsyncContextManager[LocalFleet]:
        return running_fleet(settings_for(site, **changes), KEY)

    return make
