"""Set-of-Marks: numbers on what can be acted on, and the way back from a number to a pixel.

A document lists its own elements and those of the frames it may read. Frames of other sites, in its process or in another,
are asked one by one and their boxes moved to the screen. Marks are good until the next ones are made, and only in the tab
they were made for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
from pydantic import BaseModel, ValidationError

from webgym import types as t
from webgym.errors import BrowserError
from webgym.server.frame import Frame, ScriptFailed
from webgym.server.page import Page

SCRIPT_SECONDS = 4.0
MAX_MARKS = 400
MAX_FRAMES = 20
COLLECT_MS = 250
UNASKED = msgspec.Raw(b"null")


class _Point(msgspec.Struct):
    x: float
    y: float


class _Place(BaseModel):
    """A frame of another site on the screen: where its coordinates begin, and which part of it is seen."""

    x: float
    y: float
    view: dict[str, float]


class _Collected(BaseModel):
    marks: tuple[t.Mark, ...]
    frames: tuple[_Place, ...]
    truncated: bool


class _Found(msgspec.Struct):
    point: _Point | None


@dataclass(frozen=True)
class MarkedFrame:
    """A document that owns the element ids from `first` on. `holder` shows it in its frame number `index`."""

    frame: Frame
    first: int
    holder: MarkedFrame | None = None
    index: int = 0

    async def origin(self, within: float) -> tuple[float, float]:
        """Where its coordinates begin in the viewport now."""
        if self.holder is None:
            return 0.0, 0.0
        found = await self.holder.frame.run(f"({{point: webgym.foreignOrigin({self.index})}})", _Found, within=within)
        if found.point is None:
            raise BrowserError("the frame is gone")
        x, y = await self.holder.origin(within)
        return found.point.x + x, found.point.y + y


@dataclass
class Marking:
    """The latest marks of a session."""

    page: Page
    frames: list[MarkedFrame] = field(default_factory=list)
    marks: tuple[t.Mark, ...] = ()
    truncated: bool = False

    def owner(self, element: int) -> tuple[MarkedFrame, int] | None:
        """The document that knows an element, and the element's place in its list."""
        if not 1 <= element <= len(self.marks):
            return None
        for marked in reversed(self.frames):
            if element >= marked.first:
                return marked, element - marked.first
        return None

    async def point(self, element: int, within: float) -> tuple[float, float] | None:
        """A pixel of the element, scrolled into view if need be; None if there is no such element any more."""
        owner = self.owner(element)
        if owner is None:
            return None
        marked, index = owner
        found = await marked.frame.run(f"({{point: webgym.aim({index})}})", _Found, within=within)
        if found.point is None:
            return None
        x, y = await marked.origin(within)
        return found.point.x + x, found.point.y + y


@dataclass(frozen=True)
class _Visit:
    frame: Frame
    x: float = 0.0
    y: float = 0.0
    view: dict[str, float] = field(default_factory=dict)
    holder: MarkedFrame | None = None
    index: int = 0


def question(first: int = 1, view: dict[str, float] | None = None) -> str:
    """What is asked of a document: the main one's, unless told otherwise."""
    request = {"most": MAX_MARKS + 1 - first, "ms": COLLECT_MS, "first": first, "view": view or {}}
    return f"webgym.collectMarks({msgspec.json.encode(request).decode()})"


async def mark(page: Page, before: Marking | None, answer: msgspec.Raw = UNASKED) -> Marking:
    """Number what can be acted on, the main document's first, which may have been asked already."""
    frames = [] if before is None or before.page is not page else [marked.frame for marked in before.frames]
    # One that has moved to another process keeps its id and not its channel.
    known = {frame.id: frame for frame in frames if not frame.channel.detached}
    known |= {frame.id: frame for frame in page.children.values()}
    marking = Marking(page)
    listed: list[t.Mark] = []
    waiting = [_Visit(page.frame)]
    for visit in waiting:  # grows as frames are found in frames
        marked = MarkedFrame(visit.frame, len(listed) + 1, visit.holder, visit.index)
        main = visit.frame is page.frame
        try:
            if not main or answer == UNASKED:
                answer = await visit.frame.run(question(marked.first, visit.view), msgspec.Raw, within=SCRIPT_SECONDS)
            found = _read(answer)
        except ScriptFailed:
            marking.truncated = True
            continue
        except BrowserError:
            if main:
                raise
            continue  # a frame that is gone, or does not answer, shows nothing to act on
        marking.frames.append(marked)
        marking.truncated |= found.truncated
        listed += found.marks if main else (_moved(item, visit.x, visit.y) for item in found.marks)
        for index, place in enumerate(found.frames[: MAX_FRAMES + 1 - len(waiting)]):
            try:
                frame_id = await visit.frame.frame_in(f"webgym.foreignFrame({index})", within=SCRIPT_SECONDS)
            except BrowserError:
                continue
            frame = known.get(frame_id) or Frame(visit.frame.channel, frame_id)
            waiting.append(_Visit(frame, visit.x + place.x, visit.y + place.y, place.view, marked, index))
    marking.marks = tuple(listed)
    return marking


def _read(answer: msgspec.Raw) -> _Collected:
    # Straight to what an observation holds: to make hundreds of marks twice would cost as much as drawing them.
    try:
        return _Collected.model_validate_json(bytes(answer))
    except ValidationError as e:
        raise ScriptFailed(f"the page script answered something else: {e}") from e


def _moved(mark: t.Mark, x: float, y: float) -> t.Mark:
    box = mark.box.model_copy(update={"x": mark.box.x + x, "y": mark.box.y + y})
    return mark.model_copy(update={"box": box})
