"""The offline web: one process, one port, every host under `.localhost` a website.

`World` is the ASGI application and holds nothing but a seed; `WorldServer` runs it inside the caller's event loop:

    async with WorldServer(seed=0) as server:
        server.url("oakfield-market.localhost")

Every answer is a pure function of seed, host, address, what was posted and the state cookie. A content security policy keeps
pages from asking anything of the outside. Sites a person adds (a folder or a dev server's address) are told by host name.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any, Final, Protocol, Self
from urllib.parse import parse_qsl, quote

import uvicorn

from webgym.errors import ConfigError
from webgym.worlds import things
from webgym.worlds.answers import Answer, Asked, answer
from webgym.worlds.names import is_host

__all__ = ["Guest", "World", "WorldServer", "things"]

MAX_BODY: Final = 256 * 1024
MAX_QUERY: Final = 60  # fields of an address
MAX_FIELDS: Final = 200  # fields of a form
START_SECONDS: Final = 10.0
POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'self'"
)


class Guest(Protocol):
    """A site of a person's own, under a host name."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class World:
    """The ASGI application."""

    def __init__(self, seed: int, guests: Mapping[str, Guest] | None = None) -> None:
        self.seed, self.guests = seed, dict(guests or {})
        self.requests = 0
        self.unserved = 0  # requests for hosts that are none of ours

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await _lifespan(receive, send)
        if scope["type"] != "http":
            return None
        self.requests += 1
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "").partition(":")[0].lower()
        if host in self.guests:
            return await self.guests[host](scope, receive, send)
        if not is_host(host):
            self.unserved += 1
            return await _send(send, Answer(421, "text/plain", b"No such site: sites are names under .localhost.\n"), {})
        body = await _body(receive)
        if body is None:
            return await _send(send, Answer(413, "text/plain", b"Too much.\n"), {})
        try:
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=MAX_QUERY))
            entered = parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MAX_FIELDS)
        except ValueError:
            return await _send(send, Answer(400, "text/plain", b"Too many fields.\n"), {})
        posted = dict(entered) if scope["method"] == "POST" else None
        asked = Asked(
            self.seed,
            host,
            scope["path"],
            query,
            posted,
            _cookies(headers.get(b"cookie", "")),
            headers.get(b"if-none-match", ""),
        )
        found = answer(asked)
        if found.delay:
            await asyncio.sleep(found.delay)
        return await _send(send, found, {"content-security-policy": POLICY} if found.media.startswith("text/html") else {})


class WorldServer:
    """The offline web in this event loop; port 0 takes a free one."""

    def __init__(
        self, seed: int = 0, *, host: str = "127.0.0.1", port: int = 0, guests: Mapping[str, Guest] | None = None
    ) -> None:
        self.world = World(seed, guests)
        self._address = (host, port)
        self.port = 0

    async def __aenter__(self) -> Self:
        try:
            self._socket = socket.create_server(self._address, backlog=512)
        except OSError as e:
            raise ConfigError(f"cannot listen on {self._address[0]}:{self._address[1]}: {e.strerror}") from e
        self.port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self.world,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            http="httptools",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        # Not `serve`: it would take the process's signals, which are the caller's.
        self._serving = asyncio.create_task(self._server._serve(sockets=[self._socket]), name="worlds")
        async with asyncio.timeout(START_SECONDS):
            while not self._server.started:
                if self._serving.done():
                    self._serving.result()
                await asyncio.sleep(0.01)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await asyncio.wait({self._serving}, timeout=START_SECONDS)
        self._socket.close()

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{quote(path, safe='/?=&%')}"


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _body(receive: Any) -> bytes | None:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        more = message.get("more_body", False)
    return body


def _cookies(header: str) -> dict[str, str]:
    parts = (part.strip().partition("=") for part in header.split(";") if "=" in part)
    return {name: value for name, _, value in parts}


async def _send(send: Any, found: Answer, more: Mapping[str, str]) -> None:
    headers = [(b"content-type", found.media.encode()), (b"content-length", str(len(found.body)).encode())]
    headers += [(name.encode(), value.encode("latin-1")) for name, value in (*found.headers, *more.items())]
    await send({"type": "http.response.start", "status": found.status, "headers": headers})
    await send({"type": "http.response.body", "body": found.body})
