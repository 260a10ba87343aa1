"""A web server for the pages of MiniWoB++, one address for each episode.

    http://miniwob.localhost:PORT/<task>?seed=N[&mode=test][&zoom=2|fit]

The package's page is served as it is, with one style sheet and one script of ours (episode.css, episode.js) added.
`zoom` (zoom.css, zoom.js) shows that same page enlarged in a frame: inside it every coordinate is as at zoom 1, so drags and
drawings work.
Invariants: loopback only; no page can ask for anything outside this server; nothing is kept between requests.
"""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlencode

from aiohttp import web
from pydantic import Field, ValidationError

from webgym.errors import ConfigError
from webgym.types import Wire
from webgym.worlds.miniwob import package
from webgym.worlds.miniwob.record import HOST, Mode, Seed

FILES = Path(__file__).parent
OURS = {"episode.js": "text/javascript", "episode.css": "text/css", "zoom.js": "text/javascript", "zoom.css": "text/css"}
POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"
GRACE = 0.5
"""Seconds that open responses may go on after closing began."""

AREA = (160, 210)
FLIGHT_AREA = (540, 667)
"""The booking site, 375 wide, and its instruction beside it."""
TIMER_WIDTH = 325
"""What the area and the clock beside it need."""

Zoom = Annotated[int, Field(ge=1, le=6)] | Literal["fit"]
"""How many times larger than the package draws it; `fit`: as large as the viewport allows."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MiniWobSettings(Wire):
    """How episodes are played. The defaults suit an agent that thinks for seconds between actions."""

    port: Annotated[int, Field(ge=0, le=65535)] = Field(0, description="0: a free one.")
    seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(3600.0, description="Then an episode ends by itself with -1.")
    cover: bool = Field(False, description="Keep the START cover; an episode begins when the agent clicks it.")
    timer: bool = Field(False, description="Show the time left beside the task.")
    decay: bool = Field(False, description="Let the reward shrink with time, as the package does; the raw one is kept too.")
    show_reward: bool = Field(False, description="Write the reward on the card that covers an ended episode.")


class Asked(Wire):
    """The query of an episode's address."""

    seed: Seed
    mode: Mode = "train"
    zoom: Zoom = 1


def viewport(name: str, *, zoom: int = 1, timer: bool = False) -> tuple[int, int]:
    """Width and height that the task fills without a rest."""
    width, height = FLIGHT_AREA if package.is_flight(name) else AREA
    if timer:
        width = max(width, TIMER_WIDTH)
    return width * zoom, height * zoom


class MiniWobServer:
    """`async with MiniWobServer() as server: … server.url("click-test", 7)`."""

    def __init__(self, settings: MiniWobSettings | None = None) -> None:
        self.settings = settings or MiniWobSettings()
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def origin(self) -> str:
        return f"http://{HOST}:{self.port}"

    def url(self, name: str, seed: int, *, mode: Mode = "train", zoom: Zoom = 1) -> str:
        return address(self.origin, name, Asked(seed=seed, mode=mode, zoom=zoom))

    async def __aenter__(self) -> Self:
        folder = package.html_folder()
        app = web.Application(middlewares=[_only_our_host])
        app.on_response_prepare.append(_bound)
        for name in ("core", "common", "flight"):
            app.router.add_static(f"/{name}", folder / name)
        app.router.add_get("/webgym/{file}", _ours)
        app.router.add_get("/{task}", self._episode)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE)
        await self._runner.setup()
        try:
            site = web.TCPSite(self._runner, "127.0.0.1", self.settings.port)
            try:
                await site.start()
            except OSError as e:
                raise ConfigError(f"MiniWoB++ cannot listen on port {self.settings.port}: {e.strerror}") from e
            self.port = int(self._runner.addresses[0][1])
        except BaseException:
            await self._runner.cleanup()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _episode(self, request: web.Request) -> web.Response:
        name = request.match_info["task"]
        if name not in package.names():
            raise web.HTTPNotFound(text="There is no such task.")
        try:
            asked = Asked.model_validate_strings(dict(request.query))
        except ValidationError as e:
            wrong = ", ".join(str(error["loc"][0]) for error in e.errors(include_input=False))
            raise web.HTTPBadRequest(text=f"The address of this task is wrong: see {wrong}.") from None
        text = _enlarged(name, asked, self.settings.timer) if asked.zoom != 1 else _played(name, asked, self.settings)
        return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})


def address(origin: str, name: str, asked: Asked) -> str:
    """The address of an episode; what equals its default is left out."""
    return f"{origin}/{name}?{urlencode({'seed': asked.seed} | asked.model_dump(exclude_defaults=True))}"


def _played(name: str, asked: Asked, settings: MiniWobSettings) -> str:
    """The package's page with our style at the end of its head and our script at the end of its body."""
    head, body = '<link rel="stylesheet" href="/webgym/episode.css">', _script(name, asked, settings)
    text = package.page(name)
    if package.is_flight(name):
        # Its own files lie beside it. Only for these: elsewhere a base would turn every href="#" into a way out.
        text = text.replace("<head>", f'<head><base href="/flight/{name.removeprefix(package.FLIGHT)}/">', 1)
    before, mark, after = text.rpartition("</body>")
    if "</head>" not in before or not mark:
        raise ConfigError(f"the page of {name} in the installed package miniwob has no head or no body")
    return before.replace("</head>", f"{head}</head>", 1) + body + mark + after


def _script(name: str, asked: Asked, settings: MiniWobSettings) -> str:
    given = {"task": name, "seed": str(asked.seed), "mode": asked.mode, "seconds": f"{settings.seconds:g}"}
    flags = {"cover": settings.cover, "timer": settings.timer, "decay": settings.decay, "reward": settings.show_reward}
    data = " ".join(f'data-{key}="{html.escape(value)}"' for key, value in given.items())
    return f'<script src="/webgym/episode.js" {data} {" ".join(f"data-{key}" for key, on in flags.items() if on)}></script>'


def _enlarged(name: str, asked: Asked, timer: bool) -> str:
    width, height = viewport(name, timer=timer)
    inner = html.escape(address("", name, asked.model_copy(update={"zoom": 1})))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>MiniWoB++</title>'
        '<link rel="stylesheet" href="/webgym/zoom.css"></head>'
        f'<body><iframe src="{inner}" width="{width}" height="{height}"></iframe>'
        f'<script src="/webgym/zoom.js" data-zoom="{asked.zoom}"></script></body></html>'
    )


async def _ours(request: web.Request) -> web.Response:
    file = request.match_info["file"]
    if file not in OURS:
        raise web.HTTPNotFound
    return web.Response(body=(FILES / file).read_bytes(), content_type=OURS[file], charset="utf-8")


async def _bound(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Content-Security-Policy"] = POLICY


@web.middleware
async def _only_our_host(request: web.Request, handler: Handler) -> web.StreamResponse:
    # Cookies belong to a host: under another name a page's record would not be found.
    if request.host.partition(":")[0] != HOST:
        raise web.HTTPNotFound(text=f"This server answers for {HOST} only.")
    return await handler(request)
