"""Clients that die, sleep or lose an answer (rows 13 to 15), over real HTTP against real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from tests.conftest import KEY, settings_for
from tests.faults.injection import taking
from tests.faults.proxy import BadNetwork
from tests.site.server import Site
from webgym.server.fleet.local import LocalFleet, running_fleet

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLICK = {"kind": "click", "x": 100, "y": 40}
SWEEP = 1.0

# A client that creates a session, tells its id, and then clicks once for every line it reads.
CLIENT = """
import json, sys, urllib.error, urllib.request
base, key, page, ttl = sys.argv[1:]
def call(method, url, body, **headers):
    headers |= {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
status, started = call("POST", base + "/v1/sessions", {"url": page, "ttl": float(ttl), "look": {"image": "none"}})
print(json.dumps([status, started.get("id")]), flush=True)
step = started["url"] + "/v1/sessions/" + started["id"] + "/step"
for line in sys.stdin:
    body = {"action": {"kind": "click", "x": 100, "y": 40}, "look": {"image": "none"}}
    status, answer = call("POST", step, body, Lease=started["lease"]["token"])
    print(json.dumps([status, answer.get("error", {}).get("code")]), flush=True)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(site: Site) -> AsyncIterator[LocalFleet]:
    async with running_fleet(settings_for(site, sessions=2, workers=1, browsers=1), KEY) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=30)
    # A connection of its own for every call: aiohttp repeats nothing by itself then.
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(
        headers={"Authorization": f"Bearer {KEY}"}, timeout=timeout, connector=connector
    ) as client:
        yield client


@dataclass
class Session:
    """One session as a client of raw HTTP sees it."""

    http: aiohttp.ClientSession
    base: str
    id: str
    lease: str

    async def step(
        self, action: dict[str, Any] = CLICK, *, base: str | None = None, **more: Any
    ) -> tuple[int, dict[str, Any]]:
        url = f"{base or self.base}/v1/sessions/{self.id}/step"
        body = {"action": action, "look": {"image": "none"}, **more}
        async with self.http.post(url, json=body, headers={"Lease": self.lease}) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def session(http: aiohttp.ClientSession, fleet: LocalFleet, site: Site) -> AsyncIterator[Session]:
    body = {"url": site.url("/counter"), "look": {"image": "none"}, "wait": 20}
    async with http.post(f"{fleet.url}/v1/sessions", json=body) as answer:
        assert answer.status == 200, await answer.text()
        started = await answer.json()
    mine = Session(http, started["url"], started["id"], started["lease"]["token"])
    try:
        yield mine
    finally:
        await http.delete(f"{mine.base}/v1/sessions/{mine.id}", headers={"Lease": mine.lease})


@asynccontextmanager
async def client_process(fleet: LocalFleet, site: Site, ttl: float) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CLIENT,
        fleet.url,
        KEY,
        site.url("/counter"),
        str(ttl),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        status, _ = await told(process)
        assert status == 200
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def told(process: asyncio.subprocess.Process) -> tuple[int, str | None]:
    assert process.stdout is not None
    async with asyncio.timeout(30):
        status, word = json.loads(await process.stdout.readline())
    return status, word


async def click(process: asyncio.subprocess.Process) -> tuple[int, str | None]:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()
    return await told(process)


async def held_sessions(http: aiohttp.ClientSession, fleet: LocalFleet) -> int:
    async with http.get(f"{fleet.workers[0].url}/v1/fleet") as answer:
        state = await answer.json()
    return int(state["workers"][0]["sessions"])


# row 13


async def test_a_client_that_was_killed_is_forgotten_within_its_ttl_and_a_sweep(
    fleet: LocalFleet, http: aiohttp.ClientSession, site: Site
):
    async with client_process(fleet, site, ttl=2) as client:
        assert (await click(client))[0] == 200
        client.kill()
        killed = time.monotonic()
        assert await held_sessions(http, fleet) == 1
        while await held_sessions(http, fleet):
            assert time.monotonic() - killed < 2 + SWEEP + 1
            await asyncio.sleep(0.05)


# row 14


async def test_a_client_that_slept_past_its_ttl_gets_410_and_touches_nothing(
    fleet: LocalFleet, http: aiohttp.ClientSession, site: Site
):
    async with client_process(fleet, site, ttl=1) as sleeper:
        assert (await click(sleeper))[0] == 200
        assert sleeper.stdin is not None
        before = site.count("click")
        os.kill(sleeper.pid, signal.SIGSTOP)
        try:
            sleeper.stdin.write(b"\n")  # it acts on this when it wakes
            await asyncio.sleep(1 + SWEEP + 0.5)
            # The places it had are used by others meanwhile.
            async with session(http, fleet, site) as next_one, session(http, fleet, site):
                os.kill(sleeper.pid, signal.SIGCONT)
                assert await told(sleeper) == (410, "stale_lease")
                status, answer = await next_one.step({"kind": "wait", "seconds": 0})
                assert (status, answer["observation"]["title"]) == (200, "count 0")
        finally:
            os.kill(sleeper.pid, signal.SIGCONT)
        assert site.count("click") == before


