"""The master killed and restarted, and the server told to stop (matrix row 16, G9)."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from tests.served import Served, serving
from tests.wire import Api, Session, connected
from webgym.server.listen import Listener
from webgym.server.master import MasterSettings, master_app, running_master
from webgym.server.protocol import WorkerStatus
from webgym.server.settings import ServeSettings
from webgym.server.worker import BEAT_SECONDS, DRAIN_SECONDS


async def until(true: Callable[[], Any], within: float = 10.0) -> float:
    """Seconds until a condition holds, be it a coroutine function or a plain one."""
    began = time.monotonic()
    while time.monotonic() - began < within:
        value = true()
        if await value if asyncio.iscoroutine(value) else value:
            return time.monotonic() - began
        await asyncio.sleep(0.02)
    raise AssertionError(f"not true in {within:g} s")


async def is_up(api: Api) -> bool:
    try:
        return (await api.ask("GET", "/v1/health")).status in (200, 503)
    except aiohttp.ClientError:
        return False


def kill_master(server: Served) -> int:
    pid = server.children()[0].pid
    os.kill(pid, signal.SIGKILL)
    return pid


def keeps_stepping(session: Session, ends: asyncio.Event) -> asyncio.Task[int]:
    async def step() -> int:
        done = 0
        while not ends.is_set():
            assert (await session.step("wait", seconds=0, seq=done + 1)).status == 200
            done += 1
        return done

    return asyncio.create_task(step())


async def test_a_killed_master_comes_back_with_all_it_knew_and_nothing_is_given_out_twice(tmp_path):
    with serving(tmp_path, sessions=4, workers=2, browsers=2) as server:
        async with connected(server.url) as api:
            held = [await api.open(key=f"key-{n}") for n in range(3)]
            assert len({session.started["url"] for session in held}) == 2
            ends = asyncio.Event()
            stepping = keeps_stepping(held[0], ends)
            old = kill_master(server)
            await until(lambda: is_up(api))
            back = time.monotonic()

            async def whole() -> bool:
                fleet = await api.fleet()
                return len(fleet["workers"]) == 2 and sum(worker["sessions"] for worker in fleet["workers"]) == 3

            await until(whole)
            took = time.monotonic() - back
            assert took < 2 * BEAT_SECONDS + 0.5, "the registry is whole within two beats"
            assert server.children()[-1].pid != old
            relayed = await held[1].step("wait", seconds=0, by=server.url)
            assert relayed.status == 200, "also for those who know only the master's address"
            ends.set()
            assert await stepping > 0, "sessions went on meanwhile"
            # What was asked for before is not asked for twice, whatever worker the new master would choose.
            for n, session in enumerate(held):
                assert (await api.create(key=f"key-{n}")).json["id"] == session.started["id"]
            # One place is left; of many who want it, one gets it.
            answers = await asyncio.gather(*(api.create() for _ in range(8)))
            assert sorted(answer.status for answer in answers) == [200] + [429] * 7
            fleet = await api.fleet()
            assert (fleet["capacity"], fleet["available"]) == (4, 0)
            held.append(Session(api, next(answer.json for answer in answers if answer.status == 200)))
            for session in held:
                assert (await session.step("wait", seconds=0)).status == 200
                assert (await session.call("DELETE", "")).status == 204


async def test_sigterm_lets_sessions_finish_refuses_new_ones_and_exits_with_0(tmp_path):
    with serving(tmp_path, sessions=2) as server:
        async with connected(server.url) as api:
            one, two = await api.open(), await api.open()
            waiting = asyncio.create_task(api.create(wait=60))
            await asyncio.sleep(0.2)
            assert (await two.call("DELETE", "")).status == 204  # and a moment without any: that must not end the drain
            third = Session(api, (await waiting).json)
            line = asyncio.create_task(api.create(wait=60))
            await asyncio.sleep(0.2)
            browsers = server.browsers()
            server.terminate()
            assert (await line).refusal == (503, "unavailable"), "who waits in line is told at once"
            for _ in range(10):
                refused = await api.create()
                assert refused.refusal == (503, "unavailable")
                assert int(refused.headers["retry-after"]) >= 1
                for session in (one, third):
                    assert (await session.step("wait", seconds=0)).status == 200
                await asyncio.sleep(0.1)
            assert server.process.poll() is None
            for session in (one, third):
                assert (await session.call("DELETE", "")).status == 204
            began = time.monotonic()
            assert await asyncio.to_thread(server.wait) == 0
            assert time.monotonic() - began < DRAIN_SECONDS, "nobody was left to wait for"
            assert not any(process.is_running() for process in browsers)


async def test_a_second_sigterm_stops_at_once_and_leaves_nothing(tmp_path):
    with serving(tmp_path, sessions=2) as server:
        async with connected(server.url) as api:
            await api.open()
            family = [*server.children(), *server.browsers()]
            server.terminate()
            await asyncio.sleep(0.5)
            assert server.process.poll() is None, "it drains"
            began = time.monotonic()
            server.terminate()
            assert await asyncio.to_thread(server.wait) == 1
            assert time.monotonic() - began < 4
            _, alive = psutil.wait_procs(family, timeout=5)
            assert not alive
    assert "Traceback" not in server.written()


@pytest.mark.slow
async def test_a_session_nobody_ends_is_ended_when_the_drain_time_is_over(tmp_path: Path):
    with serving(tmp_path, sessions=2) as server:
        async with connected(server.url) as api:
            await api.open(ttl=600)
            began = time.monotonic()
            server.terminate()
            assert await asyncio.to_thread(server.wait) == 0
            assert DRAIN_SECONDS - 1 < time.monotonic() - began < DRAIN_SECONDS + 8


async def test_health_and_capacity_count_only_workers_that_take_sessions():
    settings = MasterSettings(serve=ServeSettings(port=0), fleet_key="the-key-of-a-fleet-of-the-tests")
    taken = WorkerStatus(
        id="w-" + "0" * 12, url="http://127.0.0.1:1", capacity=1, sessions=("s-" + "0" * 24,), browsers=1, version="0"
    )
    leaving = WorkerStatus(
        id="w-" + "1" * 12, url="http://127.0.0.1:2", capacity=8, sessions=(), browsers=1, draining=True, version="0"
    )
    async with (
        running_master(settings) as master,
        Listener(master_app(master), "127.0.0.1", 0, settings.serve.http) as listener,
        aiohttp.ClientSession(listener.url(None)) as http,
    ):

        async def told() -> tuple[int, str, int]:
            async with http.get("/v1/health") as health, http.get("/v1/fleet") as fleet:
                return health.status, (await health.json())["status"], (await fleet.json())["capacity"]

        assert await told() == (503, "starting", 0)
        master.registry.beat(leaving)
        assert await told() == (503, "draining", 0)
        master.registry.beat(taken)
        assert await told() == (200, "ok", 1)


async def test_a_server_that_cannot_reach_its_own_advertised_name_serves_those_who_can(tmp_path):
    with serving(tmp_path, advertise="192.0.2.1", workers=1) as server:  # an address that leads nowhere, from here
        assert server.url == f"http://192.0.2.1:{server.port}"
        async with connected(f"http://127.0.0.1:{server.port}") as api:
            fleet = await api.fleet()
            assert (await api.ask("GET", "/v1/health")).status == 200
            assert fleet["available"] == 4
            session = await api.open()
            assert session.started["url"] == fleet["workers"][0]["url"]
            assert session.started["url"].startswith("http://192.0.2.1:"), "clients are told the name that is theirs"
            assert (await session.step("wait", seconds=0, by=api.base)).status == 200
            assert (await session.call("DELETE", "", by=api.base)).status == 204
