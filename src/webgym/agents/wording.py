"""Actions and page words as one safe line.

Invariant: what a page says about itself (title, address, element names, dialogs) enters a prompt on one line, capped, and
without angle brackets, so that it can neither start a line of ours, nor look like a call, nor spell a special token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, assert_never

from webgym import types as t

TITLE: Final = 100
ADDRESS: Final = 200
NAME: Final = 80
REMARK: Final = 300

_GAPS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_TOKENS: Final = re.compile(r"<\|(?!box_(?:start|end)\|>)(\w+)\|>")
Spot = Callable[[float, float], str]


def line(text: str, cap: int) -> str:
    """Foreign text as one capped, inert line."""
    flat = text[: cap * 8]  # before the work as well: a page may call itself by a megabyte
    if not flat.isprintable() or "  " in flat:  # what is printable has no gaps but blanks
        flat = _GAPS.sub(" ", flat)
    flat = flat.strip().replace("<", "‹").replace(">", "›")
    return flat if len(flat) <= cap else f"{flat[: cap - 1]}…"


def inert(text: str) -> str:
    """The words of a task: lines are kept, special tokens are not."""
    return text.replace("<|", "‹|").replace("|>", "|›").encode(errors="replace").decode()


def disarmed(reply: str) -> str:
    """A model's own words as they are sent again: a page may have had it say the tokens that part turns or hold images.
    Those of boxes, which some models answer with, stay."""
    return _TOKENS.sub(r"‹|\1|›", reply) if "<|" in reply else reply


def describe(action: t.Action, spot: Spot) -> str:
    """What was done, in a few words; places in the numbers the model itself uses."""
    match action:
        case t.Click():
            times = {1: "", 2: "double-", 3: "triple-"}[action.count]
            button = "" if action.button == "left" else f"{action.button} "
            return f"{times}{button}click{_aim(action, spot)}"
        case t.Hover():
            return f"hover{_aim(action, spot)}"
        case t.Drag():
            return f"drag{_aim(action, spot)} to {spot(action.to_x, action.to_y)}"
        case t.Type():
            return f'type "{line(action.text, NAME)}"{_aim(action, spot)}{" and press Enter" if action.enter else ""}'
        case t.Key():
            return f"press {line(', '.join(action.keys), NAME)}"
        case t.Scroll():
            return f"scroll{_aim(action, spot)} {_way(action)}"
        case t.Select():
            return f'select "{line(", ".join(action.options), NAME)}"{_aim(action, spot)}'
        case t.Navigate():
            return f"navigate to {line(action.url, NAME)}"
        case t.Wait():
            return f"wait {action.seconds:g} s"
        case t.Upload():
            return f"upload {len(action.files)} files{_aim(action, spot)}"
        case t.Answer():
            return f'answer "{line(action.text, NAME)}"'
        case t.Terminate():
            return f"end with {action.status}"
        case t.Back() | t.Forward() | t.Reload() | t.NewTab() | t.SwitchTab() | t.CloseTab():
            return action.kind.replace("_", " ")
        case _:
            assert_never(action)


def _aim(action: t.Aimed, spot: Spot) -> str:
    if action.element is not None:
        return f" element {action.element}"
    return f" at {spot(action.x, action.y)}" if action.x is not None and action.y is not None else ""


def _way(action: t.Scroll) -> str:
    across = f"{'right' if action.dx > 0 else 'left'} {abs(action.dx):g}" if action.dx else ""
    down = f"{'up' if action.dy < 0 else 'down'} {abs(action.dy):g}" if action.dy or not action.dx else ""
    return " and ".join(part for part in (across, down) if part)
