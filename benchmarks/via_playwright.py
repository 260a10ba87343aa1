"""Contestant (b): Playwright's async API as its documentation shows it, with PNG or JPEG screenshots.

It runs the same Chromium with Playwright's own switches, one browser a core, one context a session; `goto` waits for the
load event, other actions for Chromium to take the input. Its `screenshot` waits for fonts and hides the caret, which is
its default. Like contestant (a) it has no settling, egress policy, leases or HTTP; between it and Chromium stands Node.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from playwright.async_api import Error, Page, async_playwright

from benchmarks.episodes import HEIGHT, QUALITY, WIDTH, Seen, Session, retaking
from webgym import types as t
from webgym.server.chromium import Chromium

Image = Literal["png", "jpeg"]


class PlaywrightSession:
    def __init__(self, page: Page, image: Image) -> None:
        self.page = page
        self.image: Image = image

    async def step(self, action: t.Action) -> Seen:
        match action:
            case t.Navigate():
                await self.page.goto(action.url, wait_until="load")
            case t.Click():
                assert action.x is not None
                assert action.y is not None
                await self.page.mouse.click(action.x, action.y)
            case t.Type():
                await self.page.keyboard.type(action.text)
            case t.Scroll():
                await self.page.mouse.wheel(action.dx, action.dy)
            case _:
                raise ValueError(f"no episode has a {action.kind}")
        image, retaken = await retaking(self._shoot, Error)
        return Seen(image, self.page.url, await self.page.title(), await self.page.evaluate("window.scrollY"), retaken)

    async def _shoot(self) -> bytes:
        return await self.page.screenshot(type=self.image, quality=QUALITY if self.image == "jpeg" else None)


@asynccontextmanager
async def running(chromium: Chromium, image: Image, sessions: int) -> AsyncIterator[list[Session]]:
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(async_playwright())
        browsers = []
        for _ in range(min(sessions, os.cpu_count() or 1)):
            browser = await playwright.chromium.launch(executable_path=chromium.path, chromium_sandbox=os.geteuid() != 0)
            stack.push_async_callback(browser.close)
            browsers.append(browser)
        opened: list[Session] = []
        for n in range(sessions):
            context = await browsers[n % len(browsers)].new_context(viewport={"width": WIDTH, "height": HEIGHT})
            page = await context.new_page()
            # A wheel turns what is under the pointer, and Playwright's pointer starts in the corner.
            await page.mouse.move(WIDTH / 2, HEIGHT / 2)
            opened.append(PlaywrightSession(page, image))
        yield opened
