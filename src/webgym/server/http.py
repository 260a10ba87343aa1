"""HTTP as strangers meet it: keys, caps, deadlines, and errors with names. Master and worker share all of it.

Order of defence: header bytes and the time to send them are capped by `connections`, before a request exists; then Host
and Origin, then the key (compared in constant time), then the body's size and the time to send it. Only then does a
handler run. Handlers return models; what is refused becomes an `ErrorBody`, which names fields and never repeats values.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webgym.errors import BadRequest, BodyTooLarge, Forbidden, RequestTimeout, ServerError, Unauthorized, Unavailable
from webgym.server.protocol import HEALTH, MSGPACK, ErrorBody, ErrorDetail
from webgym.server.settings import LOOPBACK, HttpLimits

log = logging.getLogger(__name__)

T = TypeVar("T")

MB = 1024 * 1024
MAX_JSON = 8 * MB  # a storage state is the largest that anybody has to say in JSON
OPEN_PATHS = frozenset({HEALTH, "/docs", "/openapi.json"})
# Sent twice, these could mean one thing to a proxy in front and another to us.
ONLY_ONCE = frozenset({b"host", b"authorization", b"x-api-key", b"content-type", b"content-encoding", b"lease", b"origin"})
LONGEST_NAME = 80

_pack = msgspec.msgpack.Encoder().encode


class Guard:
    """ASGI middleware: nobody reaches a handler without a key, from a foreign page, or with an endless body."""

    def __init__(self, app: ASGIApp, *, key: str | None, limits: HttpLimits, refused: Callable[[str], None]) -> None:
        self.app = app
        self._key = key.encode() if key is not None else None
        self._limits = limits
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        most = min(self._limits.max_body * MB, MAX_JSON) if scope["method"] != "PUT" else self._limits.max_body * MB
        try:
            self._check(scope, headers, most)
        except ServerError as e:
            self._refused(e.code)
            await error_response(e, headers.get(b"accept", b"").decode("latin-1"), close=True)(scope, receive, send)
            return
        await self.app(scope, _Body(receive, most, self._limits.body_seconds), send)

    def _check(self, scope: Scope, headers: dict[bytes, bytes], most: int) -> None:
        if len(headers) != len(scope["headers"]):
            names = [name for name, _ in scope["headers"]]
            if twice := next((name for name in ONLY_ONCE if names.count(name) > 1), None):
                raise BadRequest(f"the header {twice.decode()} was sent twice")
        if self._key is None and not _is_loopback(headers.get(b"host", b"")):
            # Without a key the server listens on loopback, where a page of this machine's own browser might find it.
            raise Forbidden("that Host is not this server's")
        if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Forbidden("requests from web pages are not served")
        if self._key is not None and scope["path"] not in OPEN_PATHS and not self._has_key(headers):
            raise Unauthorized("send the server's key as `Authorization: Bearer KEY` or `X-API-Key: KEY`")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise BadRequest("compressed bodies are not read")
        if int(headers.get(b"content-length", b"0")) > most:  # the parser takes nothing but digits, and few of them
            raise BodyTooLarge(f"the body may have {most} bytes")

    def _has_key(self, headers: dict[bytes, bytes]) -> bool:
        assert self._key is not None
        given = headers.get(b"x-api-key")
        if given is None:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer":
                return False
        return hmac.compare_digest(given.strip(), self._key)


def _is_loopback(host: bytes) -> bool:
    named = re.fullmatch(r"(\[[0-9a-f:.]*\]|[^:]*)(:\d*)?", host.decode("latin-1").lower())
    return named is not None and named[1].strip("[]") in LOOPBACK


class _BodyRefused(HTTPException):
    """FastAPI turns whatever goes wrong while it reads a body into a 400, but for its own exceptions."""

    def __init__(self, refusal: ServerError) -> None:
        super().__init__(refusal.status, refusal.message)
        self.refusal = refusal


class _Body:
    """`receive` with a limit on bytes and on time."""

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self._receive = receive
        self._left = most
        self._most = most
        self._seconds = seconds
        self._complete = False
        self._ends = asyncio.get_running_loop().time() + seconds

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()  # waiting for the client to leave has no deadline
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._receive()
        except TimeoutError:
            raise _BodyRefused(RequestTimeout(f"the body did not arrive in {self._seconds:g} s")) from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise _BodyRefused(BodyTooLarge(f"the body may have {self._most} bytes"))
            self._complete = not message.get("more_body", False)
        return message


async def unless_gone(gone: Coroutine[Any, Any, object], work: Coroutine[Any, Any, T]) -> T:
    """Do what somebody waits for, but only until nobody does."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(gone)
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise Unavailable("the client has gone", retry_after=1.0)  # it may be heard by one who comes in this very moment
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def left(request: Request) -> None:
    """Returns when the client has gone. Its body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def new_app(title: str, *, key: str | None, limits: HttpLimits, refused: Callable[[str], None], **more: Any) -> FastAPI:
    """A FastAPI application behind the guard, whose errors have names."""
    app = FastAPI(title=title, docs_url=None, redoc_url=None, redirect_slashes=False, **more)
    app.add_middleware(Guard, key=key, limits=limits, refused=refused)

    async def on_server_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ServerError)
        refused(error.code)
        return error_response(error, request.headers.get("accept", ""))

    async def on_bad_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return await on_server_error(request, BadRequest(describe(error)))

    async def on_body_refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, _BodyRefused)
        refused(error.refusal.code)
        return error_response(error.refusal, request.headers.get("accept", ""), close=True)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, AnyHTTPException)
        if error.status_code == 400:  # FastAPI's word for a body that Python's own parser gave up on
            return await on_server_error(request, BadRequest("body: it cannot be read as JSON"))
        body = ErrorBody(error=ErrorDetail(code="http", message=str(error.detail)))
        return reply(body, request.headers.get("accept", ""), status=error.status_code)

    async def on_bug(request: Request, error: Exception) -> Response:
        log.error("a bug in %s %.200s", request.method, request.url.path, exc_info=error)
        return error_response(ServerError("an error of ours; the server's log has it"), request.headers.get("accept", ""))

    app.add_exception_handler(ServerError, on_server_error)
    app.add_exception_handler(RequestValidationError, on_bad_request)
    app.add_exception_handler(_BodyRefused, on_body_refused)
    app.add_exception_handler(AnyHTTPException, on_http)
    app.add_exception_handler(Exception, on_bug)
    return app


def describe(error: RequestValidationError) -> str:
    """Name the field; never repeat the value, which may be a secret."""
    lines = []
    for problem in error.errors()[:5]:
        match problem["type"]:
            case "json_invalid":
                lines.append(f"body: {problem['ctx']['error']} at character {problem['loc'][-1]}")
                continue
            case "union_tag_invalid":
                said = f"its {problem['ctx']['discriminator']} must be one of {problem['ctx']['expected_tags']}"
            case "extra_forbidden":
                said = "there is no such field"
            case "model_attributes_type" | "missing" if problem["loc"] == ("body",):
                said = "it must be a JSON object, with `Content-Type: application/json`"
            case _:
                said = str(problem["msg"]).removeprefix("Value error, ")
        lines.append(f"{_field(problem['loc'])}: {said}")
    return "; ".join(lines)


def _field(place: tuple[str | int, ...]) -> str:
    if place[-1:] == ("[key]",):  # a name that a mapping may not have: it might be a value in the wrong place
        place = place[:-2]
    names = [str(part)[:LONGEST_NAME] for part in place if part != "body"]
    return ".".join(name if name.isprintable() else repr(name) for name in names) or "body"


def reply(model: BaseModel, accept: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A model as the client wants it: MessagePack (images as bytes) or JSON (images in base64)."""
    if MSGPACK in accept:
        return Response(_pack(model.model_dump()), status, headers, MSGPACK)
    return Response(model.model_dump_json(), status, headers, "application/json")


def error_response(error: ServerError, accept: str, *, close: bool = False) -> Response:
    headers = {}
    if error.retry_after is not None:
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    if close:
        headers["connection"] = "close"
    detail = ErrorDetail(code=error.code, message=error.message, retry_after=error.retry_after)
    return reply(ErrorBody(error=detail), accept, status=error.status, headers=headers)
