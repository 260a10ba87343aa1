"""Subjects of questions: what a page knows about a thing, several things compared, the one that a search ends at.

A kind says what is known and the way to the page; these make facts and groups with their checks and routes. The same value
is asked for by name, shown as the page writes it, and said as a person would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Fact, Group, Maker
from webgym.worlds.route import Move, See
from webgym.worlds.words import listed

C = TypeVar("C")


@dataclass(frozen=True)
class Known:
    """Something a page says: what to call it, what an answer says, and how the page writes it if that differs."""

    name: str
    value: str
    shown: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A thing with a page of its own: its title there, its address, the way to it, and how a sentence calls it."""

    title: str
    href: str
    way: tuple[Move, ...]
    called: str = ""

    @property
    def spoken(self) -> str:
        return self.called or self.title


def seen(facts: Sequence[Fact]) -> tuple[Move, ...]:
    """Look at everything these facts must have shown."""
    return tuple(See(check.texts) for fact in facts for check in fact.checks if isinstance(check, Shown))


def fact(make: Maker[C], subject: Subject, known: Known) -> Fact:
    return make.find(subject.href, subject.title, known.name, known.value, *known.others, shown=known.shown)


def about(make: Maker[C], subject: Subject, known: Sequence[Known], count: int, *before: Move) -> Group:
    """Some of what is known about a subject. `before` are moves on its page, such as opening a tab."""
    chosen = make.some(known, count)
    facts = tuple(fact(make, subject, one) for one in chosen)
    names = listed([one.name for one in chosen])
    route = (*subject.way, *before, *seen(facts))
    return Group(f"the {names} of {subject.spoken}", f"Particulars of {subject.title}", facts, route)


def compared(make: Maker[C], what: str, best: str, things: Sequence[tuple[Subject, Known, float]], *, least: bool) -> Group:
    """One number of each of several things, and which has the least or the most of it. No ties."""
    if len({amount for _, _, amount in things}) < len(things):
        raise CannotMake("two are alike")
    facts = [fact(make, subject, known) for subject, known, _ in things]
    winner = (min if least else max)(things, key=lambda thing: thing[2])[0]
    verdict = Fact(f"Of these, {winner.title} is the {best}.", (Says(winner.title),), f"{best}: {winner.title}")
    names = listed([subject.spoken for subject, _, _ in things])
    ask = f"the {what} of {names}, and which of them is the {best}"
    return Group(ask, f"{what} compared".capitalize(), (*facts, verdict), visits([one for one, _, _ in things], facts))


def each(make: Maker[C], things: Sequence[tuple[Subject, Known]]) -> tuple[tuple[Fact, ...], tuple[Move, ...]]:
    """One particular of each of several things: the facts, and the way through all their pages."""
    facts = tuple(fact(make, subject, known) for subject, known in things)
    return facts, visits([subject for subject, _ in things], facts)


def visits(subjects: Sequence[Subject], facts: Sequence[Fact]) -> tuple[Move, ...]:
    """Go to each subject and look at its fact."""
    pairs = zip(subjects, facts, strict=True)
    return tuple(move for subject, found in pairs for move in (*subject.way, *seen([found])))


def named(make: Maker[C], subject: Subject, text: str) -> Fact:
    """The fact that a search for something ends at this subject: its page was seen and its title said."""
    return Fact(text, (Shown(make.host, subject.href, (subject.title,), subject.title), Says(subject.title)), subject.title)
