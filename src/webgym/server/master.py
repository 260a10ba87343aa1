"""The master: finds a worker with a free session for each client, and relays for those who can reach only its address.

It holds nothing that heartbeats do not bring back. Killed and restarted, it knows the fleet again within two beats, and
sessions go on meanwhile because their clients talk to the workers.
"""

from __future__ import annotations

import asyncio
import hmac
import io
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import aiohttp
import msgspec
from fastapi import FastAPI, Header, Request, Response
from pydantic import BaseModel, Field
from yarl import URL

from webgym import __version__
from webgym.errors import BadRequest, Overloaded, ServerError, Unauthorized, Unavailable, UnknownSession
from webgym.server.http import left, new_app, reply, unless_gone
from webgym.server.leases import TURN_SECONDS
from webgym.server.listen import Listener, near_url
from webgym.server.metrics import Metrics
from webgym.server.omniboxes import add_omniboxes_routes
from webgym.server.openapi import describe_too, docs_page
from webgym.server.protocol import (
    BESIDE_HEADER,
    FLEET,
    FLEET_KEY_HEADER,
    HEALTH,
    LEASE_HEADER,
    METRICS,
    RELAY_HEADER,
    SESSION_HEADER,
    SESSIONS,
    WORKERS,
    Fleet,
    Health,
    Heartbeat,
    HeartbeatTaken,
    NewSession,
    SessionStarted,
)
from webgym.server.registry import Member, Registry
from webgym.server.sessions import CALL_SECONDS
from webgym.server.settings import SHORTEST_KEY, Keyed
from webgym.server.worker import BEAT_SECONDS, session_schema

log = logging.getLogger(__name__)

PASSED_ON = ("accept", "content-type", LEASE_HEADER.lower())
PASSED_BACK = ("content-type", "retry-after")
TRIES = 3
SESSION_ID = re.compile(r"s-[0-9a-f]{24}")


class MasterSettings(Keyed):
    fleet_key: str = Field(min_length=SHORTEST_KEY, repr=False)


class Answer(BaseModel):
    """A worker's answer, as it came."""

    status: int
    body: bytes
    headers: dict[str, str]

    def response(self) -> Response:
        kept = {name: self.headers[name] for name in PASSED_BACK if name in self.headers}
        return Response(self.body, self.status, kept)


