"""What a worker keeps of a session for calls that come again, late, or with a file that is there already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.conftest import Driver, Opener, WorkerMaker
from tests.site.server import Site
from webgym.errors import BadRequest, StepConflict
from webgym.server.leases import REMEMBERED_STEPS
from webgym.server.protocol import NewSession, StepRequest, StepResult
from webgym.server.worker import Worker
from webgym.types import Click, Look

BLIND = Look(image="none")


def clicker(driver: Driver) -> Callable[[str], Awaitable[StepResult]]:
    started = driver.started
    return lambda key: driver.worker.sessions.step(
        started.id, started.lease.token, StepRequest(action=Click(x=100, y=40), look=BLIND, key=key)
    )


async def test_a_step_that_comes_again_after_many_others_is_refused_and_not_done_again(open_page: Opener, site: Site):
    before = site.count("click")
    click = clicker(await open_page("/counter", image="none"))
    keys = [f"k{n}" for n in range(REMEMBERED_STEPS + 2)]
    for key in keys:
        assert not (await click(key)).repeated
    for forgotten in keys[:2]:
        with pytest.raises(StepConflict, match="its answer is no longer kept"):
            await click(forgotten)
    for kept in keys[2:]:
        assert (await click(kept)).repeated
    after = await click("another")
    assert (after.seq, after.observation.title) == (len(keys) + 1, f"count {len(keys) + 1}")
    await site.reported("click", before + len(keys) + 1)


async def test_a_repeated_step_keeps_the_lease(open_page: Opener):
    driver = await open_page("/counter", image="none", options={"ttl": 1.0})
    click = clicker(driver)
    await click("first")
    for _ in range(4):
        await asyncio.sleep(0.6)
        assert (await click("first")).repeated


async def test_a_key_whose_session_ran_out_gets_a_new_one_before_the_sweep_and_after(worker: Worker):
    request = NewSession(key="k", ttl=0.3, look=BLIND)
    ids = set()
    for _ in range(4):  # the sweep comes once a second, at a moment of its own
        started = await asyncio.gather(*(worker.sessions.create(request, None) for _ in range(3)))
        (one,) = {each.id for each in started}
        ids.add(one)
        await asyncio.sleep(0.35)
    assert len(ids) == 4


async def test_a_file_that_is_replaced_counts_once(new_worker: WorkerMaker):
    async with new_worker(limits={"max_download": 1}, http={"max_body": 1}) as worker:
        started = await worker.sessions.create(NewSession(look=BLIND), None)

        def put(name: str, size: int) -> int:
            return worker.sessions.put_file(started.id, started.lease.token, name, b"x" * size).size

        most = 1024 * 1024
        for size in (most // 2 + 1, most, most - 1):
            assert put("report.pdf", size) == size
        with pytest.raises(BadRequest, match=f"may hold {most} bytes, and has {most - 1} in other files"):
            put("another.pdf", 2)
        assert put("another.pdf", 1) == 1
