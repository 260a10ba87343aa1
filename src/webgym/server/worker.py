"""A worker: one process that owns browsers and the sessions in them, and serves those sessions over HTTP.

It is the authority on its own capacity, so that nothing can be allocated twice whatever the master believes. It tells the
master that it lives once a beat and goes on serving when the master is away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Any

import aiohttp
from fastapi import FastAPI, Header, Request, Response
from fastapi.responses import FileResponse

from webgym import __version__
from webgym.errors import ConfigError
from webgym.server import chromium, protocol
from webgym.server.display import ON_COMMAND
from webgym.server.egress import MAX_CONNECTIONS, Egress
from webgym.server.folders import WorkerFolder, sweep
from webgym.server.http import new_app, reply
from webgym.server.listen import Listener
from webgym.server.metrics import Metrics
from webgym.server.openapi import docs_page
from webgym.server.pool import MB, Pool
from webgym.server.process import LOW_MEMORY
from webgym.server.protocol import (
    BESIDE_HEADER,
    FLEET,
    FLEET_KEY_HEADER,
    HEALTH,
    METRICS,
    RELAY_HEADER,
    SESSION_HEADER,
    SESSIONS,
    WORKERS,
    Fleet,
    FleetWorker,
    Health,
    Heartbeat,
    NewSession,
    Renew,
    SessionStarted,
    StepRequest,
    StepResult,
    StorageState,
    StoredFile,
    WorkerStatus,
)
from webgym.server.sessions import Sessions
from webgym.server.settings import WorkerSettings
from webgym.types import Look, Observation

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
SHORTEST_BEAT_SECONDS = 0.02
DRAIN_SECONDS = 10.0
FILES_PER_BROWSER = 8  # descriptors: its channel and pipes
FILES_PER_CONNECTION = 2  # both ends of a page's connection through the egress
CONNECTIONS_PER_SESSION = 40

LeaseToken = Annotated[str | None, Header(alias=protocol.LEASE_HEADER)]


class Worker:
    """Everything a worker process holds while it runs."""

    def __init__(self, settings: WorkerSettings, sessions: Sessions, pool: Pool, metrics: Metrics) -> None:
        self.id = f"w-{secrets.token_hex(6)}"
        self.settings = settings
        self.sessions = sessions
        self.pool = pool
        self.metrics = metrics
        self.url = ""

    def status(self) -> WorkerStatus:
        return WorkerStatus(
            id=self.id,
            url=self.url,
            capacity=self.sessions.capacity if any(one.alive for one in self.pool.browsers) else 0,
            sessions=self.sessions.leases.ids(),
            keys=tuple(one.idempotency for one in self.sessions.leases.all() if one.idempotency is not None),
            ending=self.sessions.ending,
            browsers=len(self.pool.browsers),
            draining=self.sessions.draining,
            version=__version__,
        )

    async def beat_forever(self, announced: asyncio.Event) -> None:
        """Tell the master that this worker lives. An absent master is no reason to stop."""
        if self.settings.master is None:
            announced.set()
            return
        headers = {FLEET_KEY_HEADER: self.settings.fleet_key, "Content-Type": "application/json"}
        if self.settings.key is not None:
            headers["Authorization"] = f"Bearer {self.settings.key}"
        if self.settings.beside_master:
            headers[BESIDE_HEADER] = "1"
        limits = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(headers=headers, timeout=limits, trust_env=False) as http:
            missed = 0
            while True:
                self.sessions.changed.clear()
                try:
                    await self._beat(http)
                    missed = 0
                except (aiohttp.ClientError, TimeoutError, OSError) as e:
                    missed += 1
                    if missed in (3, 30, 300):
                        log.warning("the master has not heard from this worker for %d beats: %s", missed, e)
                announced.set()
                # A session that ended is told at once, so that whoever waits for it need not wait for the beat.
                await asyncio.sleep(SHORTEST_BEAT_SECONDS)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_SECONDS - SHORTEST_BEAT_SECONDS):
                        await self.sessions.changed.wait()

    async def _beat(self, http: aiohttp.ClientSession) -> None:
        body = Heartbeat(worker=self.status()).model_dump_json()
        async with http.post(f"{self.settings.master}{WORKERS}", data=body) as answer:
            if answer.status >= 400:
                raise aiohttp.ClientError(f"it answered {answer.status}")


@asynccontextmanager
async def running_worker(settings: WorkerSettings) -> AsyncIterator[Worker]:
    """A worker with its browsers up; everything it started is gone when the block ends."""
    serve = settings.serve
    connections = _raise_file_limit(settings)
    await asyncio.to_thread(sweep)
    found = await asyncio.to_thread(chromium.find, serve.chromium)
    if not serve.sandbox:
        log.warning("Chromium runs WITHOUT its sandbox (--no-sandbox): pages are kept in by the process user alone")
    async with AsyncExitStack() as stack:
        folder = WorkerFolder()
        stack.callback(folder.close)
        egress = await stack.enter_async_context(Egress(serve.egress, max_connections=connections))
        switches = [*egress.chromium_arguments(), *(LOW_MEMORY if serve.low_memory else ())]
        if serve.draw_on_command and found.kind == "headless-shell":
            switches += ON_COMMAND
        pool = Pool(found, folder, settings.browsers, serve.limits, serve.sandbox, switches)
        stack.push_async_callback(pool.close)
        await pool.start()
        metrics = Metrics()
        sessions = Sessions(
            pool,
            egress,
            capacity=settings.sessions,
            policy=serve.egress,
            settle=serve.settle,
            max_file=max(serve.limits.max_download, serve.http.max_body) * MB,
            metrics=metrics,
        )
        stack.push_async_callback(sessions.close)
        worker = Worker(settings, sessions, pool, metrics)
        _watch(worker, egress)
        log.info("%s %s: %s", found.kind, found.version, found.why)
        async with asyncio.TaskGroup() as upkeep:
            # A bug in either is loud: it ends the worker, which is started again by whoever started it.
            tasks = [upkeep.create_task(pool.maintain()), upkeep.create_task(sessions.sweep_forever())]
            try:
                yield worker
            finally:
                for task in tasks:
                    task.cancel()


async def run_worker(settings: WorkerSettings, stop: asyncio.Event, port: int, ready: asyncio.Future[str]) -> None:
    """Serve until told to stop, then drain."""
    serve = settings.serve
    async with running_worker(settings) as worker, Listener(worker_app(worker), serve.host, port, serve.http) as listener:
        worker.url = listener.url(serve.advertise)
        async with asyncio.TaskGroup() as group:
            announced = asyncio.Event()
            beating = group.create_task(worker.beat_forever(announced))
            await announced.wait()  # whoever hears that the fleet is ready finds this worker in it
            ready.set_result(worker.url)
            log.info("worker %s at %s with %d sessions", worker.id, worker.url, settings.sessions)
            await stop.wait()
            worker.sessions.draining = True
            worker.sessions.changed.set()  # the master hears of it now, not at the next beat
            await worker.sessions.drain(DRAIN_SECONDS)
            beating.cancel()


def worker_app(worker: Worker) -> FastAPI:
    app = new_app(
        "WebGym worker",
        key=worker.settings.key,
        limits=worker.settings.serve.http,
        refused=worker.metrics.refused,
        version=__version__,
    )
    add_session_routes(app, lambda: worker)

    @app.get(HEALTH, response_model=Health)
    async def health(request: Request) -> Response:
        alive = any(browser.alive for browser in worker.pool.browsers)
        status = "draining" if worker.sessions.draining else "ok" if alive else "no_capacity"
        body = Health.model_validate({"status": status, "version": __version__})
        return reply(body, request.headers.get("accept", ""), status=200 if status == "ok" else 503)

    @app.get(FLEET, response_model=Fleet)
    async def fleet(request: Request) -> Response:
        state = worker.status()
        available = 0 if state.draining else worker.sessions.available
        one = FleetWorker(
            id=state.id,
            url=state.url,
            capacity=state.capacity,
            available=available,
            sessions=len(state.sessions),
            healthy=state.capacity > 0,
            draining=state.draining,
            last_seen=0,
        )
        body = Fleet(capacity=0 if state.draining else state.capacity, available=available, queued=0, workers=(one,))
        return reply(body, request.headers.get("accept", ""))

    @app.get(METRICS)
    async def metrics() -> Response:
        return Response(worker.metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return docs_page(app.openapi())

    return app


def session_schema() -> dict[str, Any]:
    """The description of a session's calls, for a master that passes them on."""
    app = FastAPI(title="WebGym worker", version=__version__)
    add_session_routes(app, _nobody)
    return app.openapi()


