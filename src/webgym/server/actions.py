"""Carrying out one action in a session's active tab.

Input goes to Chromium as a person's would (mouse and key events at pixels), in one burst whose answers are awaited
together. An action that cannot be done (no such mark, no such option, no history) is not an error of ours: it raises
`CannotDo`, whose text the agent reads in the next observation.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any, assert_never

import msgspec

from webgym import types as t
from webgym.errors import BadRequest, BrowserError, Forbidden
from webgym.server import keyboard
from webgym.server.egress import EgressPolicy
from webgym.server.page import Page
from webgym.server.surprises import safe_name
from webgym.server.tabs import Context

BUTTONS = {"left": 1, "right": 2, "middle": 4}
INPUT_SECONDS = 8.0
# What Chromium takes in with a frame and not before: the wheel, and the mouse where it only moves.
BY_FRAME = frozenset({"mouseWheel", "mouseMoved"})
PROMPTLY = 0.05  # seconds in which other input is taken in without a frame, on busy cores too, unless a script holds it up
WAITING_EVERY = 0.1
DRAG_STEPS = 8
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
ABORTED = "net::ERR_ABORTED"  # the answer was no page: a download, or nothing


class CannotDo(Exception):
    """The action had no effect, for a reason the agent should read."""


class _Selected(msgspec.Struct):
    problem: str | None


class _Copied(msgspec.Struct):
    copied: str


class _Pasted(msgspec.Struct):
    seen_to: bool


class _Entry(msgspec.Struct):
    id: int


class _History(msgspec.Struct):
    currentIndex: int
    entries: list[_Entry]


class _Navigated(msgspec.Struct):
    loaderId: str | None = None
    errorText: str | None = None


async def perform(context: Context, action: t.Action, policy: EgressPolicy) -> None:
    """Do it. Returns when Chromium has taken the input; whether the page reacted is for `settle` to find out."""
    page = context.active
    match action:
        case t.Click():
            await _click(page, await aim(context, action), action.button, action.count, action.modifiers)
        case t.Hover():
            x, y = await aim(context, action)
            await _burst(page, [_mouse("mouseMoved", x, y)])
        case t.Drag():
            end = _on_screen(context, action.to_x, action.to_y)
            await _drag(page, await aim(context, action), end)
        case t.Type():
            await _type(context, page, action)
        case t.Key():
            await _press(context, page, action.keys)
        case t.Scroll():
            await _scroll(context, page, action)
        case t.Select():
            await _select(context, page, action)
        case t.Navigate():
            await navigate(page, action.url, policy)
        case t.Back():
            await _travel(page, -1)
        case t.Forward():
            await _travel(page, +1)
        case t.Reload():
            page.begin_navigation()
            await page.channel.call("Page.reload", within=INPUT_SECONDS)
        case t.Wait():
            await _wait(context, action.seconds)
        case t.NewTab():
            await _new_tab(context, action.url, policy)
        case t.SwitchTab():
            context.activate(_tab(context, action.tab))
        case t.CloseTab():
            await context.close_tab(page if action.tab is None else _tab(context, action.tab))
        case t.Upload():
            await _upload(context, page, action)
        case t.Answer() | t.Terminate():
            pass
        case _:
            assert_never(action)


# places


async def aim(context: Context, target: t.Aimed) -> tuple[float, float]:
    """The pixel an action is meant for."""
    if target.element is None:
        assert target.x is not None
        assert target.y is not None
        return _on_screen(context, target.x, target.y)
    marking = context.marking
    if marking is not None and marking.page is context.active:
        try:
            point = await marking.point(target.element, INPUT_SECONDS)
        except BrowserError as e:
            raise CannotDo(f"element {target.element} is gone") from e
        if point is not None:
            return _on_screen(context, *point)
    raise CannotDo(_no_element(target.element))


def _on_screen(context: Context, x: float, y: float) -> tuple[float, float]:
    width, height = context.emulation.width, context.emulation.height
    if not (0 <= x < width and 0 <= y < height):
        raise CannotDo(f"({x:g}, {y:g}) is outside the {width} × {height} screen")
    return x, y


def _no_element(element: int) -> str:
    return f"there is no element {element} on the page: look again with marks"


# mouse and keys


async def _burst(page: Page, commands: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Send all, then wait for all. A page that navigates away or closes under the input swallows the rest: no fault."""
    connection = page.channel.connection
    waiting = [connection.send(page.channel, method, params) for method, params in commands]
    if not waiting:
        return
    by_frame = all(params.get("type") in BY_FRAME for _, params in commands)
    done, late = await asyncio.wait(waiting, timeout=0 if by_frame else PROMPTLY)
    if done:
        page.channel.may_be_busy()
    if late:
        done, late = await page.drawing(asyncio.wait(waiting, timeout=INPUT_SECONDS))
    for future in done:
        future.exception()
    for future in late:
        future.cancel()
    if late and page.alive:
        raise BrowserError(f"the page took no input for {INPUT_SECONDS:g} s")


