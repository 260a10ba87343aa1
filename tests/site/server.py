"""The test website: `async with Site() as site: ... site.url("/counter")`.

Invariant: closing takes well under a second, whatever connections are open, and leaves no task behind.
Nothing here asks the outside world for anything.
"""

import asyncio
import html
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from aiohttp import web

from tests.site import bench, interaction, isolation, liveness, nasty, ssrf, static
from tests.site.entry import Entry

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PAGES = Path(__file__).parent / "pages"
GRACE = 0.1
"""Seconds that open responses may go on after closing began."""
BODY_LIMIT = 16 * 2**20


@dataclass(frozen=True)
class Report:
    """Something a page told the server about itself, at `/report?what=...`."""

    what: str
    method: str
    body: str


class Site:
    scheme = "http"

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.hits: Counter[str] = Counter()
        """Requests by path, counted on arrival."""
        self.events: list[Report] = []
        self.entries: list[Entry] = []
        self.tls: ssl.SSLContext | None = None
        self._reported = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    def url(self, path: str = "/", host: str = "site.localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}/{path.removeprefix('/')}"

    def count(self, what: str) -> int:
        """How many times pages reported `what`."""
        return sum(event.what == what for event in self.events)

    async def reported(self, what: str, times: int = 1, within: float = 5.0) -> None:
        """Wait until `what` was reported at least `times` times."""
        async with asyncio.timeout(within), self._reported:
            await self._reported.wait_for(lambda: self.count(what) >= times)

    async def __aenter__(self) -> Self:
        self._runner = web.AppRunner(self._application(), handler_cancellation=True, shutdown_timeout=GRACE, access_log=None)
        await self._runner.setup()
        listener = web.TCPSite(self._runner, self.host, self.port, ssl_context=self.tls)
        await listener.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None, "the site was never entered"
        await self._runner.cleanup()

    def _application(self) -> web.Application:
        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.hits[request.path] += 1
            return await handler(request)

        application = web.Application(middlewares=[count], client_max_size=BODY_LIMIT)
        pages = static.load(PAGES)
        application.add_routes([web.get(page.entry.path, page.serve) for page in pages.values()])
        self.entries = [page.entry for page in pages.values()]
        for module in (nasty, ssrf, isolation, interaction, liveness, bench):
            application.add_routes(module.routes)
            self.entries += module.ENTRIES
        application.add_routes([web.get("/", self._index), web.route("*", "/report", self._report)])
        application.add_routes(static.routes)
        return application

    async def _index(self, _: web.Request) -> web.Response:
        groups: dict[str, list[Entry]] = {}
        for entry in sorted(self.entries, key=lambda entry: entry.path):
            groups.setdefault(entry.group, []).append(entry)
        sections = "".join(
            f"<h2>{group}</h2><table>{''.join(_row(entry) for entry in groups[group])}</table>" for group in sorted(groups)
        )
        return static.document("WebGym test site", f"<main><h1>WebGym test site</h1>{sections}</main>")

    async def _report(self, request: web.Request) -> web.Response:
        report = Report(request.query.get("what", ""), request.method, await request.text())
        async with self._reported:
            self.events.append(report)
            self._reported.notify_all()
        return web.Response(status=204, headers={"Access-Control-Allow-Origin": "*"})


def _row(entry: Entry) -> str:
    path = html.escape(entry.path)
    return f'<tr><td><a href="{path}">{path}</a></td><td>{html.escape(entry.does)}</td></tr>'
