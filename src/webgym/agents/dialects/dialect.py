"""What a model family's way of speaking must offer, and the rules that hold in all of them.

Invariants. `read` never raises and never guesses: a reply is exactly one action that the family can say, on the screen it
was shown, or `Invalid` with a reason in words that the model can act on. `read(write(action))` is the action again, as
exactly as the family's grid allows. Thoughts (`<think>`) are not part of what is read.

    no call, or more than one                      Invalid
    a call cut short, malformed, with a name twice Invalid
    an unknown tool or action                      Invalid
    an argument missing or of another type         Invalid
    a coordinate that is no number or off the grid Invalid
    a reply over `MAX_REPLY` characters            Invalid, unread
    arguments that the action does not take        ignored
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import ValidationError

from webgym.types import CUT, Action, Look, Reply

MAX_REPLY: Final = 200_000  # characters; the longest text an action may hold is a tenth of it
SHOWN: Final = 60  # characters of a bad value that are told back

OPEN_THOUGHT: Final = "<think>"
CLOSE_THOUGHT: Final = "</think>"


@dataclass(frozen=True)
class Screen:
    """What the model was looking at: the size in CSS pixels, and the numbers drawn on it, if any were."""

    width: int
    height: int
    marks: frozenset[int] | None = None


@dataclass(frozen=True)
class Invalid:
    """A reply that cannot be acted on, and why."""

    reason: str


class Unreadable(ValueError):
    """Inside a dialect: this reply is no action. `read` turns it into `Invalid`."""


class Inexpressible(ValueError):
    """The family has no words for this action."""


class Dialect(Protocol):
    """A model family's form. Stateless: one object serves every episode."""

    @property
    def name(self) -> str: ...

    @property
    def look(self) -> Look:
        """What an observation must hold."""
        ...

    def system(self, screen: Screen) -> str:
        """The system prompt."""
        ...

    def read(self, reply: str, screen: Screen) -> Action | Invalid:
        """The action that a reply asks for."""
        ...

    def write(self, action: Action, screen: Screen) -> str:
        """The call that asks for this action; raises Inexpressible."""
        ...

    def spot(self, x: float, y: float, screen: Screen) -> str:
        """A place in the numbers this family uses, for the record of what it did."""
        ...


def after_thoughts(reply: str) -> str:
    """The reply without its thoughts. A thought may have been opened by the prompt, or never closed."""
    said = reply.rpartition(CLOSE_THOUGHT)[2]
    return said.partition(OPEN_THOUGHT)[0]


def cut_while_thinking(reply: Reply) -> bool:
    """Whether a model that thinks first was cut before it came to an answer. Its prompt may have opened the thought, so a
    reply without tags can be all thought; one that ended by itself is an answer, for a server may keep the thoughts."""
    return reply.finish in CUT and CLOSE_THOUGHT not in reply.text


def has_thought_tags(text: str) -> bool:
    return OPEN_THOUGHT in text or CLOSE_THOUGHT in text


def guarded(parse: Callable[[str, Screen], Action], reply: str, screen: Screen) -> Action | Invalid:
    """What `parse` finds in the reply, or the reason why there is nothing."""
    if len(reply) > MAX_REPLY:
        return Invalid(f"the reply has {len(reply)} characters, more than the {MAX_REPLY} that are read")
    try:
        return parse(after_thoughts(reply), screen)
    except Unreadable as e:
        return Invalid(str(e))
    except ValidationError as e:
        return Invalid(_places(e))


def unknown(what: str, name: object, known: Iterable[str]) -> Unreadable:
    """A word that the family does not have here. The model is told which there are: it may know others from elsewhere."""
    return Unreadable(f"there is no {what} {shown(name)}, only {', '.join(known)}")


def shown(value: object) -> str:
    """A value from a reply, safe to repeat."""
    text = ascii(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _places(error: ValidationError) -> str:
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    told = "; ".join(f"{'.'.join(str(p) for p in problem['loc'][-1:])}: {problem['msg']}" for problem in problems[:3])
    return f"the action is not possible: {told}"[:400]
