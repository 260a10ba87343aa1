"""A session's own proxy: the handshake that asks it for a connection, HTTP CONNECT or SOCKS5.

Invariant: credentials go to the proxy and nowhere else; no message, repr or exception here holds them.
"""

from __future__ import annotations

import asyncio
import re
import socket
from base64 import b64encode
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Literal, Self
from urllib.parse import unquote

from webgym.errors import BadRequest
from webgym.server.egress.destinations import Host, at, canonical_host, split_port
from webgym.server.egress.failures import Kind, Refusal

_HEADER_LIMIT: Final = 16 * 1024
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: |\r)")
_URL: Final = re.compile(r"(?P<scheme>[a-z0-9+.-]+)://(?:(?P<login>[^/?#]*)@)?(?P<place>[^@/?#]+)/?", re.I)
_SCHEMES: Final[dict[str, Literal["http", "socks5"]]] = {"http": "http", "socks5": "socks5"}
_DEFAULT_PORTS: Final = {"http": 80, "socks5": 1080}
_SOCKS_REPLIES: Final[dict[int, tuple[Kind, str]]] = {
    2: ("upstream", "its rules do not allow it"),
    3: ("unreachable", "network unreachable"),
    4: ("unreachable", "host unreachable"),
    5: ("refused", "connection refused"),
    6: ("timeout", "no answer"),
}


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where the proxy is and what it wants to know."""

    scheme: Literal["http", "socks5"]
    host: Host
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """`http://user:password@host:port` or `socks5://…`. What is wrong is said without repeating the
        URL."""
        parts = _URL.fullmatch(url)
        if parts is None:
            raise BadRequest("proxy: write http://user:password@host:port or socks5://user:password@host:port")
        scheme = _SCHEMES.get(parts["scheme"].lower())
        if scheme is None:
            raise BadRequest("proxy: its scheme has to be http or socks5")
        try:
            place, port = split_port(parts["place"])
            host = canonical_host(place)
        except ValueError:  # it repeats what it was given, and that may be a password without its @
            raise BadRequest("proxy: what stands for host:port is none") from None
        user, _, password = (parts["login"] or "").partition(":")
        upstream = cls(scheme, host, port or _DEFAULT_PORTS[scheme], unquote(user), unquote(password))
        if max(len(upstream.user.encode()), len(upstream.password.encode())) > 255:
            raise BadRequest("proxy: user name and password have at most 255 bytes each")
        return upstream

    def __str__(self) -> str:
        return at(self.host, self.port)

    async def ask(self, sock: socket.socket, host: Host, port: int) -> bytes | Refusal:
        """Have the proxy at the other end of `sock` connect to a host. Returns what it already sent from
        there."""
        try:
            if self.scheme == "http":
                return await self._ask_http(sock, host, port)
            return await self._ask_socks(sock, host, port)
        except (OSError, EOFError) as e:
            return self._no(f"{type(e).__name__} in its handshake")

    def _no(self, why: str, kind: Kind = "upstream") -> Refusal:
        return Refusal(kind, f"net::ERR_TUNNEL_CONNECTION_FAILED: the proxy {self} gave no connection: {why}")

    async def _ask_http(self, sock: socket.socket, host: Host, port: int) -> bytes | Refusal:
        loop = asyncio.get_running_loop()
        lines = [f"CONNECT {at(host, port)} HTTP/1.1", f"Host: {at(host, port)}"]
        if self.user or self.password:
            login = b64encode(f"{self.user}:{self.password}".encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {login}")
        await loop.sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            if len(head) > _HEADER_LIMIT:
                return self._no("its answer is too long")
            head += await _some(sock, 4096)
        head, _, early = head.partition(b"\r\n\r\n")
        status = _STATUS.match(head + b"\r")
        if status is None:
            return self._no("its answer is not HTTP")
        if not status[1].startswith(b"2"):
            return self._no(f"it answered {status[1].decode()}", "shut" if status[1] == b"407" else "upstream")
        return early

    async def _ask_socks(self, sock: socket.socket, host: Host, port: int) -> bytes | Refusal:
        loop = asyncio.get_running_loop()
        method = 2 if self.user or self.password else 0
        await loop.sock_sendall(sock, bytes((5, 1, method)))
        if await _exactly(sock, 2) != bytes((5, method)):
            wants = "another way of logging in" if method else "a user name and password"
            return self._no(f"it wants {wants}", "shut")
        if method:
            login = b"".join(bytes((len(part),)) + part for part in (self.user.encode(), self.password.encode()))
            await loop.sock_sendall(sock, b"\x01" + login)
            if (await _exactly(sock, 2))[1] != 0:
                return self._no("it does not accept the user name and password", "shut")
        await loop.sock_sendall(sock, b"\x05\x01\x00" + socks_address(host) + port.to_bytes(2))
        version, reply, _, kind = await _exactly(sock, 4)
        if version != 5:
            return self._no("its answer is not SOCKS5")
        if reply:
            fault, why = _SOCKS_REPLIES.get(reply, ("upstream", f"reply {reply}"))
            return self._no(why, fault)
        bound = {1: 4, 4: 16}.get(kind)
        await _exactly(sock, (bound if bound is not None else (await _exactly(sock, 1))[0]) + 2)
        return b""


def socks_address(host: Host) -> bytes:
    """A host as SOCKS5 writes it."""
    if isinstance(host, IPv4Address):
        return b"\x01" + host.packed
    if isinstance(host, IPv6Address):
        return b"\x04" + host.packed
    return b"\x03" + bytes((len(host),)) + host.encode("ascii")


async def _some(sock: socket.socket, size: int) -> bytes:
    data = await asyncio.get_running_loop().sock_recv(sock, size)
    if not data:
        raise EOFError
    return data


async def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await _some(sock, size - len(data))
    return data
