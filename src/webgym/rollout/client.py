"""The typed client of the rollout server: one `Client` a process, one `Session` a leased browser.

    async with Client("http://127.0.0.1:7860") as client, client.open(url="https://example.com") as session:
        observation = await session.step(Click(x=10, y=20))

Invariants. Every call has a deadline. A create or a step that is repeated carries the key of the first try, so one lease
never becomes two and one click never becomes two. Leaving a session releases it, also when cancelled. A session is renewed
while it is held, and one that was lost says so: `gone` is set, and the next call raises `error` without asking the server.

What is repeated, and how many times at most; `RETRIES` holds the same table, and what it leaves out is never repeated:

    operation                               Unreachable           429, 503, NetworkDown  any other refusal
    create                                  8, same key           until patience ends    never
    step                                    4, same key and seq   8                      never
    observe, renew, storage, files, fleet   2                     2                      never
    release                                 2                     2                      never; 404 and 410 are success
    health                                  never                 never                  never

Repeats stop `patience` seconds after the first failure, on a session also when its time to live has passed since. The
pause is what the server asked for (Retry-After) plus a jittered exponential back-off.

Left out on purpose: a create that is cancelled or given up may leave a session nobody knows; its lease frees it. A step
that is given up does not count in `seq`: had the server performed it after all, the next step is a `StepConflict`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal, Self, TypeVar
from urllib.parse import quote

import msgspec
from pydantic import BaseModel, ValidationError
from yarl import URL

from webgym import errors
from webgym.errors import ServerError, StaleLease, UnknownSession, Unreachable, WebGymError, blame
from webgym.http1 import Host, Http, HttpError
from webgym.server import protocol
from webgym.server.protocol import Fleet, Health, Lease, NewSession, SessionStarted, StepResult, StorageState, StoredFile
from webgym.types import Action, Look, Observation

log = logging.getLogger(__name__)

KEY_VARIABLE: Final = "WEBGYM_API_KEY"
JSON: Final = "application/json"
POLL: Final = 4.0  # a session is asked about at least this often, so that an idle holder learns of its end within 5 s
TICKS: Final = 8  # moments in that time at which it may be
LOST: Final = (StaleLease, errors.BrowserGone, errors.PageUnresponsive)
IDLE: Final = 60.0  # seconds a connection stays open for the next step; the server closes it after 75

Operation = Literal["create", "step", "observe", "renew", "storage", "files", "release", "fleet", "health"]
Retries = Mapping[Operation, tuple[int, int]]  # repeats after Unreachable, repeats after the others
Model = TypeVar("Model", bound=BaseModel)

_HARMLESS: Final[tuple[Operation, ...]] = ("observe", "renew", "storage", "files", "fleet", "release")
RETRIES: Final[Retries] = {"create": (8, 1000), "step": (4, 8), **dict.fromkeys(_HARMLESS, (2, 2))}


@dataclass(frozen=True)
class Timeouts:
    """Seconds one try may take: a little more than the server allows itself, whose word is the better one."""

    connect: float = 5.0
    create: float = 120.0  # and its `wait` longer
    step: float = 140.0  # with its turn on the session, and relayed
    observe: float = 140.0
    renew: float = 5.0
    storage: float = 140.0
    files: float = 120.0
    release: float = 10.0  # all tries together, for it delays whoever is leaving
    fleet: float = 10.0
    health: float = 5.0


class _Request(msgspec.Struct, frozen=True):
    """Every step makes one, and a `_Reply`: as dataclasses they would take several times as long to make."""

    operation: Operation
    host: Host
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None
    extra: float = 0.0  # seconds on top of the operation's

    def __repr__(self) -> str:
        return self.doing  # headers and body may hold secrets

    @property
    def doing(self) -> str:
        return f"{self.operation} at {self.host.url}{self.path}"


class _Reply(msgspec.Struct, frozen=True):
    request: _Request
    media: str
    data: bytes

    def __repr__(self) -> str:
        return f"answer to {self.request.doing}"

    def read(self, model: type[Model]) -> Model:
        """The answer as its type. What does not fit is described by its place alone: values may be secret."""
        try:
            if self.media == protocol.MSGPACK:
                return model.model_validate(msgspec.msgpack.decode(self.data))
            return model.model_validate_json(self.data)
        except ValidationError as e:
            places = ", ".join(".".join(map(str, d["loc"])) or "all of it" for d in e.errors(include_input=False)[:3])
            raise ServerError(
                f"{self.request.doing}: the {self.media} answer is no {model.__name__}: see {places}"
            ) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
            raise ServerError(f"{self.request.doing}: the {self.media} answer cannot be decoded: {e}") from None


@dataclass(frozen=True)
class _Transport:
    """Requests with deadlines, typed refusals and the retry table."""

    http: Http
    timeouts: Timeouts
    retries: Retries
    patience: float
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]

    async def call(self, request: _Request, patience: float = float("inf")) -> _Reply:
        """Ask until there is an answer, a refusal that stands, or no more reason to hope."""
        failures, give_up = [0, 0], float("inf")
        while True:
            try:
                return await self._once(request)
            except (Unreachable, errors.Overloaded, errors.NetworkDown, errors.Unavailable) as e:
                busy = isinstance(e, ServerError)
                failures[busy] += 1
                now, asked = self.clock(), (e.retry_after or 0.0) if isinstance(e, ServerError) else 0.0
                give_up = min(give_up, now + min(patience, self.patience))
                pause = asked + self.chance() * min(5.0, 0.1 * 2.0 ** min(sum(failures), 9))
                if failures[busy] > self.retries.get(request.operation, (0, 0))[busy] or now + pause > give_up:
                    raise
                log.info("%s: %s; again in %.2f s", request.operation, type(e).__name__, pause)
            await self.sleep(pause)

    async def _once(self, request: _Request) -> _Reply:
        body = None if request.body is None else (request.body,)
        within = getattr(self.timeouts, request.operation) + request.extra
        try:
            answer = await request.host.ask(request.method, request.path, request.headers, body, within=within)
        except HttpError as e:
            raise Unreachable(f"{request.doing}: {e}") from e
        if answer.cut:
            raise ServerError(f"{request.doing}: the answer is over the cap of {self.http.cap} bytes")
        reply = _Reply(request, answer.media, answer.body)
        if not 200 <= answer.status < 300:
            raise _refusal(answer.status, answer.header(b"retry-after"), reply)
        return reply


def _refusal(status: int, retry_after: str, reply: _Reply) -> ServerError:
    seconds = float(retry_after) if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", retry_after) else None
    try:
        error = reply.read(protocol.ErrorBody).error
    except ServerError:  # perhaps of a proxy in between
        kind = {429: errors.Overloaded, 503: errors.Unavailable}.get(status, ServerError)
        return kind(f"{reply.request.doing}: status {status} without a readable reason", retry_after=seconds)
    return errors.from_code(error.code, error.message, retry_after=error.retry_after or seconds)


def _address(url: str, otherwise: type[WebGymError]) -> str:
    """The base of a server's URLs: http(s), a host, no credentials."""
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.user or parsed.query_string or parsed.fragment:
        raise otherwise("the server's address must look like http://host:port or https://host/path")
    return str(parsed).rstrip("/")


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """See clean-up through to its end (it has its own deadline), however often we are cancelled; then let that through."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as e:
            cancelled = e
    failure = task.exception()
    if (outcome := cancelled or failure) is not None:
        raise outcome


class Session:
    """A leased browser. Made by `Client.session` or `Client.open`; calls that look at the page take turns."""

    def __init__(self, transport: _Transport, started: SessionStarted, url: str, forget: Callable[[Session], None]) -> None:
        self.id = started.id
        self.lease = started.lease
        self.observation = started.observation
        self.seq = 0  # steps the server has confirmed
        self.error: WebGymError | None = None
        self.gone = asyncio.Event()
        self.keeper: asyncio.Task[None] | None = None
        self._transport, self._forget = transport, forget
        self._host = transport.http.at(f"{url}{protocol.SESSIONS}/{quote(started.id, safe='')}")
        self._turn = asyncio.Lock()
        self._keys, self._tries = secrets.token_hex(16), count(1)  # chance costs a system call: once, not a step
        self._heard = transport.clock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.release()
        except WebGymError as failure:
            log.warning("session %s was not released, its lease will end: %s", self.id, failure)

    async def step(self, action: Action, look: Look | None = None) -> Observation:
        """Perform one action and see the page at rest."""
        async with self._turn:
            key = f"{self._keys}-{next(self._tries)}"
            request = protocol.StepRequest(action=action, look=look or Look(), key=key, seq=self.seq + 1)
            result = (await self._call("step", "POST", "/step", request)).read(StepResult)
            self.seq, self.observation = result.seq, result.observation
            return result.observation

    async def observe(self, look: Look | None = None) -> Observation:
        """Look without acting."""
        async with self._turn:
            self.observation = (await self._call("observe", "POST", "/observe", look or Look())).read(Observation)
            return self.observation

    async def renew(self, ttl: float | None = None) -> Lease:
        """Keep the lease; done in the background unless the session was opened with `renew=False`."""
        self.lease = (await self._call("renew", "POST", "/renew", protocol.Renew(ttl=ttl))).read(Lease)
        return self.lease

    async def storage(self) -> StorageState:
        """Cookies and local storage, for a later session's `storage_state`."""
        return (await self._call("storage", "GET", "/storage")).read(StorageState)

    async def put_file(self, name: str, data: bytes) -> StoredFile:
        """Store a file that an `Upload` can name."""
        stored = (await self._call("files", "PUT", f"/files/{quote(name, safe='')}", data)).read(StoredFile)
        if stored.size != len(data):
            raise ServerError(f"files: {stored.size} bytes of {len(data)} were stored")
        return stored

    async def get_file(self, name: str) -> bytes:
        """A file the session downloaded."""
        return (await self._call("files", "GET", f"/files/{quote(name, safe='')}")).data

    async def release(self) -> None:
        """Give the browser back. A session that ended already is left alone, so releasing twice is harmless."""
        self._forget(self)
        if self.keeper is not None:
            self.keeper.cancel()
        if self.error is None:
            self.error = StaleLease("the session was released")
            await finish(self._delete())

    async def _delete(self) -> None:
        request = _Request("release", self._host, "DELETE", "", {protocol.LEASE_HEADER: self.lease.token})
        with suppress(*LOST, UnknownSession):
            async with blame(Unreachable, f"release of {self.id}", within=self._transport.timeouts.release):
                await self._transport.call(request)

    async def _call(self, operation: Operation, method: str, path: str, body: BaseModel | bytes | None = None) -> _Reply:
        if self.error is not None:
            raise type(self.error)(str(self.error))
        headers = {protocol.LEASE_HEADER: self.lease.token}
        if isinstance(body, BaseModel):
            headers["Content-Type"], body = JSON, body.model_dump_json(exclude_none=True).encode()
        try:
            request = _Request(operation, self._host, method, path, headers, body)
            reply = await self._transport.call(request, self.lease.ttl)
        except (*LOST, UnknownSession) as e:
            self._lose(e)
            raise
        self._heard = self._transport.clock()
        return reply

    @property
    def _period(self) -> float:
        return min(self.lease.ttl / 3, POLL)

    @property
    def _due(self) -> float:
        """When to renew. A call under way holds the lease and learns of its end itself: then rarely, in case."""
        return self._tick(self._heard + (self.lease.ttl / 3 if self._turn.locked() else self._period))

    def _tick(self, latest: float) -> float:
        """The last moment until then at which every session of a process looks around: it wakes once for all of them."""
        apart = self._period / TICKS
        return latest // apart * apart

    def _lose(self, error: WebGymError) -> None:
        if self.error is None:
            self.error = error
            self.gone.set()

    async def keep(self) -> None:
        """Renew whenever nothing was heard for a while, until the session ends. A task of the client runs this."""
        clock = self._transport.clock
        while self.error is None:
            if (pause := self._due - clock()) <= 0:
                try:
                    await self.renew()
                except WebGymError as e:
                    log.info("session %s was not renewed: %s", self.id, e)
                    if clock() - self._heard > self.lease.ttl and not self._turn.locked():  # a call has its own deadline
                        self._lose(e)
                    pause = min(self._period, 1.0)
            now = clock()
            await self._transport.sleep(max(0.0, min(now + pause, self._tick(now + self._period)) - now))


