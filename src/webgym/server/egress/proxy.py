"""The only way out for pages: a SOCKS5 server on loopback that every connection of every browser goes
through.

Invariant: a page reaches only an address the policy has accepted. Chromium can resolve nothing and sends
names here; the name is checked, resolved once, every address is checked, and the connection goes to the very
address that was checked. http, https, ws and wss, redirects, frames, workers and WebRTC over TCP all come
this way; UDP has no way at all. If this server is gone, nothing gets out.

Of several addresses of one name, those refused are left out and the rest are tried; if all are refused, so is
the name.

With an upstream proxy, names are checked by rules and literal addresses as always, this machine's own among
them; the upstream resolves names and so decides where they lead. Its own address passes the same policy as
any page's, and localhost never goes through it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

from webgym.errors import Forbidden
from webgym.server.egress.destinations import EgressPolicy, Host, Network, at, canonical_host, is_localhost, zone
from webgym.server.egress.dialing import dial
from webgym.server.egress.failures import Failure, Failures, Kind, Refusal
from webgym.server.egress.names import STOOD_STILL, Names, Resolver, is_silence, stood_still, system_resolver
from webgym.server.egress.own import Own, own_networks
from webgym.server.egress.socks import Handshake
from webgym.server.egress.splice import Side, Tally, join, reset
from webgym.server.egress.upstream import Upstream

log = logging.getLogger(__name__)

BYPASS: Final = "<-loopback>"
"""Chromium's proxy bypass list that bypasses nothing; a BrowserContext with a proxy of its own needs it
too."""

MAX_CONNECTIONS: Final = 2048

_CLOSING: Final = 5.0
_REPLIES: Final[dict[Kind, int]] = {
    "blocked": 2,
    "dns": 4,
    "refused": 5,
    "timeout": 6,
    "unreachable": 4,
    "upstream": 1,
    "overloaded": 1,
    "resolver": 4,
    "proxy": 1,
    "shut": 2,
}
_OURS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})


@dataclass(slots=True)
class Counters:
    """For the metrics. `refused` counts by kind of failure."""

    opened: int = 0
    active: int = 0
    refused: Counter[Kind] = field(default_factory=Counter)
    up: Tally = field(default_factory=Tally)
    down: Tally = field(default_factory=Tally)

    @property
    def bytes_up(self) -> int:
        return self.up.count

    @property
    def bytes_down(self) -> int:
        return self.down.count


class Egress:
    """One per worker, and one more per session that brings its own proxy.

    Tasks live no longer than a connection attempt and belong to this object, not to a TaskGroup: a session's
    Egress is opened by one request and closed by another, which a TaskGroup does not permit.
    """

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        upstream: str | None = None,
        resolver: Resolver = system_resolver,
        own: Own = own_networks,
        clock: Callable[[], float] = time.monotonic,
        max_connections: int = MAX_CONNECTIONS,
        resolve_within: float = 5.0,
        connect_within: float = 10.0,
        handshake_within: float = 5.0,
    ) -> None:
        self.policy = policy
        self.counters = Counters()
        self._upstream = Upstream.parse(upstream) if upstream is not None else None
        if self._upstream is not None and (reason := policy.refuses(self._upstream.host, self._upstream.port)):
            raise Forbidden(f"proxy: blocked by the egress policy: {reason}")
        self._names = Names(resolver, clock=clock, within=resolve_within)
        self._own = own
        self._failures = Failures(clock)
        self.max_connections = max_connections
        self._connect_within = connect_within
        self._handshake_within = handshake_within
        self._server: asyncio.Server | None = None
        self._port: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._near: set[asyncio.Transport] = set()
        self._far: set[asyncio.Transport] = set()
        self._empty = asyncio.Event()

    def __repr__(self) -> str:
        return f"Egress(port={self._port}, upstream={self._upstream})"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Handshake(self, self._handshake_within), "127.0.0.1", 0, backlog=1024
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop listening and cut every connection. Safe to call twice."""
        if self._server is None:
            return
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for transport in (*self._near, *self._far):
            reset(transport)
        # Everything above is done even if what follows is cancelled.
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._names.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING):
                while self._near or self._far:
                    self._empty.clear()
                    await self._empty.wait()

    @property
    def port(self) -> int:
        assert self._port is not None, "the egress was never opened"
        return self._port

    @property
    def proxy_url(self) -> str:
        return f"socks5://127.0.0.1:{self.port}"

    def why(self, host: str, port: int) -> Failure | None:
        """What Chromium only shows as net::ERR_SOCKS_CONNECTION_FAILED."""
        return self._failures.get(host, port)

    def was_short(self, host: str, port: int, since: float) -> Failure | None:
        """Whether a connection failed by no fault of the host since then, though another may have been made after."""
        return self._failures.short(host, port, since)

    def chromium_arguments(self) -> list[str]:
        """The switches that leave Chromium no other way out. They live here and nowhere else."""
        return [
            f"--proxy-server={self.proxy_url}",
            # Chromium bypasses proxies for loopback unless told not to.
            f"--proxy-bypass-list={BYPASS}",
            # Whatever in Chromium still wants to resolve a name fails. The proxy itself is named by address.
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            # HTTP/3 and WebTransport are UDP, which a SOCKS proxy does not carry.
            "--disable-quic",
            # WebRTC may use the proxy (TCP) or nothing. Headless shell reads the first spelling, full
            # Chromium the second.
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
            "--webrtc-ip-handling-policy=disable_non_proxied_udp",
            # Prefetching would only fail, by the rules above; this saves the attempts.
            "--dns-prefetch-disable",
        ]

    # What the handshake calls.

    def arrived(self, transport: asyncio.Transport) -> bool:
        """A connection of Chromium's. False if there are far too many even to tell it politely."""
        self._near.add(transport)
        self.counters.active = len(self._near)
        return len(self._near) <= 2 * self.max_connections

    def left(self, transport: asyncio.Transport) -> None:
        self._near.discard(transport)
        self.counters.active = len(self._near)
        self._noticed()

    def serve(self, client: Handshake, host: str, port: int) -> asyncio.Task[None]:
        task = asyncio.create_task(self._serve(client, host, port))
        self._tasks.add(task)
        task.add_done_callback(self._served)
        return task

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            log.error("a connection attempt ended in a bug", exc_info=bug)

    def _lost_far(self, transport: asyncio.Transport) -> None:
        self._far.discard(transport)
        self._noticed()

    def _noticed(self) -> None:
        if not self._near and not self._far:
            self._empty.set()

    # One connection attempt.

    async def _serve(self, client: Handshake, text: str, port: int) -> None:
        try:
            host = canonical_host(text)
        except ValueError as e:
            self._refuse(client, text, port, Refusal("blocked", f"blocked by the egress policy: {e}"))
            return
        try:
            outcome = await self._reach(host, port)
            if isinstance(outcome, Refusal):
                self._refuse(client, host, port, outcome)
            else:
                self._failures.forget(host, port)
                await self._splice(client, *outcome)
        except BaseException:
            client.transport.abort()
            raise

    def _refuse(self, client: Handshake, host: Host, port: int, refusal: Refusal) -> None:
        self._failures.record(host, port, refusal)
        self.counters.refused[refusal.kind] += 1
        client.refuse(_REPLIES[refusal.kind])

    async def _splice(self, client: Handshake, sock: socket.socket, early: bytes) -> None:
        near = Side(self.counters.up, self.left)
        far = _Far(self.counters.down, self._lost_far)
        join(near, far)

        def ready(transport: asyncio.Transport) -> None:
            # Called before the far side is read, so the reply comes first and nothing is lost between the
            # two.
            self._far.add(transport)
            if client.transport.is_closing():
                transport.abort()
                return
            self.counters.opened += 1
            client.become(near, early)

        far.ready = ready
        await asyncio.get_running_loop().create_connection(lambda: far, sock=sock)

    async def _reach(self, host: Host, port: int) -> tuple[socket.socket, bytes] | Refusal:
        """A socket connected to the host, and bytes that came from it already."""
        if len(self._near) > self.max_connections:
            return Refusal("overloaded", f"this worker already holds {self.max_connections} connections")
        try:
            own = self._own()
        except OSError as e:
            return Refusal("overloaded", f"this machine cannot list its own addresses: {e.strerror}")
        if reason := self._refuses(host, port, own):
            return Refusal("blocked", f"blocked by the egress policy: {reason}")
        if self._upstream is None or is_localhost(host) or _is_loopback(host):
            direct = await self._dial_in_time(host, port, own)
            return direct if isinstance(direct, Refusal) else (direct, b"")
        return await self._through(self._upstream, host, port, own)

    def _refuses(self, host: Host, port: int, own: Sequence[Network]) -> str | None:
        """Why a host may not be reached, before it is looked up or an upstream is asked for it."""
        if isinstance(host, str):
            return self.policy.refuses(host, port)
        return self.policy.refuses_address(host, host, port, own)

    def _late(self, host: Host, port: int, due: float) -> Refusal:
        if stood_still(due):
            return Refusal("overloaded", f"no connection to {at(host, port)}: {STOOD_STILL}")
        text = f"{at(host, port)} did not answer in {self._connect_within:g} s"
        return Refusal("timeout", f"net::ERR_CONNECTION_TIMED_OUT: {text}")

    async def _through(
        self, upstream: Upstream, host: Host, port: int, own: Sequence[Network]
    ) -> tuple[socket.socket, bytes] | Refusal:
        sock = await self._dial_in_time(upstream.host, upstream.port, own)
        if isinstance(sock, Refusal):
            if sock.kind == "overloaded":
                return sock
            # Nothing was asked about the website yet, so whatever is wrong is not wrong with it.
            kind: Kind = "shut" if sock.kind == "blocked" else "proxy"
            return Refusal(kind, f"net::ERR_PROXY_CONNECTION_FAILED: the proxy {upstream}: {sock.text}")
        due = time.monotonic() + self._connect_within
        try:
            async with asyncio.timeout(self._connect_within):
                answer = await upstream.ask(sock, host, port)
        except TimeoutError:  # many a proxy is silent because the website is
            sock.close()
            return self._late(host, port, due)
        except BaseException:
            sock.close()
            raise
        if isinstance(answer, Refusal):
            sock.close()
            return answer
        return sock, answer

    async def _dial_in_time(self, host: Host, port: int, own: Sequence[Network]) -> socket.socket | Refusal:
        due = time.monotonic() + self._connect_within
        try:
            async with asyncio.timeout(self._connect_within):
                return await self._dial_host(host, port, own)
        except TimeoutError:
            return self._late(host, port, due)

    async def _dial_host(self, host: Host, port: int, own: Sequence[Network]) -> socket.socket | Refusal:
        try:
            addresses = await self._names.lookup(host) if isinstance(host, str) else [host]
        except OSError as e:
            if e.errno in _OURS or _is_of_this_machine(e):
                return Refusal("overloaded", f"this machine cannot look up {host}: {e.strerror}")
            silent = is_silence(e)  # perhaps only the website's own name servers are
            said = "no answer from DNS" if silent else "no address"
            kind: Kind = "resolver" if silent and await self._names.fell_silent(str(host)) else "dns"
            return Refusal(kind, f"net::ERR_NAME_NOT_RESOLVED: {said} for {host}")
        reasons = {address: self.policy.refuses_address(host, address, port, own) for address in addresses}
        accepted = [address for address in addresses if reasons[address] is None]
        if not accepted:
            return Refusal("blocked", f"blocked by the egress policy: {reasons[addresses[0]]}")
        try:
            return await dial(accepted, port)
        except ConnectionRefusedError:
            return Refusal("refused", f"net::ERR_CONNECTION_REFUSED: {at(host, port)} refused the connection")
        except OSError as e:
            if e.errno in _OURS:
                return Refusal("overloaded", f"this machine cannot open a connection: {e.strerror}")
            if isinstance(e, TimeoutError):
                return Refusal("timeout", f"net::ERR_CONNECTION_TIMED_OUT: {at(host, port)} did not answer")
            return Refusal("unreachable", f"net::ERR_ADDRESS_UNREACHABLE: {at(host, port)}: {e.strerror or e}")


class _Far(Side):
    """The side towards the site, which says when it is connected."""

    __slots__ = ("ready",)

    ready: Callable[[asyncio.Transport], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.ready(self.transport)


def _is_of_this_machine(error: OSError) -> bool:
    """A lookup that failed for want of memory, or (EAI_SYSTEM, which Python tells as the error behind it) of anything else
    that has nothing to do with the name."""
    if isinstance(error, socket.gaierror):
        return error.errno == socket.EAI_MEMORY
    return not isinstance(error, TimeoutError)


def _is_loopback(host: Host) -> bool:
    return not isinstance(host, str) and zone(host) == "loopback"
