"""What the master believes of its workers, with a clock in our hands."""

from __future__ import annotations

import asyncio
import secrets

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webgym.errors import Overloaded, Unavailable
from webgym.server.protocol import WorkerStatus
from webgym.server.registry import FORGET_SECONDS, MISSED_BEATS_SECONDS, Registry


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class House:
    """A registry and the beats of its workers."""

    def __init__(self, queue: int = 16) -> None:
        self.clock = Clock()
        self.registry = Registry(queue=queue, clock=self.clock)

    def beat(
        self, n: int = 1, *, capacity: int = 2, sessions: tuple[str, ...] = (), url: str | None = None, **more: object
    ) -> None:
        status = WorkerStatus(
            id=f"w-{n:012x}",
            url=url or f"http://h:{n}",
            capacity=capacity,
            sessions=sessions,
            browsers=1,
            version="x",
            **more,
        )
        self.registry.beat(status)

    @property
    def available(self) -> int:
        return sum(worker.available for worker in self.registry.workers())


def session() -> str:
    return f"s-{secrets.token_hex(12)}"


async def soon(task: asyncio.Task[object]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return task.done()


async def test_slots_are_promised_until_they_are_kept_or_let_go():
    house = House()
    house.beat(capacity=2)
    one, two = await house.registry.reserve(0), await house.registry.reserve(0)
    with pytest.raises(Overloaded) as refused:
        await house.registry.reserve(0)
    assert refused.value.retry_after >= 1
    house.registry.settle(one, session())
    house.registry.settle(two, None)
    assert house.available == 1


async def test_the_least_loaded_worker_is_chosen():
    house = House()
    house.beat(1, capacity=4, sessions=(session(), session(), session()))
    house.beat(2, capacity=2, sessions=(session(),))
    assert (await house.registry.reserve(0)).status.id == "w-000000000002"
    assert (await house.registry.reserve(0)).status.id == "w-000000000001"


async def test_waiters_are_served_in_the_order_they_came_and_nobody_overtakes_them():
    house = House()
    house.beat(capacity=1)
    held = await house.registry.reserve(0)
    order: list[int] = []

    async def come(n: int) -> None:
        member = await house.registry.reserve(60)
        order.append(n)
        house.registry.settle(member, None)

    waiting = [asyncio.create_task(come(n)) for n in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await house.registry.reserve(0)
    house.registry.settle(held, None)
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2, 3, 4]


async def test_who_was_promised_a_place_on_a_full_worker_goes_to_the_head_of_the_line():
    house = House()
    house.beat(capacity=1)
    member = await house.registry.reserve(0)
    late = asyncio.create_task(house.registry.reserve(60))
    await asyncio.sleep(0)
    member.full = True  # the worker said so
    house.registry.settle(member, None)
    again = asyncio.create_task(house.registry.reserve(60, first=True))
    assert not await soon(again)
    house.beat(capacity=1)
    assert await soon(again)
    assert not late.done()
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)


async def test_a_waiter_that_is_cancelled_or_gives_up_leaves_no_promise_behind():
    house = House()
    house.beat(capacity=1)
    held = await house.registry.reserve(0)
    with pytest.raises(Overloaded, match=r"no session became free in 0\.01 s"):
        await house.registry.reserve(0.01)
    cancelled = asyncio.create_task(house.registry.reserve(60))
    await asyncio.sleep(0)
    house.registry.settle(held, None)  # the promise is made in this very moment
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    assert (house.available, house.registry.queued) == (1, 0)


