"""Sets of tasks that open a page, on websites of their own: for demonstrations, for training, for the test.

Two families never share a website: of every kind of site each has its own numbers in the catalogue, all of them far behind
those of the full set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, Literal

from webgym.errors import ConfigError
from webgym.types import Task
from webgym.worlds.names import host_of, site_of
from webgym.worlds.navigating import NAVIGATE, destinations
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import TaskId, make

Family = Literal["demonstrations", "train", "test"]
MOST_SITES: Final = 10_000  # of a kind in a family
_FIRST: Final[dict[Family, int]] = {"demonstrations": 60_000, "train": 70_000, "test": 80_000}


def hosts(seed: int, family: Family, sites: int, kinds: Collection[str] = ()) -> Iterator[str]:
    """Websites of a family: kinds in turn, all if none is named, `sites` of each."""
    if sites > MOST_SITES:
        raise ConfigError(f"{sites} sites of a kind: a family has {MOST_SITES} at most")
    if unknown := sorted(set(kinds) - KINDS.keys()):
        raise ConfigError(f"there is no kind of site {unknown[0]!r}; there are {', '.join(sorted(KINDS))}")
    for number in range(_FIRST[family], _FIRST[family] + sites):
        for name in sorted(kinds or KINDS):
            yield host_of(seed, KINDS[name], number)


def opening(
    seed: int, family: Family, sites: int, kinds: Collection[str] = (), *, each: int = 1, port: int
) -> Iterator[Task]:
    """Tasks that open a page: `each` of every website, or as many as it has pages, no page twice."""
    for place, host in enumerate(hosts(seed, family, sites, kinds)):
        pages = len(destinations(site_of(seed, host)))
        asked: set[str] = set()
        number = place  # so that the first tasks of the websites do not all ask for the same place of the menu
        while len(asked) < min(each, pages):
            task = make(TaskId(seed, (host,), NAVIGATE, (1,), number))
            number += 1
            if task.groups[0].ask not in asked:
                asked.add(task.groups[0].ask)
                yield task.task(port=port, split="test" if family == "test" else "train")
