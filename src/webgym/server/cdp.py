"""The Chrome DevTools Protocol over an inherited socket, and nothing else.

Chromium is started with `--remote-debugging-pipe` and speaks NUL-terminated JSON on descriptors 3 and 4, both ends of one
socket pair. So there is no debugging port for anyone to find, and Chromium exits by itself when this process dies.

Invariants: every call ends with a result, a `BrowserError`, or at its deadline; when the connection closes, every waiting
call fails at once. Payloads stay undecoded bytes until somebody asks for them with a type. Pages have a say in what is in
a message (a title, a URL of any length), so no message, however odd or long, ends the connection.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from math import inf
from typing import Any, TypeVar, cast, overload

import msgspec

from webgym.errors import BrowserError

T = TypeVar("T")
Handler = Callable[[msgspec.Raw], None]

log = logging.getLogger(__name__)

MAX_MESSAGE = 96 * 1024 * 1024  # a lossless screenshot of the largest viewport has 64 MB and a little
AWAKE_SECONDS = 0.05  # after an answer
EMPTY = msgspec.Raw(b"{}")
# An escape in JSON: a whole surrogate pair, half of one, or anything else.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


class ProtocolError(BrowserError):
    """Chromium understood the call and refused it."""


class ConnectionClosed(BrowserError):
    """The browser went away."""


class _Failure(msgspec.Struct):
    message: str
    code: int = 0
    data: Any = None


class _Message(msgspec.Struct):
    id: int = 0
    method: str = ""
    sessionId: str = ""
    params: msgspec.Raw = EMPTY
    result: msgspec.Raw = EMPTY
    error: _Failure | None = None


_decode_message = msgspec.json.Decoder(_Message).decode
_encode = msgspec.json.Encoder().encode


class Connection(asyncio.Protocol):
    """One browser's message stream, shared by all its channels."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.root = Channel(self, "")
        self._transport: asyncio.Transport | None = None
        self._channels: dict[str, Channel] = {"": self.root}
        self._calls: dict[int, tuple[asyncio.Future[msgspec.Raw], str, Channel]] = {}
        self._next_id = 0
        self._outgoing: list[bytes] = []
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._skipping = False

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own classes are not subclasses

    def data_received(self, data: bytes) -> None:
        start = 0
        while (end := data.find(b"\0", start)) >= 0:
            piece = data[start:end]
            if self._partial:
                self._partial.append(piece)
                piece = b"".join(self._partial)
                self._partial.clear()
                self._partial_size = 0
            start = end + 1
            if self._skipping:
                self._skipping = False
                continue
            self._dispatch(piece)
        if start < len(data) and not self._skipping:
            rest = data[start:] if start else data
            self._partial.append(rest)
            self._partial_size += len(rest)
            if self._partial_size > MAX_MESSAGE:
                # A page asked for a data: URL of a hundred megabytes, say. It is lost, its neighbours are not.
                log.warning("a message of more than %d bytes was skipped", MAX_MESSAGE)
                self._partial.clear()
                self._partial_size = 0
                self._skipping = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()
        calls, self._calls = self._calls, {}
        for future, method, _ in calls.values():
            if not future.done():
                future.set_exception(ConnectionClosed(f"{method}: the browser went away"))

    # calls and events

    def channel(self, session_id: str) -> Channel:
        found = self._channels.get(session_id)
        if found is None:
            found = self._channels[session_id] = Channel(self, session_id)
        return found

    def drop_channel(self, session_id: str) -> None:
        """The target behind a channel is gone: its waiting calls fail now, not at their deadline."""
        channel = self._channels.pop(session_id, None)
        if channel is None:
            return
        channel.detached = True
        for future, method, owner in list(self._calls.values()):
            if owner is channel and not future.done():
                future.set_exception(ConnectionClosed(f"{method}: the page went away"))

    def send(self, channel: Channel, method: str, params: dict[str, Any] | None) -> asyncio.Future[msgspec.Raw]:
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        if self._transport is None or self.closed.is_set() or channel.detached:
            future.set_exception(ConnectionClosed(f"{method}: the browser went away"))
            return future
        self._next_id += 1
        call_id = self._next_id
        message: dict[str, Any] = {"id": call_id, "method": method}
        if params:
            message["params"] = params
        if channel.id:
            message["sessionId"] = channel.id
        self._calls[call_id] = (future, method, channel)
        future.add_done_callback(lambda _: self._calls.pop(call_id, None))
        # What is sent in one go (the keys of a word, say) is written in one: each write wakes the browser.
        if not self._outgoing:
            future.get_loop().call_soon(self._flush)
        self._outgoing.append(_encode(message))
        return future

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        messages, self._outgoing = self._outgoing, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"\0".join((*messages, b"")))

    def _dispatch(self, data: bytes) -> None:
        try:
            message = _read(data)
        except msgspec.DecodeError as e:
            log.warning("a message that cannot be read was skipped: %s", e)
            return
        if message.id:
            waiting = self._calls.get(message.id)
            if waiting is None or waiting[0].done():
                return
            if message.error is not None:
                waiting[0].set_exception(ProtocolError(f"{waiting[1]}: {message.error.message}"))
            else:
                waiting[0].set_result(message.result)
            return
        channel = self._channels.get(message.sessionId)
        if channel is not None:
            for handler in channel.handlers.get(message.method, ()):
                handler(message.params)