async def test_a_line_has_a_bound():
    house = House(queue=2)
    house.beat(capacity=1)
    await house.registry.reserve(0)
    waiting = [asyncio.create_task(house.registry.reserve(60)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await house.registry.reserve(60)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert house.registry.queued == 0


async def test_a_worker_that_misses_its_beats_is_passed_over_until_it_beats_again():
    house = House()
    house.beat(1)
    house.beat(2)
    house.clock.now += MISSED_BEATS_SECONDS + 0.1
    house.beat(2)
    assert {(await house.registry.reserve(0)).status.id for _ in range(2)} == {"w-000000000002"}
    with pytest.raises(Overloaded):
        await house.registry.reserve(0)
    house.beat(1)
    assert (await house.registry.reserve(0)).status.id == "w-000000000001"
    house.clock.now += FORGET_SECONDS + 1
    house.beat(2)
    assert [worker.id for worker in house.registry.workers()] == ["w-000000000002"]


async def test_a_worker_that_cannot_be_reached_is_suspected_until_it_beats():
    house = House()
    house.beat(1)
    member = await house.registry.reserve(0)
    house.registry.settle(member, None)
    house.registry.suspect(member)
    with pytest.raises(Unavailable, match="no worker is up"):
        await house.registry.reserve(0)
    house.beat(1)
    assert await house.registry.reserve(0)


async def test_who_waits_while_no_worker_is_up_is_served_when_one_comes():
    house = House()
    with pytest.raises(Unavailable):
        await house.registry.reserve(0)
    waiting = asyncio.create_task(house.registry.reserve(60))
    assert not await soon(waiting)
    house.beat()
    assert await soon(waiting)


async def test_a_fleet_that_drains_takes_nobody_and_tells_those_in_line():
    house = House()
    house.beat(capacity=1)
    await house.registry.reserve(0)
    waiting = asyncio.create_task(house.registry.reserve(60))
    await asyncio.sleep(0)
    house.beat(capacity=1, draining=True)
    with pytest.raises(Unavailable, match="shutting down"):
        await waiting
    for wait in (0.0, 60.0):
        with pytest.raises(Unavailable, match="shutting down"):
            await house.registry.reserve(wait)
    house.beat(2, capacity=1)
    assert (await house.registry.reserve(0)).status.id == "w-000000000002"


async def test_a_session_in_a_beat_and_the_promise_it_keeps_are_counted_once():
    """A worker tells of a session before it has answered the call that made it."""
    house = House()
    house.beat(capacity=4)
    one, two = await house.registry.reserve(0), await house.registry.reserve(0)
    first, second = session(), session()
    house.beat(capacity=4, sessions=(first, second))
    assert house.available == 2
    house.registry.settle(one, first)
    house.registry.settle(two, second)
    assert house.available == 2
    house.beat(capacity=4, sessions=(first, second))
    assert house.available == 2


async def test_places_of_sessions_that_still_end_are_not_free():
    house = House()
    house.beat(capacity=2, ending=2)
    with pytest.raises(Overloaded):
        await house.registry.reserve(0)


async def test_a_session_is_found_though_a_beat_from_before_it_comes_after_it():
    house = House()
    house.beat(capacity=2)
    member = await house.registry.reserve(0)
    name = session()
    house.registry.settle(member, name)
    house.beat(capacity=2, sessions=())
    assert house.registry.holder(name) is member


async def test_a_session_that_ended_is_still_asked_for_at_its_worker():
    house = House()
    name = session()
    house.beat(capacity=2, sessions=(name,))
    house.registry.released(name)
    assert house.available == 2
    house.beat(capacity=2)
    assert house.registry.holder(name) is not None
    assert house.registry.holder(session()) is None
    assert house.registry.holder("") is None


async def test_a_restarted_worker_replaces_the_one_whose_address_it_has():
    house = House()
    name = session()
    house.beat(1, sessions=(name,), url="http://h:1")
    house.beat(2, url="http://h:1")
    assert [worker.id for worker in house.registry.workers()] == ["w-000000000002"]
    assert house.registry.holder(name) is None


async def test_an_idempotency_key_leads_to_the_worker_that_has_its_session():
    house = House()
    house.beat(1)
    house.beat(2, sessions=(session(),), keys=("k",))
    member = house.registry.keyed("k")
    assert member is not None
    assert member.status.id == "w-000000000002"
    house.registry.suspect(member)
    assert house.registry.keyed("k") is None, "one that does not answer must not keep the key from the others"
    house.beat(2, keys=("k",))
    assert house.registry.keyed("k") is member
    house.beat(2)
    assert house.registry.keyed("k") is None
    promised = await house.registry.reserve(0)
    house.registry.settle(promised, session(), "k2")
    assert house.registry.keyed("k2") is promised


async def test_a_new_master_says_that_it_may_not_know_everything_yet():
    house = House()
    assert house.registry.warming
    house.clock.now += MISSED_BEATS_SECONDS
    assert not house.registry.warming


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["ask", "keep", "drop", "end", "beat", "wait", "leave"]), max_size=60), st.integers(1, 3))
def test_whatever_happens_no_more_is_promised_than_there_is(events: list[str], capacity: int):
    """The worker's truth is simulated beside it: what it holds never passes its capacity without a refusal."""

    async def play() -> None:
        house = House()
        house.beat(capacity=capacity)
        registry = house.registry
        held: list[str] = []
        promised = []
        waiting: list[asyncio.Task[object]] = []
        for event in events:
            match event:
                case "ask":
                    try:
                        promised.append(await registry.reserve(0))
                    except Overloaded:
                        assert len(held) + len(promised) >= capacity or registry.queued
                case "keep" if promised:
                    name = session()
                    held.append(name)
                    registry.settle(promised.pop(), name)
                case "drop" if promised:
                    registry.settle(promised.pop(), None)
                case "end" if held:
                    registry.released(held.pop())
                case "beat":
                    house.beat(capacity=capacity, sessions=tuple(held))
                case "wait":
                    waiting.append(asyncio.create_task(registry.reserve(60)))
                case "leave" if waiting:
                    waiting.pop().cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            for task in [task for task in waiting if task.done()]:
                waiting.remove(task)
                promised.append(task.result())
            assert len(held) + len(promised) <= capacity
            assert not (registry.queued and len(held) + len(promised) < capacity), "nobody waits beside a free place"
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(play())
