"""One real server for the tests that only visit pages of the local site: most of the time goes into starting Chromium."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.served import Served, serving
from tests.site.canary import free_port
from tests.site.server import Site
from tests.wire import Api, connected

SITE_PORT = free_port()


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`webgym serve` with one browser process, its default policy, and the test site as the one thing allowed."""
    with serving(tmp_path_factory.mktemp("house"), relay=True, egress__allow=f"site.localhost:{SITE_PORT}") as running:
        yield running


@pytest.fixture
async def house_site() -> AsyncIterator[Site]:
    async with Site(port=SITE_PORT) as running:
        yield running


@pytest.fixture
async def api(house: Served) -> AsyncIterator[Api]:
    async with connected(house.url) as one:
        yield one
