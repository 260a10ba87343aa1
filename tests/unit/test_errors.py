"""Whose fault it was: a foreign call has a deadline and ends with one of our names, or as it came."""

from __future__ import annotations

import asyncio

import pytest

from webgym.errors import BrowserError, StaleLease, Unreachable, blame


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