class Shared:
    """A create that every call with its key waits for. It is in line for all of them, until the last has gone."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.deserted = asyncio.Event()
        self._waiting = 0

    @asynccontextmanager
    async def awaited_by(self, client: Request | None) -> AsyncIterator[None]:
        self._waiting += 1
        self.deserted.clear()
        watching = asyncio.create_task(self._watch(client))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, client: Request | None) -> None:
        if client is None:
            return
        await left(client)
        self._waiting -= 1
        if not self._waiting:
            self.deserted.set()


class Master:
    def __init__(self, settings: MasterSettings, http: aiohttp.ClientSession) -> None:
        self.settings = settings
        self.registry = Registry(queue=settings.serve.queue, clock=time.monotonic)
        self.metrics = Metrics()
        self._http = http
        self._creating: dict[str, Shared] = {}
        self.metrics.watch("webgym_queue", "Clients waiting for a session.", lambda: self.registry.queued)
        self.metrics.watch("webgym_workers", "Workers known.", lambda: len(self.registry.workers()))

    async def ask(
        self,
        member: Member,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: dict[str, str],
        within: float = TURN_SECONDS + CALL_SECONDS + 10,
    ) -> Answer:
        """One call to a worker. `path` is made of our own constants, ids found in the registry and a quoted file name."""
        if self.settings.key is not None:
            headers = {**headers, "Authorization": f"Bearer {self.settings.key}"}
        try:
            url = URL(member.address + path, encoded=True)
            data = io.BytesIO(body) if body else None  # aiohttp would write bytes in one go, and warns if they are many
            limits = aiohttp.ClientTimeout(total=within, connect=3)
            async with self._http.request(
                method, url, data=data, headers=headers, timeout=limits, allow_redirects=False
            ) as answer:
                lowered = {name.lower(): value for name, value in answer.headers.items()}
                got = Answer(status=answer.status, body=await answer.read(), headers=lowered)
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            self.registry.suspect(member)
            raise Unavailable(f"the worker did not answer ({type(e).__name__})", retry_after=1.0) from e
        if got.status == Unavailable.status and not got.body:  # said before anybody there read the request
            member.full = True
            raise Unavailable("the worker holds as many connections as it may", retry_after=1.0)
        return got

    async def create(self, request: NewSession, *, accept: str, relay: bool, client: Request | None = None) -> Answer:
        """A session on some worker. Whoever repeats an idempotency key gets what the first call with it gets."""
        headers = {"accept": accept, "content-type": "application/json"} | ({RELAY_HEADER: "1"} if relay else {})
        if request.key is None:
            return await self._create(request, headers, None if client is None else partial(left, client))
        earlier = self._creating.get(request.key)
        if earlier is not None:
            async with earlier.awaited_by(client):
                return await asyncio.shield(earlier.answer)
        shared = self._creating[request.key] = Shared()
        try:
            async with shared.awaited_by(client):
                answer = await self._create(request, headers, shared.deserted.wait)
        except BaseException as e:
            lost = Unavailable("the session was not created", retry_after=1.0)
            shared.answer.set_exception(e if isinstance(e, ServerError) else lost)
            shared.answer.exception()
            raise
        finally:
            del self._creating[request.key]
        shared.answer.set_result(answer)
        return answer

    async def _create(
        self, request: NewSession, headers: dict[str, str], gone: Callable[[], Coroutine[Any, Any, object]] | None
    ) -> Answer:
        """Another worker is tried when one turns out to be full or gone, as long as the client is ready to wait."""
        body = _encode(request)
        ends = time.monotonic() + request.wait
        tries = 0
        sick: dict[str, Answer] = {}
        while True:
            member = self.registry.keyed(request.key) if request.key is not None else None
            if member is not None:
                self.registry.promise(member)
            else:
                patience = max(0.0, ends - time.monotonic())
                turn = self.registry.reserve(patience, first=tries > 0)
                try:
                    # A client that left the line would be given a session that nobody then holds.
                    member = await (turn if gone is None else unless_gone(gone(), turn))
                except Overloaded:
                    if not self.registry.none_but(sick):
                        raise
                    return list(sick.values())[-1]  # all have said why they give none: that none is free is not the reason
            tries += 1
            session_id: str | None = None
            try:
                # Nobody stands in line for a session that is new.
                answer = await self.ask(member, "POST", SESSIONS, body=body, headers=headers, within=CALL_SECONDS + 10)
                session_id = answer.headers.get(SESSION_HEADER.lower())
                # It knows better than we did: leave it alone until its next beat.
                member.full = answer.status in (429, 503)
                if member.full and request.key is not None:
                    member.keys.discard(request.key)  # or the key would lead back to where its session no longer is
                sick.pop(member.status.id, None)
                if answer.status == 503:
                    sick[member.status.id] = answer
            except Unavailable:
                if tries >= TRIES:
                    raise
                continue
            finally:
                self.registry.settle(member, session_id, request.key)
            if not member.full or (tries >= TRIES and time.monotonic() >= ends):
                return answer

    def holder(self, session_id: str) -> Member:
        member = self.registry.holder(session_id)
        if member is None and not SESSION_ID.fullmatch(session_id):
            raise UnknownSession("there is no such session")
        if member is None:
            if self.registry.warming:
                raise Unavailable("this master has just started and is still hearing from its workers", retry_after=1.0)
            raise UnknownSession("there is no such session")
        return member


@asynccontextmanager
async def running_master(settings: MasterSettings) -> AsyncIterator[Master]:
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as http:
        yield Master(settings, http)


async def run_master(settings: MasterSettings, stop: asyncio.Event, port: int, ready: asyncio.Future[str]) -> None:
    serve = settings.serve
    async with running_master(settings) as master, Listener(master_app(master), serve.host, port, serve.http) as listener:
        ready.set_result(listener.url(serve.advertise))
        await stop.wait()


def _encode(request: NewSession) -> bytes:
    fields = request.model_dump(mode="json", exclude={"wait", "proxy"}, exclude_defaults=True)
    if request.proxy is not None:
        fields["proxy"] = request.proxy.get_secret_value()  # pydantic would mask it
    return msgspec.json.encode(fields)


def master_app(master: Master) -> FastAPI:
    app = new_app(
        "WebGym",
        key=master.settings.key,
        limits=master.settings.serve.http,
        refused=master.metrics.refused,
        version=__version__,
    )

    def accept(request: Request) -> str:
        return request.headers.get("accept", "")

    @app.post(SESSIONS, response_model=SessionStarted)
    async def create(body: NewSession, request: Request) -> Response:
        relay = master.settings.serve.relay
        return (await master.create(body, accept=accept(request), relay=relay, client=request)).response()

    @app.api_route(SESSIONS + "/{session_id}", methods=["DELETE"], status_code=204)
    async def release(session_id: str, request: Request) -> Response:
        answer = await relay(session_id, "", request)
        if answer.status_code == 204:
            master.registry.released(session_id)
        return answer

    @app.api_route(SESSIONS + "/{session_id}/{call}", methods=["GET", "POST"], include_in_schema=False)
    async def session_call(session_id: str, call: str, request: Request) -> Response:
        if call not in ("step", "observe", "renew", "storage"):
            raise UnknownSession("there is no such call")
        return await relay(session_id, f"/{call}", request)

    @app.api_route(SESSIONS + "/{session_id}/files/{name}", methods=["GET", "PUT"], include_in_schema=False)
    async def session_file(session_id: str, name: str, request: Request) -> Response:
        if name in (".", ".."):  # the one kind of name that quoting leaves a meaning in a path
            raise BadRequest("that is not a plain file name")
        return await relay(session_id, f"/files/{quote(name, safe='')}", request)

    async def relay(session_id: str, call: str, request: Request) -> Response:
        member = master.holder(session_id)
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        # The id is now known to be one that a worker of ours made up.
        path = f"{SESSIONS}/{session_id}{call}"
        body = await request.body()
        return (await master.ask(member, request.method, path, body=body, headers=headers)).response()

    @app.post(WORKERS, include_in_schema=False)
    async def beat(
        body: Heartbeat, request: Request, fleet_key: Annotated[str, Header(alias=FLEET_KEY_HEADER)] = ""
    ) -> Response:
        if not hmac.compare_digest(fleet_key.encode(), master.settings.fleet_key.encode()):
            raise Unauthorized("only workers of this fleet may say that they are")
        beside = BESIDE_HEADER in request.headers
        port = URL(body.worker.url).port
        master.registry.beat(body.worker, near_url(master.settings.serve.host, port) if beside and port else None)
        return reply(HeartbeatTaken(period=BEAT_SECONDS), accept(request))

    @app.get(FLEET, response_model=Fleet)
    async def fleet(request: Request) -> Response:
        workers = master.registry.workers()
        body = Fleet(
            capacity=sum(worker.capacity for worker in workers if worker.healthy and not worker.draining),
            available=sum(worker.available for worker in workers),
            queued=master.registry.queued,
            workers=tuple(workers),
        )
        return reply(body, accept(request))

    @app.get(HEALTH, response_model=Health)
    async def health(request: Request) -> Response:
        up = [worker for worker in master.registry.workers() if worker.healthy]
        # That all sessions are taken is no illness: there is a line to stand in.
        if any(not worker.draining for worker in up):
            status = "ok"
        else:
            status = "draining" if up else "starting" if master.registry.warming else "no_capacity"
        body = Health.model_validate({"status": status, "version": __version__})
        return reply(body, accept(request), status=200 if status == "ok" else 503)

    @app.get(METRICS)
    async def metrics() -> Response:
        return Response(master.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return docs_page(app.openapi())

    add_omniboxes_routes(app, master)
    # The calls that are passed on as they came are described as the worker describes them.
    describe_too(app, session_schema)
    return app
