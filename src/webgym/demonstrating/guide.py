"""How to open a page by its menu, decided anew at every look: what to do follows from the task and the page alone.

Unlike the oracle, whose route is a plan, the guide can say what to do on any page an agent got itself to, and it speaks of
elements by their marks. So what it says can be written in a dialect and shown to a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

from webgym.errors import ConfigError
from webgym.types import Action, Answer, Click, Mark, Observation, Scroll, Task
from webgym.worlds import navigating, tasks
from webgym.worlds.checks import Shown, plain
from webgym.worlds.names import site_of
from webgym.worlds.route import Open

DONE: Final = "Done"
SCROLL: Final = 100.0
FAR: Final = 1000.0
_CONSENT: Final = "accept all"
_MENU: Final = "menu"


@dataclass(frozen=True)
class Goal:
    """A page to open: where it is, what the menu calls it, and what else the menu has."""

    path: str
    name: str
    others: frozenset[str]

    @classmethod
    def of(cls, task: Task) -> Self:
        """The goal of a task of `worlds.navigating`."""
        made = tasks.find(task.id)
        move, check = made.route[0], made.groups[0].facts[0].checks[0]
        if not (isinstance(move, Open) and isinstance(check, Shown)):
            raise ConfigError(f"{task.id}: only tasks that open a page of a menu can be guided")
        menu = navigating.destinations(site_of(made.id.seed, made.id.hosts[0]))
        others = frozenset(plain(link.text) for link in menu if link.text != move.name)
        return cls(check.page, plain(move.name), others)


def advise(goal: Goal, seen: Observation) -> Action:
    """What to do now: say that it is done, consent to cookies, follow the link, open the menu, or look for one of these."""
    if urlsplit(seen.url).path == goal.path:
        return Answer(text=DONE)
    marks = seen.marks or ()
    for name, role in ((_CONSENT, "button"), (goal.name, "link")):
        if (mark := _named(marks, name, role)) is not None:
            return Click(element=mark.id)
    if any(mark.role == "link" and plain(mark.name) in goal.others for mark in marks):
        return Scroll(dy=SCROLL)  # the menu is open and goes on below
    if (mark := _named(marks, _MENU, "button")) is not None:
        return Click(element=mark.id)
    return Scroll(dy=-FAR)


def _named(marks: tuple[Mark, ...], name: str, role: str) -> Mark | None:
    return next((mark for mark in marks if mark.role == role and plain(mark.name) == name), None)
