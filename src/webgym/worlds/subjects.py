"""What can be asked about: things with a page of their own, what is known of them, and the facts and groups made of that.

A kind describes a thing once, as a `Topic`: what it is called, where it stands, the way there, and what is `Known` about it.
The same value is asked for by name, shown as the page writes it, and said as a person would. `asking` makes whole drafts of
these pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from webgym.worlds.checks import Aliases, Says, Shown, mentions, plain
from webgym.worlds.making import CannotMake, Fact, Group, Maker
from webgym.worlds.route import Move, Open, Search, See
from webgym.worlds.words import listed


@dataclass(frozen=True)
class Known:
    """One particular of a thing."""

    name: str  # "cooking time in minutes"
    value: str  # what an answer says
    shown: str = ""  # how the page writes it, if otherwise
    others: tuple[str, ...] = ()  # other right ways to say it
    opener: tuple[Move, ...] = ()  # what brings it on screen, such as a tab
    at_once: bool = False  # it is on screen after the opener, in a dialog that looking further would close
    as_text: bool = False  # it only looks like a number, as a version does: 3.10 is not 3.1

    @property
    def way(self) -> tuple[Move, ...]:
        return self.opener if self.at_once else (*self.opener, See((self.shown or self.value,)))


@dataclass(frozen=True)
class Topic:
    """A thing with a page of its own. `name` is its title and the text of links to it."""

    name: str
    href: str
    called: str = ""  # how an instruction says it, if otherwise: "the recipe Lemon Tart"
    knowns: tuple[Known, ...] = ()
    through: tuple[Move, ...] = ()  # the way to its page, if not by searching for its name
    aliases: tuple[str, ...] = ()  # what else it may be called, such as a reference that is its own

    @property
    def spoken(self) -> str:
        return self.called or self.name

    @property
    def way(self) -> tuple[Move, ...]:
        return self.through or (Search(self.name), Open(self.name))

    def known(self, name: str) -> Known:
        """What is known by that name; raises CannotMake if nothing is."""
        found = next((known for known in self.knowns if known.name == name), None)
        if found is None:
            raise CannotMake(f"{self.name} has no {name}")
        return found


def fact(make: Maker[Any], topic: Topic, known: Known) -> Fact:
    return make.find(
        topic.href, topic.name, known.name, known.value, *known.others, shown=known.shown, as_text=known.as_text
    )


def _aliases(topics: Iterable[Topic]) -> Aliases:
    return tuple((alias, topic.name) for topic in topics for alias in topic.aliases)


def alone(
    make: Maker[Any], name: str, among: Sequence[str], text: str, beside: Iterable[Fact], aliases: Aliases = ()
) -> Says:
    """The answer names this one of those it is chosen among, and no other: a list of them all chooses none.

    A name that a right answer has for another reason is not held against it: one that stands in `text`, which says what is
    looked for, in what has to be said `beside` it, or in the name of the site."""
    said = plain("; ".join((text, make.site.brand, *(fact.answer for fact in beside))))
    likely = [one for one in among if plain(one) in said]  # spares the pattern, for a set has 100,000s of tasks
    needed = {mention.name for mention in mentions(said, (name, *likely))} - {plain(name)}
    kept = tuple(one for one in among if plain(one) not in needed)
    return Says(name, alone_of=kept, aliases=tuple(pair for pair in aliases if pair[1] in kept))


def named(make: Maker[Any], topic: Topic, among: Iterable[Topic], text: str, beside: Sequence[Fact]) -> Fact:
    """The fact that a search for something ends at this topic: its page was seen and its name said, and no other's of
    those it was found `among`; `beside` are the other facts of the search."""
    topics = tuple(among)
    says = alone(make, topic.name, [one.name for one in topics], text, beside, _aliases(topics))
    return Fact(text, (Shown(make.host, topic.href, (topic.name,), topic.name), says), f"it is {topic.name}")


def seen(facts: Iterable[Fact]) -> tuple[Move, ...]:
    """Look at everything these facts must have shown."""
    return tuple(See(check.texts) for fact in facts for check in fact.checks if isinstance(check, Shown))


def visits(things: Iterable[tuple[Topic, Known]]) -> tuple[Move, ...]:
    """Go to each thing and look at what is known of it."""
    return tuple(move for topic, known in things for move in (*topic.way, *known.way))


def each(make: Maker[Any], things: Sequence[tuple[Topic, Known]]) -> tuple[tuple[Fact, ...], tuple[Move, ...]]:
    """One particular of each of several things: the facts, and the way through all their pages."""
    return tuple(fact(make, topic, known) for topic, known in things), visits(things)


def about(make: Maker[Any], topic: Topic, knowns: Sequence[Known], count: int) -> Group:
    """Some of what is known about a thing."""
    chosen = make.some(knowns, count)
    return Group(
        f"the {listed([known.name for known in chosen])} of {topic.spoken}",
        f"Particulars of {topic.spoken}",
        tuple(fact(make, topic, known) for known in chosen),
        (*topic.way, *(move for known in chosen for move in known.way)),
    )


def best_of(best: str, amounts: Sequence[tuple[str, float]], *, least: bool, aliases: Aliases = ()) -> tuple[str, Fact]:
    """(What asks for it, the fact): which of these names has the least or the most. No ties.

    The answer has to end with it, for it names the others as well."""
    if len({amount for _, amount in amounts}) < len(amounts):
        raise CannotMake("two are alike")
    winner = (min if least else max)(amounts, key=lambda one: one[1])[0]
    says = Says(winner, over=tuple(name for name, _ in amounts), aliases=aliases)
    ask = f"at the end of the answer, which of them is the {best}"
    return ask, Fact(f"Of these, {winner} is the {best}.", (says,), f"{best}: {winner}")


def compared(make: Maker[Any], what: str, best: str, things: Sequence[tuple[Topic, Known, float]], *, least: bool) -> Group:
    """One number of each of several things, and which has the least or the most of it. No ties."""
    amounts, aliases = [(topic.name, amount) for topic, _, amount in things], _aliases(topic for topic, _, _ in things)
    verdict, best_fact = best_of(best, amounts, least=least, aliases=aliases)
    facts, route = each(make, [(topic, known) for topic, known, _ in things])
    names = listed([topic.spoken for topic, _, _ in things])
    return Group(f"the {what} of {names}, and, {verdict}", f"{what} compared".capitalize(), (*facts, best_fact), route)
