"""The test website itself: its pages answer, its endless ones let go, its counters count."""

import asyncio
import socket
import ssl
import struct
import time
import zlib
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest

from tests.site import images, nasty
from tests.site.canary import Canary, free_port
from tests.site.server import Site
from tests.site.tls import TlsSite

LOCAL = "127.0.0.1"
ENDLESS = ["/drip", "/drip.png", "/never", "/download-endless", "/download-big", "/live/events"]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield session


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 - counters have no event to wait for
        await asyncio.sleep(0.01)


async def test_every_ordinary_page_of_the_index_answers(site: Site, client: aiohttp.ClientSession) -> None:
    async with client.get(site.url("/", host=LOCAL)) as response:
        index = await response.text()
    assert len(site.entries) > 60
    slowest = 0.0
    for entry in site.entries:
        assert entry.path.split("?")[0] in index
        if not entry.ordinary:
            continue
        began = time.monotonic()
        async with client.get(site.url(entry.path, host=LOCAL)) as response:
            assert response.status == 200, entry.path
            assert await response.read(), entry.path
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 2
    assert site.hits["/counter"] == 2, "once itself, once through /redirect"


@pytest.mark.parametrize("path", ENDLESS)
async def test_closing_is_quick_with_an_endless_response_open(path: str) -> None:
    site = await Site().__aenter__()
    reader, writer = await asyncio.open_connection(LOCAL, site.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {LOCAL}\r\n\r\n".encode())
    if path != "/never":
        await reader.readexactly(10)
    async with asyncio.timeout(1):
        await until(lambda: site.hits[path] > 0)
        await site.__aexit__(None, None, None)
    writer.transport.abort()
    assert len(asyncio.all_tasks()) == 1


async def test_an_endless_response_ends_when_its_client_leaves(site: Site) -> None:
    before = len(asyncio.all_tasks())
    _, writer = await asyncio.open_connection(LOCAL, site.port)
    writer.write(f"GET /never HTTP/1.1\r\nHost: {LOCAL}\r\n\r\n".encode())
    async with asyncio.timeout(5):
        await until(lambda: site.hits["/never"] > 0)
        writer.transport.abort()
        await until(lambda: len(asyncio.all_tasks()) <= before)


async def test_reports_are_kept_in_order(site: Site, client: aiohttp.ClientSession) -> None:
    waiting = asyncio.create_task(site.reported("click", times=2))
    await client.post(site.url("/report?what=click", host=LOCAL), data="one")
    await client.get(site.url("/report?what=load", host=LOCAL))
    await client.post(site.url("/report?what=click", host=LOCAL), data="two")
    await waiting
    assert [(event.what, event.method, event.body) for event in site.events] == [
        ("click", "POST", "one"),
        ("load", "GET", ""),
        ("click", "POST", "two"),
    ]


async def test_the_password_opens_the_page(site: Site, client: aiohttp.ClientSession) -> None:
    url = site.url("/basic-auth", host=LOCAL)
    async with (
        client.get(url) as refused,
        client.get(url, headers={"Authorization": nasty.PASSWORD}) as let_in,
    ):
        assert (refused.status, let_in.status) == (401, 200)


async def test_the_certificate_is_refused(client: aiohttp.ClientSession) -> None:
    async with TlsSite() as site:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get(site.url("/counter", host=LOCAL))
        lenient = ssl.create_default_context()
        lenient.check_hostname = False
        lenient.verify_mode = ssl.CERT_NONE
        async with client.get(site.url("/counter", host=LOCAL), ssl=lenient) as response:
            assert response.status == 200


async def test_the_canary_counts_connections_and_datagrams(client: aiohttp.ClientSession) -> None:
    async with Canary() as canary:
        assert canary.hits == 0
        async with client.get(canary.url("/secret")) as response:
            assert await response.text() == "canary"
        silent = await asyncio.open_connection(LOCAL, canary.port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", (LOCAL, canary.port))
        async with asyncio.timeout(5):
            await until(lambda: canary.hits == 3)
        silent[1].transport.abort()
        assert (canary.connections, canary.datagrams) == (2, 1)
        assert canary.requests == ["GET /secret HTTP/1.1"]
        port = canary.port
    for closed in (port, free_port()):
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(LOCAL, closed)


def test_a_photo_is_a_valid_png_of_the_promised_size() -> None:
    for n in (0, 39):
        data = images.photo(n)
        assert 30_000 < len(data) < 100_000
        assert struct.unpack(">II", data[16:24]) == (320, 240)
        length = struct.unpack(">I", data[33:37])[0]
        assert len(zlib.decompress(data[41 : 41 + length])) == 240 * (1 + 320 * 3)
