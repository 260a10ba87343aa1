"""Limits under a clock of our own: what is admitted in any minute stays within the minute's allowance."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webgym.endpoint.cost import Meter, Usage
from webgym.endpoint.limits import Bucket, Limits
from webgym.endpoint.settings import Price
from webgym.errors import BudgetSpent


class Clock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def most_in_a_minute(admitted: list[tuple[float, float]]) -> float:
    return max(sum(amount for when, amount in admitted if start <= when < start + 60) for start, _ in admitted)


@given(
    per_minute=st.floats(10, 10_000),
    shares=st.lists(st.floats(0.001, 0.1), min_size=1, max_size=60),
    pauses=st.lists(st.floats(0, 90), min_size=60, max_size=60),
)
@settings(max_examples=50, deadline=None)
def test_any_minute_stays_within_the_allowance(per_minute: float, shares: list[float], pauses: list[float]) -> None:
    clock = Clock()
    admitted: list[tuple[float, float]] = []

    async def ask() -> None:
        bucket = Bucket(per_minute, clock, clock.sleep)
        for share, pause in zip(shares, pauses, strict=False):
            await bucket.take(share * per_minute)
            admitted.append((clock.now, share * per_minute))
            clock.now += pause if share > 0.05 else 0

    asyncio.run(ask())
    assert most_in_a_minute(admitted) <= per_minute * (1 + 1e-6)


async def test_what_was_not_used_is_given_back_and_what_was_used_beyond_is_owed() -> None:
    clock = Clock()
    bucket = Bucket(600, clock, clock.sleep)
    await bucket.take(60)
    bucket.give(60)
    await bucket.take(60)
    assert clock.now == 0
    bucket.give(-90)
    await bucket.take(9)
    assert clock.now == pytest.approx((90 + 9) / bucket.rate)


async def test_a_request_larger_than_the_bucket_is_admitted_and_leaves_a_debt() -> None:
    clock = Clock()
    bucket = Bucket(60, clock, clock.sleep)
    await bucket.take(30)
    assert clock.now == 0
    await bucket.take(1)
    assert clock.now == pytest.approx(25 / bucket.rate)


async def test_a_pause_asked_for_holds_everyone_and_slots_bound_the_rest() -> None:
    clock = Clock()
    limits = Limits(2, None, None, clock=clock, sleep=clock.sleep)
    limits.hold(5)
    limits.hold(3)
    inside = most = 0

    async def one() -> None:
        nonlocal inside, most
        async with limits.admit(1):
            inside += 1
            most = max(most, inside)
            assert clock.now >= 5
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(one() for _ in range(10)))
    assert most == 2


async def test_one_who_leaves_the_line_takes_nothing() -> None:
    bucket = Bucket(600, asyncio.get_running_loop().time, asyncio.sleep)
    await bucket.take(60)
    waiting = asyncio.create_task(bucket.take(60))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    bucket.give(60)
    await asyncio.wait_for(bucket.take(59), 1)


def test_the_ledger_carries_a_budget_over_kills(tmp_path: Path) -> None:
    ledger, price = tmp_path / "spent.jsonl", Price(input=1_000_000, output=0)
    first = Meter(price, 10.0, ledger)
    with first.call(Usage(4, 0)) as charge:
        charge.settle(Usage(3, 0))
    ledger.write_bytes(ledger.read_bytes() + b'\n{"input": 1, "dol')
    second = Meter(price, 10.0, ledger)
    assert second.totals.earlier == 3
    with second.call(Usage(5, 0)):
        pass
    with pytest.raises(BudgetSpent), second.call(Usage(3, 0)):
        pass
    assert Meter(price, 10.0, ledger).totals.spent == 8


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1), st.booleans()), max_size=40))
@settings(max_examples=50, deadline=None)
def test_no_order_of_calls_exceeds_the_budget(calls: list[tuple[int, float, bool]]) -> None:
    meter = Meter(Price(input=1_000_000, output=1_000_000), 100.0)
    for most, share, known in calls:
        try:
            with meter.call(Usage(most, 0)) as charge:
                if known:
                    charge.settle(Usage(int(most * share), 0))
        except BudgetSpent:
            continue
        assert meter.totals.spent <= 100
