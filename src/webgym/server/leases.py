"""Leases: who may use a session, until when, and what they have already done.

Invariants (G4): a session nobody renews is freed within its time to live plus one sweep, unless a call is under way on it.
A stale lease touches nothing. A step repeated with its key returns the stored result: one click, not two. If there is no
result because a means of ours was short when the page was looked at, the repetition looks again; it does not act again. Keys
are remembered for longer than results, which are large: a repetition that comes too late for its result is refused.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from webgym.errors import NetworkDown, Overloaded, ServerError, StaleLease, StepConflict, Unavailable, UnknownSession
from webgym.server.browser import Browser
from webgym.server.egress import Egress
from webgym.server.protocol import Lease, StepRequest, StepResult
from webgym.server.tabs import Context

TURN_SECONDS = 30.0  # for the calls on the same session that came before
REMEMBERED_STEPS = 3
REMEMBERED_KEYS = 1000
REMEMBERED_SESSIONS = 10_000


@dataclass
class Step:
    key: str | None
    seq: int
    result: asyncio.Future[StepResult]
    acted: bool = False
    problem: str | None = None  # why the action had no effect

    @property
    def unseen(self) -> bool:
        """It was taken, and what came of it could not be shown for a reason of ours that passes."""
        return self.result.done() and isinstance(self.result.exception(), Unavailable | NetworkDown)

    async def again(self) -> StepResult:
        return (await asyncio.shield(self.result)).model_copy(update={"repeated": True})


@dataclass
class Leased:
    """A browser context in somebody's hands."""

    id: str
    token: str = field(repr=False)
    ttl: float
    ends_at: float
    expires_at: float
    browser: Browser
    context: Context
    egress: Egress
    owns_egress: bool
    idempotency: str | None = None
    seq: int = 0
    calls: int = 0  # under way right now
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=REMEMBERED_STEPS))
    taken: OrderedDict[str, int] = field(default_factory=OrderedDict)  # which step a key was

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One call after the other. Standing in line is no sign that anything is wrong with the session."""
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self.lock.acquire()
        except TimeoutError:
            told = f"the session has been busy for {TURN_SECONDS:g} s with earlier calls"
            raise Overloaded(told, retry_after=1.0) from None
        try:
            yield
        finally:
            self.lock.release()

    def earlier(self, request: StepRequest) -> Step | None:
        """The step (perhaps still under way) that is being repeated."""
        if request.key is not None:
            for step in self.steps:
                if step.key == request.key:
                    return step
        return None

    def accept(self, request: StepRequest) -> Step:
        """Take the next step in order, or one that is to be looked at again; refuse one out of order."""
        step = self.earlier(request)
        if step is not None:
            step.result = asyncio.get_running_loop().create_future()
            return step
        if request.key is not None and request.key in self.taken:
            raise StepConflict(f"this was step {self.taken[request.key]}, taken already, and its answer is no longer kept")
        if request.seq is not None and request.seq != self.seq + 1:
            raise StepConflict(f"seq {request.seq} is out of order: the next step of this session is {self.seq + 1}")
        self.seq += 1
        step = Step(request.key, self.seq, asyncio.get_running_loop().create_future())
        self.steps.append(step)
        if request.key is not None:
            self.taken[request.key] = self.seq
            if len(self.taken) > REMEMBERED_KEYS:
                self.taken.popitem(last=False)
        return step


class Leases:
    """All live sessions of a worker, and why the recent others ended."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._live: dict[str, Leased] = {}
        self._ended: OrderedDict[str, ServerError] = OrderedDict()

    def __len__(self) -> int:
        return len(self._live)

    def ids(self) -> tuple[str, ...]:
        return tuple(self._live)

    def grant(
        self,
        browser: Browser,
        context: Context,
        egress: Egress,
        *,
        owns_egress: bool,
        ttl: float,
        lifetime: float,
        idempotency: str | None,
    ) -> Leased:
        now = self._clock()
        leased = Leased(
            id=f"s-{secrets.token_hex(12)}",
            token=secrets.token_urlsafe(24),
            ttl=ttl,
            ends_at=now + lifetime,
            expires_at=min(now + ttl, now + lifetime),
            browser=browser,
            context=context,
            egress=egress,
            owns_egress=owns_egress,
            idempotency=idempotency,
        )
        self._live[leased.id] = leased
        return leased

    def find(self, session_id: str, token: str | None) -> Leased:
        """The session, if it lives and the lease is its own."""
        leased = self._live.get(session_id)
        if leased is None:
            ended = self._ended.get(session_id)
            if ended is not None:
                raise type(ended)(ended.message)
            raise UnknownSession("there is no such session")
        if token is None or not hmac.compare_digest(token.encode(), leased.token.encode()):
            raise StaleLease("the lease is not this session's: send the token you were given in the Lease header")
        if self.expired(leased):
            raise StaleLease("the lease has ended")
        return leased

    def why_ended(self, leased: Leased) -> ServerError | None:
        """Why a session that somebody still holds in hands is over; None while it lives."""
        if leased.id in self._live:
            return None
        ended = self._ended.get(leased.id, StaleLease("the session ended"))
        return type(ended)(ended.message)

    def expired(self, leased: Leased) -> bool:
        now = self._clock()
        return now >= leased.ends_at or (not leased.calls and now >= leased.expires_at)

    def renew(self, leased: Leased, ttl: float | None = None) -> Lease:
        now = self._clock()
        leased.ttl = ttl or leased.ttl
        leased.expires_at = min(now + leased.ttl, leased.ends_at)
        return Lease(token=leased.token, ttl=leased.ttl, remaining=round(leased.expires_at - now, 3))

    def end(self, leased: Leased, why: ServerError) -> bool:
        """Forget a session; False if somebody else did already."""
        if self._live.pop(leased.id, None) is None:
            return False
        self._ended[leased.id] = why
        while len(self._ended) > REMEMBERED_SESSIONS:
            self._ended.popitem(last=False)
        return True

    def all(self) -> list[Leased]:
        return list(self._live.values())
