"""Names to addresses: one lookup per name at a time, with a deadline, remembered for a short while.

Invariant: what is remembered is addresses, never decisions. Whoever connects checks every address again and
connects to an address it checked, so a name that changes its answer between check and use (rebinding) gains
nothing.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from ipaddress import ip_address
from typing import Any, Final

from webgym.server.egress.destinations import LOCALHOST, Address, is_localhost

Resolver = Callable[[str], Awaitable[list[Address]]]
"""Addresses of a name in the order to try them; OSError if there are none."""

_ADDRESSES: Final = 8
_PROOFS: Final = 8
_PROOF_SECONDS: Final = 2.0  # in which whoever answers at all answers for a name that is known to be one
_STILL_SECONDS: Final = 1.0
STOOD_STILL: Final = "this worker stood still meanwhile"
THREADS: Final = 128
THREADS_A_DOMAIN: Final = 32


class _SystemResolver:
    """The operating system's answer, with its hosts file and search domains, as for any other program.

    It asks in threads, and a thread whose name server is silent is busy longer than anybody waits for it. So no lookup waits
    for a thread: that would make one website's silence look like another's. When all are busy, that is our failure; one
    domain cannot keep them all busy, and what it asks for beyond its share has no answer from DNS.
    """

    def __init__(self) -> None:
        # Not the loop's own pool: a DNS server that hangs would starve everything else that runs there.
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="dns")
        self._running: dict[Future[list[Any]], str] = {}  # and the domain that each is for

    async def __call__(self, name: str) -> list[Address]:
        self._running = {one: domain for one, domain in self._running.items() if not one.done()}
        if len(self._running) >= THREADS:
            raise OSError(errno.ENOBUFS, "too many lookups at once")
        domain = _domain(name)
        if sum(other == domain for other in self._running.values()) >= THREADS_A_DOMAIN:
            raise socket.gaierror(socket.EAI_AGAIN, f"too many lookups in {domain} at once")
        try:
            asked = self._threads.submit(socket.getaddrinfo, name, None, type=socket.SOCK_STREAM)
        except RuntimeError as e:  # how Python tells that the system gives no more threads
            raise OSError(errno.EAGAIN, f"no thread to ask with: {e}") from e
        self._running[asked] = domain
        found = await asyncio.wrap_future(asked)
        # An IPv6 answer may carry a zone (fe80::1%eth0), which is of this machine only: cut it, the range check
        # refuses it.
        texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
        return [ip_address(text) for text in texts]


system_resolver: Resolver = _SystemResolver()


def _domain(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def is_silence(error: OSError) -> bool:
    """Whether a lookup had no answer at all; that there is no such name is one."""
    return isinstance(error, TimeoutError) or error.errno == socket.EAI_AGAIN


def stood_still(due: float) -> bool:
    """Whether this process noticed a deadline much too late: it was stopped, or its machine was, and nobody was there to
    hear the answer that may have come in time."""
    return time.monotonic() - due > _STILL_SECONDS


class Names:
    """A resolver with a memory."""

    def __init__(
        self,
        resolver: Resolver,
        *,
        clock: Callable[[], float],
        within: float,
        ttl: float = 30.0,
        size: int = 512,
    ) -> None:
        self._resolver = resolver
        self._clock = clock
        self._within = within
        self._ttl = ttl
        self._size = size
        self._proofs: OrderedDict[str, str] = OrderedDict()  # by domain, the last names that had an address
        self._known: OrderedDict[str, tuple[float, list[Address]]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[list[Address] | OSError]] = {}

    async def fell_silent(self, name: str) -> bool:
        """Whether the resolver answers nobody any more: it is asked again for a name that it knew, of a domain that has
        other name servers. One that never knew any is not ours to miss: a machine without internet has none."""
        proof = next((one for domain, one in reversed(self._proofs.items()) if domain != _domain(name)), None)
        if proof is None:
            return False
        self._known.pop(proof, None)
        try:
            async with asyncio.timeout(_PROOF_SECONDS):
                await self.lookup(proof)
        except OSError as e:
            return is_silence(e)
        return False

    async def lookup(self, name: str) -> list[Address]:
        """The addresses of a name; OSError, TimeoutError included, if there are none."""
        if is_localhost(name):
            return list(LOCALHOST)
        if name.endswith(".invalid"):  # by RFC 6761 there is none: no need for a name server to say so
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        if known := self._known.get(name):
            if known[0] > self._clock():
                return known[1]
            del self._known[name]
        task = self._asking.get(name)
        if task is None:
            if len(self._asking) >= self._size:  # lookups outlive the connections that asked, so those do not bound them
                raise OSError(errno.ENOBUFS, "too many lookups at once")
            task = self._asking[name] = asyncio.create_task(self._ask(name))
            task.add_done_callback(lambda _: self._asking.pop(name, None))
        # Shielded: the connection that asked first may go away while others wait for the same answer.
        answer = await asyncio.shield(task)
        if isinstance(answer, OSError):
            raise answer
        return answer

    async def _ask(self, name: str) -> list[Address] | OSError:
        due = time.monotonic() + self._within
        try:
            async with asyncio.timeout(self._within):
                addresses = (await self._resolver(name))[:_ADDRESSES]
        except OSError as e:
            return OSError(errno.ENOBUFS, STOOD_STILL) if isinstance(e, TimeoutError) and stood_still(due) else e
        except UnicodeError as e:  # a name the system's codec will not send
            return socket.gaierror(socket.EAI_NONAME, str(e))
        if not addresses:
            return socket.gaierror(socket.EAI_NONAME, "no address")
        self._proofs[_domain(name)] = name
        self._proofs.move_to_end(_domain(name))
        if len(self._proofs) > _PROOFS:
            self._proofs.popitem(last=False)
        self._known[name] = (self._clock() + self._ttl, addresses)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return addresses

    async def close(self) -> None:
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
