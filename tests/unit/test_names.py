"""Names to addresses: one website's silent name server is nobody else's trouble."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from ipaddress import IPv4Address

import pytest

from webgym.server.egress.destinations import Address
from webgym.server.egress.names import THREADS, THREADS_A_DOMAIN, Names, system_resolver


async def test_lookups_under_way_are_bounded():
    async def never(name: str) -> list[Address]:
        await asyncio.Event().wait()
        return []

    names = Names(never, clock=lambda: 0.0, within=30, size=2)
    pending = [asyncio.create_task(names.lookup(f"{i}.example")) for i in range(2)]
    await asyncio.sleep(0)
    assert len(names._asking) == 2
    with pytest.raises(OSError, match="too many lookups"):
        await names.lookup("c.example")
    await names.close()
    await asyncio.gather(*pending, return_exceptions=True)


async def test_the_system_resolver_knows_the_hosts_file():
    assert IPv4Address("127.0.0.1") in await system_resolver("localhost")


async def test_a_silent_name_server_makes_nobody_else_wait(monkeypatch: pytest.MonkeyPatch):
    resolve, go_on = type(system_resolver)(), threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: go_on.wait(30) and [])
    asking = [asyncio.ensure_future(resolve(f"www.h{n}.example")) for n in range(THREADS)]
    try:
        await asyncio.sleep(0.2)
        for one in asking[:10]:
            one.cancel()  # whoever asked has gone; the thread has not
        with pytest.raises(OSError, match="too many lookups at once") as refused:
            await resolve("late.example")
        assert refused.value.errno == errno.ENOBUFS
    finally:
        go_on.set()
        await asyncio.gather(*asking, return_exceptions=True)
    await asyncio.sleep(0.1)
    assert await resolve("late.example") == []


async def test_one_domain_with_a_silent_name_server_leaves_threads_for_the_others(monkeypatch: pytest.MonkeyPatch):
    resolve, go_on = type(system_resolver)(), threading.Event()

    def ask(name: str, *_: object, **__: object) -> list[object]:
        if name.endswith(".silent.example"):
            go_on.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    asking = [asyncio.ensure_future(resolve(f"h{n}.silent.example")) for n in range(THREADS_A_DOMAIN)]
    try:
        await asyncio.sleep(0.2)
        with pytest.raises(socket.gaierror, match=r"too many lookups in silent\.example at once") as refused:
            await resolve("another.silent.example")
        assert refused.value.errno == socket.EAI_AGAIN, "the website's failure, not ours"
        assert await resolve("www.example") == []
    finally:
        go_on.set()
        await asyncio.gather(*asking, return_exceptions=True)