def _nobody() -> Worker:
    raise AssertionError("these routes are described, never called")


def add_session_routes(app: FastAPI, worker: Callable[[], Worker]) -> None:
    """The calls of `protocol`, each one line onto `Sessions`."""

    def accept(request: Request) -> str:
        return request.headers.get("accept", "")

    @app.post(SESSIONS, response_model=SessionStarted)
    async def create(body: NewSession, request: Request) -> Response:
        base = None if RELAY_HEADER in request.headers else worker().url
        started = await worker().sessions.create(body, base)
        return reply(started, accept(request), headers={SESSION_HEADER: started.id})

    @app.post(SESSIONS + "/{session_id}/step", response_model=StepResult)
    async def step(session_id: str, body: StepRequest, request: Request, lease: LeaseToken = None) -> Response:
        return reply(await worker().sessions.step(session_id, lease, body), accept(request))

    @app.post(SESSIONS + "/{session_id}/observe", response_model=Observation)
    async def observe(session_id: str, request: Request, body: Look | None = None, lease: LeaseToken = None) -> Response:
        return reply(await worker().sessions.observe(session_id, lease, body or Look()), accept(request))

    @app.post(SESSIONS + "/{session_id}/renew", response_model=protocol.Lease)
    async def renew(session_id: str, request: Request, body: Renew | None = None, lease: LeaseToken = None) -> Response:
        return reply(worker().sessions.renew(session_id, lease, body.ttl if body else None), accept(request))

    @app.get(SESSIONS + "/{session_id}/storage", response_model=StorageState)
    async def storage(session_id: str, request: Request, lease: LeaseToken = None) -> Response:
        return reply(await worker().sessions.storage(session_id, lease), accept(request))

    @app.put(SESSIONS + "/{session_id}/files/{name}", response_model=StoredFile)
    async def put_file(session_id: str, name: str, request: Request, lease: LeaseToken = None) -> Response:
        sessions = worker().sessions
        sessions.leases.find(session_id, lease)  # before the body is read
        return reply(sessions.put_file(session_id, lease, name, await request.body()), accept(request))

    @app.get(SESSIONS + "/{session_id}/files/{name}")
    async def get_file(session_id: str, name: str, lease: LeaseToken = None) -> Response:
        return FileResponse(worker().sessions.file(session_id, lease, name), media_type="application/octet-stream")

    @app.delete(SESSIONS + "/{session_id}", status_code=204)
    async def release(session_id: str, lease: LeaseToken = None) -> Response:
        await worker().sessions.release(session_id, lease)
        return Response(status_code=204)