def _mouse(kind: str, x: float, y: float, **more: Any) -> tuple[str, dict[str, Any]]:
    return "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more}


async def _click(page: Page, at: tuple[float, float], button: str, count: int = 1, modifiers: tuple[str, ...] = ()) -> None:
    x, y = at
    held = sum(keyboard.MODIFIERS[name] for name in set(modifiers))
    events = [_mouse("mouseMoved", x, y, modifiers=held)]
    for n in range(1, count + 1):
        events.append(_mouse("mousePressed", x, y, button=button, buttons=BUTTONS[button], clickCount=n, modifiers=held))
        events.append(_mouse("mouseReleased", x, y, button=button, buttons=0, clickCount=n, modifiers=held))
    await _burst(page, events)


async def _drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    (x, y), (to_x, to_y) = start, end
    events = [
        _mouse("mouseMoved", x, y),
        _mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1),
    ]
    for n in range(1, DRAG_STEPS + 1):
        part = n / DRAG_STEPS
        events.append(_mouse("mouseMoved", x + (to_x - x) * part, y + (to_y - y) * part, button="left", buttons=1))
    # One after the other: HTML drag and drop starts in the middle and changes what the next event means.
    for method, params in [*events, _mouse("mouseReleased", to_x, to_y, button="left", buttons=0, clickCount=1)]:
        await _burst(page, [(method, params)])


async def _type(context: Context, page: Page, action: t.Type) -> None:
    if action.has_aim:
        await _click(page, await aim(context, action), "left")
    events: list[tuple[str, dict[str, Any]]] = []
    if action.clear:
        events += [*keyboard.press("Control+a"), *keyboard.press("Delete")]
    events += keyboard.write(action.text)
    if action.enter:
        events += keyboard.press("Enter")
    await _burst(page, events)


async def _press(context: Context, page: Page, combinations: Iterable[str]) -> None:
    try:
        presses = [(list(keyboard.press(keys)), keyboard.pastes(keys)) for keys in combinations]
    except keyboard.UnknownKey as e:
        raise CannotDo(str(e)) from e
    waiting: list[tuple[str, dict[str, Any]]] = []
    for events, pastes in presses:
        waiting += events
        if pastes:
            await _burst(page, waiting)
            waiting = []
            await _paste(context, page)
    await _burst(page, waiting)


async def _paste(context: Context, page: Page) -> None:
    """Insert what this session has copied, which the browser's clipboard does not tell."""
    copied = await page.frame.run("({copied: webgym.takeCopied()})", _Copied, within=INPUT_SECONDS)
    context.clipboard = copied.copied or context.clipboard
    if not context.clipboard:
        return
    text = msgspec.json.encode(context.clipboard).decode()
    pasted = await page.frame.run(f"({{seen_to: webgym.paste({text})}})", _Pasted, within=INPUT_SECONDS)
    if not pasted.seen_to:
        await _burst(page, [("Input.insertText", {"text": context.clipboard})])


async def _scroll(context: Context, page: Page, action: t.Scroll) -> None:
    if action.has_aim:
        x, y = await aim(context, action)
    else:
        x, y = context.emulation.width / 2, context.emulation.height / 2
    await _burst(page, [_mouse("mouseWheel", x, y, deltaX=action.dx, deltaY=action.dy)])


