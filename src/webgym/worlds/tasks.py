"""World tasks: made from an id alone, with the rubric, the checks and the way to solve them.

An id says everything: `worlds-0:oakfield-market.localhost:lookup.3-1:17` is the seed, the site, the generator with the
numbers of facts of its groups, and which of its tasks; `+1.2` behind it is the child that keeps groups 1 and 2. A task over
several sites has their hosts joined by `+` and the generator `across`. `find` makes the task again, so nothing but the id
is needed to verify an episode or to show the oracle the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from webgym.errors import ConfigError
from webgym.types import FactGroup, Provenance, Split, Task
from webgym.worlds import navigating
from webgym.worlds.chance import draw
from webgym.worlds.checks import Says
from webgym.worlds.kind import Generator
from webgym.worlds.making import CannotMake, Draft, Group, Maker, instruction
from webgym.worlds.names import is_host, kind_of, site_of
from webgym.worlds.route import Go, Move

SOURCE: Final = "worlds"
PORT: Final = 8090
LARGE: Final = 3  # facts that make a group large, as in the task set's own decomposition
ACROSS: Final = "across"
LOOK_UP: Final = "lookup"  # every kind has it; tasks over several sites are made of it
# An answer may explain itself in a few sentences, and say each thing in three times the characters that it takes.
EXPLANATION: Final = 400
WORDINESS: Final = 3
# Every kind has it too, but it is no kind's own: the full set is made of those alone.
_NAVIGATE: Final[Generator[Any]] = Generator(navigating.NAVIGATE, ((1, 1),), navigating.draft)
_ID = re.compile(r"worlds-(\d{1,9}):([a-z0-9.+-]+):([a-z_]+)\.(\d+(?:-\d+)*):(\d{1,7})(?:\+(\d+(?:\.\d+)*))?")


@dataclass(frozen=True)
class TaskId:
    seed: int
    hosts: tuple[str, ...]
    generator: str
    shape: tuple[int, ...]
    number: int
    kept: tuple[int, ...] = ()  # places of the groups of a child, from one

    def __str__(self) -> str:
        shape, kept = "-".join(map(str, self.shape)), ".".join(map(str, self.kept))
        text = f"worlds-{self.seed}:{'+'.join(self.hosts)}:{self.generator}.{shape}:{self.number}"
        return f"{text}+{kept}" if kept else text

    @classmethod
    def read(cls, text: str) -> TaskId:
        match = _ID.fullmatch(text)
        if match is None:
            raise ConfigError(f"{text!r} is no id of a task of the offline web")
        seed, hosts, generator, shape, number, kept = match.groups()
        found = cls(
            int(seed),
            tuple(hosts.split("+")),
            generator,
            tuple(map(int, shape.split("-"))),
            int(number),
            tuple(map(int, kept.split("."))) if kept else (),
        )
        if not all(map(is_host, found.hosts)):
            raise ConfigError(f"{text!r} names a host outside the offline web")
        return found

    @property
    def parent(self) -> TaskId:
        return replace(self, kept=())


@dataclass(frozen=True)
class WorldTask:
    """A task with its checks and its route."""

    id: TaskId
    domain: str
    subdomain: str
    text: str
    groups: tuple[Group, ...]
    start: tuple[Move, ...]
    end: tuple[Move, ...]

    @property
    def answer(self) -> str:
        """What a right answer says; a task that only changes a site's state is answered by saying so."""
        return "; ".join(fact.answer for group in self.groups for fact in group.facts if fact.answer) or "Done"

    @property
    def answer_limit(self) -> int | None:
        """Characters of the longest answer that can say something; None if nothing has to be said.

        Never less than the right answer has: whoever lists all there is gives no answer, whoever explains one does."""
        if not any(isinstance(check, Says) for group in self.groups for fact in group.facts for check in fact.checks):
            return None
        return EXPLANATION + WORDINESS * len(self.answer)

    @property
    def route(self) -> tuple[Move, ...]:
        return (*self.start, *(move for group in self.groups for move in group.route), *self.end)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(group.facts) for group in self.groups)

    def task(self, *, port: int = PORT, split: Split = "train") -> Task:
        """The task as the stages share it; the port is where the offline web is served."""
        says = any(fact.answer for group in self.groups for fact in group.facts)
        return Task(
            id=str(self.id),
            source=SOURCE,
            instruction=self.text.replace("{port}", str(port)),
            website=f"http://{self.id.hosts[0]}:{port}",
            domain=self.domain,
            subdomain=self.subdomain,
            groups=tuple(
                FactGroup(id=place, description=group.about, facts=tuple(fact.text for fact in group.facts))
                for place, group in enumerate(self.groups, 1)
            ),
            reference_answer=self.answer if says else None,
            parent_id=str(self.id.parent) if self.id.kept else None,
            split=split,
            provenance=Provenance(file="procedurally generated", licence="Apache-2.0", rubric_version="worlds-1"),
        )


