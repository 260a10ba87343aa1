"""OpenAI computer use, in pixels of the screenshot.

Its actions are structured and have no text form of their own. Ours is a JSON call of a tool `computer` whose arguments are
the action as the API has it (`{"type": "click", "button": "left", "x": 10, "y": 20}`), or a function beside it: `goto`,
`back`, `answer`. A model that is asked with `tools` (in `extra_body`) answers in `tool_calls`, which arrive here in the
same form. `screenshot` is a look without doing anything; `wait` is two seconds; a drag runs straight from the first point
of its path to the last; the mouse's buttons `back` and `forward` move in the history, wherever the pointer is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from webgym.agents.dialects import grids, keys
from webgym.agents.dialects.calls import Arguments, Call, as_number
from webgym.agents.dialects.computer_use import pixel_of, whole
from webgym.agents.dialects.dialect import Inexpressible, Screen, Unreadable, shown, unknown
from webgym.agents.dialects.grids import Pixels
from webgym.agents.dialects.tool_dialect import ToolDialect
from webgym.agents.prompts import reply_form
from webgym.types import Action, Aimed, Answer, Back, Click, Drag, Forward, Hover, Key, Navigate, Scroll, Type, Wait

TOOL: Final = "computer"
WAIT: Final = 2.0
GRID: Final = Pixels()

TOOLS: Final = (TOOL, "goto", "back", "answer")
ACTIONS: Final = ("click", "double_click", "move", "drag", "scroll", "keypress", "type", "wait", "screenshot")

Button = Literal["left", "right", "middle"]
_BUTTONS: Final[dict[str, Button]] = {"left": "left", "right": "right", "wheel": "middle"}
_BUTTON_NAMES: Final = {ours: theirs for theirs, ours in _BUTTONS.items()}


@dataclass(frozen=True)
class OpenAIActions:
    """The vocabulary."""

    def read(self, call: Call, screen: Screen) -> Action:
        given = call.arguments
        match call.name:
            case "computer":
                return _computer(given.text("type"), given, screen)
            case "goto":
                return Navigate(url=given.text("url").strip())
            case "back":
                return Back()
            case "answer":
                return Answer(text=given.text("text"))
            case name:
                raise unknown("tool", name, TOOLS)

    def write(self, action: Action, screen: Screen) -> tuple[str, Mapping[str, object]]:
        match action:
            case Navigate():
                return "goto", {"url": action.url}
            case Back():
                return "back", {}
            case Answer():
                return "answer", {"text": action.text}
            case _:
                return TOOL, _written(action, screen)


def _computer(kind: str, given: Arguments, screen: Screen) -> Action:
    match kind:
        case "click":
            button = given.choice("button", (*_BUTTONS, "back", "forward"))
            if button not in _BUTTONS:
                return Back() if button == "back" else Forward()
            x, y = _point(given, screen)
            return Click(x=x, y=y, button=_BUTTONS[button], modifiers=_held(given))
        case "double_click":
            x, y = _point(given, screen)
            return Click(x=x, y=y, count=2, modifiers=_held(given))
        case "move":
            x, y = _point(given, screen)
            return Hover(x=x, y=y)
        case "drag":
            path = given.items("path")
            if len(path) < 2:
                raise Unreadable("path needs two points or more")
            (x, y), (to_x, to_y) = _step(path[0], screen), _step(path[-1], screen)
            return Drag(x=x, y=y, to_x=to_x, to_y=to_y)
        case "scroll":
            x, y = _point(given, screen)
            return Scroll(x=x, y=y, dx=given.number("scroll_x", 0), dy=given.number("scroll_y", 0))
        case "keypress":
            return keys.pressed_together(given.texts("keys"))
        case "type":
            return Type(text=given.text("text"))
        case "wait":
            return Wait(seconds=WAIT)
        case "screenshot":
            return Wait(seconds=0)
        case _:
            raise unknown("action", kind, ACTIONS)


def _written(action: Action, screen: Screen) -> Mapping[str, object]:
    match action:
        case Click(count=1):
            button = _BUTTON_NAMES[action.button]
            return {"type": "click", "button": button, **_at(action, screen), **_holding(action)}
        case Click(count=2, button="left"):
            return {"type": "double_click", **_at(action, screen), **_holding(action)}
        case Hover():
            return {"type": "move", **_at(action, screen)}
        case Drag():
            x, y = grids.to_grid(GRID, action.to_x, action.to_y, screen)
            return {"type": "drag", "path": [_at(action, screen), {"x": x, "y": y}]}
        case Scroll():
            return {
                "type": "scroll", **_at(action, screen), "scroll_x": whole(action.dx), "scroll_y": whole(action.dy)
            }  # fmt: skip
        case Key():
            return {"type": "keypress", "keys": keys.parts(keys.only(action))}
        case Type(enter=False, clear=False) if not action.has_aim:
            return {"type": "type", "text": action.text}
        case Wait() if action.seconds in (0, WAIT):
            return {"type": "wait" if action.seconds else "screenshot"}
        case _:
            raise Inexpressible(f"OpenAI computer use has no word for this {action.kind}")


def _point(given: Arguments, screen: Screen) -> tuple[float, float]:
    return grids.to_pixel(GRID, given.number("x"), given.number("y"), screen)


def _step(point: object, screen: Screen) -> tuple[float, float]:
    if not isinstance(point, dict):
        raise Unreadable(f"a point of the path is {shown(point)}, but must have x and y")
    return grids.to_pixel(GRID, as_number("x", point.get("x")), as_number("y", point.get("y")), screen)


def _held(given: Arguments) -> tuple[keys.Modifier, ...]:
    return keys.modifiers(given.texts("keys")) if given.has("keys") and given.items("keys") else ()


def _holding(action: Click) -> dict[str, object]:
    return {"keys": list(action.modifiers)} if action.modifiers else {}


def _at(action: Aimed, screen: Screen) -> dict[str, object]:
    x, y = grids.to_grid(GRID, *pixel_of(action), screen)
    return {"x": x, "y": y}


def coordinates(*, memory: bool, thinking: bool) -> ToolDialect:
    prompts = ("web_agent", "openai_computer_use", "grid_pixels", "json_call", *reply_form(memory=memory, thinking=thinking))
    return ToolDialect("openai_computer_use", OpenAIActions(), GRID, prompts)
