"""Ways of asking that most kinds share: particulars of things, comparisons, the one that fits best, one side of many things.

A kind describes a thing once, as a `Topic`: what it is called, where it stands, and what is `Known` about it there. The
functions here make whole drafts of topics, so that a generator of a kind is a choice of things and of words. Every value is
asked for only as its page shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Move, Open, Search, See
from webgym.worlds.words import listed

T = TypeVar("T")


@dataclass(frozen=True)
class Known:
    """One particular of a thing."""

    asked: str  # "cooking time in minutes"
    value: str  # what an answer says
    shown: str = ""  # how the page writes it, if otherwise
    others: tuple[str, ...] = ()  # other right ways to say it
    opener: tuple[Move, ...] = ()  # what brings it on screen, such as a tab
    at_once: bool = False  # it is on screen after the opener, in a dialog that looking further would close

    @property
    def way(self) -> tuple[Move, ...]:
        return self.opener if self.at_once else (*self.opener, See((self.shown or self.value,)))


@dataclass(frozen=True)
class Topic:
    """A thing with a page of its own. `name` is its title and the text of links to it."""

    name: str
    href: str
    called: str  # how an instruction says it: "the recipe Lemon Tart"
    knowns: tuple[Known, ...]
    through: tuple[Move, ...] = ()  # the way to its page, if not by searching for its name

    @property
    def way(self) -> tuple[Move, ...]:
        return self.through or (Search(self.name), Open(self.name))

    def known(self, asked: str) -> Known:
        """What is known by that name; raises CannotMake if nothing is."""
        found = next((known for known in self.knowns if known.asked == asked), None)
        if found is None:
            raise CannotMake(f"{self.name} has no {asked}")
        return found


def fact(make: Maker[Any], topic: Topic, known: Known) -> Fact:
    return make.find(topic.href, topic.name, known.asked, known.value, *known.others, shown=known.shown)


def particulars(make: Maker[Any], topic: Topic, count: int) -> Group:
    """Some of what is known about a thing."""
    chosen = make.some(topic.knowns, count)
    return Group(
        f"the {listed([known.asked for known in chosen])} of {topic.called}",
        f"Particulars of {topic.called}",
        tuple(fact(make, topic, known) for known in chosen),
        (*topic.way, *(move for known in chosen for move in known.way)),
    )


def look_up(make: Maker[Any], things: Sequence[T], topic: Callable[[T], Topic], openings: tuple[str, ...]) -> Draft:
    """A group of particulars for each of some things."""
    chosen = make.some(things, len(make.shape))
    groups = (particulars(make, topic(thing), count) for thing, count in zip(chosen, make.shape, strict=True))
    return Draft(openings, tuple(groups))


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
    values = [measure(thing) for thing in chosen]
    if len(set(values)) < len(values):
        raise CannotMake("two are alike")
    topics = [topic(thing) for thing in chosen]
    known = [one.known(asked) for one in topics]
    winner = topics[values.index(max(values) if most else min(values))]
    facts = tuple(fact(make, one, side) for one, side in zip(topics, known, strict=True))
    verdict = Fact(f"The {best} is {winner.name}.", (Says(winner.name),), f"{best}: {winner.name}")
    route = tuple(move for one, side in zip(topics, known, strict=True) for move in (*one.way, *side.way))
    ask = f"the {asked} of {listed([one.called for one in topics])}, and which of them is the {best}"
    return Draft(openings, (Group(ask, f"The {asked} compared", (*facts, verdict), route),))


def best_fit(
    make: Maker[Any], topic: Topic, what: str, route: tuple[Move, ...], openings: tuple[str, ...], *, its: str = "its"
) -> Draft:
    """The name of the one thing that fits `what`, and some of its particulars. `route` ends on its page."""
    chosen = make.some(topic.knowns, make.shape[0] - 1)
    first = Fact(
        f"{what[0].upper()}{what[1:]} is {topic.name}.",
        (Shown(make.host, topic.href, (topic.name,), topic.name), Says(topic.name)),
        f"it is {topic.name}",
    )
    wanted = listed([f"{its} name", *(f"{its} {known.asked}" for known in chosen)])
    facts = tuple(fact(make, topic, known) for known in chosen)
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
    knowns = [topic.known(asked) for topic in topics]
    facts = tuple(fact(make, topic, known) for topic, known in zip(topics, knowns, strict=True))
    route = tuple(move for topic, known in zip(topics, knowns, strict=True) for move in (*topic.way, *known.way))
    ask = f"the {asked} of each of these: {listed([topic.called for topic in topics])}"
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
