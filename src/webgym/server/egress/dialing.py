"""Connecting to addresses, and only to addresses: nothing here resolves a name.

Invariant: exactly one socket comes out; every other attempt is cancelled and its socket closed.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Final

from webgym.server.egress.destinations import Address
from webgym.server.egress.splice import tune

_STAGGER: Final = 0.25


async def dial(addresses: Sequence[Address], port: int) -> socket.socket:
    """The first address that answers wins; each gets a head start of a quarter second over the next (RFC
    8305)."""
    if len(addresses) == 1:
        return await _connect(addresses[0], port)
    waiting = deque(addresses)
    running: set[asyncio.Task[socket.socket]] = set()
    errors: list[BaseException] = []
    try:
        while waiting or running:
            if waiting:
                running.add(asyncio.create_task(_connect(waiting.popleft(), port)))
            head_start = _STAGGER if waiting else None
            done, _ = await asyncio.wait(running, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                running.discard(task)
                if error := task.exception():
                    errors.append(error)
                else:
                    return task.result()
    finally:
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(outcome, socket.socket):
                outcome.close()
    # A refusal says more than the missing route of the other address family.
    raise next((e for e in errors if isinstance(e, ConnectionRefusedError)), errors[-1])


async def _connect(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        tune(sock)
        await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock
