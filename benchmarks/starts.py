"""How long a new session takes to its first screenshot: leased from the server, or in a fresh browser.

The fresh browser is launched over raw CDP, which is the fastest way there is; Playwright takes longer. The server's sessions
are opened one after another until it is full, with no pause in which it could make warm contexts again. A start ends with a
JPEG in hand, of a blank page or of the form page once it has loaded; the server's includes its settling.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from benchmarks import raw, served
from benchmarks.children import server
from benchmarks.episodes import form
from webgym import types as t
from webgym.rollout.client import Client
from webgym.server.chromium import Chromium


@dataclass(frozen=True)
class Start:
    """Median seconds to the first screenshot."""

    blank: float
    page: float


async def leased(site: str, sessions: int) -> Start:
    async with server(site, sessions) as child, Client(child.url, key=child.key) as client:
        return Start(await _lease(client, sessions, None), await _lease(client, sessions, form(site)))


async def fresh(chromium: Chromium, site: str, times: int) -> Start:
    blank = [await _launch(chromium, None) for _ in range(times)]
    page = [await _launch(chromium, form(site)) for _ in range(times)]
    return Start(median(blank), median(page))


async def _lease(client: Client, sessions: int, url: str | None) -> float:
    taken, opened = [], []
    for _ in range(sessions):
        started = time.perf_counter()
        opened.append(await served.open_session(client, url))
        taken.append(time.perf_counter() - started)
    for session in opened:
        assert session.observation.screenshot is not None
        await session.release()
    return median(taken)


async def _launch(chromium: Chromium, url: str | None) -> float:
    started = time.perf_counter()
    async with raw.fresh_browser(chromium) as browser:
        session = await raw.open_session(browser)
        await (session.look() if url is None else session.step(t.Navigate(url=url)))
        return time.perf_counter() - started
