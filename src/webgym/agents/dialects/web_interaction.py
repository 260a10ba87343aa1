"""The words of the Set-of-Marks tool `web_interaction`: elements by the numbers drawn on the screenshot.

An element that is not on the screenshot is refused here, so that no number can mean something else a moment later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from webgym.agents.dialects.calls import Arguments, Call
from webgym.agents.dialects.computer_use import whole
from webgym.agents.dialects.dialect import Inexpressible, Screen, Unreadable, shown, unknown
from webgym.types import Action, Aimed, Answer, Back, Click, Hover, Navigate, Scroll, Select, Type, Wait

TOOL: Final = "web_interaction"
ACTIONS: Final = ("click", "hover", "type", "select", "scroll", "wait", "go_back", "navigate", "answer")
SCROLL: Final = 500.0  # pixels of a scroll that names no distance

_DIRECTIONS: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


@dataclass(frozen=True)
class WebInteraction:
    """The vocabulary."""

    def read(self, call: Call, screen: Screen) -> Action:
        if call.name != TOOL:
            raise unknown("tool", call.name, (TOOL,))
        given = call.arguments
        match given.text("action").strip():
            case "click":
                return Click(element=self._element(given, screen))
            case "hover":
                return Hover(element=self._element(given, screen))
            case "type":
                element = self._element(given, screen)
                enter, clear = given.flag("press_enter", True), given.flag("clear_first", False)
                return Type(text=given.text("text"), element=element, enter=enter, clear=clear)
            case "select":
                return Select(element=self._element(given, screen), options=(given.text("option"),))
            case "scroll":
                over = self._element(given, screen) if given.has("element_id") else None
                dx, dy = towards(given.choice("direction", tuple(_DIRECTIONS)), given.number("pixels", SCROLL))
                return Scroll(element=over, dx=dx, dy=dy)
            case "wait":
                return Wait(seconds=given.number("time", Wait().seconds))
            case "go_back":
                return Back()
            case "navigate":
                return Navigate(url=given.text("url").strip())
            case "answer":
                return Answer(text=given.text("text"))
            case name:
                raise unknown("action", name, ACTIONS)

    def write(self, action: Action, screen: Screen) -> tuple[str, Mapping[str, object]]:
        return TOOL, self._arguments(action, screen)

    def _arguments(self, action: Action, screen: Screen) -> Mapping[str, object]:
        match action:
            case Click(button="left", count=1, modifiers=()):
                return {"action": "click", **_aim(action)}
            case Hover():
                return {"action": "hover", **_aim(action)}
            case Type(element=int()):
                switches = ({} if action.enter else {"press_enter": False}) | ({"clear_first": True} if action.clear else {})
                return {"action": "type", **_aim(action), "text": action.text, **switches}
            case Select(options=(option,)):
                return {"action": "select", **_aim(action), "option": option}
            case Scroll():
                direction, pixels = heading(action)
                aim = _aim(action) if action.has_aim else {}
                return {"action": "scroll", **aim, "direction": direction, "pixels": whole(pixels)}
            case Wait():
                return {"action": "wait", "time": whole(action.seconds)}
            case Back():
                return {"action": "go_back"}
            case Navigate():
                return {"action": "navigate", "url": action.url}
            case Answer():
                return {"action": "answer", "text": action.text}
            case _:
                raise Inexpressible(f"{TOOL} has no word for this {action.kind}")

    def _element(self, given: Arguments, screen: Screen) -> int:
        element = given.whole("element_id")
        if screen.marks is not None and element not in screen.marks:
            raise Unreadable(f"there is no element {shown(element)} on this screenshot")
        return element


def towards(direction: str, distance: float) -> tuple[float, float]:
    """dx and dy of a scroll in a direction."""
    if distance < 0:
        raise Unreadable(f"a scroll of {shown(distance)}: turn the direction around instead")
    across, down = _DIRECTIONS[direction]
    return across * distance, down * distance


def heading(action: Scroll) -> tuple[str, float]:
    """Direction and distance of a scroll along one axis."""
    if action.dx and action.dy:
        raise Inexpressible("a scroll along both axes")
    if action.dx:
        return ("right" if action.dx > 0 else "left"), abs(action.dx)
    return ("up" if action.dy < 0 else "down"), abs(action.dy)


def _aim(action: Aimed) -> dict[str, object]:
    if action.element is None:
        raise Inexpressible("a place without a mark")
    return {"element_id": action.element}
