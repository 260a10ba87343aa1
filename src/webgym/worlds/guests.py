"""Sites of a person's own under a host name of the offline web: a folder of files, or a development server.

Only what the browser asked for is passed on, only to the one address that was named, with a deadline.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from webgym.errors import ConfigError

SECONDS: Final = 30.0
MAX_BODY: Final = 32 << 20
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_KEEP: Final = ("content-type", "location", "set-cookie", "cache-control", "etag", "last-modified")
_PASS: Final = ("accept", "accept-language", "content-type", "cookie", "user-agent", "referer")


def guest(where: str) -> Starlette:
    """The application for `worlds add`: a folder's path or an http address."""
    if where.startswith(("http://", "https://")):
        if not _has_host(where):
            raise ConfigError(f"{where} is no address: write it as http://127.0.0.1:3000")
        return _relay(where.rstrip("/"))
    folder = Path(where)
    if not folder.is_dir():
        raise ConfigError(f"{where} is neither a folder nor an http address")
    return Starlette(routes=[Mount("/", StaticFiles(directory=folder, html=True))])


def _has_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # brackets that do not match, a port that is none
        return False


def _relay(base: str) -> Starlette:
    async def ask(request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name in _PASS}
        target = base + request.url.path + (f"?{request.url.query}" if request.url.query else "")
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as http,
                http.request(
                    request.method, target, headers=headers, data=await request.body(), allow_redirects=False
                ) as answer,
            ):
                body = b"".join([chunk async for chunk in _bounded(answer)])
                response = Response(body, answer.status)
                for name, value in answer.headers.items():
                    if name.lower() in _KEEP:
                        response.headers.append(name, value)
                return response
        except (aiohttp.ClientError, TimeoutError) as e:
            return PlainTextResponse(f"{base} does not answer: {type(e).__name__}\n", 502)

    return Starlette(routes=[Route("/{path:path}", ask, methods=_METHODS)])


async def _bounded(answer: Any) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY:
            raise aiohttp.ClientPayloadError("too much")
        yield chunk
