"""Connections of strangers: caps on what they may send before anybody has asked who they are.

Invariants: a request's headers have a bound in bytes and in seconds, also when it is pipelined behind another; what is
neither header nor body (chunk framing, trailers) has a bound too; so have the number of connections and the time for which
an answer waits to be taken. Every refusal closes the connection, and reads on for a moment first: closing on unread bytes
would destroy the answer on its way.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webgym.server.settings import HttpLimits

MAX_HEADER_BYTES = 32 * 1024
MAX_FRAMING_BYTES = 64 * 1024  # and as many as the body has
MAX_PIPELINED = 8
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
LINGER_SECONDS = 2.0


class CappedHttp(HttpToolsProtocol):
    """Uvicorn's protocol with bounds. `capped` makes the class that has them."""

    limits: ClassVar[HttpLimits]

    _timer: asyncio.TimerHandle | None = None
    _answer_timer: asyncio.TimerHandle | None = None  # while more of an answer waits than the client takes
    _in_headers = True  # what comes next belongs to a request line or a header
    _unfinished = False  # a request has begun and has not been read to its end
    _lost = False
    _header_bytes = 0
    _body_bytes = 0
    _framed_bytes = 0  # received since the headers ended
    lingering = False  # everything has been said; what still comes is read for nothing

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._raw = transport
        self.transport = _Lingering(self, transport)  # type: ignore[assignment]
        if len(self.connections) > self.limits.connections:
            transport.write(TOO_MANY)
            transport.close()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._stop_timer()
        self._stop_answer_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.lingering:
            return
        while data and not self.transport.is_closing():
            # Headers are fed up to the cap and no further: a large body behind small headers is none of their bytes.
            if self._in_headers:
                room = MAX_HEADER_BYTES - self._header_bytes
                if room <= 0:
                    self._refuse(431, b"Request Header Fields Too Large")
                    return
                piece, data = data[:room], data[room:]
                self._header_bytes += len(piece)
                super().data_received(piece)
            else:
                self._framed_bytes += len(data)
                super().data_received(data)
                if self._framed_bytes > MAX_FRAMING_BYTES + 2 * self._body_bytes:
                    self._raw.abort()
                return
        if self._in_headers and self._timer is None and not self._busy:
            self._start_timer()

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # answers that nobody takes

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        self._stop_answer_timer()
        super().resume_writing()

    def _await_reader(self) -> None:
        self._stop_answer_timer()
        waiting = self._raw.get_write_buffer_size()
        self._answer_timer = self.loop.call_later(self.limits.answer_seconds, self._still_waiting, waiting)

    def _still_waiting(self, before: int) -> None:
        if self._raw.get_write_buffer_size() < before:
            self._await_reader()  # slow, but it reads
        else:
            self._raw.abort()

    def _stop_answer_timer(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    # what the parser found

    def on_message_begin(self) -> None:
        self._unfinished = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:  # a trailer comes after the request was judged by its headers: it counts for nothing
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_timer()
        # An exception stops the parser, and uvicorn answers 400.
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests ahead of their answers")
        if self.parser.get_http_version() not in ("1.0", "1.1"):
            raise ValueError("not a version we speak")
        self._in_headers = False
        self._body_bytes = self._framed_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unfinished = False
        self._in_headers = True
        self._header_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._unfinished and not self._in_headers:
            self.transport.close()  # answered without reading all of the request: it may never end
        elif self._unfinished:
            self._start_timer()

    # the end

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.limits.header_seconds, self._refuse, 408, b"Request Timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, reason: bytes) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            if self._header_bytes and not self._busy:
                self._raw.write(b"HTTP/1.1 %d %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % (status, reason))
            self.transport.close()

    def linger(self) -> None:
        """Say that nothing more will be said, and read for a while without looking."""
        if self.lingering or self._raw.is_closing():
            return
        if self._lost or not (self._unfinished or self._header_bytes):
            self._raw.close()
            return
        self.lingering = True
        self._stop_timer()
        self._raw.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGER_SECONDS, self._raw.abort)


class _Lingering:
    """The transport as uvicorn sees it: to close it may take a moment.

    Uvicorn writes the head of an answer and then its body, and each would wake the client. So what is written is held until
    more comes or everybody else has had a turn, and goes out in one."""

    def __init__(self, protocol: CappedHttp, transport: asyncio.Transport) -> None:
        self._protocol = protocol
        self._transport = transport
        self._held = b""

    def close(self) -> None:
        self._flush()
        self._protocol.linger()

    def is_closing(self) -> bool:
        return self._protocol.lingering or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if self._protocol.lingering:
            return
        if self._held:
            held, self._held = self._held, b""
            self._transport.writelines((held, data))
        else:
            self._held = data
            self._protocol.loop.call_soon(self._flush)

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self.is_closing():
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def capped(bounds: HttpLimits) -> type[CappedHttp]:
    class Capped(CappedHttp):
        limits = bounds

    return Capped
