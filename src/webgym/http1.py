"""HTTP/1.1 from the asking side: connections are kept, a request is written as it is, an answer is read whole.

    http = Http(connect=5.0, idle=60.0, cap=1 << 20)
    answer = await http.at("http://127.0.0.1:8000/v1").ask("POST", "/chat/completions", body=(b"{}",), within=60)
    await http.close()

Every step of an episode asks a rollout server and a model, with bodies of a megabyte and answers of a tenth of one. A
client for all purposes spent more processor time on that than everything else a step takes; this one does that alone.

Invariants. A connection carries one request at a time, and is used again only if the answer before was whole, nothing came
after it, and both sides keep it open; whoever is cancelled closes his. A request is sent once: repeating it is for those who
know what it does. An answer is never held beyond its cap. Every request has a deadline, also while it waits for its turn.
Whatever goes wrong is an `HttpError`. Nothing that is sent can begin a line of its own.

Left out on purpose: redirects, cookies, proxies, credentials in addresses, answers that are streamed.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, cast

import httptools
from yarl import URL

HEAD: Final = 1 << 16  # bytes that may come before a body
SAID_AGAIN: Final = 4096  # heads that are kept for the next request
_PATH: Final = re.compile(r"[\x21-\x7e]+")
_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_NO_HEADERS: Final[Mapping[str, str]] = {}


class HttpError(Exception):
    """There is no whole answer."""


class Unsendable(HttpError):
    """Nothing was sent, for it would not be what it seems."""


class NotConnected(HttpError):
    """No connection: the host has not seen the request."""


class Late(HttpError):
    """No whole answer in time. The host may have done what it was asked."""


class Broken(HttpError):
    """The connection ended too early, or what came is not HTTP. The host may have done what it was asked."""


@dataclass(frozen=True)
class Answer:
    """What a host said. `cut`: the body is longer than the cap, and this is its beginning."""

    status: int
    headers: Mapping[bytes, bytes]  # names in small letters
    body: bytes = field(repr=False)
    cut: bool = False

    def header(self, name: bytes) -> str:
        """A header, by its name in small letters; empty if there is none."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def media(self) -> str:
        return self.header(b"content-type").partition(";")[0].strip().lower()


class Http:
    """Connections to any number of hosts. `connections` caps those to each (0: no cap); `idle` is how long one is kept."""

    def __init__(
        self,
        *,
        connect: float,
        idle: float,
        cap: int,
        connections: int = 0,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self.connect, self.idle, self.cap, self.connections = connect, idle, cap, connections
        self.headers = _lines((("User-Agent", "webgym"), ("Accept-Encoding", "identity"), *headers.items()))
        self.open: set[_Connection] = set()
        self._pools: dict[URL, _Pool] = {}
        self._tls: ssl.SSLContext | None = None

    def at(self, url: str) -> Host:
        """A host, and the path that all paths there begin with."""
        parts = URL(url)
        pool = self._pools.get(origin := parts.origin())
        if pool is None:
            tls = self._context() if parts.scheme == "https" else None
            pool = self._pools[origin] = _Pool(self, parts.raw_host or "", parts.port or 0, tls)
        head = f"Host: {parts.host_port_subcomponent}\r\n".encode("ascii") + self.headers
        return Host(pool, url, parts.raw_path.rstrip("/"), head)

    async def close(self) -> None:
        """End every connection, also those in use."""
        for connection in list(self.open):
            connection.abort()
        await asyncio.sleep(0)  # for the transports to say so

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


class Host:
    """A place to ask. Made by `Http.at`."""

    def __init__(self, pool: _Pool, url: str, base: str, head: bytes) -> None:
        self.url, self._pool, self._base, self._head = url, pool, base, head

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: Sequence[bytes] | None = None,
        *,
        within: float,
    ) -> Answer:
        """The answer, whatever its status. A body may come in pieces, which are not copied."""
        head = _first_line(method, self._base + path) + self._head + _lines(tuple(headers.items()))
        if body is None:
            return await self._pool.exchange((head + b"\r\n",), within)
        length = b"Content-Length: %d\r\n\r\n" % sum(map(len, body))
        return await self._pool.exchange((head + length, *body), within)


class _Pool:
    """The connections to one host."""

    def __init__(self, http: Http, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._http, self._host, self._port, self._tls = http, host, port, tls
        self._turns = asyncio.Semaphore(http.connections) if http.connections else _NoCap()
        self._idle: list[tuple[float, _Connection]] = []  # the longest unused first

    async def exchange(self, request: Sequence[bytes], within: float) -> Answer:
        until = asyncio.get_running_loop().time() + within
        connection = await self._ready(within)
        try:
            answer = await connection.exchange(request, until)
        except Late:
            raise _late(within) from None
        finally:
            self._turns.release()
            if connection.reusable:
                self._keep(connection)
            else:
                connection.abort()
        return _decoded(answer, self._http.cap)

    async def _ready(self, within: float) -> _Connection:
        """A connection, and a turn to use it."""
        if not self._turns.locked() and (kept := self._take()) is not None:
            await self._turns.acquire()  # which does not wait
            return kept
        try:
            async with asyncio.timeout(within):
                await self._turns.acquire()
                try:
                    return self._take() or await self._connect()
                except BaseException:
                    self._turns.release()
                    raise
        except TimeoutError:
            raise _late(within) from None

    def _take(self) -> _Connection | None:
        """The connection used last, if one is still good."""
        oldest = time.monotonic() - self._http.idle
        while self._idle:
            since, connection = self._idle.pop()
            if since > oldest and connection.reusable:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: _Connection) -> None:
        now = time.monotonic()
        while self._idle and self._idle[0][0] < now - self._http.idle:
            self._idle.pop(0)[1].abort()
        self._idle.append((now, connection))

    async def _connect(self) -> _Connection:
        loop, http = asyncio.get_running_loop(), self._http
        deadline = asyncio.timeout(http.connect)
        try:
            async with deadline:
                _, made = await loop.create_connection(lambda: _Connection(http), self._host, self._port, ssl=self._tls)
        except OSError as e:  # also of TLS, of names that cannot be resolved, and of time
            said = f"in {http.connect:g} s" if deadline.expired() else f"to {self._host}:{self._port}: {e}"
            raise NotConnected(f"no connection {said}") from e
        return made


