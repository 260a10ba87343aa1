"""One site and one worker for all tests that only look and act: starting a Chromium for each would take most of the time.

Every test gets sessions of its own, which share nothing, and gives them back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest_asyncio

from tests.conftest import Driver, settings_for
from tests.site.server import Site
from webgym.server.protocol import NewSession
from webgym.server.settings import WorkerSettings
from webgym.server.worker import Worker, running_worker
from webgym.types import Look


@dataclass(frozen=True)
class House:
    """A site and a worker that lives next to it."""

    site: Site
    worker: Worker


class Visit(Protocol):
    async def __call__(self, path: str | None, *, options: dict[str, Any] | None = None, **look: Any) -> Driver: ...


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def house() -> AsyncIterator[House]:
    async with Site() as site:
        serve = settings_for(site)
        async with running_worker(WorkerSettings(serve=serve, sessions=serve.sessions, browsers=serve.browser_count)) as worker:
            yield House(site, worker)


@pytest_asyncio.fixture(loop_scope="session")
async def visit(house: House) -> AsyncIterator[Visit]:
    """Open a page of the site in a new session: `form = await visit("/form", marks=True)`."""
    opened: list[Driver] = []

    async def open_it(path: str | None, *, options: dict[str, Any] | None = None, **look: Any) -> Driver:
        url = None if path is None else path if ":" in path else house.site.url(path)
        request = NewSession(url=url, look=Look(**look), **(options or {}))
        driver = Driver(house.worker, await house.worker.sessions.create(request, None))
        opened.append(driver)
        return driver

    yield open_it
    for driver in opened:
        if house.worker.sessions.leases.holds(driver.started.id):
            await driver.release()
