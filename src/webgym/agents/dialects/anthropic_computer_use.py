"""Anthropic computer use, in pixels of the screenshot.

Ours is a JSON call of a tool `computer` whose arguments are the tool's input as the API has it (`{"action": "left_click",
"coordinate": [10, 20]}`), or a function beside it: `navigate`, `go_back`, `answer`. One unit of `scroll_amount` is 100
pixels. `key` takes xdotool's form: keys of a combination joined by +, combinations by blanks; `repeat`, which Claude's own
browser tool has, presses them so often. What needs a pointer or a key that stays down between two steps (left_mouse_down,
hold_key, …) does not exist here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from webgym.agents.dialects import grids, keys
from webgym.agents.dialects.calls import Arguments, Call
from webgym.agents.dialects.computer_use import CLICKS, click_name, pixel_of, whole
from webgym.agents.dialects.dialect import Inexpressible, Screen, Unreadable, shown, unknown
from webgym.agents.dialects.grids import Pixels
from webgym.agents.dialects.tool_dialect import ToolDialect
from webgym.agents.dialects.web_interaction import heading, towards
from webgym.agents.prompts import reply_form
from webgym.types import Action, Aimed, Answer, Back, Click, Drag, Hover, Key, Navigate, Scroll, Type, Wait

TOOL: Final = "computer"
NOTCH: Final = 100  # pixels of one unit of scroll_amount
MOST_KEYS: Final = 64  # combinations that an action may press
GRID: Final = Pixels()

TOOLS: Final = (TOOL, "navigate", "go_back", "answer")
ACTIONS: Final = (*CLICKS, "mouse_move", "left_click_drag", "scroll", "key", "type", "wait", "screenshot")

_DIRECTIONS: Final = ("up", "down", "left", "right")


@dataclass(frozen=True)
class AnthropicActions:
    """The vocabulary."""

    def read(self, call: Call, screen: Screen) -> Action:
        given = call.arguments
        match call.name:
            case "computer":
                return _computer(given.text("action"), given, screen)
            case "navigate":
                return Navigate(url=given.text("url").strip())
            case "go_back":
                return Back()
            case "answer":
                return Answer(text=given.text("text"))
            case name:
                raise unknown("tool", name, TOOLS)

    def write(self, action: Action, screen: Screen) -> tuple[str, Mapping[str, object]]:
        match action:
            case Navigate():
                return "navigate", {"url": action.url}
            case Back():
                return "go_back", {}
            case Answer():
                return "answer", {"text": action.text}
            case _:
                return TOOL, _written(action, screen)


def _computer(name: str, given: Arguments, screen: Screen) -> Action:
    if name in CLICKS:
        button, count = CLICKS[name]
        x, y = _point(given, "coordinate", screen)
        named = given.text("text").strip() if given.has("text") else ""  # an empty text is how some say: none
        held = keys.modifiers(named.split("+")) if named else ()
        return Click(x=x, y=y, button=button, count=count, modifiers=held)
    match name:
        case "mouse_move":
            x, y = _point(given, "coordinate", screen)
            return Hover(x=x, y=y)
        case "left_click_drag":
            x, y = _point(given, "start_coordinate", screen)
            to_x, to_y = _point(given, "coordinate", screen)
            return Drag(x=x, y=y, to_x=to_x, to_y=to_y)
        case "scroll":
            x, y = _point(given, "coordinate", screen)
            direction = given.choice("scroll_direction", _DIRECTIONS)
            dx, dy = towards(direction, given.number("scroll_amount") * NOTCH)
            return Scroll(x=x, y=y, dx=dx, dy=dy)
        case "key":
            return _pressed(given.text("text").split(), given)
        case "type":
            return Type(text=given.text("text"))
        case "wait":
            return Wait(seconds=given.number("duration"))
        case "screenshot":
            return Wait(seconds=0)
        case _:
            raise unknown("action", name, ACTIONS)


def _pressed(combinations: list[str], given: Arguments) -> Key:
    times = given.whole("repeat") if given.has("repeat") else 1
    if times < 1 or (times > 1 and times * len(combinations) > MOST_KEYS):
        raise Unreadable(f"repeat is {shown(times)}, but must be from 1 on and press no more than {MOST_KEYS} keys in all")
    return Key(keys=tuple(combinations) * times)


def _written(action: Action, screen: Screen) -> Mapping[str, object]:
    match action:
        case Click():
            held = {"text": "+".join(action.modifiers)} if action.modifiers else {}
            return {"action": click_name(action), "coordinate": _at(action, screen), **held}
        case Hover():
            return {"action": "mouse_move", "coordinate": _at(action, screen)}
        case Drag():
            end = [*grids.to_grid(GRID, action.to_x, action.to_y, screen)]
            return {"action": "left_click_drag", "start_coordinate": _at(action, screen), "coordinate": end}
        case Scroll():
            direction, distance = heading(action)
            if distance % NOTCH:
                raise Inexpressible(f"a scroll of {distance:g} pixels: not a multiple of {NOTCH}")
            amount = whole(distance / NOTCH)
            at = _at(action, screen)
            return {"action": "scroll", "coordinate": at, "scroll_direction": direction, "scroll_amount": amount}
        case Key():
            if any(combination.split() != [combination] for combination in action.keys):
                raise Inexpressible("a key whose name has a blank")
            return {"action": "key", "text": " ".join(action.keys)}
        case Type(enter=False, clear=False) if not action.has_aim:
            return {"action": "type", "text": action.text}
        case Wait():
            return {"action": "wait", "duration": whole(action.seconds)}
        case _:
            raise Inexpressible(f"Anthropic computer use has no word for this {action.kind}")


def _point(given: Arguments, name: str, screen: Screen) -> tuple[float, float]:
    return grids.to_pixel(GRID, *given.point(name), screen)


def _at(action: Aimed, screen: Screen) -> list[int]:
    return [*grids.to_grid(GRID, *pixel_of(action), screen)]


def coordinates(*, memory: bool, thinking: bool) -> ToolDialect:
    form = reply_form(memory=memory, thinking=thinking)
    prompts = ("web_agent", "anthropic_computer_use", "grid_pixels", "json_call", *form)
    return ToolDialect("anthropic_computer_use", AnthropicActions(), GRID, prompts)