def _watch(worker: Worker, egress: Egress) -> None:
    watch = worker.metrics.watch
    watch("webgym_sessions", "Sessions held.", lambda: len(worker.sessions.leases))
    watch("webgym_sessions_available", "Sessions free.", lambda: worker.sessions.available)
    watch("webgym_browsers", "Chromium processes.", lambda: len(worker.pool.browsers))
    watch("webgym_browsers_launched", "Chromium processes started so far.", lambda: worker.pool.launched)
    watch("webgym_browsers_retired", "Chromium processes replaced.", lambda: worker.pool.retired.total())
    watch("webgym_egress_connections", "Connections of pages.", lambda: egress.counters.active)
    watch("webgym_egress_refused", "Connections refused by the policy or failed.", lambda: egress.counters.refused.total())


def _raise_file_limit(settings: WorkerSettings) -> int:
    """Raise it as far as this worker may need; how many connections pages may have then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files, connections = files_and_connections(settings, None if hard == resource.RLIM_INFINITY else hard)
    if soft < files:
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return connections


def files_and_connections(settings: WorkerSettings, most_files: int | None) -> tuple[int, int]:
    """The file handles to ask for, and the connections of pages that they are enough for: a page that is refused one looks
    broken, and one that finds no handle left takes it from everything else. Says now, not under load, that there are too
    few."""
    others = 256 + settings.browsers * FILES_PER_BROWSER + settings.serve.http.connections
    least = settings.sessions * CONNECTIONS_PER_SESSION
    needed = others + least * FILES_PER_CONNECTION
    if most_files is not None and most_files < needed:
        raise ConfigError(
            f"{settings.sessions} sessions need about {needed} file handles and the limit is {most_files}: "
            f"raise it (`ulimit -n {needed}`) or ask for fewer --sessions"
        )
    connections = max(MAX_CONNECTIONS, least)
    if most_files is not None:
        connections = min(connections, (most_files - others) // FILES_PER_CONNECTION)
    return others + connections * FILES_PER_CONNECTION, connections
