"""Whose fault it was: a foreign call has a deadline and ends with one of our names, or as it came."""

from __future__ import annotations

import asyncio

import pytest

from webgym.errors import BrowserError, StaleLease, StoreError, Unreachable, blame, ungrouped


async def test_a_foreign_error_gets_our_name_and_keeps_its_cause():
    with pytest.raises(Unreachable, match="asking: KeyError: 'x'") as blamed:
        async with blame(Unreachable, "asking", within=5):
            raise KeyError("x")
    assert isinstance(blamed.value.__cause__, KeyError)


async def test_an_error_of_ours_leaves_as_it_came():
    ours = StaleLease("ended")
    with pytest.raises(StaleLease) as left:
        async with blame(Unreachable, "asking", within=5):
            raise ours
    assert left.value is ours


async def test_what_is_late_says_so_whoever_noticed():
    with pytest.raises(BrowserError, match=r"looking: no answer in 0\.01 s"):
        async with blame(BrowserError, "looking", within=0.01):
            await asyncio.sleep(5)
    with pytest.raises(BrowserError, match="looking: no answer in 5 s"):
        async with blame(BrowserError, "looking", within=5):
            raise TimeoutError


async def test_a_cancellation_is_nobodys_fault():
    async def work() -> None:
        async with blame(Unreachable, "asking", within=5):
            await asyncio.sleep(5)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_goes_well_is_left_alone():
    async with blame(Unreachable, "asking", within=0.05):
        pass
    await asyncio.sleep(0.1)  # the deadline is over with its block


async def in_a_group(*errors: Exception) -> None:
    async def fail(error: Exception) -> None:
        await asyncio.sleep(0)
        raise error

    with ungrouped():
        async with asyncio.TaskGroup() as group:
            for error in errors:
                group.create_task(fail(error))


async def test_errors_of_ours_leave_a_group_under_their_own_name():
    ours = StoreError("the disk is broken")
    with pytest.raises(StoreError) as left:
        await in_a_group(ours)
    assert left.value is ours
    with pytest.raises(StaleLease):
        await in_a_group(StaleLease("first"), StoreError("second"))


async def test_a_bug_keeps_its_group_and_whatever_else_failed():
    with pytest.raises(ExceptionGroup) as left:
        await in_a_group(KeyError("x"), StoreError("y"))
    assert len(left.value.exceptions) == 2
