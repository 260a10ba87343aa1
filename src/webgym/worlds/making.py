"""What generators make: facts with their checks, groups of facts with the way to them, drafts of tasks.

A draft's instruction is an opening around what its groups ask for, so that a child of a task (some of its groups) gets an
instruction that asks for exactly those. Likewise its answer and its route are those of its groups, and then the end.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from webgym.worlds.checks import Reached, Says, Shown
from webgym.worlds.kind import Site
from webgym.worlds.route import Move
from webgym.worlds.words import listed

C = TypeVar("C")
T = TypeVar("T")
Check = Shown | Says | Reached


@dataclass(frozen=True)
class Fact:
    """One fact of a rubric, all checks of which must hold. `answer` is what a right answer says about it."""

    text: str
    checks: tuple[Check, ...]
    answer: str = ""


@dataclass(frozen=True)
class Group:
    """Facts that belong together: what asks for them, what they are about, and the way to them."""

    ask: str
    about: str
    facts: tuple[Fact, ...]
    route: tuple[Move, ...] = ()


@dataclass(frozen=True)
class Draft:
    """`openings` are phrasings with `{}` for what the groups ask for; one is chosen by the task's own draw."""

    openings: tuple[str, ...]
    groups: tuple[Group, ...]
    start: tuple[Move, ...] = ()  # before the groups' routes, whichever of them are kept, such as logging in
    end: tuple[Move, ...] = ()  # after them, such as checking out


class CannotMake(Exception):
    """This site has nothing to make this task of, such as no two products that fit. Another number may do."""


@dataclass(frozen=True)
class Maker(Generic[C]):
    """What a generator is given: a site, its content, a draw of its own, and how many facts each group must have."""

    site: Site
    content: C
    chance: random.Random
    shape: tuple[int, ...]

    @property
    def host(self) -> str:
        return self.site.host

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Distinct items in a random order; raises CannotMake if there are too few."""
        if count > len(items):
            raise CannotMake(f"{count} of {len(items)}")
        return self.chance.sample(items, count)

    def one(self, items: Sequence[T]) -> T:
        return self.some(items, 1)[0]

    def find(
        self, page: str, subject: str, name: str, value: str, *others: str, shown: str = "", as_text: bool = False
    ) -> Fact:
        """A fact to be found on a page and said: `make.find("/p/lamp", "Oak Lamp", "price", "$45.00")`.

        `shown` is how the page writes the value, if that differs from how an answer would; `as_text` is for a value that
        only looks like a number.
        """
        return Fact(
            f"The {name} of {subject} is {value}.",
            (Shown(self.host, page, (shown or value,), subject), Says(value, others, as_text=as_text)),
            f"{name} of {subject}: {value}",
        )

    def done(self, text: str, record: str, *fields: tuple[str, str]) -> Fact:
        """A fact of the site's state: `make.done("The order is for 2 lamps", "order", ("item:lamp", "2"))`."""
        return Fact(text, (Reached(self.host, record, fields),))


def instruction(draft: Draft, groups: Sequence[Group], chance: random.Random) -> str:
    """The instruction that asks for these groups."""
    opening = chance.choice(draft.openings)
    asked = listed(
        [group.ask for group in groups], "and" if all(" and " not in group.ask for group in groups) else "and also"
    )
    text = opening.replace("{}", asked)
    return text[0].upper() + text[1:]
