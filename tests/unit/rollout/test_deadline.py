"""A deadline that is used again and again."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from webgym.rollout.deadline import Deadline


async def test_what_takes_too_long_is_ended_and_the_task_goes_on() -> None:
    with closing(Deadline(0.05)) as deadline:
        with pytest.raises(TimeoutError), deadline:
            await asyncio.sleep(60)
        assert deadline.expired
        await asyncio.sleep(0)  # nothing of it is left in the task
        with deadline:
            await asyncio.sleep(0)
        assert not deadline.expired


async def test_each_time_has_all_the_seconds() -> None:
    with closing(Deadline(0.2)) as deadline:
        for _ in range(4):  # 0.4 s together, over several rings of the timer
            with deadline:
                await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError), deadline:
            await asyncio.sleep(60)


async def test_nothing_is_ended_between_two_times() -> None:
    with closing(Deadline(0.05)) as deadline:
        with deadline:
            pass
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError), deadline:  # the timer rang meanwhile, and is set again
            await asyncio.sleep(60)


async def test_a_time_out_of_something_inside_goes_through_as_it_came() -> None:
    with closing(Deadline(60)) as deadline:
        with pytest.raises(TimeoutError, match="its own"), deadline:
            raise TimeoutError("its own")
        assert not deadline.expired


async def test_a_cancellation_goes_through_as_it_came() -> None:
    async def work(deadline: Deadline) -> None:
        with deadline:
            await asyncio.sleep(60)

    with closing(Deadline(60)) as deadline:
        task = asyncio.create_task(work(deadline))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not deadline.expired


async def test_a_cancellation_in_the_moment_the_time_is_over_goes_through() -> None:
    async def work(deadline: Deadline) -> None:
        with deadline:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                task.cancel()  # somebody else's, before this one has left
                raise

    with closing(Deadline(0.02)) as deadline:
        task = asyncio.create_task(work(deadline))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert deadline.expired


async def test_a_closed_deadline_ends_nothing() -> None:
    deadline = Deadline(0.02)
    with deadline:
        deadline.close()
        await asyncio.sleep(0.05)
    assert not deadline.expired