async def test_the_token_of_another_session_touches_nothing(fleet: LocalFleet, http: aiohttp.ClientSession, site: Site):
    before = site.count("click")
    async with session(http, fleet, site) as mine, session(http, fleet, site) as yours:
        thief = Session(http, yours.base, yours.id, mine.lease)
        status, answer = await thief.step()
        assert (status, answer["error"]["code"]) == (410, "stale_lease")
    assert site.count("click") == before


# row 15


@asynccontextmanager
async def bad_network(fleet: LocalFleet) -> AsyncIterator[BadNetwork]:
    address = urlsplit(fleet.workers[0].url)
    assert address.hostname is not None
    assert address.port is not None
    async with BadNetwork(address.hostname, address.port) as network:
        yield network


async def test_an_answer_that_was_lost_is_had_by_asking_again_without_a_second_click(
    fleet: LocalFleet, http: aiohttp.ClientSession, site: Site
):
    before = site.count("click")
    async with session(http, fleet, site) as mine, bad_network(fleet) as network:
        network.cut_answers = True
        with pytest.raises(aiohttp.ClientError):
            await mine.step(base=network.url, key="lost", seq=1)
        assert network.seen["cuts"] == 1
        network.cut_answers = False
        status, answer = await mine.step(base=network.url, key="lost", seq=1)
        assert (status, answer["seq"], answer["repeated"]) == (200, 1, True)
        assert answer["observation"]["title"] == "count 1"
        await site.reported("click", before + 1)
        status, answer = await mine.step(base=network.url, key="next", seq=2)
        assert (status, answer["observation"]["title"]) == (200, "count 2")
    assert site.count("click") == before + 2


async def test_a_request_that_was_lost_is_done_once_when_it_is_repeated(
    fleet: LocalFleet, http: aiohttp.ClientSession, site: Site
):
    before = site.count("click")
    async with session(http, fleet, site) as mine, bad_network(fleet) as network:
        network.cut_requests = True
        with pytest.raises(aiohttp.ClientError):
            await mine.step(base=network.url, key="lost", seq=1)
        network.cut_requests = False
        status, answer = await mine.step(base=network.url, key="lost", seq=1)
        assert (status, answer["repeated"], answer["observation"]["title"]) == (200, False, "count 1")
    assert site.count("click") == before + 1


async def test_the_same_step_sent_many_times_at_once_is_one_click(
    fleet: LocalFleet, http: aiohttp.ClientSession, site: Site
):
    before = site.count("click")
    async with session(http, fleet, site) as mine:
        answers = await asyncio.gather(*(mine.step(key="same", seq=1) for _ in range(8)))
        assert [status for status, _ in answers] == [200] * 8
        assert sum(not answer["repeated"] for _, answer in answers) == 1
        assert {answer["observation"]["title"] for _, answer in answers} == {"count 1"}
    assert site.count("click") == before + 1


async def test_steps_out_of_order_are_refused(fleet: LocalFleet, http: aiohttp.ClientSession, site: Site):
    before = site.count("click")
    async with session(http, fleet, site) as mine:
        for seq in (2, 5, 0 + 3):
            status, answer = await mine.step(key=f"early-{seq}", seq=seq)
            assert (status, answer["error"]["code"]) == (409, "step_conflict")
        assert (await mine.step(key="a", seq=1))[0] == 200
        assert (await mine.step(key="b", seq=2))[0] == 200
        status, answer = await mine.step(key="late", seq=1)
        assert (status, answer["error"]["code"]) == (409, "step_conflict")
        assert (await mine.step(key="a", seq=1))[1]["repeated"] is True
        assert (await mine.step(key="c", seq=3))[0] == 200
    assert site.count("click") == before + 3


async def test_a_browser_of_the_old_api_that_nobody_waited_for_is_given_back(
    fleet: LocalFleet, http: aiohttp.ClientSession, site: Site
):
    place = urlsplit(fleet.url)
    for _ in range(4):  # of two sessions
        _, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(f"POST /get HTTP/1.1\r\nHost: {place.netloc}\r\nX-API-Key: {KEY}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()  # it is heard, and gone before there is an answer
        await asyncio.sleep(0.5)
    held = []
    for _ in range(2):
        async with http.post(f"{fleet.url}/get") as answer:
            assert answer.status == 200, await answer.text()
            instance = await answer.json()
        held.append(instance)
    for instance in held:
        async with http.post(f"{fleet.url}/reset", params=instance) as answer:
            assert answer.status == 200


async def test_a_slow_network_changes_nothing(fleet: LocalFleet, http: aiohttp.ClientSession, site: Site):
    async with session(http, fleet, site) as mine, bad_network(fleet) as network:
        network.delay, network.bytes_per_second = 0.2, 4000
        async with taking(15):
            status, answer = await mine.step(base=network.url, key="slow", seq=1)
        assert (status, answer["observation"]["title"]) == (200, "count 1")
        network.drop = True
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await mine.step(base=network.url, key="dropped", seq=2)
        network.drop = False
        assert (await mine.step(base=network.url, key="dropped", seq=2))[0] == 200
