"""Work done side by side, taken in order: what goes out depends on what came in and not on who was quicker.

Invariant: at most `width` items are under way or waiting to be taken, so a slow one holds up memory and nothing else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def in_order(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], take: Callable[[Result], bool], *, width: int
) -> None:
    """Give every item to `work` and every result to `take`, in the order of the items.

    `take` answers whether to go on. If not, what is under way is cancelled. What `work` raises is a bug and cancels all.
    """

    async def run(item: Item) -> Result:
        return await work(item)

    async with asyncio.TaskGroup() as group:
        waiting: deque[asyncio.Task[Result]] = deque()
        stream, more = iter(items), True
        while more or waiting:
            while more and len(waiting) < width:
                try:
                    waiting.append(group.create_task(run(next(stream))))
                except StopIteration:
                    more = False
            if waiting and not take(await waiting.popleft()):
                for task in waiting:
                    task.cancel()
                return
