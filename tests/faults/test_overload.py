"""Three times the load the server can hold (matrix row 19)."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest

from tests.served import Served, serving
from tests.wire import Api, Session, connected

SESSIONS = 3
LINE = 2 * SESSIONS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = {"sessions": SESSIONS, "queue": LINE, "limits__warm": 2}
    with serving(tmp_path_factory.mktemp("overload"), **options) as running:
        yield running


@pytest.fixture
async def api(server: Served) -> AsyncIterator[Api]:
    async with connected(server.url) as one:
        yield one


@pytest.fixture
async def held(api: Api) -> AsyncIterator[list[Session]]:
    """Every session there is, in our hands."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(api.session(wait=20, ttl=10)) for _ in range(SESSIONS)]


async def until_line_has(api: Api, length: int) -> None:
    async with asyncio.timeout(10):
        while (await api.fleet())["queued"] != length:  # noqa: ASYNC110 - it is another process that is asked
            await asyncio.sleep(0.005)


async def test_refusals_are_quick_and_say_when_to_ask_again_while_every_session_is_busy(api, held):
    ends = asyncio.Event()

    async def work(session: Session) -> None:
        while not ends.is_set():
            assert (await session.step("wait", seconds=0, look={"image": "jpeg"})).status == 200

    async def ask(took: list[float]) -> None:
        for _ in range(20):
            began = time.monotonic()
            answer = await api.create()
            took.append(time.monotonic() - began)
            assert answer.refusal == (429, "overloaded")
            assert 1 <= int(answer.headers["retry-after"]) <= 30
            assert answer.error["retry_after"] >= 1
            await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        for session in held:
            group.create_task(work(session))
        best = float("inf")
        for _ in range(12):  # until a moment when this machine is not busy with something else
            took: list[float] = []
            await asyncio.gather(*(ask(took) for _ in range(2 * SESSIONS)))
            best = min(best, sorted(took)[int(len(took) * 0.99)])
            if best < 0.1:
                break
        ends.set()
    assert best < 0.1, f"99 of 100 refusals within {best:.3f} s"


async def test_those_who_wait_are_served_in_the_order_they_came(api, held):
    order: list[int] = []

    async def come(n: int) -> None:
        session = await api.open(wait=60)
        order.append(n)
        await session.call("DELETE", "")

    waiting = []
    for n in range(LINE):
        waiting.append(asyncio.create_task(come(n)))
        await until_line_has(api, n + 1)
    assert (await api.create()).status == 429, "nobody overtakes the line"
    await held[0].call("DELETE", "")  # with one place, the order they are served in is the order they came in
    for session in held[1:]:
        await session.call("POST", "/renew", {"ttl": 60})
    await asyncio.gather(*waiting)
    assert order == sorted(order)


async def test_a_line_that_is_full_is_refused_at_once(api, held):
    waiting = [asyncio.create_task(api.create(wait=2)) for _ in range(LINE)]
    await until_line_has(api, LINE)
    began = time.monotonic()
    answer = await api.create(wait=60)
    assert time.monotonic() - began < 1
    assert answer.refusal == (429, "overloaded")
    for one in waiting:
        refused = await one
        assert refused.refusal == (429, "overloaded")
        assert "no session became free in" in refused.error["message"]


async def test_a_client_that_left_the_line_is_given_no_session(api, held):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await api.create(wait=60)
    await until_line_has(api, 0)
    await held[0].call("DELETE", "")
    async with api.session(wait=5):
        pass  # its place was not taken by the one that left


async def steps_a_second(api: Api, clients: int, seconds: float) -> float:
    """Short episodes, one after another, by so many clients; steps done while the clock ran."""
    done = 0
    ends = time.monotonic() + seconds

    async def client() -> None:
        nonlocal done
        while time.monotonic() < ends:
            answer = await api.create(wait=60)
            if answer.status != 200:
                continue
            session = Session(api, answer.json)
            for _ in range(6):
                await session.step("wait", seconds=0)
                done += time.monotonic() < ends
            await session.call("DELETE", "")

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    return done / seconds


async def test_goodput_at_three_times_the_load_is_nine_tenths_of_capacity(api, server):
    await steps_a_second(api, SESSIONS, 1.0)
    ratios: list[float] = []
    for turn in range(9):  # in turn, and the median of all: what else this machine does weighs on one turn, not on most
        alone = await steps_a_second(api, SESSIONS, 2.5)
        ratios.append(await steps_a_second(api, 3 * SESSIONS, 2.5) / alone)
        if turn >= 2 and statistics.median(ratios) >= 0.9:
            break
    assert statistics.median(ratios) >= 0.9, f"{statistics.median(ratios):.0%} of capacity"
    # Hundreds of sessions have come and gone: frames that nobody waited for any longer used to end browsers here.
    assert " ended: " not in server.written()
