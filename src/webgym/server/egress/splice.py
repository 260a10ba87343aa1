"""Two connections joined: what arrives on one leaves on the other.

Invariant: neither side is read while the other cannot be written, so at most a buffer's worth of bytes is
held per direction. An end of stream is passed on without ending the opposite direction; a reset is passed on
as a reset.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

_HIGH_WATER: Final = 256 * 1024
_LINGER: Final = 10.0
"""Seconds that the rest of a stream may take to be delivered after the other side is gone."""
_HALF_CLOSED: Final = 15.0
"""Seconds without a byte after which a pair with one direction over is closed; Chromium itself never
half-closes."""


@dataclass(slots=True)
class Tally:
    """Bytes of one direction."""

    count: int = 0


class Side(asyncio.Protocol):
    """One of the two. `tally` counts what this side sent us."""

    __slots__ = ("_moved", "_on_lost", "_timer", "ended", "gone", "peer", "tally", "transport")

    peer: Side
    transport: asyncio.Transport

    def __init__(self, tally: Tally, on_lost: Callable[[asyncio.Transport], None]) -> None:
        self.tally = tally
        self.ended = False
        self.gone = True
        self._moved = False
        self._timer: asyncio.TimerHandle | None = None
        self._on_lost = on_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.gone = False
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=_HIGH_WATER)

    def data_received(self, data: bytes) -> None:
        self._moved = True
        self.tally.count += len(data)
        self.peer.transport.write(data)

    def eof_received(self) -> bool:
        self.ended = True
        if self.peer.ended or self.peer.transport.is_closing():
            return False  # both directions are over: this transport closes, and connection_lost closes the other
        self.peer.transport.write_eof()
        self._watch()
        return True

    def _watch(self) -> None:
        self.peer._moved = False
        self._timer = asyncio.get_running_loop().call_later(_HALF_CLOSED, self._end_if_still)

    def _end_if_still(self) -> None:
        if self.peer._moved:
            self._watch()
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        if not self.peer.ended:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        # After its end of stream a transport has no reader; resuming would install one and report the end
        # again.
        if not self.peer.ended:
            self.peer.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        if self._timer is not None:
            self._timer.cancel()
        self._on_lost(self.transport)
        other = self.peer
        if other.gone:
            return
        if exc is not None:
            reset(other.transport)  # a download that was cut must not look complete
            return
        other.transport.close()
        if other.transport.get_write_buffer_size():
            other._timer = asyncio.get_running_loop().call_later(_LINGER, other.transport.abort)


def join(near: Side, far: Side) -> None:
    near.peer, far.peer = far, near


def reset(transport: asyncio.Transport) -> None:
    """Close at once and tell the other end that it was not an orderly end."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def tune(sock: socket.socket) -> None:
    """No waiting for full packets; a far end that vanished is noticed although Chromium only sees our
    loopback side."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    if idle is not None:
        sock.setsockopt(socket.IPPROTO_TCP, idle, 45)
