"""Chromium's end of a connection until it is spliced: the SOCKS5 greeting, the request, then waiting for the
outcome.

Invariant: a client that is slow, talks too much or does not speak SOCKS5 is cut off; it never holds more than
1 KiB.
"""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Protocol, cast

from webgym.server.egress.splice import Side, tune

_LIMIT: Final = 1024
_IPV4, _NAME, _IPV6 = 1, 3, 4
_COMMAND_NOT_SUPPORTED, _ADDRESS_NOT_SUPPORTED = 7, 8
_BOUND: Final = b"\x00\x01\x00\x00\x00\x00\x00\x00"


class Door(Protocol):
    """What a handshake needs of the server it stands in."""

    def arrived(self, transport: asyncio.Transport) -> bool:
        """False if there are too many clients even to tell this one politely."""

    def left(self, transport: asyncio.Transport) -> None: ...

    def serve(self, client: Handshake, host: str, port: int) -> asyncio.Task[None]:
        """Connect to a host. The task is cancelled if the client leaves first."""


class Handshake(asyncio.Protocol):
    transport: asyncio.Transport
    _deadline: asyncio.TimerHandle

    def __init__(self, door: Door, within: float) -> None:
        self._door = door
        self._within = within
        self._buffer = bytearray()
        self._greeted = False
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._deadline = asyncio.get_running_loop().call_later(self._within, self.transport.abort)
        if self._door.arrived(self.transport):
            tune(self.transport.get_extra_info("socket"))
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        self._door.left(self.transport)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _LIMIT:
            self.transport.abort()
        elif self._task is None and not self.transport.is_closing() and (self._greeted or self._greet()):
            self._request()

    def _greet(self) -> bool:
        """Read the greeting. We ask for no login: the port is on loopback, and the policy binds whoever finds
        it."""
        buffer = self._buffer
        if buffer[0] != 5:
            self.transport.abort()
        elif len(buffer) >= 2 and len(buffer) >= 2 + buffer[1]:
            if 0 in buffer[2 : 2 + buffer[1]]:
                self.transport.write(b"\x05\x00")
                del buffer[: 2 + buffer[1]]
                self._greeted = True
                return True
            self.transport.write(b"\x05\xff")
            self.transport.close()
        return False

    def _request(self) -> None:
        buffer = self._buffer
        if len(buffer) < 5:
            return
        version, command, _, kind, first = buffer[:5]
        if version != 5:
            self.transport.abort()
            return
        if command != 1:
            self.refuse(_COMMAND_NOT_SUPPORTED)
            return
        size = {_IPV4: 4, _NAME: first, _IPV6: 16}.get(kind)
        if size is None:
            self.refuse(_ADDRESS_NOT_SUPPORTED)
            return
        start = 5 if kind == _NAME else 4
        end = start + size
        if len(buffer) < end + 2:
            return
        raw, port = bytes(buffer[start:end]), int.from_bytes(buffer[end : end + 2])
        del buffer[: end + 2]
        self._deadline.cancel()
        self._task = self._door.serve(self, _text(kind, raw), port)

    def refuse(self, reply: int) -> None:
        self.transport.write(bytes((5, reply)) + _BOUND)
        self.transport.close()

    def become(self, near: Side, early: bytes) -> None:
        """Accept, and hand the connection over to the splice with what either end has said already."""
        near.connection_made(self.transport)
        self.transport.set_protocol(near)
        self.transport.write(b"\x05\x00" + _BOUND + early)
        if self._buffer:
            near.data_received(bytes(self._buffer))


def _text(kind: int, raw: bytes) -> str:
    if kind == _IPV4:
        return str(IPv4Address(raw))
    if kind == _IPV6:
        return str(IPv6Address(raw))
    # Browsers send names in ASCII; any other byte becomes a backslash, which no host name has.
    return raw.decode("ascii", "backslashreplace")
