"""How hard an endpoint may be asked: so many at once, so many requests and tokens a minute.

Invariant: in any 60 seconds no more than a minute's allowance is admitted, however the load arrives. A bucket therefore
holds a tenth of the allowance and is refilled at nine tenths of the rate. A request larger than the bucket waits until it
is full and leaves a debt. Callers are served in the order they came; one who leaves the line takes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Self

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

BURST: Final = 0.1  # of a minute's allowance


class Bucket:
    """An allowance a minute, drawn from in turn."""

    def __init__(self, per_minute: float, clock: Clock, sleep: Sleep) -> None:
        self.size = max(1.0, per_minute * BURST)
        self.rate = max(per_minute - self.size, per_minute / 2) / 60
        self._level = self.size
        self._clock, self._sleep = clock, sleep
        self._filled = clock()
        self._line = asyncio.Lock()

    async def take(self, amount: float) -> None:
        """Wait until `amount` is there and draw it."""
        async with self._line:
            while (missing := min(amount, self.size) - self._fill()) > 1e-9:
                await self._sleep(missing / self.rate)
            self._level -= amount

    def give(self, amount: float) -> None:
        """Return what was drawn and not used; a negative amount takes what was used beyond it."""
        self._level = min(self.size, self._fill() + amount)

    def _fill(self) -> float:
        now = self._clock()
        self._level = min(self.size, self._level + (now - self._filled) * self.rate)
        self._filled = now
        return self._level


class Admission:
    """One request's turn, for as long as its block lasts, and what it drew, to be settled when its real weight is known."""

    def __init__(self, limits: Limits, reckoned: int) -> None:
        self._limits, self._reckoned = limits, reckoned

    async def __aenter__(self) -> Self:
        await self._limits.slots.acquire()
        try:
            await self._limits.draw(self._reckoned)
        except BaseException:
            self._limits.slots.release()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._limits.slots.release()

    def settle(self, used: int) -> None:
        self._limits.give_back(self._reckoned - used)
        self._reckoned = used


class Limits:
    """The gate in front of an endpoint."""

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        *,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self.slots = asyncio.Semaphore(concurrency)
        self._requests = Bucket(requests_per_minute, clock, sleep) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock, sleep) if tokens_per_minute else None
        self._clock, self._sleep = clock, sleep
        self._closed_until = 0.0

    def hold(self, seconds: float) -> None:
        """The endpoint asked for a pause: nobody is admitted before it is over."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def admit(self, tokens: int) -> Admission:
        """`async with limits.admit(tokens) as admission: ...`"""
        return Admission(self, tokens)

    async def draw(self, tokens: int) -> None:
        """Wait until one more request of this weight may be made."""
        if self._requests is not None:
            await self._requests.take(1)
        if self._tokens is not None:
            await self._tokens.take(tokens)
        while (pause := self._closed_until - self._clock()) > 0:
            await self._sleep(pause)

    def give_back(self, tokens: int) -> None:
        if self._tokens is not None:
            self._tokens.give(tokens)
