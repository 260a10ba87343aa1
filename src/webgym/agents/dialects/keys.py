"""Key combinations: families list the keys that are held together, we join them with a plus sign.

Which names are keys is the server's to know: an unknown one comes back to the model as an action without effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from webgym.agents.dialects.dialect import Inexpressible, Unreadable, shown
from webgym.types import Key

Modifier = Literal["Alt", "Control", "Meta", "Shift"]

_MODIFIERS: Final[dict[str, Modifier]] = {
    "alt": "Alt",
    "option": "Alt",
    "ctrl": "Control",
    "control": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "meta": "Meta",
    "super": "Meta",
    "win": "Meta",
    "shift": "Shift",
}


def pressed_together(keys: Iterable[str]) -> Key:
    """One combination."""
    return Key(keys=("+".join(keys),))


def parts(combination: str) -> list[str]:
    """`Control++` → Control and +: a plus sign at the end is a key."""
    if combination.endswith("+"):
        held = combination[:-1].rstrip("+")
        return [*(held.split("+") if held else []), "+"]
    return combination.split("+")


def only(action: Key) -> str:
    """The one combination of an action, for families that press one at a time."""
    if len(action.keys) != 1:
        raise Inexpressible("several key combinations in one call")
    return action.keys[0]


def modifiers(names: Iterable[str]) -> tuple[Modifier, ...]:
    """Keys held during a click."""
    found = []
    for name in names:
        if name.lower() not in _MODIFIERS:
            raise Unreadable(f"{shown(name)} cannot be held during a click")
        found.append(_MODIFIERS[name.lower()])
    return tuple(found)
