"""The web app: a page, a stream of changes, a list, an episode, an image. Reading only.

    GET /                            the page, and its own files under /static/
    GET /api/stream                  server-sent events: a snapshot, then what changed, at most four times a second
    GET /api/episodes?outcome=&reward=&website=&page=
    GET /api/episodes/{id}
    GET /images/{sha256}

Names in paths are matched against what exists (own files by a fixed list, episodes by the plan, images by their hash) and
never joined to a folder, so there is no path to climb.
"""

from __future__ import annotations

import asyncio
import re
from importlib.resources import files
from typing import Final

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from webgym.errors import StoreError
from webgym.types import Wire
from webgym.ui.archive import Archive, Asked
from webgym.ui.deltas import EVERY, Deltas
from webgym.ui.guard import Guard
from webgym.ui.view import Board, Detail

MEDIA: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
MOST_READERS: Final = 32
SEND_SECONDS: Final = 30.0
DISK_SECONDS: Final = 60.0
_EPISODE: Final = re.compile(r"[0-9a-f]{32}")
_IMAGE: Final = re.compile(r"[0-9a-f]{64}")


class Monitor:
    """The app of one run. `closing` ends its streams."""

    def __init__(self, board: Board, archive: Archive) -> None:
        self.deltas = Deltas(board)
        self.closing = False
        self.readers = 0
        self._board, self._archive = board, archive
        self._own = _own_files()
        routes = [
            Route("/", self._page),
            Route("/static/{name}", self._static),
            Route("/api/stream", Streaming(self)),
            Route("/api/episodes", self._episodes),
            Route("/api/episodes/{id}", self._episode),
            Route("/images/{sha256}", self._image),
        ]
        # A folder that is being written, or a disk that is slow, is no fault of this program: the page asks again.
        trouble = {StoreError: _unreadable, TimeoutError: _unreadable}
        self.app: ASGIApp = Guard(Starlette(routes=routes, exception_handlers=trouble))

    async def _page(self, request: Request) -> Response:
        return self._file("index.html")

    async def _static(self, request: Request) -> Response:
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        if (found := self._own.get(name)) is None:
            return _absent()
        data, media = found
        return Response(data, media_type=media, headers={"cache-control": "no-cache"})

    async def _episodes(self, request: Request) -> Response:
        try:
            asked = Asked.model_validate(dict(request.query_params))
        except ValidationError:
            return PlainTextResponse("There is no such filter.\n", 400)
        async with asyncio.timeout(DISK_SECONDS):
            found = await asyncio.to_thread(self._archive.page, asked)
        return _json(found)

    async def _episode(self, request: Request) -> Response:
        episode = request.path_params["id"]
        if not _EPISODE.fullmatch(episode):
            return _absent()
        found = await self._detail(episode)
        return _json(found) if found is not None else _absent()

    async def _detail(self, episode: str) -> Detail | None:
        """What the disk has is whole; until then the board knows more."""
        under_way = self._board.detail(episode)
        async with asyncio.timeout(DISK_SECONDS):
            kept = await asyncio.to_thread(self._archive.detail, episode)
        return under_way if under_way is not None and (kept is None or not kept.steps) else kept

    async def _image(self, request: Request) -> Response:
        sha256 = request.path_params["sha256"]
        if not _IMAGE.fullmatch(sha256):
            return _absent()
        async with asyncio.timeout(DISK_SECONDS):
            found = await asyncio.to_thread(self._archive.image, sha256)
        if found is None:
            return _absent()
        data, media = found
        # The name is the content's hash: it can never mean anything else.
        return Response(data, media_type=media, headers={"cache-control": "private, max-age=31536000, immutable"})


class Streaming:
    """Server-sent events, one reader a connection. A reader that does not take what is sent is let go."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._monitor.readers >= MOST_READERS:
            await PlainTextResponse("Too many readers.\n", 503, {"retry-after": "10"})(scope, receive, send)
            return
        self._monitor.readers += 1
        try:
            await self._stream(scope, receive, send)
        except TimeoutError:
            return
        finally:
            self._monitor.readers -= 1

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        revision = sampled = 0
        while not self._monitor.closing and not await _left(receive, 0.0 if not revision else EVERY):
            self._monitor.deltas.look()
            name, data, revision, sampled = self._monitor.deltas.since(revision, sampled)
            async with asyncio.timeout(SEND_SECONDS):
                event = f"event: {name}\ndata: ".encode() + data + b"\n\n"
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive, within: float) -> bool:
    """Wait a moment; true at once if the reader leaves."""
    try:
        async with asyncio.timeout(within):
            while (await receive())["type"] != "http.disconnect":
                pass
            return True
    except TimeoutError:
        return False


def _own_files() -> dict[str, tuple[bytes, str]]:
    own = {}
    for file in files("webgym.ui").joinpath("static").iterdir():
        ending = file.name[file.name.rfind(".") :]
        if ending in MEDIA:
            own[file.name] = (file.read_bytes(), MEDIA[ending])
    return own


def _json(found: Wire) -> Response:
    return Response(found.model_dump_json(), media_type="application/json")


def _unreadable(request: Request, error: Exception) -> Response:
    return PlainTextResponse("The run's folder cannot be read just now.\n", 503, {"retry-after": "2"})


def _absent() -> Response:
    return PlainTextResponse("There is no such thing here.\n", 404)
