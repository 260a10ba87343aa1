"""How the master finds a session, over real sockets, with workers that answer what the test tells them to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from fastapi import Request

from webgym.errors import Unavailable
from webgym.server.listen import Listener, near_url
from webgym.server.master import Master, MasterSettings, master_app, running_master
from webgym.server.protocol import (
    BESIDE_HEADER,
    FLEET_KEY_HEADER,
    SESSION_HEADER,
    WORKERS,
    Heartbeat,
    NewSession,
    WorkerStatus,
)
from webgym.server.settings import ServeSettings

SETTINGS = MasterSettings(serve=ServeSettings(port=0), fleet_key="the-key-of-a-fleet-of-the-tests")


@dataclass
class StandIn:
    """A worker that takes everybody until it is told how to refuse."""

    n: int
    refusal: Callable[[], web.Response] | None = None
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    def status(self, *, capacity: int = 1, sessions: tuple[str, ...] = (), keys: tuple[str, ...] = ()) -> WorkerStatus:
        name = f"w-{self.n:012x}"
        return WorkerStatus(id=name, url=self.url, capacity=capacity, sessions=sessions, keys=keys, browsers=1, version="x")

    async def _create(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        if self.refusal is not None:
            return self.refusal()
        session_id = f"s-{self.n:08x}{len(self.asked):016x}"
        return web.json_response({"id": session_id, "worker": self.n}, headers={SESSION_HEADER: session_id})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[StandIn]:
        application = web.Application()
        application.router.add_post("/v1/sessions", self._create)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()


def refusing(status: int, message: str, retry_after: int) -> Callable[[], web.Response]:
    body = {
        "error": {"code": "unavailable" if status == 503 else "overloaded", "message": message, "retry_after": retry_after}
    }
    return lambda: web.json_response(body, status=status, headers={"retry-after": str(retry_after)})


@asynccontextmanager
async def mastered() -> AsyncIterator[tuple[Master, aiohttp.ClientSession]]:
    async with (
        running_master(SETTINGS) as master,
        Listener(master_app(master), "127.0.0.1", 0, SETTINGS.serve.http) as listener,
        aiohttp.ClientSession(listener.url(None), timeout=aiohttp.ClientTimeout(total=20)) as http,
    ):
        yield master, http


async def create(http: aiohttp.ClientSession, **fields: Any) -> tuple[int, str | None, Any]:
    async with http.post("/v1/sessions", json=fields) as answer:
        return answer.status, answer.headers.get("retry-after"), json.loads(await answer.read())


async def test_the_reason_a_worker_gives_for_no_session_is_what_the_client_hears():
    async with StandIn(1).running() as sick, StandIn(2).running() as full, mastered() as (master, http):
        sick.refusal = refusing(503, "there is no room for a session's files", 5)
        for wait in (0, 0.3):
            master.registry.beat(sick.status())
            status, retry_after, said = await create(http, wait=wait)
            assert (status, retry_after) == (503, "5")
            assert said["error"]["message"] == "there is no room for a session's files"
        full.refusal = refusing(429, "all 1 sessions are taken", 1)
        master.registry.beat(sick.status(capacity=4))
        master.registry.beat(full.status())
        assert (await create(http))[0] == 429, "of the other a session may become free: whoever waits for one loses nothing"
        full.refusal = refusing(503, "no browser is running", 3)
        master.registry.beat(sick.status(capacity=4))
        master.registry.beat(full.status())
        assert (await create(http))[0] == 503, "of none"
        full.refusal = None
        master.registry.beat(sick.status(capacity=4))
        master.registry.beat(full.status())
        assert (await create(http))[0] == 200


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - what changes is the line, which wakes nobody but those in it
            await asyncio.sleep(0.01)


async def leave(call: asyncio.Task[Any]) -> None:
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await asyncio.sleep(0.2)  # for the server to see that the connection is closed


async def test_calls_with_one_key_stay_in_line_until_the_last_of_them_has_gone():
    async with StandIn(1).running() as worker, mastered() as (master, http):
        master.registry.beat(worker.status(sessions=("s-" + "0" * 24,)))

        async def come() -> asyncio.Task[Any]:
            call = asyncio.create_task(create(http, key="k", wait=10))
            await asyncio.sleep(0.2)
            return call

        for stays in (0, 1, 2):
            calls = [await come() for _ in range(3)]
            assert master.registry.queued == 1
            for n, call in enumerate(calls):
                if n != stays:
                    await leave(call)
            assert not calls[stays].done()
            assert master.registry.queued == 1
            if stays == 1:
                await leave(calls[stays])
                await until(lambda: master.registry.queued == 0)
                continue
            master.registry.beat(worker.status())
            status, _, started = await calls[stays]
            assert status == 200
            master.registry.beat(worker.status(sessions=(started["id"],)))
        assert len(worker.asked) == 2


async def test_the_refusal_of_one_who_has_gone_says_when_to_ask_again():
    async with StandIn(1).running() as worker, running_master(SETTINGS) as master:
        master.registry.beat(worker.status(sessions=("s-" + "0" * 24,)))
        left = asyncio.Event()

        async def receive() -> dict[str, str]:
            await left.wait()
            return {"type": "http.disconnect"}

        client = Request({"type": "http"}, receive)
        call = asyncio.create_task(master.create(NewSession(wait=10), accept="", relay=False, client=client))
        await until(lambda: master.registry.queued == 1)
        left.set()
        with pytest.raises(Unavailable) as refused:
            await call
        assert refused.value.retry_after is not None


async def test_a_key_that_has_just_become_free_is_not_kept_to_the_worker_that_had_it():
    async with StandIn(1).running() as old, StandIn(2).running() as other, mastered() as (master, http):
        for refusal in (refusing(429, "all 1 sessions are taken", 1), refusing(503, "this worker is shutting down", 5)):
            old.refusal, old.asked = refusal, []
            master.registry.beat(old.status(sessions=("s-" + "0" * 24,), keys=("k",)))
            master.registry.beat(other.status())
            status, _, started = await create(http, key="k")
            assert (status, started["worker"], len(old.asked)) == (200, 2, 1)


async def test_a_worker_that_is_full_is_still_asked_for_the_keys_it_has():
    async with StandIn(1).running() as holder, StandIn(2).running() as other, mastered() as (master, http):
        master.registry.beat(holder.status(capacity=2, keys=("k",)))
        holder.refusal = refusing(429, "all 2 sessions are taken", 1)
        assert (await create(http))[0] == 429
        master.registry.beat(other.status())
        answers = [lambda: web.Response(status=503), lambda: web.json_response({"worker": 1})]
        holder.refusal = lambda: answers.pop(0)()  # first its connections are full, and nobody there has looked for the key
        assert await create(http, key="k") == (200, None, {"worker": 1})
        holder.refusal, holder.asked = lambda: web.Response(status=503), []
        status, retry_after, said = await create(http, key="k", wait=60)
        assert (status, retry_after, said["error"]["code"]) == (503, "1", "unavailable")
        assert len(holder.asked) == 3
        assert not other.asked


async def test_a_worker_beside_its_master_is_asked_there_and_any_other_at_the_address_it_tells():
    async with StandIn(1).running() as worker, mastered() as (master, http):

        async def beat(url: str, *, beside: bool) -> None:
            headers = {FLEET_KEY_HEADER: SETTINGS.fleet_key, "Content-Type": "application/json"}
            body = Heartbeat(worker=worker.status().model_copy(update={"url": url})).model_dump_json()
            async with http.post(WORKERS, data=body, headers=headers | ({BESIDE_HEADER: "1"} if beside else {})) as answer:
                assert answer.status == 200

        elsewhere = worker.url.replace("127.0.0.1", "no-such-host.invalid")
        await beat(elsewhere, beside=True)
        assert (await create(http))[0] == 200
        assert [one.url for one in master.registry.workers()] == [elsewhere], "what clients are told"
        await beat(elsewhere, beside=False)
        assert (await create(http))[0] == 503
        await beat(worker.url, beside=False)
        assert (await create(http))[0] == 200


def test_one_that_listens_everywhere_is_near_on_loopback():
    assert [near_url(host, 7) for host in ("0.0.0.0", "::", "10.0.0.5", "::1")] == [
        "http://127.0.0.1:7",
        "http://127.0.0.1:7",
        "http://10.0.0.5:7",
        "http://[::1]:7",
    ]
