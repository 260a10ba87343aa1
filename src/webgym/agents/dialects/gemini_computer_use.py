"""Gemini computer use: one function an action, coordinates and scroll distances on a grid of 1000 whose last line is 999.

Ours is a JSON call of the function by its own name, plus `answer` for the end, which the family leaves to plain prose.
`open_web_browser` is a look, since the browser is open; `scroll_document` moves four fifths of the screen; `search`, which
means a search engine of somebody's choice, does not exist here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from webgym.agents.dialects import grids
from webgym.agents.dialects.calls import Arguments, Call
from webgym.agents.dialects.computer_use import pixel_of
from webgym.agents.dialects.dialect import Inexpressible, Screen, Unreadable, shown, unknown
from webgym.agents.dialects.grids import Relative
from webgym.agents.dialects.keys import only
from webgym.agents.dialects.tool_dialect import ToolDialect
from webgym.agents.dialects.web_interaction import heading, towards
from webgym.agents.prompts import reply_form
from webgym.types import Action, Aimed, Answer, Back, Click, Drag, Forward, Hover, Key, Navigate, Scroll, Type, Wait

GRID: Final = Relative(units=1000, largest=999)
MAGNITUDE: Final = 800.0
DOCUMENT: Final = 0.8  # of the screen
WAIT: Final = 5.0

FUNCTIONS: Final = (
    "click_at", "hover_at", "type_text_at", "drag_and_drop", "scroll_at", "scroll_document", "key_combination", "navigate",
    "go_back", "go_forward", "wait_5_seconds", "open_web_browser", "answer",
)  # fmt: skip

_DIRECTIONS: Final = ("up", "down", "left", "right")


@dataclass(frozen=True)
class GeminiFunctions:
    """The vocabulary."""

    def read(self, call: Call, screen: Screen) -> Action:
        given = call.arguments
        match call.name:
            case "click_at":
                x, y = _point(given, "x", "y", screen)
                return Click(x=x, y=y)
            case "hover_at":
                x, y = _point(given, "x", "y", screen)
                return Hover(x=x, y=y)
            case "type_text_at":
                x, y = _point(given, "x", "y", screen)
                enter, clear = given.flag("press_enter", True), given.flag("clear_before_typing", True)
                return Type(text=given.text("text"), x=x, y=y, enter=enter, clear=clear)
            case "drag_and_drop":
                x, y = _point(given, "x", "y", screen)
                to_x, to_y = _point(given, "destination_x", "destination_y", screen)
                return Drag(x=x, y=y, to_x=to_x, to_y=to_y)
            case "scroll_at" | "scroll_document":
                return _scroll(call.name, given, screen)
            case "key_combination":
                return Key(keys=(given.text("keys"),))
            case "navigate":
                return Navigate(url=given.text("url").strip())
            case "go_back":
                return Back()
            case "go_forward":
                return Forward()
            case "wait_5_seconds":
                return Wait(seconds=WAIT)
            case "open_web_browser":
                return Wait(seconds=0)
            case "answer":
                return Answer(text=given.text("text"))
            case name:
                raise unknown("function", name, FUNCTIONS)

    def write(self, action: Action, screen: Screen) -> tuple[str, Mapping[str, object]]:
        match action:
            case Click(button="left", count=1, modifiers=()):
                return "click_at", _at(action, screen)
            case Hover():
                return "hover_at", _at(action, screen)
            case Type(x=float()):
                switches = {"press_enter": action.enter, "clear_before_typing": action.clear}
                return "type_text_at", {**_at(action, screen), "text": action.text, **switches}
            case Drag():
                x, y = grids.to_grid(GRID, action.to_x, action.to_y, screen)
                return "drag_and_drop", {**_at(action, screen), "destination_x": x, "destination_y": y}
            case Scroll():
                return _written_scroll(action, screen)
            case Key():
                return "key_combination", {"keys": only(action)}
            case Navigate():
                return "navigate", {"url": action.url}
            case Back():
                return "go_back", {}
            case Forward():
                return "go_forward", {}
            case Wait() if action.seconds in (0, WAIT):
                return ("wait_5_seconds" if action.seconds else "open_web_browser"), {}
            case Answer():
                return "answer", {"text": action.text}
            case _:
                raise Inexpressible(f"Gemini computer use has no word for this {action.kind}")


def _scroll(name: str, given: Arguments, screen: Screen) -> Scroll:
    direction = given.choice("direction", _DIRECTIONS)
    side = screen.height if direction in ("up", "down") else screen.width
    if name == "scroll_document":
        dx, dy = towards(direction, side * DOCUMENT)
        return Scroll(dx=dx, dy=dy)
    x, y = _point(given, "x", "y", screen)
    magnitude = given.number("magnitude", MAGNITUDE)
    if magnitude > GRID.largest:
        raise Unreadable(f"magnitude is {shown(magnitude)}, but must lie between 0 and {GRID.largest}")
    dx, dy = towards(direction, magnitude * side / GRID.units)
    return Scroll(x=x, y=y, dx=dx, dy=dy)


def _written_scroll(action: Scroll, screen: Screen) -> tuple[str, Mapping[str, object]]:
    direction, distance = heading(action)
    side = screen.height if direction in ("up", "down") else screen.width
    if not action.has_aim:
        if distance != side * DOCUMENT:
            raise Inexpressible("a scroll of the document by another distance")
        return "scroll_document", {"direction": direction}
    magnitude = round(distance * GRID.units / side)
    if magnitude > GRID.largest:
        raise Inexpressible("a scroll of more than a screen")
    return "scroll_at", {**_at(action, screen), "direction": direction, "magnitude": magnitude}


def _point(given: Arguments, x: str, y: str, screen: Screen) -> tuple[float, float]:
    return grids.to_pixel(GRID, given.number(x), given.number(y), screen)


def _at(action: Aimed, screen: Screen) -> dict[str, object]:
    x, y = grids.to_grid(GRID, *pixel_of(action), screen)
    return {"x": x, "y": y}


def coordinates(*, memory: bool, thinking: bool) -> ToolDialect:
    prompts = ("web_agent", "gemini_computer_use", "grid_999", "json_call", *reply_form(memory=memory, thinking=thinking))
    return ToolDialect("gemini_computer_use", GeminiFunctions(), GRID, prompts)
