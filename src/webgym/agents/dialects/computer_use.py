"""The words of Qwen's `computer_use` tool: arguments to actions and back, on a grid that differs by model.

`type` clicks the given place, types and presses Enter; `press_enter` and `clear_first` say otherwise. `pixels` of a scroll
are CSS pixels, positive up (`hscroll`: positive right), as in the tool the family was trained on. A drag names both ends,
because no pointer is left anywhere between two steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from webgym.agents.dialects import grids, keys
from webgym.agents.dialects.calls import Arguments, Call
from webgym.agents.dialects.dialect import Inexpressible, Screen, unknown
from webgym.agents.dialects.grids import Grid
from webgym.types import Action, Aimed, Answer, Back, Click, Drag, Hover, Key, Navigate, Scroll, Terminate, Type, Wait

TOOL: Final = "computer_use"

Button = Literal["left", "right", "middle"]
CLICKS: Final[dict[str, tuple[Button, Literal[1, 2, 3]]]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
ACTIONS: Final = (
    *CLICKS, "mouse_move", "left_click_drag", "type", "key", "scroll", "hscroll", "wait", "go_back", "navigate", "answer",
    "terminate",
)  # fmt: skip
_CLICK_NAMES: Final = {how: name for name, how in CLICKS.items()}


def click_name(action: Click) -> str:
    """The word for a click with this button and count."""
    name = _CLICK_NAMES.get((action.button, action.count))
    if name is None:
        raise Inexpressible(f"{action.count} clicks with the {action.button} button")
    return name


@dataclass(frozen=True)
class ComputerUse:
    """The vocabulary, on a grid."""

    grid: Grid

    def read(self, call: Call, screen: Screen) -> Action:
        if call.name != TOOL:
            raise unknown("tool", call.name, (TOOL,))
        given = call.arguments
        name = given.text("action").strip()
        if name in CLICKS:
            button, count = CLICKS[name]
            x, y = self._point(given, "coordinate", screen)
            return Click(x=x, y=y, button=button, count=count)
        return self._other(name, given, screen)

    def _other(self, name: str, given: Arguments, screen: Screen) -> Action:
        match name:
            case "mouse_move":
                x, y = self._point(given, "coordinate", screen)
                return Hover(x=x, y=y)
            case "left_click_drag":
                x, y = self._point(given, "start_coordinate", screen)
                to_x, to_y = self._point(given, "coordinate", screen)
                return Drag(x=x, y=y, to_x=to_x, to_y=to_y)
            case "type":
                px, py = self._perhaps(given, screen)
                enter, clear = given.flag("press_enter", True), given.flag("clear_first", False)
                return Type(text=given.text("text"), x=px, y=py, enter=enter, clear=clear)
            case "key":
                return keys.pressed_together(given.texts("keys"))
            case "scroll":
                px, py = self._perhaps(given, screen)
                return Scroll(x=px, y=py, dy=-given.number("pixels"))
            case "hscroll":
                px, py = self._perhaps(given, screen)
                return Scroll(x=px, y=py, dx=given.number("pixels"))
            case "wait":
                return Wait(seconds=given.number("time", Wait().seconds))
            case "go_back":
                return Back()
            case "navigate":
                return Navigate(url=given.text("url").strip())
            case "answer":
                return Answer(text=given.text("text"))
            case "terminate":
                return Terminate(
                    status="success" if given.choice("status", ("success", "failure")) == "success" else "failure"
                )
            case _:
                raise unknown("action", name, ACTIONS)

    def write(self, action: Action, screen: Screen) -> tuple[str, Mapping[str, object]]:
        return TOOL, self._arguments(action, screen)

    def _arguments(self, action: Action, screen: Screen) -> Mapping[str, object]:
        match action:
            case Click(modifiers=()):
                return {"action": click_name(action), "coordinate": self._at(action, screen)}
            case Hover():
                return {"action": "mouse_move", "coordinate": self._at(action, screen)}
            case Drag():
                end = [*grids.to_grid(self.grid, action.to_x, action.to_y, screen)]
                return {"action": "left_click_drag", "start_coordinate": self._at(action, screen), "coordinate": end}
            case Type():
                switches = ({} if action.enter else {"press_enter": False}) | ({"clear_first": True} if action.clear else {})
                return {"action": "type", **self._aim(action, screen), "text": action.text, **switches}
            case Key():
                return {"action": "key", "keys": keys.parts(keys.only(action))}
            case Scroll(dx=0):
                return {"action": "scroll", **self._aim(action, screen), "pixels": whole(-action.dy)}
            case Scroll(dy=0):
                return {"action": "hscroll", **self._aim(action, screen), "pixels": whole(action.dx)}
            case Wait():
                return {"action": "wait", "time": whole(action.seconds)}
            case Back():
                return {"action": "go_back"}
            case Navigate():
                return {"action": "navigate", "url": action.url}
            case Answer():
                return {"action": "answer", "text": action.text}
            case Terminate():
                return {"action": "terminate", "status": action.status}
            case _:
                raise Inexpressible(f"{TOOL} has no word for {action.kind}")

    def _point(self, given: Arguments, name: str, screen: Screen) -> tuple[float, float]:
        return grids.to_pixel(self.grid, *given.point(name), screen)

    def _perhaps(self, given: Arguments, screen: Screen) -> tuple[float | None, float | None]:
        return self._point(given, "coordinate", screen) if given.has("coordinate") else (None, None)

    def _at(self, action: Aimed, screen: Screen) -> list[int]:
        return [*grids.to_grid(self.grid, *pixel_of(action), screen)]

    def _aim(self, action: Aimed, screen: Screen) -> dict[str, object]:
        return {"coordinate": self._at(action, screen)} if action.has_aim else {}


def pixel_of(action: Aimed) -> tuple[float, float]:
    """Where an action aims, for families that know no marks."""
    if action.x is None or action.y is None:
        raise Inexpressible("a marked element has no coordinates")
    return action.x, action.y


def whole(number: float) -> float | int:
    """7.0 is written 7."""
    return int(number) if number == int(number) else number
