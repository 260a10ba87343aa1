"""One site and one worker for all tests that only look and act: starting a Chromium for each would take most of the time.

Every test gets sessions of its own, which share nothing, and gives them back.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pytest_asyncio
from PIL import Image

from tests.conftest import Driver, settings_for
from tests.site.server import Site
from webgym.server.protocol import NewSession
from webgym.server.settings import WorkerSettings
from webgym.server.tabs import Context
from webgym.server.worker import Worker, running_worker
from webgym.types import Look, Mark, Observation

T = TypeVar("T")


@dataclass(frozen=True)
class House:
    """A site and a worker that lives next to it."""

    site: Site
    worker: Worker

    def context(self, driver: Driver) -> Context:
        """The inside of a session, for what no client can see."""
        return self.worker.sessions.leases.find(driver.started.id, driver.started.lease.token).context

    async def ask(self, driver: Driver, expression: str, kind: type[T]) -> T:
        """Evaluate in the active page, in a world apart from the page's own."""
        return await self.context(driver).active.frame.run(expression, kind, within=5)


class Visit(Protocol):
    async def __call__(self, path: str | None, *, options: dict[str, Any] | None = None, **look: Any) -> Driver: ...


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def house() -> AsyncIterator[House]:
    async with Site() as site:
        # Every port of the local site's names: what is refused, too, must get as far as being refused.
        serve = settings_for(site, egress={"allow": ["*.localhost"]})
        async with running_worker(
            WorkerSettings(serve=serve, sessions=serve.sessions, browsers=serve.browser_count)
        ) as worker:
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
    live = house.worker.sessions.leases.ids()
    for driver in opened:
        if driver.started.id in live:
            await driver.release()


def mark_called(seen: Observation, name: str, role: str | None = None) -> Mark:
    """The one mark of that name."""
    found = [mark for mark in seen.marks or () if mark.name == name and role in (None, mark.role)]
    assert len(found) == 1, f"{len(found)} marks are called {name!r}: {[mark.name for mark in seen.marks or ()]}"
    return found[0]


def picture(seen: Observation) -> Image.Image:
    assert seen.screenshot is not None
    return Image.open(io.BytesIO(seen.screenshot.data)).convert("RGB")


def colour_at(seen: Observation, x: int, y: int) -> tuple[int, int, int]:
    found = picture(seen).getpixel((x, y))
    assert isinstance(found, tuple)
    return found[0], found[1], found[2]
