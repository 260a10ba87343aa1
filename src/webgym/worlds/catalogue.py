"""The full set: which sites there are, how many tasks each has and of what size, and then the tasks themselves.

The plan has the shape of the published set: 13 large sites with about 9,900 tasks each, the rest small ones with about one
each; the histogram of difficulties; children by the decomposition rule; a test split of tasks on sites of their own. It
follows from the seed and the number of tasks alone.

Work is cut into parts of whole sites; a part is made by one process and handed back whole, in order, so that any number of
processes write the same files and none holds more than a few parts.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import Final

from webgym.types import Split, Task
from webgym.worlds.chance import draw
from webgym.worlds.making import CannotMake
from webgym.worlds.names import host_of
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import ACROSS, LOOK_UP, TaskId, WorldTask, children, make, subsets

# Facts: how many of 292,092 train tasks have so many; 10 stands for ten and more.
HISTOGRAM: Final = {1: 54_900, 2: 102_700, 3: 72_200, 4: 35_100, 5: 13_600, 6: 7_000, 7: 3_200, 8: 1_400, 9: 900, 10: 1_300}
TRAIN: Final = 292_092
DECOMPOSED: Final = 33_497
TEST: Final = {"easy": 832, "medium": 251, "hard": 84}
TEST_SHAPES: Final = {
    "easy": ((1,), (2,), (3,)),
    "medium": ((4,), (2, 2), (3, 2), (3, 3), (4, 1)),
    "hard": ((4, 3), (4, 4), (3, 3, 2)),
}
SITES: Final = 127_645
LARGE_SITES: Final = 13
LARGE_TASKS: Final = 9_885  # 128,499 tasks on 13 sites
PART: Final = 1_200  # tasks of a part, unless one site alone has more
ACROSS_SHARE: Final = 0.03
TRIES: Final = 60
Shapes = dict[int, tuple[tuple[int, ...], ...]]
# Shapes of parents (with children) and of tasks without, by difficulty.
_PARENTS: Final[Shapes] = {
    4: ((3, 1),),
    5: ((3, 2), (4, 1)),
    6: ((3, 3), (4, 2)),
    7: ((4, 3), (3, 3, 1)),
    8: ((4, 4), (3, 3, 2)),
    9: ((3, 3, 3), (4, 3, 2)),
    10: ((4, 3, 3), (4, 4, 3), (4, 3, 2, 1)),
}
_SINGLE: Final[Shapes] = {
    1: ((1,),),
    2: ((2,), (1, 1)),
    3: ((3,), (2, 1), (1, 1, 1)),
    4: ((4,), (2, 2), (2, 1, 1)),
    5: ((5,), (2, 2, 1)),
    6: ((6,), (2, 2, 2), (2, 2, 1, 1)),
    7: ((2, 2, 2, 1),),
}


@dataclass(frozen=True)
class Plan:
    """How many originals of each shape, so that with their children the histogram comes out."""

    shapes: tuple[tuple[tuple[int, ...], int], ...]

    @property
    def originals(self) -> int:
        return sum(count for _, count in self.shapes)

    @property
    def children(self) -> int:
        return sum(count * len(subsets(shape)) for shape, count in self.shapes)


def plan(train: int) -> Plan:
    """Parents from the hardest down, as many as the difficulty and the number of children allow; then the rest."""
    whole = sum(HISTOGRAM.values())
    left = {size: round(count * train / whole) for size, count in HISTOGRAM.items()}
    budget = round(DECOMPOSED * train / TRAIN)
    counts: Counter[tuple[int, ...]] = Counter()
    for size in sorted(_PARENTS, reverse=True):
        shapes = _PARENTS[size]
        for place, shape in enumerate(shapes):
            offspring = Counter(sum(shape[n] for n in chosen) for chosen in subsets(shape))
            number = left[size] // (len(shapes) - place)
            number = min(number, budget // max(1, offspring.total()))
            number = min([number, *(left[min(10, child)] // times for child, times in offspring.items())])
            counts[shape] += number
            left[size] -= number
            budget -= number * offspring.total()
            for child, times in offspring.items():
                left[min(10, child)] -= number * times
    for size, number in left.items():
        shapes = _SINGLE.get(size) or _PARENTS[size]
        for place, shape in enumerate(shapes):
            part = number // (len(shapes) - place)
            counts[shape] += part
            number -= part
    return Plan(tuple(sorted((shape, count) for shape, count in counts.items() if count)))


@dataclass(frozen=True)
class Order:
    """What to make for one site."""

    host: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    split: Split


def orders(seed: int, train: int) -> Iterator[Order]:
    """Every site of the set with its tasks' shapes: the test's sites first, then large ones, then small ones."""
    scale = train / TRAIN
    made = plan(train)
    shapes = [shape for shape, count in made.shapes for _ in range(count)]
    draw(seed, "catalogue", train).shuffle(shapes)
    kinds = sorted(KINDS)
    taken: Counter[str] = Counter()

    def next_host(number: int) -> tuple[str, str]:
        kind = kinds[number % len(kinds)]
        taken[kind] += 1
        return host_of(seed, KINDS[kind], taken[kind] - 1), kind

    number = 0
    for band, count in TEST.items():
        choice = TEST_SHAPES[band]
        for n in range(max(1, round(count * scale))):
            host, kind = next_host(number)
            yield Order(host, kind, (choice[n % len(choice)],), "test")
            number += 1
    at = 0
    large = round(LARGE_TASKS * scale * made.originals / train)
    for _ in range(LARGE_SITES):
        host, kind = next_host(number)
        yield Order(host, kind, tuple(shapes[at : at + large]), "train")
        at, number = at + large, number + 1
    rest = shapes[at:]
    sites = min(len(rest), max(1, round((SITES - LARGE_SITES) * scale)))
    for site in range(sites):
        host, kind = next_host(number)
        yield Order(host, kind, tuple(rest[site * len(rest) // sites : (site + 1) * len(rest) // sites]), "train")
        number += 1


def site_tasks(seed: int, order: Order) -> Iterator[tuple[WorldTask, Split]]:
    """The tasks of one site, each followed by its children."""
    chance = draw(seed, order.host, "catalogue")
    generators = KINDS[order.kind].generators
    used: Counter[tuple[str, tuple[int, ...]]] = Counter()
    said: set[str] = set()
    for shape in order.shapes:
        fitting = [name for name, generator in generators.items() if generator.can(shape)]
        across = len(shape) in (2, 3) and order.split == "train" and chance.random() < ACROSS_SHARE
        chosen = [ACROSS] if across else chance.sample(fitting, len(fitting))
        for task in _attempts(seed, order, shape, chosen, used, said):
            yield task, order.split
            if order.split == "train":
                yield from ((child, order.split) for child in children(task))
            break


def _attempts(
    seed: int,
    order: Order,
    shape: tuple[int, ...],
    chosen: list[str],
    used: Counter[tuple[str, tuple[int, ...]]],
    said: set[str],
) -> Iterator[WorldTask]:
    """Tasks of a shape: the chosen generators in turn, then numbers not yet used; never the same instruction twice."""
    for name in (*chosen, LOOK_UP):
        for _ in range(TRIES):
            number = used[name, shape]
            used[name, shape] += 1
            hosts = (order.host, *_others(seed, order.host, len(shape) - 1, number)) if name == ACROSS else (order.host,)
            try:
                task = make(TaskId(seed, hosts, name, shape, number))
            except CannotMake:
                continue
            if task.text not in said:
                said.add(task.text)
                yield task


def _others(seed: int, host: str, count: int, number: int) -> list[str]:
    """Sites that a task visits besides its own: catalogue sites far behind those with tasks of their own."""
    chance = draw(seed, host, "across", number)
    kinds = sorted(KINDS)
    found: list[str] = []
    while len(found) < count:
        kind = KINDS[chance.choice(kinds)]
        other = host_of(seed, kind, 100_000 + chance.randrange(20_000))
        if other not in (host, *found):
            found.append(other)
    return found


def generate(seed: int, train: int, *, port: int, workers: int) -> Iterator[Task]:
    """All tasks of the set in the order of their sites, made by several processes, a few parts at a time."""
    planned = orders(seed, train)
    parts = _parts(planned)
    if workers <= 1:
        for part in parts:
            yield from make_part(seed, part, port)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        waiting: list[Future[list[Task]]] = []
        for part in parts:
            waiting.append(pool.submit(make_part, seed, part, port))
            if len(waiting) > workers * 2:
                yield from waiting.pop(0).result()
        while waiting:
            yield from waiting.pop(0).result()


def _end_with_parent() -> None:
    """A worker of a pool whose owner was killed would wait for work for ever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _parts(planned: Iterator[Order]) -> Iterator[list[Order]]:
    part: list[Order] = []
    for order in planned:
        part.append(order)
        if sum(len(one.shapes) for one in part) >= PART:
            yield part
            part = []
    if part:
        yield part


def make_part(seed: int, part: list[Order], port: int) -> list[Task]:
    return [task.task(port=port, split=split) for order in part for task, split in site_tasks(seed, order)]