class Client:
    """The way to one rollout server. Enter it once and share it: connections are reused by all sessions.

    `key` falls back to the environment variable WEBGYM_API_KEY. `connections` caps those to each host (0: no cap); a call
    that waits for one spends its own deadline. `patience` is how long to insist after a first failure, as on a full server.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        connections: int = 0,
        timeouts: Timeouts | None = None,
        retries: Retries = RETRIES,
        patience: float = 60.0,
        max_body: int = 64 << 20,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.url = _address(url, errors.ConfigError)
        self._key = key or os.environ.get(KEY_VARIABLE) or None
        if self._key is not None and not re.fullmatch(r"[\x21-\x7e]+", self._key):
            raise errors.ConfigError(f"the API key ({KEY_VARIABLE}) must be printable ASCII without blanks")
        self._connections = connections
        self._cap, self._timeouts = max_body, timeouts or Timeouts()
        self._settings = (self._timeouts, retries, patience, clock, sleep, chance)
        self._sessions: set[Session] = set()

    async def __aenter__(self) -> Self:
        secret = {"Authorization": f"Bearer {self._key}"} if self._key is not None else {}
        http = Http(
            connect=self._timeouts.connect,
            idle=IDLE,
            cap=self._cap,
            connections=self._connections,
            headers={"Accept": protocol.MSGPACK, **secret},
        )
        self._transport, self._host = _Transport(http, *self._settings), http.at(self.url)
        self._keepers = await asyncio.TaskGroup().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._transport.http.close)
            # Told of no exception, the group raises only what went wrong in a keeper: the caller's leaves as it came.
            stack.push_async_callback(self._keepers.__aexit__, None, None, None)
            await finish(self._release_all())

    async def session(self, options: NewSession | None = None, *, renew: bool = True, **fields: Any) -> Session:
        """Lease a browser; `fields` are those of `NewSession`. Leave it with `async with`, or call `release`."""
        wanted = NewSession(**{**dict(options or NewSession()), **fields})
        plain = wanted.model_dump(mode="json", exclude_none=True)
        plain["key"] = wanted.key or secrets.token_hex(16)
        if wanted.proxy is not None:
            plain["proxy"] = wanted.proxy.get_secret_value()  # pydantic writes asterisks
        headers, body = {"Content-Type": JSON}, msgspec.json.encode(plain)
        request = _Request("create", self._host, "POST", protocol.SESSIONS, headers, body, extra=wanted.wait)
        started = (await self._transport.call(request)).read(SessionStarted)
        url = self.url if started.url is None else _address(started.url, ServerError)
        session = Session(self._transport, started, url, self._sessions.discard)
        self._sessions.add(session)
        if renew:
            session.keeper = self._keepers.create_task(session.keep(), name=f"keep {session.id}")
        return session

    @asynccontextmanager
    async def open(self, options: NewSession | None = None, *, renew: bool = True, **fields: Any) -> AsyncIterator[Session]:
        """A session for as long as the block lasts."""
        async with await self.session(options, renew=renew, **fields) as session:
            yield session

    async def fleet(self) -> Fleet:
        """Workers, capacity, load."""
        return (await self._transport.call(_Request("fleet", self._host, "GET", protocol.FLEET, {}))).read(Fleet)

    async def health(self) -> Health:
        """Whether the server serves."""
        return (await self._transport.call(_Request("health", self._host, "GET", protocol.HEALTH, {}))).read(Health)

    async def _release_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for session in list(self._sessions):
                group.create_task(session.__aexit__())
