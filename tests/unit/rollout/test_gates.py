from __future__ import annotations

import asyncio

import pytest

from webgym.rollout.gates import Gate, Histogram


async def hold(gate: Gate, until: asyncio.Event, order: list[int], number: int) -> None:
    async with gate.enter():
        order.append(number)
        await until.wait()


async def test_a_free_place_goes_to_whoever_has_waited_longest():
    gate, order, gates = Gate("step", 1), [], [asyncio.Event() for _ in range(5)]
    async with asyncio.TaskGroup() as group:
        for number, event in enumerate(gates):
            group.create_task(hold(gate, event, order, number))
            await asyncio.sleep(0)
        assert gate.full
        assert gate.stats().waiting == 4
        for number, event in enumerate(gates):
            assert order == list(range(number + 1))
            event.set()
            await asyncio.sleep(0.001)
    stats = gate.stats()
    assert (stats.inside, stats.waiting, stats.service.count) == (0, 0, 5)


async def test_never_more_inside_than_places_however_many_are_cancelled():
    gate, inside, most = Gate("step", 3), 0, 0

    async def visit(seconds: float) -> None:
        nonlocal inside, most
        async with gate.enter():
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(seconds)
            finally:
                inside -= 1

    tasks = [asyncio.create_task(visit(0.001 * (n % 4))) for n in range(200)]
    for n, task in enumerate(tasks):
        if n % 3 == 0:
            await asyncio.sleep(0)
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 3
    assert gate.stats().inside == 0
    async with asyncio.timeout(1), gate.enter(), gate.enter(), gate.enter():
        assert gate.full


async def test_a_place_handed_over_to_someone_who_is_cancelled_at_that_moment_is_passed_on():
    gate, release = Gate("step", 1), asyncio.Event()
    order: list[int] = []
    release.set()
    async with gate.enter():
        second = asyncio.create_task(hold(gate, release, order, 1))
        third = asyncio.create_task(hold(gate, release, order, 2))
        await asyncio.sleep(0)
    second.cancel()  # its turn has come, but it has not run yet
    with pytest.raises(asyncio.CancelledError):
        await second
    async with asyncio.timeout(1):
        await third
    assert order == [2]
    assert not gate.full


async def test_someone_who_is_cancelled_just_before_a_place_is_free_is_passed_over():
    gate, release = Gate("step", 1), asyncio.Event()
    order: list[int] = []
    release.set()
    async with gate.enter():
        second = asyncio.create_task(hold(gate, release, order, 1))
        third = asyncio.create_task(hold(gate, release, order, 2))
        await asyncio.sleep(0)
        second.cancel()  # and we leave before it has noticed
    with pytest.raises(asyncio.CancelledError):
        await second
    await third
    assert order == [2]
    assert not gate.full


async def test_waits_and_services_are_measured():
    now = [0.0]
    gate = Gate("model", 1, clock=lambda: now[0])
    async with gate.enter():
        now[0] = 2.0
        waiting = asyncio.create_task(hold(gate, release := asyncio.Event(), [], 0))
        await asyncio.sleep(0)
        now[0] = 5.0
        assert gate.stats().busy == 5.0
    await asyncio.sleep(0)
    release.set()
    now[0] = 6.0
    await waiting
    stats = gate.stats()
    assert stats.wait.longest == 3.0
    assert stats.service.total == pytest.approx(6.0)
    assert stats.busy == pytest.approx(6.0)


def test_quantiles_are_good_to_a_fifth():
    seconds = Histogram()
    for n in range(1, 1001):
        seconds.add(n / 100)
    times = seconds.times()
    assert times.p50 == pytest.approx(5.0, rel=0.2)
    assert times.p95 == pytest.approx(9.5, rel=0.2)
    assert times.longest == 10.0
    assert times.mean == pytest.approx(5.005)
