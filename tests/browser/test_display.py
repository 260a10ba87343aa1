"""Drawing on command: a frame that nobody waits for any longer must end before the page's next."""

import asyncio

import pytest

from tests.browser.conftest import House, Visit
from webgym.server.display import Picture

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_who_stops_waiting_for_a_frame_does_no_harm_to_the_browser(visit: Visit, house: House):
    visited = await visit("/docs-long")
    leased = house.worker.sessions.leases.find(visited.started.id, visited.started.lease.token)
    page = leased.context.active
    for _ in range(100):
        impatient = [asyncio.ensure_future(page.draw()) for _ in range(3)]
        await asyncio.sleep(0)
        for one in impatient:
            one.cancel()
    assert await page.shoot(Picture("jpeg"), within=5)
    assert "crashed" not in leased.browser.process.last_words, (
        "the process that draws has ended, though another began"
    )
