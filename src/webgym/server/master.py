"""The master: finds a worker with a free session for each client, and relays for those who can reach only its address.

It holds nothing that heartbeats do not bring back. Killed and restarted, it knows the fleet again within two beats, and
sessions go on meanwhile because their clients talk to the workers.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated
from urllib.parse import quote

import aiohttp
import msgspec
from fastapi import FastAPI, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from webgym import __version__
from webgym.errors import Unauthorized, Unavailable, UnknownSession
from webgym.server.http import new_app, reply
from webgym.server.listen import Listener
from webgym.server.metrics import Metrics
from webgym.server.omniboxes import add_omniboxes_routes
from webgym.server.openapi import docs_page
from webgym.server.pool import MB
from webgym.server.protocol import (
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
from webgym.server.settings import ServeSettings
from webgym.server.worker import BEAT_SECONDS

log = logging.getLogger(__name__)

PASSED_ON = ("accept", "content-type", LEASE_HEADER.lower())
PASSED_BACK = ("content-type", "retry-after")
TRIES = 3


class MasterSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    serve: ServeSettings
    key: str | None = Field(None, repr=False)
    fleet_key: str = Field(repr=False)


class Answer(BaseModel):
    """A worker's answer, as it came."""

    status: int
    body: bytes
    headers: dict[str, str]

    def response(self) -> Response:
        kept = {name: self.headers[name] for name in PASSED_BACK if name in self.headers}
        return Response(self.body, self.status, kept)


class Master:
    def __init__(self, settings: MasterSettings, http: aiohttp.ClientSession) -> None:
        self.settings = settings
        self.registry = Registry(queue=settings.serve.queue, clock=time.monotonic)
        self.metrics = Metrics()
        self._http = http
        self.metrics.watch("webgym_queue", "Clients waiting for a session.", lambda: self.registry.queued)
        self.metrics.watch("webgym_workers", "Workers known.", lambda: len(self.registry.workers()))

    async def ask(self, member: Member, method: str, path: str, *, body: bytes = b"", headers: dict[str, str]) -> Answer:
        """One call to a worker. `path` is made of our own constants and ids found in the registry, never of raw input."""
        if self.settings.key is not None:
            headers = {**headers, "Authorization": f"Bearer {self.settings.key}"}
        try:
            async with self._http.request(method, member.status.url + path, data=body or None, headers=headers) as answer:
                lowered = {name.lower(): value for name, value in answer.headers.items()}
                return Answer(status=answer.status, body=await answer.read(), headers=lowered)
        except (aiohttp.ClientError, TimeoutError, OSError) as e:
            self.registry.suspect(member)
            raise Unavailable(f"the worker did not answer ({type(e).__name__})", retry_after=1.0) from e

    async def create(self, request: NewSession, *, accept: str, relay: bool) -> Answer:
        """A session on some worker; another worker is tried when one turns out to be full or gone."""
        headers = {"accept": accept, "content-type": "application/json"} | ({RELAY_HEADER: "1"} if relay else {})
        fields = request.model_dump(mode="json", exclude={"wait", "proxy"}, exclude_defaults=True)
        if request.proxy is not None:
            fields["proxy"] = request.proxy.get_secret_value()  # pydantic would mask it
        body = msgspec.json.encode(fields)
        ends = time.monotonic() + request.wait
        tries = 0
        while True:
            member = await self.registry.reserve(max(0.0, ends - time.monotonic()), first=tries > 0)
            tries += 1
            session_id: str | None = None
            try:
                answer = await self.ask(member, "POST", SESSIONS, body=body, headers=headers)
                session_id = answer.headers.get(SESSION_HEADER.lower())
                # It knows better than we did: leave it alone until its next beat.
                member.full = answer.status in (429, 503)
            except Unavailable:
                if tries == TRIES:
                    raise
                continue
            finally:
                self.registry.settle(member, session_id)
            if not member.full or tries == TRIES:
                return answer

    def holder(self, session_id: str) -> Member:
        member = self.registry.holder(session_id)
        if member is None:
            if self.registry.warming:
                raise Unavailable("this master has just started and is still hearing from its workers", retry_after=1.0)
            raise UnknownSession("there is no such session")
        return member


@asynccontextmanager
async def running_master(settings: MasterSettings) -> AsyncIterator[Master]:
    limits = aiohttp.ClientTimeout(total=CALL_SECONDS + 10, connect=3)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(timeout=limits, connector=connector, trust_env=False) as http:
        yield Master(settings, http)


async def run_master(settings: MasterSettings, stop: asyncio.Event, port: int, ready: asyncio.Future[str]) -> None:
    async with running_master(settings) as master, Listener(master_app(master), settings.serve.host, port) as listener:
        ready.set_result(listener.url(settings.serve.advertise))
        await stop.wait()


def master_app(master: Master) -> FastAPI:
    serve = master.settings.serve
    app = new_app(
        "WebGym",
        key=master.settings.key,
        max_body=serve.max_body * MB,
        refused=master.metrics.refused,
        version=__version__,
    )

    def accept(request: Request) -> str:
        return request.headers.get("accept", "")

    @app.post(SESSIONS, response_model=SessionStarted)
    async def create(body: NewSession, request: Request) -> Response:
        return (await master.create(body, accept=accept(request), relay=serve.relay)).response()

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
        return await relay(session_id, f"/files/{quote(name, safe='')}", request)

    async def relay(session_id: str, call: str, request: Request) -> Response:
        member = master.holder(session_id)
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        # The registry's own copy of the id, now known to be one of ours, goes into the path.
        path = f"{SESSIONS}/{session_id}{call}"
        body = await request.body()
        return (await master.ask(member, request.method, path, body=body, headers=headers)).response()

    @app.post(WORKERS, include_in_schema=False)
    async def beat(
        body: Heartbeat, request: Request, fleet_key: Annotated[str, Header(alias=FLEET_KEY_HEADER)] = ""
    ) -> Response:
        if not hmac.compare_digest(fleet_key.encode(), master.settings.fleet_key.encode()):
            raise Unauthorized("only workers of this fleet may say that they are")
        master.registry.beat(body.worker)
        return reply(HeartbeatTaken(period=BEAT_SECONDS), accept(request))

    @app.get(FLEET, response_model=Fleet)
    async def fleet(request: Request) -> Response:
        workers = master.registry.workers()
        body = Fleet(
            capacity=sum(worker.capacity for worker in workers if worker.healthy),
            available=sum(worker.available for worker in workers),
            queued=master.registry.queued,
            workers=tuple(workers),
        )
        return reply(body, accept(request))

    @app.get(HEALTH, response_model=Health)
    async def health(request: Request) -> Response:
        healthy = any(worker.healthy for worker in master.registry.workers())
        status = "ok" if healthy else "starting" if master.registry.warming else "no_capacity"
        body = Health.model_validate({"status": status, "version": __version__})
        return reply(body, accept(request), status=200 if healthy else 503)

    @app.get(METRICS)
    async def metrics() -> Response:
        return Response(master.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return docs_page(app.openapi())

    add_omniboxes_routes(app, master)
    return app
