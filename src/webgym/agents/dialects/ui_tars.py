"""UI-TARS: `Thought: …` and then `Action: click(start_box='(x,y)')`, a call in the manner of Python.

Two generations, one syntax: the first speaks in a 0–1000 grid, 1.5 in pixels of the resized image. A box may stand bare, as
`<|box_start|>(x,y)<|box_end|>` or as `<point>x y</point>`. Content that ends in a line feed is followed by Enter. A scroll
is 500 pixels, of the page if it names no box; a wait is five seconds. Everything after the first `Action:` at the beginning
of a line must be the one call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from webgym.agents.dialects import grids, keys
from webgym.agents.dialects.calls import as_number
from webgym.agents.dialects.computer_use import pixel_of
from webgym.agents.dialects.dialect import (
    Inexpressible,
    Invalid,
    Screen,
    Unreadable,
    guarded,
    has_thought_tags,
    shown,
    unknown,
)
from webgym.agents.dialects.grids import Grid, Relative, Resized
from webgym.agents.dialects.tool_dialect import PLAIN
from webgym.agents.dialects.web_interaction import heading, towards
from webgym.agents.prompts import compose
from webgym.types import Action, Answer, Back, Click, Drag, Hover, Key, Look, Navigate, Scroll, Terminate, Type, Wait

SCROLL: Final = 500.0
WAIT: Final = 5.0
MAX_ARGUMENTS: Final = 8

_ACTION: Final = re.compile(r"^Action:", re.MULTILINE)
_CALL: Final = re.compile(r"([a-z_]{1,40})\(")
_ARGUMENT: Final = re.compile(r"\s*([a-z_]{1,40})\s*=\s*(?:'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\")\s*(,?)", re.DOTALL)
_NUMBER: Final = r"\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*"
_BOX: Final = re.compile(rf"(?:<\|box_start\|>)?\({_NUMBER},{_NUMBER}\)(?:<\|box_end\|>)?")
_POINT: Final = re.compile(rf"<point>{_NUMBER}\s{_NUMBER}</point>")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CLICKS: Final = {"click": ("left", 1), "left_double": ("left", 2), "right_single": ("right", 1)}
_CLICK_NAMES: Final = {how: name for name, how in _CLICKS.items()}
_DIRECTIONS: Final = ("up", "down", "left", "right")
ACTIONS: Final = (
    *_CLICKS, "drag", "hover", "hotkey", "type", "scroll", "wait", "navigate", "navigate_back", "finished", "call_user",
)  # fmt: skip

Given = Mapping[str, str]


@dataclass(frozen=True)
class UITars:
    """The dialect, on the grid of a generation."""

    name: str
    grid: Grid
    prompts: tuple[str, ...]
    look: Look = PLAIN

    def system(self, screen: Screen) -> str:
        wide, high = self.grid.extent(screen)
        return compose(self.prompts, width=wide, height=high, last_x=wide - 1, last_y=high - 1)

    def read(self, reply: str, screen: Screen) -> Action | Invalid:
        return guarded(self._parse, reply, screen)

    def write(self, action: Action, screen: Screen) -> str:
        call = self._written(action, screen)
        if has_thought_tags(call):
            raise Inexpressible("text that looks like a thought")
        return f"Action: {call}"

    def spot(self, x: float, y: float, screen: Screen) -> str:
        return "({}, {})".format(*grids.to_grid(self.grid, x, y, screen))

    def _parse(self, text: str, screen: Screen) -> Action:
        start = _ACTION.search(text)
        if start is None:
            raise Unreadable("the reply has no line that begins with `Action:`")
        name, given = _call(text[start.end() :].strip())
        if name in _CLICKS:
            button, count = _CLICKS[name]
            x, y = self._box(given, "start_box", screen)
            return Click.model_validate({"x": x, "y": y, "button": button, "count": count})
        return self._other(name, given, screen)

    def _other(self, name: str, given: Given, screen: Screen) -> Action:
        match name:
            case "drag":
                x, y = self._box(given, "start_box", screen)
                to_x, to_y = self._box(given, "end_box", screen)
                return Drag(x=x, y=y, to_x=to_x, to_y=to_y)
            case "hover":
                x, y = self._box(given, "start_box", screen)
                return Hover(x=x, y=y)
            case "hotkey":
                return keys.pressed_together(_must(given, "key").split())
            case "type":
                content = _must(given, "content")
                return Type(text=content.removesuffix("\n"), enter=content.endswith("\n"))
            case "scroll":
                direction = _must(given, "direction")
                if direction not in _DIRECTIONS:
                    raise Unreadable(f"direction is {shown(direction)}, but must be one of {', '.join(_DIRECTIONS)}")
                dx, dy = towards(direction, SCROLL)
                if "start_box" not in given and "start_point" not in given:
                    return Scroll(dx=dx, dy=dy)
                x, y = self._box(given, "start_box", screen)
                return Scroll(x=x, y=y, dx=dx, dy=dy)
            case "wait":
                return Wait(seconds=WAIT)
            case "navigate":
                return Navigate(url=_must(given, "content").strip())
            case "navigate_back":
                return Back()
            case "finished":
                return Answer(text=given["content"]) if "content" in given else Terminate(status="success")
            case "call_user":
                return Terminate(status="failure")
            case _:
                raise unknown("action", name, ACTIONS)

    def _written(self, action: Action, screen: Screen) -> str:
        match action:
            case Click(modifiers=(), x=float(x), y=float(y)) if (action.button, action.count) in _CLICK_NAMES:
                return f"{_CLICK_NAMES[action.button, action.count]}(start_box='{self._at(x, y, screen)}')"
            case Hover(x=float(x), y=float(y)):
                return f"hover(start_box='{self._at(x, y, screen)}')"
            case Drag(x=float(x), y=float(y)):
                end = self._at(action.to_x, action.to_y, screen)
                return f"drag(start_box='{self._at(x, y, screen)}', end_box='{end}')"
            case Key():
                held = keys.parts(keys.only(action))
                if any(part.split() != [part] for part in held):
                    raise Inexpressible("a key whose name has a blank")
                return f"hotkey(key='{_quoted(' '.join(held))}')"
            case Type(clear=False) if not action.has_aim and (action.enter or not action.text.endswith("\n")):
                ending = "\n" if action.enter else ""
                return f"type(content='{_quoted(action.text + ending)}')"
            case Scroll(element=None):
                direction, distance = heading(action)
                if distance != SCROLL:
                    raise Inexpressible(f"a scroll of {distance:g} pixels")
                box = f"start_box='{self._at(*pixel_of(action), screen)}', " if action.has_aim else ""
                return f"scroll({box}direction='{direction}')"
            case Wait(seconds=5.0):
                return "wait()"
            case Navigate():
                return f"navigate(content='{_quoted(action.url)}')"
            case Back():
                return "navigate_back()"
            case Answer():
                return f"finished(content='{_quoted(action.text)}')"
            case Terminate():
                return "finished()" if action.status == "success" else "call_user()"
            case _:
                raise Inexpressible(f"UI-TARS has no word for this {action.kind}")

    def _at(self, x: float, y: float, screen: Screen) -> str:
        return "({},{})".format(*grids.to_grid(self.grid, x, y, screen))

    def _box(self, given: Given, name: str, screen: Screen) -> tuple[float, float]:
        spelled = _must(given, name if name in given else name.replace("box", "point"), called=name)
        found = _BOX.fullmatch(spelled.strip()) or _POINT.fullmatch(spelled.strip())
        if found is None:
            raise Unreadable(f"{name} is {shown(spelled)}, but must be a point such as '(10,20)'")
        x, y = (as_number(name, float(number)) for number in found.groups())
        return grids.to_pixel(self.grid, x, y, screen)


def _call(text: str) -> tuple[str, dict[str, str]]:
    """Name and arguments of the one call that the text is."""
    opened = _CALL.match(text)
    if opened is None:
        raise Unreadable(f"what follows `Action:` is {shown(text[:100])}, but must be a call such as wait()")
    given: dict[str, str] = {}
    at, more = opened.end(), True
    while more and (found := _ARGUMENT.match(text, at)):
        name, single, double, comma = found.groups()
        name = _renamed(name)
        if name in given or len(given) == MAX_ARGUMENTS:
            raise Unreadable(f"the argument {name} appears twice, or there are more than {MAX_ARGUMENTS}")
        given[name] = _ESCAPE.sub(_unescaped, single if single is not None else double)
        at, more = found.end(), bool(comma)
    if text[at:].strip() != ")":
        raise Unreadable("the reply must end with exactly one whole call: name(argument='value')")
    return opened[1], given


def _renamed(name: str) -> str:
    """`point` is how the newer generation names a single place."""
    return "start_point" if name == "point" else name


def _must(given: Given, name: str, called: str = "") -> str:
    if name not in given:
        raise Unreadable(f"the argument {called or name} is missing")
    return given[name]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])


def first(*, thinking: bool) -> UITars:
    return UITars("ui_tars", Relative(), _prompts("grid_1000", thinking))


def one_and_a_half(*, thinking: bool, min_pixels: int, max_pixels: int) -> UITars:
    return UITars("ui_tars_1_5", Resized(28, min_pixels, max_pixels), _prompts("grid_pixels", thinking))


def _prompts(grid: str, thinking: bool) -> tuple[str, ...]:
    return ("web_agent", "ui_tars", grid, *(("thinking",) if thinking else ()))
