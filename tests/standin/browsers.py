"""A rollout server without browsers: real sockets, the real protocol, pages that do what their host's name says.

For tests and measurements of what stands on the server's API, where thousands of steps must cost nothing. A page is its
host: `dead.localhost` cannot be loaded, `refusing.localhost` answers 403 with a challenge, `broken.localhost` 502,
`dying-N.localhost` loses its browser at the first step of the first N sessions that go there, `slow.localhost` takes `slow`
seconds a step, `busy.localhost` is never outlined in time.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from pydantic import BaseModel

from webgym.server import protocol
from webgym.types import Observation, Screenshot, ScrollPosition, Settled

TTL = 60.0


@dataclass
class Page:
    """One session."""

    host: str = ""
    steps: int = 0


@dataclass
class Browsers:
    """`async with Browsers() as browsers: Client(browsers.url)`."""

    image_bytes: int = 400
    latency: float = 0.0
    slow: float = 30.0
    open: dict[str, Page] = field(default_factory=dict)
    opened: int = 0
    most_open: int = 0
    steps: Counter[str] = field(default_factory=Counter)  # by host
    died: Counter[str] = field(default_factory=Counter)
    renewed: int = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=8 << 20)
        app.router.add_post("/v1/sessions", self._create)
        app.router.add_post("/v1/sessions/{id}/step", self._step)
        app.router.add_post("/v1/sessions/{id}/observe", self._observe)
        app.router.add_post("/v1/sessions/{id}/renew", self._renew)
        app.router.add_get("/v1/sessions/{id}/storage", self._storage)
        app.router.add_delete("/v1/sessions/{id}", self._release)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _create(self, request: web.Request) -> web.Response:
        await request.read()
        one = f"s-{secrets.token_hex(12)}"
        self.open[one] = page = Page()
        self.opened += 1
        self.most_open = max(self.most_open, len(self.open))
        lease = protocol.Lease(token="t", ttl=TTL, remaining=TTL)
        return _packed(protocol.SessionStarted(id=one, lease=lease, url=None, observation=self._seen(page, image=False)))

    async def _step(self, request: web.Request) -> web.Response:
        asked = msgspec.json.decode(await request.read())
        page = self.open.get(request.match_info["id"])
        if page is None:
            return _refused(410, "stale_lease")
        action = asked["action"]
        if action["kind"] == "navigate":
            page.host = urlsplit(action["url"]).hostname or ""
        elif page.host.startswith("dying-") and self.died[page.host] < int(page.host.split("-")[1].split(".")[0]):
            self.died[page.host] += 1
            del self.open[request.match_info["id"]]
            return _refused(410, "browser_gone")
        page.steps += 1
        self.steps[page.host] += 1
        await asyncio.sleep(self.slow if page.host.startswith("slow") and page.steps > 1 else self.latency)
        image = asked.get("look", {}).get("image", "jpeg") != "none"
        return _packed(protocol.StepResult(seq=asked["seq"], observation=self._seen(page, image=image)))

    async def _observe(self, request: web.Request) -> web.Response:
        page = self.open.get(request.match_info["id"])
        return _refused(410, "stale_lease") if page is None else _packed(self._seen(page))

    async def _renew(self, request: web.Request) -> web.Response:
        self.renewed += 1
        return _packed(protocol.Lease(token="t", ttl=TTL, remaining=TTL))

    async def _storage(self, request: web.Request) -> web.Response:
        host = self.open[request.match_info["id"]].host
        return _packed(protocol.StorageState(cookies=(protocol.Cookie(name="kept", value="yes", domain=host),)))

    async def _release(self, request: web.Request) -> web.Response:
        self.open.pop(request.match_info["id"], None)
        return web.Response(status=204)

    def _seen(self, page: Page, *, image: bool = True) -> Observation:
        refusing, dead = page.host.startswith("refusing"), page.host.startswith("dead")
        busy, status = page.host.startswith("busy"), 502 if page.host.startswith("broken") else 200
        data = f"{page.host} {page.steps}".encode().ljust(self.image_bytes, b".")
        shot = Screenshot(format="jpeg", width=1280, height=768, sha256=hashlib.sha256(data).hexdigest(), data=data)
        return Observation(
            screenshot=shot if image else None,
            unchanged=False,
            url=f"http://{page.host}/{page.steps}",
            title="Just a moment..." if refusing else f"page {page.steps}",
            status=403 if refusing else status,
            scroll=ScrollPosition(x=0, y=0, width=1280, height=768),
            tabs=(),
            navigation_error="net::ERR_NAME_NOT_RESOLVED" if dead else None,
            settled=Settled(ms=1),
            accessibility="" if busy else "an outline",
            truncated=("accessibility",) if busy else (),
        )


def _packed(model: BaseModel) -> web.Response:
    return web.Response(body=msgspec.msgpack.encode(model.model_dump()), content_type=protocol.MSGPACK)


def _refused(status: int, code: str) -> web.Response:
    body: dict[str, Any] = {"error": {"code": code, "message": f"the stand-in says {code}"}}
    return web.json_response(body, status=status)
