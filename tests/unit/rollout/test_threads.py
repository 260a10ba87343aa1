"""Calls that block, for coroutines."""

from __future__ import annotations

import asyncio
import threading

import pytest

from webgym.rollout.threads import Threads


async def test_what_a_call_returns_is_told():
    assert await Threads(2, "test").begin(divmod, 7, 2) == (3, 1)


async def test_what_a_call_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        await Threads(2, "test").begin(divmod, 7, 0)


async def test_a_call_is_under_way_before_anybody_waits_for_it():
    begun = threading.Event()
    future = Threads(1, "test").begin(begun.set)
    assert begun.wait(10)
    await future


async def test_no_more_calls_are_made_at_a_time_than_there_are_threads():
    inside, most, lock = 0, 0, threading.Lock()

    def call() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        pause.wait(0.01)
        with lock:
            inside -= 1

    threads, pause = Threads(2, "test"), threading.Event()
    async with asyncio.timeout(10):
        await asyncio.gather(*(threads.begin(call) for _ in range(10)))
    assert most == 2


async def test_a_call_that_is_cancelled_before_its_turn_is_never_made():
    threads, go, made = Threads(1, "test"), threading.Event(), []
    first, second = threads.begin(go.wait, 10), threads.begin(made.append, 1)
    second.cancel()
    go.set()
    assert await first
    await threads.begin(int)
    assert made == []


async def test_a_call_that_is_cancelled_too_late_goes_on_unheard():
    threads, begun, go, made = Threads(1, "test"), threading.Event(), threading.Event(), []

    def call() -> None:
        begun.set()
        go.wait(10)
        made.append(1)
        raise ValueError("nobody hears this")

    future = threads.begin(call)
    assert begun.wait(10)
    future.cancel()
    go.set()
    await threads.begin(int)
    assert made == [1]
    with pytest.raises(asyncio.CancelledError):
        await future
