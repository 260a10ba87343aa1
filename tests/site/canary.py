"""A server nobody should be able to reach. It counts who does.

A connection counts from the moment it is accepted, whether or not a request follows; a datagram counts when
it arrives.
"""

import asyncio
import errno
import socket
from typing import Self

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nAccess-Control-Allow-Origin: *\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\n\r\ncanary"
)
LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def free_port() -> int:
    """A port on which nobody listens at the moment: connecting to it is refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Canary:
    """Listens on one port of 127.0.0.1, and of ::1 where there is one, by TCP and by UDP."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.datagrams = 0
        self.requests: list[str] = []
        """The first line of each HTTP request, to tell which attempt came through."""
        self._servers: list[asyncio.Server] = []
        self._transports: set[asyncio.BaseTransport] = set()

    @property
    def hits(self) -> int:
        return self.connections + self.datagrams

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for sock in _listeners():
            self.port = sock.getsockname()[1]
            if sock.type == socket.SOCK_STREAM:
                self._servers.append(await loop.create_server(lambda: _Connection(self), sock=sock))
            else:
                transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=sock)
                self._transports.add(transport)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for transport in list(self._transports):
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            else:
                transport.close()
        for server in self._servers:
            await server.wait_closed()
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    def __init__(self, canary: Canary) -> None:
        self.canary = canary
        self.transport: asyncio.Transport | None = None
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.canary.connections += 1
        self.canary._transports.add(transport)

    def data_received(self, data: bytes) -> None:
        self.received = (self.received + data)[:65536]
        if b"\r\n\r\n" in self.received and self.transport is not None and not self.transport.is_closing():
            self.canary.requests.append(self.received.split(b"\r\n", 1)[0].decode("latin-1"))
            self.transport.write(ANSWER)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.transport is not None:
            self.canary._transports.discard(self.transport)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, canary: Canary) -> None:
        self.canary = canary

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:
        self.canary.datagrams += 1


def _listeners(attempts: int = 20) -> list[socket.socket]:
    """Sockets of both kinds and both families that share a port number."""
    for _ in range(attempts):
        sockets: list[socket.socket] = []
        port = 0
        try:
            for family, address in LOOPBACK:
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    sock = _bound(family, kind, address, port)
                    if sock is not None:
                        sockets.append(sock)
                        port = sock.getsockname()[1]
        except OSError as e:
            for sock in sockets:
                sock.close()
            if e.errno != errno.EADDRINUSE:
                raise
        else:
            return sockets
    raise OSError(errno.EADDRINUSE, f"no port free for all of TCP, UDP, IPv4, IPv6 in {attempts} attempts")


def _bound(family: socket.AddressFamily, kind: socket.SocketKind, address: str, port: int) -> socket.socket | None:
    try:
        sock = socket.socket(family, kind)
    except OSError:
        if family == socket.AF_INET6:
            return None
        raise
    try:
        sock.bind((address, port))
        if kind == socket.SOCK_STREAM:
            sock.listen(64)
        sock.setblocking(False)
    except OSError as e:
        sock.close()
        if family == socket.AF_INET6 and e.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return sock
