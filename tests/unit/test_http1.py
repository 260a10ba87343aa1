"""The HTTP client against hosts that answer as they please, byte by byte, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from webgym.http1 import HEAD, Broken, Http, Late, NotConnected, Unsendable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Raw:
    """Says the next of its answers to each request; `closing` hangs up after it."""

    answers: list[bytes]
    closing: bool = False
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0
    gone: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(one[15:]) for one in head.split(b"\r\n") if one.startswith(b"Content-Length:")), 0)
                self.heard.append(head + await reader.readexactly(length))
                writer.write(self.answers.pop(0) if self.answers else OK)
                if self.closing:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone += 1
        finally:
            writer.close()


@asynccontextmanager
async def talking(
    *answers: bytes, closing: bool = False, cap: int = 10_000, connections: int = 0
) -> AsyncIterator[tuple[Raw, Http, str]]:
    raw = Raw(list(answers), closing)
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
    http = Http(connect=2.0, idle=60.0, cap=cap, connections=connections, headers={"X-Key": "secret"})
    try:
        yield raw, http, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await http.close()
        server.close()
        await server.wait_closed()


async def test_a_request_arrives_as_it_was_given_and_its_connection_is_kept():
    async with talking() as (raw, http, url):
        host = http.at(f"{url}/v1/")
        for _ in range(3):
            answer = await host.ask("POST", "/step?x=1", {"Lease": "a"}, (b"one ", b"two"), within=5)
            assert (answer.status, answer.body, answer.cut) == (200, b"ok", False)
        first = raw.heard[0].decode()
        assert first.startswith("POST /v1/step?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")
        assert "X-Key: secret\r\n" in first
        assert "Lease: a\r\n" in first
        assert first.endswith("Content-Length: 7\r\n\r\none two")
        assert raw.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(b"ok"))
        + gzip.compress(b"ok"),
    ],
    ids=["chunked", "after hints", "packed"],
)
async def test_an_answer_is_read_however_it_is_framed(answer: bytes):
    async with talking(answer) as (raw, http, url):
        for _ in range(2):
            assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
        assert raw.connections == 1


async def test_an_answer_that_ends_with_its_connection_is_whole():
    async with talking(b"HTTP/1.1 200 OK\r\n\r\nok", closing=True) as (_, http, url):
        assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"


async def test_an_answer_without_a_body_is_whole():
    async with talking(b"HTTP/1.1 204 No Content\r\n\r\n") as (raw, http, url):
        assert (await http.at(url).ask("DELETE", "/", within=5)).status == 204
        assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
        assert raw.connections == 1


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", b"HTTP/1.1 200 OK\r\nContent-", b"SSH-2.0-OpenSSH_9\r\n"],
)
async def test_half_an_answer_is_none(answer: bytes):
    async with talking(answer, closing=True) as (raw, http, url):
        with pytest.raises(Broken):
            await http.at(url).ask("POST", "/", body=(b"once",), within=5)
        assert len(raw.heard) == 1


async def test_a_host_that_hangs_up_is_connected_to_again():
    async with talking(OK, OK, closing=True) as (raw, http, url):
        for _ in range(2):
            assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
            await asyncio.sleep(0.05)
        assert raw.connections == 2
    async with talking(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok") as (raw, http, url):
        for _ in range(2):
            assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
        assert raw.connections == 2


@pytest.mark.parametrize("more", [OK.replace(b"ok", b"no"), b"garbage\r\n\r\n"])
async def test_what_nobody_asked_for_answers_no_other_question(more: bytes):
    async with talking(OK + more) as (raw, http, url):
        for _ in range(2):
            assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
        assert raw.connections == 2


async def test_a_body_beyond_the_cap_is_cut_and_its_connection_closed():
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + bytes(50_000)
    packed = gzip.compress(bytes(50_000))
    bomb = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    async with talking(long, bomb) as (raw, http, url):
        for _ in range(2):
            answer = await http.at(url).ask("GET", "/", within=5)
            assert (answer.cut, len(answer.body)) == (True, 10_000)
        assert raw.connections == 2


async def test_a_head_without_end_is_not_waited_for():
    async with talking(b"HTTP/1.1 200 OK\r\nX: " + b"x" * (2 * HEAD)) as (_, http, url):
        with pytest.raises(Broken, match="no end"):
            await http.at(url).ask("GET", "/", within=5)


async def test_whoever_is_cancelled_closes_his_connection():
    async with talking(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok") as (raw, http, url):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await http.at(url).ask("GET", "/", within=5)
        assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
        assert (raw.connections, raw.gone) == (2, 1)


async def test_every_request_has_a_deadline_of_its_own_and_late_ones_close_their_connections():
    silence = b"HTTP/1.1 100 Continue\r\n\r\n"
    async with talking(OK, silence, OK, silence) as (raw, http, url):
        host, clock = http.at(url), asyncio.get_running_loop().time
        for deadline, before in ((0.1, 5.0), (0.3, 0.2)):  # an alarm that is later, and one that is earlier
            assert (await host.ask("GET", "/", within=before)).body == b"ok"
            began = clock()
            with pytest.raises(Late, match=f"no answer in {deadline:g} s"):
                await host.ask("GET", "/", within=deadline)
            assert deadline <= clock() - began < deadline + 1
        assert (await host.ask("GET", "/", within=5)).body == b"ok"
        assert raw.connections == 3


async def test_waiting_for_a_connection_counts_too():
    async with talking(b"HTTP/1.1 100 Continue\r\n\r\n", connections=1) as (raw, http, url):
        first = asyncio.create_task(http.at(url).ask("GET", "/", within=0.3))
        await asyncio.sleep(0.05)
        with pytest.raises(Late):
            await http.at(url).ask("GET", "/", within=0.1)
        with pytest.raises(Late):
            await first
        assert (await http.at(url).ask("GET", "/", within=5)).body == b"ok"
        assert len(raw.heard) == 2


async def test_no_more_connections_are_made_than_allowed():
    async with talking(connections=2) as (raw, http, url):
        await asyncio.gather(*(http.at(url).ask("GET", "/", within=5) for _ in range(10)))
        assert (raw.connections, len(raw.heard)) == (2, 10)


async def test_a_host_that_is_not_there_has_seen_nothing():
    async with talking() as (_, http, url):
        pass
    with pytest.raises(NotConnected):
        await http.at(url).ask("GET", "/", within=5)
    with pytest.raises(NotConnected):
        await http.at("http://nowhere.invalid").ask("GET", "/", within=5)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "☃"])
async def test_nothing_that_is_sent_begins_a_line_of_its_own(value: str):
    async with talking() as (raw, http, url):
        with pytest.raises(Unsendable, match="cannot be sent") as refusal:
            await http.at(url).ask("GET", "/", {"Lease": value}, within=5)
        assert value not in str(refusal.value)
        with pytest.raises(Unsendable, match="no path"):
            await http.at(url).ask("GET", f"/{value}", within=5)
        assert raw.heard == []
