"""What the agent gets to see: one screenshot and the particulars of the page at rest.

The order is settle → screenshot → marks, so that picture, marks and particulars belong to the same moment. Most pages are at
rest before anybody waits for it: the screenshot is then taken first, and stands if nothing has changed after it. So do the
marks that such a page finds when it says that it rests.

A page that could not be loaded because we were short of something ourselves is nobody's observation: that is a refusal, and
whoever looks next has it loaded again. A page that only lacks a part for that reason is shown, and a note says so.

A page that hangs is first freed (its script is stopped), then looked at again; only if that fails too is the session given
up.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from webgym import types as t
from webgym.errors import BrowserError, BrowserGone, Forbidden, NetworkDown, PageUnresponsive, Unavailable
from webgym.server import marks
from webgym.server.actions import ABORTED
from webgym.server.cdp import ConnectionClosed, ProtocolError
from webgym.server.display import Picture
from webgym.server.egress import Egress
from webgym.server.frame import ScriptFailed
from webgym.server.numbers import Numbered, with_numbers
from webgym.server.page import Page, of_proxy
from webgym.server.settle import Particulars, Rest, SettleLimits, settle
from webgym.server.tabs import MAX_TABS, Context

SHOT_SECONDS = 8.0
SCRIPT_SECONDS = 4.0
LAG_SECONDS = 2.0  # by which the browser may tell of a request later than the egress was asked for it
MAX_TEXT = 100_000

Cut = Literal["marks", "accessibility", "text", "dialogs", "downloads"]


class _Words(msgspec.Struct):
    text: str
    truncated: bool


async def observe(
    context: Context,
    look: t.Look,
    egress: Egress,
    limits: SettleLimits,
    *,
    typing: bool = False,
    action_error: str | None = None,
) -> t.Observation:
    """Settle and look. Raises BrowserGone or PageUnresponsive when there is nothing left to look at."""
    try:
        return await _observe(context, look, egress, limits, typing, action_error)
    except BrowserError as e:
        if isinstance(e, ConnectionClosed) or not context.alive:
            raise _gone(context, e) from e
        first = e
    # The page hangs. A person would press Escape or stop the script: do that, then look once more.
    context.surprises.note("the page did not respond; its scripts were stopped")
    await free(context)
    try:
        return await _observe(context, look, egress, limits, typing, action_error)
    except BrowserError as e:
        if not context.alive:
            raise _gone(context, e) from e
        raise PageUnresponsive(f"the page does not respond ({first}); its session was closed") from e


def _gone(context: Context, error: BrowserError) -> BrowserGone:
    return BrowserGone(f"the browser under this session is gone ({error})")


async def free(context: Context) -> None:
    """Stop what keeps the active page busy: its endless scripts, its loading."""
    page = context.active
    page.stop_loading()
    await asyncio.gather(page.frame.stop_scripts(), *(child.stop_scripts() for child in page.children.values()))
    page.frame.forget_document()


async def _observe(
    context: Context, look: t.Look, egress: Egress, limits: SettleLimits, typing: bool, action_error: str | None
) -> t.Observation:
    picture = Picture(look.image, look.quality) if look.image != "none" else None
    if context.active.starved:
        context.active.load_again()
    rest = await _settle_active(context, limits, typing, picture, marks.question() if look.marks else "null")
    page = context.active
    cut: set[Cut] = set()
    early = rest.early
    plain = early.picture if early else await page.shoot(picture, within=SHOT_SECONDS) if picture else None
    marking = None
    if look.marks:
        marking = context.marking = await marks.mark(page, context.marking, early.answer if early else marks.UNASKED)
        if marking.truncated:
            cut.add("marks")
    shot = None
    if picture is not None and plain is not None:
        shown = plain if marking is None else await _numbered(context, marking, plain, picture)
        shot = _screenshot(context, picture, shown)
    outline = await _words(page, "outline", t.MAX_OUTLINE, "accessibility", cut) if look.accessibility else None
    text = await _words(page, "text", MAX_TEXT, "text", cut) if look.text else None
    unchanged = shot is not None and shot.sha256 == context.last_shot
    if shot is not None:
        context.last_shot = shot.sha256
    surprises = context.surprises
    page.title = rest.page.title
    error = explain(page, egress)
    _say_what_is_missing(context, page, egress)
    dialogs = surprises.take_dialogs()
    downloads = surprises.take_downloads()
    if error == ABORTED:
        error = None if downloads else f"{ABORTED}: the address answered without a page to show"
    if not rest.page.failed:
        page.navigation_error = None  # told once: what is shown is the page from before
    cut |= surprises.truncated
    surprises.truncated.clear()
    return t.Observation(
        screenshot=shot,
        unchanged=unchanged,
        url=page.url[:8192],
        title=rest.page.title,
        status=page.status,
        scroll=t.ScrollPosition(x=rest.page.x, y=rest.page.y, width=rest.page.width, height=rest.page.height),
        tabs=tuple(
            t.Tab(id=tab.number, url=tab.url[:2000], title=tab.title[:500], active=tab is page)
            for tab in context.tabs.values()
        ),
        dialogs=dialogs,
        downloads=downloads,
        navigation_error=error,
        action_error=action_error,
        notes=surprises.take_notes(),
        settled=t.Settled(ms=round(rest.seconds * 1000, 1), capped=tuple(dict.fromkeys(rest.capped))),
        marks=None if marking is None else marking.marks,
        accessibility=outline,
        text=text,
        truncated=tuple(sorted(cut)),
    )


async def _settle_active(
    context: Context, limits: SettleLimits, typing: bool, picture: Picture | None, question: str
) -> Rest:
    """Settle whichever tab is active in the end: a click may have opened another, or closed this one."""
    started = time.monotonic()
    closed = switched = 0
    while True:
        page = context.active
        try:
            rest = await settle(page, limits, typing=typing, picture=picture, question=question)
            context.clipboard = rest.page.copied or context.clipboard
        except ScriptFailed:
            # Our script could not run in this document (a bare XML or image document, say): show it as it is.
            rest = Rest(time.monotonic() - started, [], Particulars(title=page.title))
        except BrowserError:
            closed += 1
            if page.closed and context.alive and closed <= MAX_TABS:
                continue
            raise
        if page is context.active:
            break
        switched += 1
        if switched == 3:
            rest.early = None  # of a page that is not the active one
            break
    return rest


async def _numbered(context: Context, marking: marks.Marking, plain: bytes, picture: Picture) -> bytes:
    boxes = tuple(mark.box for mark in marking.marks)
    last = context.last_numbered
    if last is None or not last.of(plain, boxes):
        last = context.last_numbered = Numbered(plain, boxes, await with_numbers(plain, boxes, picture))
    return last.data


def _screenshot(context: Context, picture: Picture, data: bytes) -> t.Screenshot:
    return t.Screenshot.model_construct(
        format=picture.format,
        width=context.emulation.width,
        height=context.emulation.height,
        sha256=hashlib.sha256(data).hexdigest(),
        data=data,
    )


def explain(page: Page, egress: Egress) -> str | None:
    """A failed navigation in words. Chromium sees only that its proxy refused; the egress knows why."""
    error = page.navigation_error
    if error is None:
        return None
    if of_proxy(error):
        where = _destination(page.url)
        # What was ours stays ours, though a neighbour may have reached the same host since.
        failure = egress.why(*where) or egress.was_short(*where, page.began - LAG_SECONDS)
        if failure is not None:
            if failure.kind == "shut":  # to ask again would not help
                raise Forbidden(failure.text)
            if failure.ours:  # and not to be held against the website
                page.starved = True
                short = failure.kind == "overloaded"
                raise (Unavailable if short else NetworkDown)(failure.text, retry_after=1.0)
            return failure.text
    return error


def _say_what_is_missing(context: Context, page: Page, egress: Egress) -> None:
    """Parts of a page that failed by our fault. No refusal of the look, as for a whole page: to load this one
    again would undo what was done on it, and could send its form twice."""
    for asked in page.take_denied():
        short = egress.was_short(*_destination(asked.url), asked.at - LAG_SECONDS)
        if short is not None:
            context.surprises.note(f"parts of the page are missing, by no fault of the website ({short.text}); reload it")
            return


def _destination(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or (443 if parts.scheme in ("https", "wss") else 80)
    except ValueError:  # cut in the middle of what stands before the host
        return "", 0


# words


async def _words(page: Page, what: str, most: int, flag: Cut, cut: set[Cut]) -> str:
    call = f"webgym.{what}({{most: {most}, ms: 500}})"
    try:
        found = await page.frame.run(call, _Words, within=SCRIPT_SECONDS)
        if found.truncated and len(found.text) < most / 2:  # the clock cut it short: a machine may stall once
            found = await page.frame.run(call, _Words, within=SCRIPT_SECONDS)
    except (ConnectionClosed, ProtocolError):
        raise
    except BrowserError:  # no words of ours, or none in time: the rest of the page can be shown without them
        found = _Words("", truncated=True)
    if found.truncated:
        cut.add(flag)
    return found.text
