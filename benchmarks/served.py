"""Contestant (c): the rollout server over HTTP, started by its command and driven by the typed client.

Nothing is turned off for the measurement: every page goes through the egress proxy, every step waits for the page to come to
rest, is keyed and ordered, and comes back validated. `between` in the measurements is the server's own processes; the
client runs in the measuring process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.children import server
from benchmarks.episodes import HEIGHT, QUALITY, WIDTH, Seen
from benchmarks.episodes import Session as Contestant
from webgym import types as t
from webgym.rollout.client import Client, Session
from webgym.server.protocol import Viewport

LOOK = t.Look(image="jpeg", quality=QUALITY)
VIEWPORT = Viewport(width=WIDTH, height=HEIGHT)


class ServedSession:
    def __init__(self, session: Session) -> None:
        self.session = session

    async def step(self, action: t.Action) -> Seen:
        seen = await self.session.step(action, LOOK)
        assert seen.screenshot is not None
        if seen.action_error or seen.navigation_error:
            raise RuntimeError(f"{action.kind}: {seen.action_error or seen.navigation_error}")
        return Seen(seen.screenshot.data, seen.url, seen.title, seen.scroll.y)


async def open_session(client: Client, url: str | None = None) -> Session:
    return await client.session(viewport=VIEWPORT, look=LOOK, url=url)


@asynccontextmanager
async def running(site: str, sessions: int, *, low_memory: bool = False) -> AsyncIterator[list[Contestant]]:
    async with server(site, sessions, low_memory=low_memory) as child, Client(child.url, key=child.key) as client:
        yield [ServedSession(await open_session(client)) for _ in range(sessions)]
