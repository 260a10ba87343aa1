"""Actions and outcomes in a person's words. Places are pixels, as in the screenshot beside them."""

from __future__ import annotations

from typing import Final, assert_never

from webgym import types as t
from webgym.ui.view import LONGEST_WHY, Doing, Happened

LONGEST_REPLY: Final = 6_000
LONGEST_TEXT: Final = 300
LONGEST_ADDRESS: Final = 2_000


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def of_action(action: t.Action) -> str:
    match action:
        case t.Click():
            times = {1: "Click", 2: "Double-click", 3: "Triple-click"}[action.count]
            button = "" if action.button == "left" else f" the {action.button} button"
            held = f" holding {'+'.join(action.modifiers)}" if action.modifiers else ""
            return f"{times}{button}{_place(action)}{held}"
        case t.Hover():
            return f"Point{_place(action)}"
        case t.Drag():
            return f"Drag from{_place(action).removeprefix(' at')} to {action.to_x:.0f}, {action.to_y:.0f}"
        case t.Type():
            return f"Type “{cut(action.text, LONGEST_TEXT)}”{_place(action)}{', then Enter' if action.enter else ''}"
        case t.Key():
            return f"Press {cut(', '.join(action.keys), LONGEST_TEXT)}"
        case t.Scroll():
            return f"Scroll {_way(action)}{_place(action)}"
        case t.Select():
            return f"Select “{cut(', '.join(action.options), LONGEST_TEXT)}”{_place(action)}"
        case t.Navigate():
            return f"Go to {cut(action.url, LONGEST_TEXT)}"
        case t.Back():
            return "Go back"
        case t.Forward():
            return "Go forward"
        case t.Reload():
            return "Reload"
        case t.Wait():
            return f"Wait {action.seconds:g} s"
        case t.NewTab():
            return "Open a tab" + (f" at {cut(action.url, LONGEST_TEXT)}" if action.url else "")
        case t.SwitchTab():
            return f"Switch to tab {action.tab}"
        case t.CloseTab():
            return "Close the tab" if action.tab is None else f"Close tab {action.tab}"
        case t.Upload():
            return f"Upload {cut(', '.join(action.files), LONGEST_TEXT)}{_place(action)}"
        case t.Answer():
            return f"Answer “{cut(action.text, LONGEST_TEXT)}”"
        case t.Terminate():
            return f"End: {action.status}"
        case _:
            assert_never(action)


def of_step(step: t.Step) -> Happened:
    aim = None
    if isinstance(step.action, t.Aimed) and step.action.x is not None and step.action.y is not None:
        aim = (step.action.x, step.action.y)
    return Happened(
        index=step.index,
        screenshot=step.screenshot,
        url=cut(step.url, LONGEST_ADDRESS),
        title=cut(step.title, LONGEST_TEXT),
        words=of_action(step.action) if step.action is not None else "Unreadable reply",
        aim=aim,
        reply=cut(step.reply.text, LONGEST_REPLY) if step.reply is not None else "",
        invalid=cut(step.invalid, LONGEST_TEXT) if step.invalid is not None else None,
        error=cut(step.error, LONGEST_TEXT) if step.error is not None else None,
        unchanged=step.unchanged,
        seconds=step.seconds,
    )


def of_outcome(outcome: t.Outcome) -> tuple[Doing, str]:
    """The state an outcome is shown as, and why it is so."""
    match outcome:
        case t.Answered():
            return "done", "answered"
        case t.StepLimit():
            return "done", f"step limit of {outcome.limit}" if outcome.limit else "step limit"
        case t.Blocked():
            return "failed", cut(f"blocked: {outcome.reason}", LONGEST_WHY)
        case t.SiteError():
            return "failed", cut(f"website: {outcome.reason}", LONGEST_WHY)
        case t.Infra():
            return "failed", cut(f"infrastructure: {outcome.reason}", LONGEST_WHY)
        case t.Cancelled():
            said = outcome.reason.replace("_", " ")
            return "cancelled", cut(f"{said}: {outcome.detail}" if outcome.detail else said, LONGEST_WHY)
        case _:
            assert_never(outcome)


def _place(action: t.Aimed) -> str:
    if action.element is not None:
        return f" at element {action.element}"
    return f" at {action.x:.0f}, {action.y:.0f}" if action.x is not None and action.y is not None else ""


def _way(action: t.Scroll) -> str:
    across = f"{'right' if action.dx > 0 else 'left'} {abs(action.dx):g}" if action.dx else ""
    down = f"{'up' if action.dy < 0 else 'down'} {abs(action.dy):g}" if action.dy or not action.dx else ""
    return " and ".join(part for part in (down, across) if part)
