"""Waiting until the page is what a person would look at: by events, never by sleeping a fixed time.

The order is: navigation committed → load → nothing changing (DOM, transitions, images, fonts) → network nearly idle, and
then nothing changing again, because what the network brought is drawn after it came. Each wait has a cap, so that no page
can hold a step; which cap was met is part of the observation. Pages that never rest (an endless animation, polling, a
stream) cost one cap and no more. A document that comes while its predecessor settles is waited for anew, with caps of its
own, because what is told has to be told of the page that is shown; how many of them is bounded too.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from math import inf
from typing import Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from webgym.errors import BrowserError
from webgym.server.cdp import ProtocolError
from webgym.server.display import TURN_SECONDS, Picture
from webgym.server.page import Page

Cap = Literal["commit", "load", "quiet", "network"]
# A page that loads is drawn only once that takes long: hardly any waits for a frame, and what half a page looks like is
# drawn for nothing. Seconds until then, and between two frames from then on.
LOADING_PATIENCE = 0.5
LOADING_EVERY = 0.1
# Documents that are followed while a page settles, because scripts that redirect may do so for ever; all of them have no
# more time than one answer has, and the last of them as many seconds at least.
MAX_SUCCESSORS = 8
LEAST = 1.0


class SettleLimits(BaseModel):
    """Seconds. The quiet times are how long nothing may change before a page counts as at rest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: float = Field(20.0, gt=0, description="for the server's first bytes")
    load: float = Field(10.0, gt=0, description="for the load event after that")
    quiet: float = Field(2.0, gt=0, description="for the page to stop changing")
    network: float = Field(2.0, gt=0, description="for requests in flight; older ones count as streams")
    still: float = Field(0.1, gt=0, description="quiet time")
    still_typing: float = Field(0.3, gt=0, description="quiet time after typing where suggestions may come, after a pause")
    grace: float = Field(1.0, gt=0, description="over its own cap before our script in the page counts as hung")


class Particulars(msgspec.Struct):
    """What the page says of itself once it is at rest."""

    title: str = ""
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    failed: bool = False  # the browser's own error page
    copied: str = ""  # since it was asked last


class _Rested(msgspec.Struct):
    capped: bool
    page: Particulars
    answer: msgspec.Raw


@dataclass(frozen=True)
class _Quiet:
    """Seconds that nothing may change: ordinarily, and after typing (0: nobody typed)."""

    ordinary: float
    typing: float
    cap: float

    def wire(self) -> str:
        quiet, typing, cap = (round(seconds * 1000) for seconds in (self.ordinary, self.typing, self.cap))
        return f"{{quiet: {quiet}, typing: {typing}, cap: {cap}}}"


class Early(msgspec.Struct):
    """What was learned of a page while it was asked for rest: its picture, and its answer to a question (null: none)."""

    picture: bytes
    answer: msgspec.Raw


class Rest(msgspec.Struct):
    seconds: float
    capped: list[Cap]
    page: Particulars
    early: Early | None = None  # if the page was at rest from the beginning