def find(task_id: str) -> WorldTask:
    """The task of an id. Raises ConfigError for an id that no generator made."""
    wanted = TaskId.read(task_id)
    try:
        return make(wanted)
    except CannotMake as e:
        raise ConfigError(f"there is no task {task_id!r}: {e}") from e


def make(wanted: TaskId) -> WorldTask:
    """The task of an id; raises CannotMake if the site has nothing to make it of."""
    chance = draw(wanted.seed, *wanted.hosts, wanted.generator, *wanted.shape, wanted.number)
    draft = _across(wanted) if wanted.generator == ACROSS else _drafted(wanted, wanted.hosts[0], wanted.shape)
    sizes = tuple(len(group.facts) for group in draft.groups)
    if sizes != wanted.shape:
        raise CannotMake(f"{wanted.generator} made groups of {sizes}, not {wanted.shape}")
    if len({fact.text for group in draft.groups for fact in group.facts}) < sum(sizes):
        raise CannotMake("a fact comes twice")
    groups = draft.groups
    if wanted.kept:
        if tuple(place - 1 for place in wanted.kept) not in subsets(sizes):
            raise CannotMake(f"no child keeps groups {wanted.kept}")
        groups = tuple(groups[place - 1] for place in wanted.kept)
    kind = kind_of(wanted.seed, wanted.hosts[0])
    return WorldTask(wanted, kind.domain, kind.subdomain, instruction(draft, groups, chance), groups, draft.start, draft.end)


def children(task: WorldTask) -> Iterator[WorldTask]:
    """The tasks that ask for some of its groups, by the rule of the task set."""
    if not task.id.kept:
        for places in subsets(task.sizes):
            yield make(replace(task.id, kept=tuple(place + 1 for place in places)))


def subsets(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Places of the groups each child keeps: proper, non-empty subsets with at least one large group, smaller ones first."""
    large = {place for place, size in enumerate(sizes) if size >= LARGE}
    proper = (chosen for count in range(1, len(sizes)) for chosen in combinations(range(len(sizes)), count))
    return [chosen for chosen in proper if not large.isdisjoint(chosen)]


def _drafted(wanted: TaskId, host: str, shape: tuple[int, ...]) -> Draft:
    kind, site = kind_of(wanted.seed, host), site_of(wanted.seed, host)
    generator: Generator[Any] | None = (
        _NAVIGATE if wanted.generator == navigating.NAVIGATE else kind.generators.get(wanted.generator)
    )
    if generator is None or not generator.can(shape):
        raise CannotMake(f"{kind.name} has no {wanted.generator} of {shape}")
    chance = draw(wanted.seed, host, "task", wanted.generator, *shape, wanted.number)
    return generator.make(Maker(site, kind.content(site), chance, shape))


def _across(wanted: TaskId) -> Draft:
    """Something to find on each of several sites."""
    if len(wanted.hosts) != len(wanted.shape) or len(set(wanted.hosts)) < 2:
        raise CannotMake("a task over several sites has one group for each")
    groups = []
    for host, size in zip(wanted.hosts, wanted.shape, strict=True):
        group = _drafted(replace(wanted, generator=LOOK_UP), host, (size,)).groups[0]
        brand = site_of(wanted.seed, host).brand
        ask = f"on {brand} (http://{host}:{{port}}/), {group.ask}"
        groups.append(replace(group, ask=ask, about=f"{brand}: {group.about}", route=(Go(host), *group.route)))
    return Draft(
        ("Find out: {}.", "Visit several sites and report the following: {}.", "I need facts from different sites: {}."),
        tuple(groups),
    )