class Channel:
    """One target's channel: a page, an out-of-process frame, or (with an empty id) the browser itself."""

    __slots__ = ("_answered", "connection", "detached", "handlers", "id")

    def __init__(self, connection: Connection, session_id: str) -> None:
        self.connection = connection
        self.id = session_id
        self.handlers: dict[str, list[Handler]] = {}
        self.detached = False
        self._answered = -inf

    @property
    def awake(self) -> bool:
        """Whether the page itself, and not the browser for it, has answered just now: then it need not be asked."""
        return time.monotonic() - self._answered < AWAKE_SECONDS

    def has_answered(self) -> None:
        self._answered = time.monotonic()

    def may_be_busy(self) -> None:
        """Something has happened to the page since it answered."""
        self._answered = -inf

    def on(self, method: str, kind: type[T], handler: Callable[[T], None]) -> None:
        decode = msgspec.json.Decoder(kind).decode

        def handle(raw: msgspec.Raw) -> None:
            try:
                event = decode(raw)
            except msgspec.DecodeError as e:
                log.warning("%s was skipped: %s", method, e)
                return
            handler(event)

        self.handlers.setdefault(method, []).append(handle)

    def post(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send and do not wait: the answer, good or bad, is nobody's concern."""
        self.connection.send(self, method, params).add_done_callback(_forget)

    @overload
    async def call(self, method: str, params: dict[str, Any] | None = None, *, within: float) -> None: ...
    @overload
    async def call(self, method: str, params: dict[str, Any] | None = None, kind: type[T] = ..., *, within: float) -> T: ...
    async def call(
        self, method: str, params: dict[str, Any] | None = None, kind: type[T] | None = None, *, within: float
    ) -> T | None:
        """Send, and wait for the answer at most `within` seconds."""
        future = self.connection.send(self, method, params)
        # A timer and no `asyncio.timeout`, which does more than is needed here: a step makes a dozen calls.
        alarm = future.get_loop().call_later(max(0.0, within), _late, future, method, within)
        try:
            raw = await future
        finally:
            alarm.cancel()
        if kind is None:
            return None
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.DecodeError as e:
            raise ProtocolError(f"{method}: an answer of another shape: {e}") from e


def _read(data: bytes) -> _Message:
    try:
        return _decode_message(data)
    except msgspec.DecodeError:
        # JavaScript's strings may hold half a surrogate pair, JSON's may not: the usual mark stands for it.
        return _decode_message(_ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], data))


def _late(future: asyncio.Future[msgspec.Raw], method: str, within: float) -> None:
    if not future.done():
        future.set_exception(BrowserError(f"{method}: no answer in {within:g} s"))


def _forget(future: asyncio.Future[msgspec.Raw]) -> None:
    if not future.cancelled():
        future.exception()
