"""The API of the first public WebGym, for clients that already speak it, on the master's address. docs/omniboxes.md maps it.

    POST /get         ?lifetime_mins=60                            → Instance           a browser of one's own
    POST /reset       Instance, as query or JSON                   → {"status": "success"}  it is gone
    GET  /screenshot  ?instance_id=&node=&interaction_mode=        → image/png
    POST /execute     Instance and exactly one command, as JSON    → what `omnibox_commands` says
    GET  /metadata    ?instance_id=&node=                          → Viewport
    GET  /probe       ?instance_id=&node=                          → {"status": "success"}  it lives
    GET  /info                                                     → Info

Invariants: nothing is kept here; every call becomes calls of version 1 on the worker. An instance id is a session's id and
its lease; a node is a worker's id, looked up in the registry, so nothing a client sends becomes an address. What an agent
did in vain is a 200 with `"status": "failed"`; everything else that goes wrong is an error status with a `detail`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from webgym import types as t
from webgym.errors import BadRequest, Overloaded, ServerError, Unavailable, UnknownSession, from_code
from webgym.server.http import describe
from webgym.server.omnibox_commands import (
    BLIND,
    VIEWPORT,
    Ask,
    Back,
    Execute,
    Mode,
    Outcome,
    PageMetadata,
    PageText,
    Regions,
    ScreenshotInfo,
)
from webgym.server.protocol import (
    LEASE_HEADER,
    MSGPACK,
    SESSIONS,
    ErrorBody,
    ErrorDetail,
    Lease,
    NewSession,
    Renew,
    SessionStarted,
    StepRequest,
    StepResult,
    Viewport,
)

if TYPE_CHECKING:
    from webgym.server.master import Answer, Master
    from webgym.server.registry import Member

INSTANCE_ID = re.compile(r"(s-[0-9a-f]{24})\.([A-Za-z0-9_-]{1,128})")

Minutes = Annotated[float, Query(gt=0, le=24 * 60, allow_inf_nan=False, description="After which the instance ends.")]
Model = TypeVar("Model", bound=BaseModel)


class Instance(BaseModel):
    """Exactly these two: clients send back all they were given with every command."""

    instance_id: str
    node: str


class Node(BaseModel):
    url: str
    hash: str = Field(description="The `node` of its instances.")
    healthy: bool
    capacity: int
    available: int
    instances: tuple[str, ...] = Field(description="Without their leases: to be counted, not to be used.")


class Info(BaseModel):
    nodes: tuple[Node, ...]


class Refusal(ErrorBody):
    detail: str


@dataclass(frozen=True)
class _Held:
    """An instance taken apart: whom to ask, for which session, with which lease."""

    member: Member
    session_id: str
    token: str = field(repr=False)


class Omniboxes:
    """The old words on the one side, version 1 on the other."""

    def __init__(self, master: Master) -> None:
        self._master = master

    async def get(self, minutes: float) -> Instance:
        # Old clients do not renew: the lease lasts as long as the instance may.
        request = NewSession(viewport=VIEWPORT, ttl=minutes * 60, lifetime=minutes * 60, look=BLIND)
        started = _read(SessionStarted, await self._master.create(request, accept=MSGPACK, relay=False))
        workers = [one for one in self._master.registry.workers() if one.url == started.url]
        if not workers:
            raise Unavailable("the worker left while it made the instance", retry_after=1.0)
        # One that died may still be known by the address of its successor.
        node = min(workers, key=lambda one: one.last_seen).id
        return Instance(instance_id=f"{started.id}.{started.lease.token}", node=node)

    async def reset(self, instance: Instance) -> None:
        held = self._find(instance)
        answer = await self._call(held, "DELETE", "")
        if answer.status != 204:
            raise _refusal(answer)
        self._master.registry.released(held.session_id)

    async def probe(self, instance: Instance) -> None:
        _read(Lease, await self._call(self._find(instance), "POST", "/renew", Renew()))

    async def look(self, instance: Instance, look: t.Look) -> t.Observation:
        return _read(t.Observation, await self._call(self._find(instance), "POST", "/observe", look))

    async def execute(self, request: Execute) -> BaseModel:
        instance = Instance(instance_id=request.instance_id, node=request.node)
        command = request.command
        if isinstance(command, Ask):
            return command.answer(await self.look(instance, command.look()))
        held = self._find(instance)
        for action in command.actions():
            seen = await self._step(held, action)
            if isinstance(command, Back) and seen.action_error is not None and len(seen.tabs) > 1:
                # The way back from a link that opened a tab: these clients know of one tab only.
                seen = await self._step(held, t.CloseTab())
            if seen.action_error is not None:
                break
        status = "success" if seen.action_error is None else "failed"
        return Outcome(status=status, reason=seen.action_error, navigation_error=seen.navigation_error)

    def info(self) -> Info:
        registry = self._master.registry
        nodes = []
        for worker in registry.workers():
            member = registry.member(worker.id)
            nodes.append(
                Node(
                    url=worker.url,
                    hash=worker.id,
                    healthy=worker.healthy,
                    capacity=worker.capacity,
                    available=worker.available,
                    instances=tuple(sorted(member.sessions)) if member else (),
                )
            )
        return Info(nodes=tuple(nodes))

    def _find(self, instance: Instance) -> _Held:
        registry = self._master.registry
        parts, member = INSTANCE_ID.fullmatch(instance.instance_id), registry.member(instance.node)
        if member is None and registry.warming:
            raise Unavailable("this master has just started and is still hearing from its workers", retry_after=1.0)
        if parts is None or member is None:
            raise UnknownSession("there is no such instance on such a node")
        return _Held(member, parts[1], parts[2])

    async def _step(self, held: _Held, action: t.Action) -> t.Observation:
        answer = await self._call(held, "POST", "/step", StepRequest(action=action, look=BLIND))
        return _read(StepResult, answer).observation

    async def _call(self, held: _Held, method: str, call: str, body: BaseModel | None = None) -> Answer:
        headers = {"accept": MSGPACK, "content-type": "application/json", LEASE_HEADER: held.token}
        data = b"" if body is None else body.model_dump_json().encode()
        # The session's id is hexadecimal: `_find` has seen to it that nothing else gets into the path.
        return await self._master.ask(held.member, method, f"{SESSIONS}/{held.session_id}{call}", body=data, headers=headers)


def _read(model: type[Model], answer: Answer) -> Model:
    if answer.status != 200:
        raise _refusal(answer)
    return model.model_validate(msgspec.msgpack.decode(answer.body))


def _refusal(answer: Answer) -> ServerError:
    if not answer.headers.get("content-type", "").startswith(MSGPACK):
        return ServerError(f"the worker answered {answer.status}")
    error = ErrorBody.model_validate(msgspec.msgpack.decode(answer.body)).error
    return from_code(error.code, error.message, retry_after=error.retry_after)


def _refused(error: ServerError) -> Response:
    # These clients know a full server by 503.
    status = Unavailable.status if isinstance(error, Overloaded) else error.status
    headers = {} if error.retry_after is None else {"retry-after": str(max(1, round(error.retry_after)))}
    detail = ErrorDetail(code=error.code, message=error.message, retry_after=error.retry_after)
    return _reply(Refusal(error=detail, detail=error.message), status, headers)


def _reply(model: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(model.model_dump_json(exclude_none=True), status, headers, "application/json")


def _route_class(refused: Callable[[str], None]) -> type[APIRoute]:
    """Routes whose refusals carry a `detail`, where these clients look for it."""

    class OldRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handler(request: Request) -> Response:
                try:
                    return await handle(request)
                except RequestValidationError as e:
                    error: ServerError = BadRequest(describe(e))
                except ServerError as e:
                    error = e
                refused(error.code)
                return _refused(error)

            return handler

    return OldRoute


def add_omniboxes_routes(app: FastAPI, master: Master) -> None:
    """Each one line onto `Omniboxes`."""
    boxes = Omniboxes(master)
    router = APIRouter(route_class=_route_class(master.metrics.refused), tags=["omniboxes"])

    @router.post("/get", response_model=Instance)
    async def get(request: Request, lifetime_mins: Minutes = 60.0) -> Response:
        await request.body()  # all that can come after it is that the client leaves
        instance = await boxes.get(lifetime_mins)
        if await request.is_disconnected():  # nobody else knows the instance, which would stay for all its lifetime
            await boxes.reset(instance)
        return _reply(instance)

    @router.post("/reset", response_model=Outcome)
    async def reset(body: Instance | None = None, instance_id: str | None = None, node: str | None = None) -> Response:
        if body is None:
            if instance_id is None or node is None:
                raise BadRequest("give instance_id and node, as query parameters or in a JSON body")
            body = Instance(instance_id=instance_id, node=node)
        await boxes.reset(body)
        return _reply(Outcome())

    @router.get("/screenshot", response_class=Response, responses={200: {"content": {"image/png": {}}}})
    async def screenshot(instance_id: str, node: str, interaction_mode: Mode = "set_of_marks") -> Response:
        look = t.Look(image="png", marks=interaction_mode == "set_of_marks")
        seen = await boxes.look(Instance(instance_id=instance_id, node=node), look)
        assert seen.screenshot is not None
        return Response(seen.screenshot.data, media_type="image/png")

    @router.post("/execute", response_model=Outcome | PageText | PageMetadata | Regions | ScreenshotInfo)
    async def execute(body: Execute) -> Response:
        return _reply(await boxes.execute(body))

    @router.get("/metadata", response_model=Viewport)
    async def metadata(instance_id: str, node: str) -> Response:
        await boxes.probe(Instance(instance_id=instance_id, node=node))
        return _reply(VIEWPORT)

    @router.get("/probe", response_model=Outcome)
    async def probe(instance_id: str, node: str) -> Response:
        await boxes.probe(Instance(instance_id=instance_id, node=node))
        return _reply(Outcome())

    @router.get("/info", response_model=Info)
    async def info() -> Response:
        return _reply(boxes.info())

    app.include_router(router)
