"""What an engine keeps in a run's folder: off the event loop, and with patience while the disk is full.

A screenshot is the exception. It goes to the system's memory and not to the disk, which takes a fifth of a millisecond, and
to wake a thread for it takes as long again. So the event loop writes it. Should that hold it up (a disk in the network, or
more to write than the disk can take), threads write the next hundred.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Generic, TypeVar

from webgym.errors import DiskFull, StoreError
from webgym.rollout.events import Events
from webgym.rollout.settings import EngineSettings
from webgym.store import Run
from webgym.types import Screenshot

THREADS: Final = 2  # that write: more would take turns for the interpreter, which costs more than what they do
HELD_UP: Final = 0.05  # seconds
WARY: Final = 100  # screenshots
MB: Final = 1 << 20
T = TypeVar("T")


class Keeper:
    """A run's folder as the engine uses it: off the event loop, and patient with a full disk."""

    def __init__(self, run: Run, settings: EngineSettings, events: Events) -> None:
        self.run, self._disk, self._events = run, settings.disk, events
        self.hurried = False  # nobody waits for room any more
        self._wary = 0  # screenshots that threads are to write
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="keeper")

    async def room(self) -> None:
        """Wait until there is room for another episode."""
        while self.run.free_space() < self._disk.reserve * MB:
            self._events.say(f"waiting for room on the disk: less than {self._disk.reserve} MB are free")
            await asyncio.sleep(self._disk.poll)
        self._events.say("")

    def image(self, shot: Screenshot) -> Patiently[str]:
        """Begin to keep a screenshot; await it for its hash."""
        if self._wary:
            self._wary -= 1
            return self.patiently(self.run.images.put, shot.data, shot.format)
        began = time.monotonic()
        kept = Patiently(self, self.run.images.put, (shot.data, shot.format), at_once=True)
        if time.monotonic() - began > HELD_UP:
            self._wary = WARY
        return kept

    def patiently(self, call: Callable[..., T], *arguments: Any) -> Patiently[T]:
        """Begin to do it in a thread; await it for what it returns."""
        return Patiently(self, call, arguments)

    def begin(self, call: Callable[..., T], *arguments: Any) -> Future[T]:
        return self._threads.submit(call, *arguments)

    async def wait_for_room(self, full: DiskFull, give_up: float | None) -> float:
        """Wait a while, unless patience has ended. When that will be; none: it begins now."""
        now = time.monotonic()
        give_up = now + self._disk.patience if give_up is None else give_up
        if now >= give_up or self.hurried:
            raise full
        self._events.say(f"waiting for room on the disk: {full}")
        await asyncio.sleep(self._disk.poll)
        return give_up

    def there_is_room(self) -> None:
        self._events.say("")


class Patiently(Generic[T]):
    """Something a thread does, begun when this is made; or done by then, the first time, `at_once`. To await it is to try
    again while the disk is full, until patience ends; if nobody does, nobody hears of a failure."""

    def __init__(self, keeper: Keeper, call: Callable[..., T], arguments: tuple[Any, ...], *, at_once: bool = False) -> None:
        self._keeper, self._call, self._arguments = keeper, call, arguments
        self._begun: Future[T] | _Done[T] = _Done(call, arguments) if at_once else keeper.begin(call, *arguments)

    def __await__(self) -> Generator[Any, None, T]:
        give_up: float | None = None
        while True:
            try:
                # A screenshot is nearly always written before anybody asks for it: then the event loop was not woken for it.
                begun = self._begun
                if isinstance(begun, _Done) or begun.done():
                    result = begun.result()
                else:
                    result = yield from asyncio.wrap_future(begun)
            except DiskFull as e:
                give_up = yield from self._keeper.wait_for_room(e, give_up).__await__()
                self._begun = self._keeper.begin(self._call, *self._arguments)
            else:
                if give_up is not None:
                    self._keeper.there_is_room()
                return result


class _Done(Generic[T]):
    """What has been done by now, well or not."""

    __slots__ = ("_failure", "_result")

    def __init__(self, call: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        self._failure: StoreError | None = None
        try:
            self._result = call(*arguments)
        except StoreError as e:
            self._failure = e

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._result