async def _select(context: Context, page: Page, action: t.Select) -> None:
    frame, index = page.frame, None
    if action.element is not None:
        owner = context.marking.owner(action.element) if context.marking and context.marking.page is page else None
        if owner is None:
            raise CannotDo(_no_element(action.element))
        frame, index = owner[0].frame, owner[1]
    else:
        await aim(context, action)
    request = msgspec.json.encode({"index": index, "x": action.x, "y": action.y, "options": action.options}).decode()
    selected = await frame.run(f"({{problem: webgym.select({request})}})", _Selected, within=INPUT_SECONDS)
    if selected.problem is not None:
        raise CannotDo(selected.problem)


# navigation and tabs


def full_url(url: str) -> str:
    """What a person may leave out of an address."""
    url = url.strip()
    if url.startswith(("about:", "data:", "javascript:", "blob:", "file:", "chrome:", "view-source:")) or _SCHEME.match(url):
        return url
    return f"https://{url}"


def _checked(url: str, policy: EgressPolicy) -> str:
    url = full_url(url)
    try:
        policy.check_url(url)
    except (BadRequest, Forbidden) as e:
        raise CannotDo(e.message) from e
    return url


async def navigate(page: Page, url: str, policy: EgressPolicy) -> None:
    url = _checked(url, policy)
    page.begin_navigation()
    answer = page.channel.connection.send(page.channel, "Page.navigate", {"url": url})
    # `settle` waits for the commit, which is reported by an event of its own, mostly after this answer. Here only those
    # navigations end that have no commit: a refused one (a malformed URL), one within the document, a download.
    answer.add_done_callback(lambda future: _navigated(page, future))


def _navigated(page: Page, future: asyncio.Future[msgspec.Raw]) -> None:
    if future.cancelled():
        return
    error = future.exception()
    if error is not None:
        page.end_navigation(str(error))
        return
    answer = msgspec.json.decode(future.result(), type=_Navigated)
    if page.navigating and (answer.loaderId is None or answer.errorText == ABORTED):
        page.end_navigation(answer.errorText)


async def _travel(page: Page, step: int) -> None:
    history = await page.channel.call("Page.getNavigationHistory", None, _History, within=INPUT_SECONDS)
    index = history.currentIndex + step
    if not 0 <= index < len(history.entries):
        raise CannotDo("there is no page to go back to" if step < 0 else "there is no page to go forward to")
    await page.channel.call("Page.navigateToHistoryEntry", {"entryId": history.entries[index].id}, within=INPUT_SECONDS)


async def _wait(context: Context, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await context.active.drawing(context.ended.wait(), every=WAITING_EVERY)
    except TimeoutError:
        pass


async def _new_tab(context: Context, url: str | None, policy: EgressPolicy) -> None:
    if url is not None:
        _checked(url, policy)
    page = await context.open_tab()
    if url is not None:
        await navigate(page, url, policy)


def _tab(context: Context, number: int) -> Page:
    page = context.tabs.get(number)
    if page is None:
        raise CannotDo(f"there is no tab {number}; the tabs are {', '.join(map(str, context.tabs))}")
    return page


# files


async def _upload(context: Context, page: Page, action: t.Upload) -> None:
    paths = []
    for name in action.files:
        path = context.folder / name
        # Files there have safe names only; others may be too long for the system even to be asked for them.
        if name != safe_name(name) or not path.is_file() or path.is_symlink():
            raise CannotDo(f"there is no file {name!r} in the session's folder")
        paths.append(str(path))
    context.surprises.choosers.clear()
    await _click(page, await aim(context, action), "left")
    if not await page.drawing(page.until(lambda: bool(context.surprises.choosers), 3.0)):
        raise CannotDo("nothing at that place asks for a file")
    channel, node = context.surprises.choosers.pop()
    await channel.call("DOM.setFileInputFiles", {"files": paths, "backendNodeId": node}, within=INPUT_SECONDS)
    context.surprises.choosers.clear()  # some controls ask twice
