"""`webgym tasks probe` as a user runs it: a server with real browsers, and websites of every state it tells apart."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from tests.served import serving
from tests.site.canary import free_port
from webgym.tasks.files import write_tasks
from webgym.tasks.health import read_health
from webgym.tasks.websites import site
from webgym.types import FactGroup, Task


@asynccontextmanager
async def websites(port: int, unwell: set[str]) -> AsyncIterator[None]:
    """Behaves as the host's first label says; whoever is `unwell` answers 500 once and then recovers."""

    async def answer(request: web.Request) -> web.StreamResponse:
        label = request.host.partition(".")[0]
        if label in unwell:
            unwell.remove(label)
            return web.Response(status=500)
        match label:
            case "gone":
                return web.Response(status=404, text="<title>Not found</title>", content_type="text/html")
            case "closed":
                return web.Response(status=403, text="<title>Forbidden</title>", content_type="text/html")
            case "challenge":
                return web.Response(text="<title>Just a moment...</title>", content_type="text/html")
            case "moved":
                raise web.HTTPFound(f"http://parked.localhost:{port}/sale")
            case "broken":
                assert request.transport is not None
                request.transport.abort()
        return web.Response(text=f"<title>{label}</title><h1>Welcome</h1>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


def task_on(website: str, n: int) -> Task:
    groups = (FactGroup(id=1, description="all", facts=("seen",)),)
    words = {"instruction": "Look around.", "domain": "Misc.", "subdomain": "News"}
    return Task(id=f"t{n}", source="test", website=website, groups=groups, **words)


async def test_every_way_a_website_can_be_is_found_with_real_browsers(tmp_path: Path) -> None:
    port, refusing = free_port(), free_port()
    expected = {
        f"http://good.localhost:{port}": "reachable",
        f"http://tired.localhost:{port}": "reachable",
        f"http://gone.localhost:{port}": "dead",
        f"http://broken.localhost:{port}": "dead",
        f"http://nobody.localhost:{refusing}": "dead",
        f"http://closed.localhost:{port}": "blocked",
        f"http://challenge.localhost:{port}": "blocked",
        f"http://moved.localhost:{port}": "redirected",
    }
    tasks, out = tmp_path / "tasks.parquet", tmp_path / "health.jsonl"
    write_tasks(tasks, [task_on(website, n) for n, website in enumerate(expected)])

    async def probe(server: str, key: str) -> str:
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "webgym.cli", "tasks", "probe", f"--tasks={tasks}", f"--out={out}", f"--server={server}",
            env={**os.environ, "WEBGYM_API_KEY": key}, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said, _ = await asyncio.wait_for(running.communicate(), 100)
        assert running.returncode == 0, said.decode()
        return said.decode()

    async with websites(port, {"tired"}):
        with serving(tmp_path, sessions=4, browsers=1, egress__allow=f"*.localhost:{port},*.localhost:{refusing}") as server:
            said = await probe(server.url, server.key or "")
            assert "3 dead" in said
            assert "0 could not be visited" in said
            health = read_health(out)
            assert {website: health[site(website)].state for website in expected} == expected
            assert health[f"closed.localhost:{port}"].status == 403
            assert health[f"moved.localhost:{port}"].url == f"http://parked.localhost:{port}/sale"
            assert "REFUSED" in health[f"nobody.localhost:{refusing}"].detail.upper()
            assert "none was due" in await probe(server.url, server.key or "")
