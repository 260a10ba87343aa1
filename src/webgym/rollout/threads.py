"""Calls that block, done in threads for coroutines.

As the event loop's `run_in_executor`, but that ties two futures together for every call, which costs more processor time
than most of what a rollout has its threads do. Here a call has one future, and is under way when `begin` returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """At most `count` calls at a time; the others wait in line. The threads end when nobody holds this any more."""

    def __init__(self, count: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=name)

    def begin(self, call: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """What the call will return or raise. Cancelled before its turn, it is never made; after, it goes on unheard."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._pool.submit(_do, loop, future, call, arguments)
        return future


def _do(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], call: Callable[..., T], arguments: tuple[Any, ...]
) -> None:
    if future.cancelled():
        return
    try:
        result = call(*arguments)
    except BaseException as e:  # noqa: BLE001  whatever it is, whoever waits must hear of it
        loop.call_soon_threadsafe(_fail, future, e)
    else:
        loop.call_soon_threadsafe(_tell, future, result)


def _tell(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
