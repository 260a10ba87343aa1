"""Ways of asking that most kinds share: particulars of things, comparisons, the one that fits best, one side of many things.

These make whole drafts of topics (`subjects`), so that a generator of a kind is a choice of things and of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Move, See
from webgym.worlds.subjects import Topic, about, compared, fact, named
from webgym.worlds.subjects import each as each_of
from webgym.worlds.words import listed

T = TypeVar("T")


def look_up(make: Maker[Any], things: Sequence[T], topic: Callable[[T], Topic], openings: tuple[str, ...]) -> Draft:
    """A group of particulars for each of some things."""
    chosen = make.some(things, len(make.shape))
    topics = zip(map(topic, chosen), make.shape, strict=True)
    return Draft(openings, tuple(about(make, one, one.knowns, count) for one, count in topics))


def compare(
    make: Maker[Any],
    things: Sequence[T],
    topic: Callable[[T], Topic],
    asked: str,
    measure: Callable[[T], float],
    best: str,
    openings: tuple[str, ...] = (
        "Find out {}.",
        "Compare and tell me {}.",
        "Please find {}.",
        "I have to decide. Report {}.",
    ),
    *,
    most: bool = True,
) -> Draft:
    """One number of several things, and which of them has the most (or least) of it, which `best` names."""
    chosen = make.some(things, make.shape[0] - 1)
    measured = [(one := topic(thing), one.known(asked), measure(thing)) for thing in chosen]
    return Draft(openings, (compared(make, asked, best, measured, least=not most),))


def best_fit(
    make: Maker[Any],
    topic: Topic,
    among: Iterable[Topic],
    what: str,
    route: tuple[Move, ...],
    openings: tuple[str, ...],
    *,
    its: str = "its",
) -> Draft:
    """The name of the one thing among others that fits `what`, and some of its particulars. `route` ends on its page."""
    chosen = make.some(topic.knowns, make.shape[0] - 1)
    wanted = listed([f"{its} name", *(f"{its} {known.name}" for known in chosen)])
    facts = tuple(fact(make, topic, known) for known in chosen)
    first = named(make, topic, among, f"{what[0].upper()}{what[1:]} is {topic.name}.", facts)
    way = (*route, See((topic.name,)), *(move for known in chosen for move in known.way))
    return Draft(openings, (Group(f"{what}: {wanted}", "The one that fits", (first, *facts), way),))


def one_best(make: Maker[Any], things: Sequence[T], measure: Callable[[T], float], *, most: bool = True) -> T:
    """The thing with the most (or least); raises CannotMake if there are not two, or if two share the place."""
    ranked = sorted(things, key=measure, reverse=most)
    if len(ranked) < 2 or measure(ranked[0]) == measure(ranked[1]):
        raise CannotMake("not one that fits best")
    return ranked[0]


def each(
    make: Maker[Any], topics: Sequence[Topic], asked: str, openings: tuple[str, ...] = ("Find {}.", "I need {}.", "List {}.")
) -> Draft:
    """One side of each of several things, of which there are as many as facts are wanted."""
    facts, route = each_of(make, [(topic, topic.known(asked)) for topic in topics])
    ask = f"the {asked} of each of these: {listed([topic.spoken for topic in topics])}"
    return Draft(openings, (Group(ask, f"The {asked} of several", facts, route),))


@dataclass(frozen=True)
class Entered:
    """A value that an instruction gives and a form must be sent with."""

    key: str
    value: str
    words: str  # how the instruction says it: "for 4 people"


def submitted(make: Maker[Any], record: str, what: str, entered: Sequence[Entered]) -> tuple[str, tuple[Fact, ...]]:
    """(What to ask for, the facts): the first of the entered values, as many as the shape's first group has."""
    wanted = entered[: make.shape[0]]
    facts = tuple(make.done(f"{what}: {one.key} is {one.value}.", record, (one.key, one.value)) for one in wanted)
    return ", ".join(one.words for one in wanted), facts
