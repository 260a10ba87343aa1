"""A deadline for what a task does again and again.

    with closing(Deadline(60)) as deadline:
        while ...:
            with deadline:
                await ...  # TimeoutError, if it takes longer than 60 s

`asyncio.timeout` sets a timer each time and takes it back, which nearly always was for nothing. Here the timer stays for the
next time, and finds out when it rings whether there is something to end.

Invariants. Each time has all the seconds. A cancellation from elsewhere goes through as it came, also in the moment the time
is over. Once closed, no timer is left.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any


class Deadline:
    """One task's, for one thing at a time. `expired` tells of the last time."""

    __slots__ = ("_alarm", "_cancelled", "_task", "_until", "expired", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds, self.expired = seconds, False
        self._task: asyncio.Task[Any] | None = None  # while there is something to end
        self._cancelled = 0  # times it had been cancelled before
        self._until = 0.0  # by the loop's clock
        self._alarm: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        assert self._task is not None
        self._cancelled, self._until, self.expired = self._task.cancelling(), loop.time() + self.seconds, False
        if self._alarm is None:
            self._alarm = loop.call_at(self._until, self._ring)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        task, self._task = self._task, None
        if self.expired and task is not None and task.uncancel() <= self._cancelled and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _ring(self) -> None:
        self._alarm = None
        if self._task is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._until:
            self._alarm = loop.call_at(self._until, self._ring)
        else:
            self.expired = True
            self._task.cancel()
