"""How long a new session takes to its first screenshot of a simple page: leased from the server, or in a fresh browser.

The fresh browser is launched over raw CDP, which is the fastest way there is; Playwright takes longer. The server's sessions
are opened one after another until it is full, with no pause in which it could make warm contexts again. Both times end with
the form page loaded and a JPEG in hand; the server's also includes its settling.
"""

from __future__ import annotations

import time

from benchmarks import raw, served
from benchmarks.children import server
from benchmarks.episodes import form
from webgym import types as t
from webgym.rollout.client import Client
from webgym.server.chromium import Chromium


async def leased(site: str, sessions: int) -> list[float]:
    taken = []
    async with server(site, sessions) as child, Client(child.url, key=child.key) as client:
        for _ in range(sessions):
            started = time.perf_counter()
            session = await served.open_session(client, form(site))
            taken.append(time.perf_counter() - started)
            assert session.observation.screenshot is not None
    return taken


async def fresh(chromium: Chromium, site: str, times: int) -> list[float]:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        async with raw.fresh_browser(chromium) as browser:
            session = await raw.open_session(browser)
            await session.step(t.Navigate(url=form(site)))
            taken.append(time.perf_counter() - started)
    return taken