async def settle(
    page: Page, limits: SettleLimits, *, typing: bool = False, picture: Picture | None = None, question: str = "null"
) -> Rest:
    """Wait for rest. Raises BrowserError if the page's script does not answer: the page hangs.

    A page that may be at rest already has its picture taken at once, and answers the question, an expression, when it says
    that it rests: to ask once more would cost a third of what it takes to find its marks."""
    started = time.monotonic()
    capped: list[Cap] = []
    if page.pristine:
        return Rest(
            0.0, capped, await page.frame.run("webgym.particulars()", Particulars, within=limits.quiet + limits.grace)
        )
    if page.navigating or not page.loaded:
        picture = None  # a new document has no picture to give before its second frame
    if page.navigating:
        await _commit(page, limits, capped)
    await _loaded(page, limits, capped)
    still = limits.still
    early: Early | None = None
    copied = ""
    followed = 0
    follow_until = time.monotonic() + limits.commit
    quiet_ends = time.monotonic() + limits.quiet
    network_ends = time.monotonic() + limits.network
    while True:
        cap = max(quiet_ends - time.monotonic(), 2 * limits.still)
        quiet = _Quiet(still, limits.still_typing if typing else 0, cap)
        rested: _Rested | None = None
        with contextlib.suppress(ProtocolError):  # documents came and went while they were asked
            rested, at, early = await _rest(page, quiet, limits.grace, picture, question)
            rested.page.copied = copied = rested.page.copied or copied
        if rested is None or page.navigating:
            # The quiet was the pause before a navigation (a script's redirect, a form): start over with what comes of it.
            early = picture = None
            if followed == MAX_SUCCESSORS or time.monotonic() >= follow_until:
                capped.append("commit")
                break
            followed += 1
            if not page.navigating:  # it was asked between two documents: the next is about to come
                await page.until(lambda: page.navigating, limits.still)
            left = max(follow_until - time.monotonic(), LEAST)
            await _commit(page, limits, capped, most=left)
            await _loaded(page, limits, capped, most=left)
            still = limits.still
            quiet_ends = time.monotonic() + limits.quiet
            network_ends = time.monotonic() + limits.network
            continue
        if rested.capped:
            capped.append("quiet")
            break
        left = network_ends - time.monotonic()
        if page.requests_in_flight(younger_than=limits.network):
            if left <= 0 or not await page.until(lambda: not page.requests_in_flight(younger_than=limits.network), left):
                capped.append("network")
                early = None  # taken before that wait
                break
        elif left <= 0 or at - page.last_request_ended >= limits.still:
            break
        # Something has just come: the page gets the rest of a quiet time to show it.
        still = max(limits.still - (time.monotonic() - page.last_request_ended), 0.02)
    if rested is None:
        unread = Particulars(title=page.title, failed=page.navigation_error is not None)
        return Rest(time.monotonic() - started, capped, unread)
    return Rest(time.monotonic() - started, capped, rested.page, early)


async def _commit(page: Page, limits: SettleLimits, capped: list[Cap], *, most: float = inf) -> None:
    within = min(limits.commit, most)
    if not await page.until(lambda: not page.navigating, within):
        capped.append("commit")
        page.stop_loading()
        page.end_navigation(f"net::ERR_TIMED_OUT: no answer in {within:.0f} s")


async def _loaded(page: Page, limits: SettleLimits, capped: list[Cap], *, most: float = inf) -> None:
    def ready() -> bool:
        return page.loaded or page.navigating

    within = min(limits.load, most)
    patience = min(LOADING_PATIENCE, within)
    if await page.until(ready, patience):
        return  # without a frame: the next one is to be the picture
    if not await page.drawing(page.until(ready, within - patience), every=LOADING_EVERY):
        capped.append("load")


async def _rest(
    page: Page, wanted: _Quiet, grace: float, picture: Picture | None, question: str
) -> tuple[_Rested, float, Early | None]:
    """What the page said once it was at rest, when it said so (a busy machine may draw long after that), and what else was
    learned meanwhile."""
    early = picture is not None and page.shoots_early
    answer = f"webgym.attempt(() => {question})" if early else "null"
    said = f"{{...rested, page: webgym.particulars(), answer: {answer}}}"
    expression = f"webgym.rest({wanted.wire()}).then((rested) => ({said}))"
    within = wanted.cap + grace
    drawn_within = within + TURN_SECONDS + 5  # its neighbours' frames are not its own fault

    async def ask() -> tuple[_Rested, float]:
        return await page.frame.run(expression, _Rested, within=within), time.monotonic()

    try:
        async with asyncio.timeout(drawn_within):
            await page.frame.enter(within=within)  # now it has answered, and need not be asked whether it can draw
            if picture is None:
                return *await page.drawing(ask()), None
            (rested, at), shot = await page.drawing_shot(ask(), picture)
    except TimeoutError as e:
        raise BrowserError(f"the page was not drawn for {drawn_within:g} s") from e
    return rested, at, None if shot is None else Early(shot, rested.answer)