class _NoCap:
    """Turns for everyone. A semaphore looks through its waiters at every turn, of whom there are none here."""

    def locked(self) -> bool:
        return False

    async def acquire(self) -> None: ...

    def release(self) -> None: ...


class _Connection(asyncio.Protocol):
    """One connection, and the answer that is on its way."""

    def __init__(self, http: Http) -> None:
        self._http, self._cap = http, http.cap
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None  # none: nothing was asked
        self._until = 0.0  # by the loop's clock
        self._alarm: asyncio.TimerHandle | None = None
        self._begin()

    @property
    def reusable(self) -> bool:
        transport = self._transport
        return self._answer is None and transport is not None and not transport.is_closing()

    async def exchange(self, request: Sequence[bytes], until: float) -> Answer:
        transport = self._transport
        assert transport is not None
        assert self._answer is None
        self._begin()
        self._answer = asyncio.get_running_loop().create_future()
        self._set_alarm(until)
        transport.writelines(request)
        return await self._answer

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own classes are not subclasses
        self._http.open.add(self)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody asked: whatever it is, it must not answer the next question
            self.abort()
            return
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as e:
            self._fail(Broken(f"the answer is not HTTP: {e}"))
        else:
            if self._fed > HEAD and (not self._headed or self._fed > HEAD + 2 * self._cap):
                self._fail(Broken("the answer's head has no end"))

    def connection_lost(self, error: Exception | None) -> None:
        self._http.open.discard(self)
        if self._alarm is not None:
            self._alarm.cancel()
        if self._headed and not self._framed and error is None:
            self._finish(cut=False)  # its end was to be the connection's
        else:
            self._fail(Broken(f"the connection ended before the answer did{f': {error}' if error else ''}"))

    # what the parser finds

    def on_message_begin(self) -> None:
        if self._answer is None:  # more than one answer to one question
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._headed = True
        self._framed = b"content-length" in self._headers or b"transfer-encoding" in self._headers

    def on_body(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)
        if self._size > self._cap:
            self.abort()
            self._finish(cut=True)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # on its way
            self._headers.clear()
            self._headed = False
        else:
            self._finish(cut=False)

    # the answer that is on its way

    def _begin(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._chunks: list[bytes] = []
        self._headed = self._framed = False
        self._size = self._fed = 0

    def _finish(self, *, cut: bool) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            return
        transport = self._transport
        if transport is not None and (not self._parser.should_keep_alive() or transport.get_write_buffer_size()):
            transport.abort()  # it closes, or it has answered before it had heard all
        if not answer.done():
            body = b"".join(self._chunks)[: self._cap]
            answer.set_result(Answer(self._parser.get_status_code(), self._headers, body, cut))
        self._chunks = []

    def _fail(self, why: HttpError) -> None:
        answer, self._answer = self._answer, None
        self.abort()
        if answer is not None and not answer.done():
            answer.set_exception(why)

    def _set_alarm(self, until: float) -> None:
        """Nearly every request ends long before its deadline, so an alarm that is early enough is left for the next one."""
        self._until = until
        if self._alarm is not None:
            if self._alarm.when() <= until:
                return
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(until, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._answer is None:
            return
        if asyncio.get_running_loop().time() >= self._until:
            self._fail(Late())
        else:
            self._set_alarm(self._until)


# The steps of a session say the same again, but for their bodies.
@lru_cache(maxsize=SAID_AGAIN)
def _first_line(method: str, target: str) -> bytes:
    if not _PATH.fullmatch(target):
        raise Unsendable(f"no path of a request: {target[:100]!r}")
    return f"{method} {target} HTTP/1.1\r\n".encode("ascii")


@lru_cache(maxsize=SAID_AGAIN)
def _lines(headers: tuple[tuple[str, str], ...]) -> bytes:
    for name, value in headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Unsendable(f"the header {name[:40]!r} cannot be sent")  # without its value, which may be secret
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")


def _late(within: float) -> Late:
    return Late(f"no answer in {within:g} s")


def _decoded(answer: Answer, cap: int) -> Answer:
    """Some hosts compress what was not to be compressed."""
    if answer.header(b"content-encoding").lower() not in ("gzip", "x-gzip", "deflate"):
        return answer
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        body = unpacking.decompress(answer.body, cap + 1)
    except zlib.error as e:
        raise Broken(f"the answer cannot be unpacked: {e}") from e
    return Answer(answer.status, answer.headers, body[:cap], answer.cut or len(body) > cap)
