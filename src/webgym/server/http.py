"""HTTP as strangers meet it: keys, caps, deadlines, and errors with names. Master and worker share all of it.

Order of defence: header bytes and the time to send them are capped by `connections`, before a request exists; then Host
and Origin, then the key (compared in constant time), then the body's size and the time to send it. Only then does a
handler run. Handlers return models; what is refused becomes an `ErrorBody`, which names fields and never repeats values.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webgym.errors import BadRequest, BodyTooLarge, Forbidden, RequestTimeout, ServerError, Unauthorized
from webgym.server.protocol import HEALTH, MSGPACK, ErrorBody, ErrorDetail
from webgym.server.settings import LOOPBACK

log = logging.getLogger(__name__)

MAX_HEADER_BYTES = 32 * 1024
HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
OPEN_PATHS = frozenset({HEALTH, "/docs", "/openapi.json"})

_pack = msgspec.msgpack.Encoder().encode


class Guard:
    """ASGI middleware: nobody reaches a handler without a key, from a foreign page, or with an endless body."""

    def __init__(self, app: ASGIApp, *, key: str | None, max_body: int, refused: Callable[[str], None]) -> None:
        self.app = app
        self._key = key.encode() if key is not None else None
        self._max_body = max_body
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._check(scope, headers)
        except ServerError as e:
            self._refused(e.code)
            await error_response(e, headers.get(b"accept", b"").decode("latin-1"))(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, _Body(receive, self._max_body), watched)
        except ServerError as e:
            # Only the body's caps raise out here: FastAPI has turned every other refusal into a response.
            if started:
                raise
            self._refused(e.code)
            await error_response(e, headers.get(b"accept", b"").decode("latin-1"), close=True)(scope, receive, send)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if self._key is None:
            # Without a key the server listens on loopback, where a page of this machine's own browser might find it.
            host = headers.get(b"host", b"").decode("latin-1").rsplit(":", 1)[0].strip("[]")
            if host not in LOOPBACK:
                raise Forbidden(f"the Host {host!r:.100} is not this server's")
        if b"origin" in headers or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Forbidden("requests from web pages are not served")
        if self._key is not None and scope["path"] not in OPEN_PATHS and not self._has_key(headers):
            raise Unauthorized("send the server's key as `Authorization: Bearer KEY` or `X-API-Key: KEY`")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise BadRequest("compressed bodies are not read")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._max_body:
            raise BodyTooLarge(f"the body may have {self._max_body} bytes")

    def _has_key(self, headers: dict[bytes, bytes]) -> bool:
        assert self._key is not None
        given = headers.get(b"x-api-key")
        if given is None:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer":
                return False
        return hmac.compare_digest(given.strip(), self._key)


class _Body:
    """`receive` with a limit on bytes and on time."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most
        self._most = most
        self._complete = False
        self._ends = asyncio.get_running_loop().time() + BODY_SECONDS

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()  # waiting for the client to leave has no deadline
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._receive()
        except TimeoutError:
            raise RequestTimeout(f"the body did not arrive in {BODY_SECONDS:g} s") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise BodyTooLarge(f"the body may have {self._most} bytes")
            self._complete = not message.get("more_body", False)
        return message


def new_app(title: str, *, key: str | None, max_body: int, refused: Callable[[str], None], **more: Any) -> FastAPI:
    """A FastAPI application behind the guard, whose errors have names."""
    app = FastAPI(title=title, docs_url=None, redoc_url=None, **more)
    app.add_middleware(Guard, key=key, max_body=max_body, refused=refused)

    async def on_server_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ServerError)
        refused(error.code)
        return error_response(error, request.headers.get("accept", ""))

    async def on_bad_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        refused(BadRequest.code)
        return error_response(BadRequest(describe(error)), request.headers.get("accept", ""))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        body = ErrorBody(error=ErrorDetail(code="http", message=str(error.detail)))
        return reply(body, request.headers.get("accept", ""), status=error.status_code)

    async def on_bug(request: Request, error: Exception) -> Response:
        log.error("a bug in %s %s", request.method, request.url.path, exc_info=error)
        return error_response(ServerError("an error of ours; the server's log has it"), request.headers.get("accept", ""))

    app.add_exception_handler(ServerError, on_server_error)
    app.add_exception_handler(RequestValidationError, on_bad_request)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_bug)
    return app


def describe(error: RequestValidationError) -> str:
    """Name the field; never repeat the value, which may be a secret."""
    lines = []
    for problem in error.errors()[:5]:
        where = ".".join(str(part) for part in problem["loc"] if part != "body") or "body"
        lines.append(f"{where}: {str(problem['msg']).removeprefix('Value error, ')}")
    return "; ".join(lines)


def reply(model: BaseModel, accept: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A model as the client wants it: MessagePack (images as bytes) or JSON (images in base64)."""
    if MSGPACK in accept:
        return Response(_pack(model.model_dump()), status, headers, MSGPACK)
    return Response(model.model_dump_json(), status, headers, "application/json")


def error_response(error: ServerError, accept: str, *, close: bool = False) -> Response:
    headers = {}
    if error.retry_after is not None:
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    if close:
        headers["connection"] = "close"
    detail = ErrorDetail(code=error.code, message=error.message, retry_after=error.retry_after)
    return reply(ErrorBody(error=detail), accept, status=error.status, headers=headers)
