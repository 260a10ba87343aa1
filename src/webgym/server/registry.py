"""What the master knows of its workers, and who waits for a session. All of it is soft: heartbeats rebuild it.

Invariants: waiters are served first come, first served; a slot is promised to one waiter at a time; a worker that has
missed its beats is passed over until it beats again. The worker itself has the last word on its capacity and on what became
of a session, so a wrong belief here costs a retry and never a session given out twice.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Container
from dataclasses import dataclass, field

from webgym.errors import Overloaded, ServerError, Unavailable
from webgym.server.protocol import FleetWorker, WorkerStatus

MISSED_BEATS_SECONDS = 3.5
FORGET_SECONDS = 60.0
REMEMBERED_SESSIONS = 100_000


@dataclass
class Member:
    status: WorkerStatus
    seen: float
    sessions: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    promised: int = 0
    arriving: set[str] = field(default_factory=set)  # in a beat already, while the answer that keeps the promise is not here
    address: str = ""  # where the master asks it; clients know it by the one in its status
    full: bool = False  # it said so itself; until its next beat

    @property
    def free(self) -> int:
        if self.full or self.status.draining:
            return 0
        coming = max(0, self.promised - len(self.arriving))
        return max(0, self.status.capacity - self.status.ending - len(self.sessions) - coming)

    def heard(self, status: WorkerStatus, now: float) -> None:
        there = set(status.sessions)
        new = there - self.sessions if self.promised else set()
        self.arriving = (self.arriving | new) & there
        self.status, self.seen, self.full = status, now, False
        self.sessions, self.keys = there, set(status.keys)


class Registry:
    def __init__(self, *, queue: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._queue = queue
        self._members: dict[str, Member] = {}
        self._places: OrderedDict[str, str] = OrderedDict()  # where a session is, or was when it was last heard of
        self._waiting: deque[asyncio.Future[Member]] = deque()
        self._started = clock()

    # workers

    def beat(self, status: WorkerStatus, address: str | None = None) -> None:
        now = self._clock()
        member = self._members.get(status.id)
        if member is None:
            member = self._members[status.id] = Member(status, now)
        member.heard(status, now)
        member.address = address or status.url
        for session_id in status.sessions:
            self._place(session_id, status.id)
        for worker_id, other in list(self._members.items()):
            # A worker started again takes the address of its predecessor, which is therefore gone.
            replaced = other is not member and other.status.url == status.url
            if replaced or now - other.seen > FORGET_SECONDS:
                del self._members[worker_id]
        self._serve()

    def healthy(self, member: Member) -> bool:
        return self._clock() - member.seen <= MISSED_BEATS_SECONDS

    def suspect(self, member: Member) -> None:
        """It could not be reached: pass it over until it beats again."""
        member.seen = min(member.seen, self._clock() - MISSED_BEATS_SECONDS - 0.001)

    def holder(self, session_id: str) -> Member | None:
        """Who can say what became of a session, also of one that has ended."""
        return self._members.get(self._places.get(session_id, ""))

    def member(self, worker_id: str) -> Member | None:
        return self._members.get(worker_id)

    def keyed(self, key: str) -> Member | None:
        """Who has a session that was made with this idempotency key, and can be asked for it."""
        return next((member for member in self._members.values() if key in member.keys and self.healthy(member)), None)

    @property
    def warming(self) -> bool:
        """A master that has just started may not have heard of a session that lives."""
        return self._clock() - self._started < MISSED_BEATS_SECONDS

    @property
    def queued(self) -> int:
        return sum(1 for waiter in self._waiting if not waiter.done())

    def workers(self) -> list[FleetWorker]:
        now = self._clock()
        return [
            FleetWorker(
                id=member.status.id,
                url=member.status.url,
                capacity=member.status.capacity,
                available=member.free if self.healthy(member) else 0,
                sessions=len(member.sessions),
                healthy=self.healthy(member) and member.status.capacity > 0,
                draining=member.status.draining,
                last_seen=round(now - member.seen, 3),
            )
            for member in self._members.values()
        ]

    # slots

    async def reserve(self, wait: float, *, first: bool = False) -> Member:
        """Promise a slot on the least loaded worker; wait in line at most `wait` seconds for one."""
        if first or not self.queued:
            member = self._best()
            if member is not None:
                self.promise(member)
                return member
        if self._closing:
            raise Unavailable("the server is shutting down", retry_after=5.0)
        if wait <= 0 and not self._up:
            raise Unavailable("no worker is up", retry_after=2.0)
        if wait <= 0 or self.queued >= self._queue:
            raise Overloaded(f"every session is taken and {self.queued} clients wait", retry_after=self._retry_after())
        waiter: asyncio.Future[Member] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft(waiter)
        else:
            self._waiting.append(waiter)
        try:
            async with asyncio.timeout(wait):
                return await asyncio.shield(waiter)
        except TimeoutError:
            if waiter.done():
                return waiter.result()
            raise Overloaded(f"no session became free in {wait:g} s", retry_after=self._retry_after()) from None
        except asyncio.CancelledError:
            if waiter.done() and waiter.exception() is None:
                self.settle(waiter.result(), None)
            raise
        finally:
            waiter.cancel()
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def promise(self, member: Member) -> None:
        member.promised += 1

    def settle(self, member: Member, session_id: str | None, key: str | None = None) -> None:
        """A promise was kept (with a session) or let go."""
        member.promised -= 1
        if session_id is not None:
            member.arriving.discard(session_id)
            member.sessions.add(session_id)
            self._place(session_id, member.status.id)
            if key is not None:
                member.keys.add(key)
        if not member.promised:
            member.arriving.clear()
        self._serve()

    def released(self, session_id: str) -> None:
        member = self.holder(session_id)
        if member is not None:
            member.sessions.discard(session_id)
            self._serve()

    @property
    def _up(self) -> list[Member]:
        return [member for member in self._members.values() if self.healthy(member) and member.status.capacity]

    def none_but(self, workers: Container[str]) -> bool:
        """Whether these are all that could give a session: of others, one may become free."""
        given = [member.status.id for member in self._up if not member.status.draining]
        return bool(given) and all(worker in workers for worker in given)

    @property
    def _closing(self) -> bool:
        """Every worker there is has been told to stop."""
        up = self._up
        return bool(up) and all(member.status.draining for member in up)

    def _place(self, session_id: str, worker_id: str) -> None:
        self._places[session_id] = worker_id
        self._places.move_to_end(session_id)
        if len(self._places) > REMEMBERED_SESSIONS:
            self._places.popitem(last=False)

    def _best(self) -> Member | None:
        free = [member for member in self._members.values() if member.free and self.healthy(member)]
        return max(free, key=lambda member: member.free / member.status.capacity, default=None)

    def _serve(self) -> None:
        closing: ServerError | None = None
        if self._closing:
            closing = Unavailable("the server is shutting down", retry_after=5.0)
        while self._waiting:
            waiter = self._waiting[0]
            if not waiter.done():
                if closing is not None:
                    waiter.set_exception(closing)
                elif (member := self._best()) is not None:
                    self.promise(member)
                    waiter.set_result(member)
                else:
                    return
            self._waiting.popleft()

    def _retry_after(self) -> float:
        """The longer the line, the later one should ask again; at least a beat."""
        capacity = sum(member.status.capacity for member in self._members.values()) or 1
        return min(30.0, 1.0 + self.queued / capacity)
