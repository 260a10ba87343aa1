"""Which tasks an iteration trains on, and in which order a test set is walked.

A draw is a function of the task file, the settings and the iteration's number: there is no state to lose, and a restarted
run draws what it drew before. Tasks (or websites) stand in an order made by the seed. Each iteration owns a stretch of that
order, longer than it needs, and takes the first usable ones of it. So no task comes twice before the order has been walked
to its end, whatever is blocked in the meantime; then a new order begins.

Tasks that are too few for two stretches stand in a ring made by the seed, for ever. Each iteration begins with the half that
follows the last one's, in an order of its own, and goes on with the other half when that is used up. So two iterations in a
row share a task only if there are not enough for both. Websites that are too few come again, each with other tasks.

Only numbers are held: a row, a website and a band for each task, some megabytes for 300,000. Tasks are read when drawn.
"""

from __future__ import annotations

import hashlib
import logging
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webgym.errors import ConfigError
from webgym.tasks.files import TaskFile
from webgym.tasks.stats import band_of
from webgym.tasks.websites import canonical_origin, site
from webgym.types import DifficultyBand, Task

log = logging.getLogger(__name__)

BANDS: Final[tuple[DifficultyBand, ...]] = ("easy", "medium", "hard")
_ROUNDS: Final = 6

Share = Annotated[float, Field(ge=0)]


class Ratio(BaseModel):
    """How much of an iteration goes to each band; only the proportions count."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    easy: Share = 1
    medium: Share = 1
    hard: Share = 1

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.easy + self.medium + self.hard > 0:
            raise ValueError("easy, medium and hard are all 0: one of them must be more")
        return self

    def counts(self, total: int) -> dict[DifficultyBand, int]:
        """Whole numbers in these proportions that add up to the total."""
        shares = {band: getattr(self, band) * total / (self.easy + self.medium + self.hard) for band in BANDS}
        counts = {band: int(share) for band, share in shares.items()}
        by_remainder = sorted(BANDS, key=lambda band: counts[band] - shares[band])
        for band in by_remainder[: total - sum(counts.values())]:
            counts[band] += 1
        return counts


class SamplerSettings(BaseModel):
    """How training tasks are drawn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0
    by: Literal["task", "website"] = Field("task", description="What is equally likely: every task, or every website.")
    ratio: Ratio | None = Field(None, description="Proportions of easy, medium and hard; as in the file if not given.")
    spare: Annotated[float, Field(ge=0, le=10)] = Field(
        0.5, description="How many more tasks an iteration owns than it takes, to replace those on unusable websites."
    )


class Usable(Protocol):
    """Says which websites are worth a browser; `tasks.health.Health` does."""

    def usable(self, website: str) -> bool: ...


class _Everything:
    def usable(self, website: str) -> bool:
        return True


def shuffled(position: int, size: int, key: str) -> int:
    """What stands at a position of a shuffled row of `size` numbers, without making the row.

    A Feistel network over the next power of four permutes more numbers than there are; one that falls outside is
    sent through again until it is inside, which keeps it a permutation.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask, salt = (1 << half) - 1, key.encode()
    while True:
        left, right = position >> half, position & mask
        for turn in range(_ROUNDS):
            said = hashlib.blake2b(b"%d %d" % (turn, right), digest_size=8, key=salt[:64]).digest()
            left, right = right, left ^ (int.from_bytes(said, "big") & mask)
        position = left << half | right
        if position < size:
            return position


@dataclass(frozen=True)
class Stratum:
    """Tasks that are drawn from together: rows sorted by website, and where each website's begin."""

    name: str
    rows: array[int]
    starts: array[int]  # one more than there are websites
    sites: array[int]  # the website's number

    @classmethod
    def of(cls, name: str, members: list[tuple[int, int]]) -> Stratum:
        """From pairs of website and row."""
        members.sort()
        rows, starts, sites = array("I"), array("I"), array("I")
        for number, row in members:
            if not sites or sites[-1] != number:
                sites.append(number)
                starts.append(len(rows))
            rows.append(row)
        starts.append(len(rows))
        return cls(name, rows, starts, sites)


class Sampler:
    """Draws the training tasks of a file. Open it once; drawing changes nothing."""

    def __init__(self, file: TaskFile, settings: SamplerSettings, names: Sequence[str], strata: dict[str, Stratum]) -> None:
        self._file, self._settings, self._names, self._strata = file, settings, names, strata

    @classmethod
    def open(cls, path: str | Path, settings: SamplerSettings) -> Self:
        file = TaskFile.open(path)
        names: dict[str, int] = {}
        members: dict[str, list[tuple[int, int]]] = {}
        row = 0
        for table in file.read_columns("website", "difficulty", "split"):
            columns = (table.column(name).to_pylist() for name in ("website", "difficulty", "split"))
            for website, difficulty, split in zip(*columns, strict=True):
                if split == "train":
                    stratum = band_of(difficulty) if settings.ratio else "all"
                    number = names.setdefault(site(website), len(names))
                    members.setdefault(stratum, []).append((number, row))
                row += 1
        if not members:
            file.close()
            raise ConfigError(f"{path} has no training task")
        return cls(file, settings, list(names), {name: Stratum.of(name, found) for name, found in members.items()})

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def draw(self, iteration: int, count: int, *, health: Usable | None = None, blocked: Collection[str] = ()) -> list[Task]:
        """The tasks of an iteration, in the order to attempt them; no task twice."""
        return self._file.take(self.rows(iteration, count, health=health, blocked=blocked))

    def rows(self, iteration: int, count: int, *, health: Usable | None = None, blocked: Collection[str] = ()) -> list[int]:
        """The rows of those tasks. Fewer than asked for if the iteration's stretch has no more usable ones."""
        shut = {site(canonical_origin(website) or website) for website in blocked}
        health = health or _Everything()

        def usable(number: int) -> bool:
            name = self._names[number]
            return name not in shut and health.usable(name)

        drawn: list[int] = []
        ratio = self._settings.ratio
        for name, wanted in (ratio.counts(count) if ratio else {"all": count}).items():
            stratum = self._strata.get(name)
            if stratum is None or not wanted:
                continue
            walk = self._tasks if self._settings.by == "task" else self._websites
            drawn += islice((row for number, row in walk(stratum, iteration, wanted) if usable(number)), wanted)
        if len(drawn) < count:
            log.warning("iteration %d has %d of %d tasks: no more usable ones in its stretch", iteration, len(drawn), count)
        key = f"{self._settings.seed} mix {iteration}"
        return [drawn[shuffled(n, len(drawn), key)] for n in range(len(drawn))]

    def _stretch(self, size: int, iteration: int, wanted: int) -> tuple[int, range]:
        """Which walk through an order of this size an iteration belongs to, and its positions there."""
        needed = max(1, round(wanted * (1 + self._settings.spare)))
        stretches = max(1, size // needed)
        walk, n = divmod(iteration, stretches)
        return walk, range(n * size // stretches, (n + 1) * size // stretches)

    def _tasks(self, stratum: Stratum, iteration: int, wanted: int) -> Iterator[tuple[int, int]]:
        """Website and row of every task that an iteration may take."""
        size = len(stratum.rows)
        walk, positions = self._stretch(size, iteration, wanted)
        key = f"{self._settings.seed} {stratum.name} {walk}"
        small = len(positions) == size
        order = self._halves(stratum, iteration) if small else (shuffled(position, size, key) for position in positions)
        for at in order:
            yield stratum.sites[_place(stratum.starts, at)], stratum.rows[at]

    def _halves(self, stratum: Stratum, iteration: int) -> Iterator[int]:
        """All of a small set: the iteration's own half of the ring, the odd one, the other half."""
        seed, size = self._settings.seed, len(stratum.rows)
        half = size // 2
        # The odd one is in neither this half nor the next, so it is taken before those that the next iteration begins with.
        for begin, length in ((0, half), (2 * half, size % 2), (half, half)):
            for n in range(length):
                inside = shuffled(n, length, f"{seed} {stratum.name} half {iteration}")
                yield shuffled((iteration * half + begin + inside) % size, size, f"{seed} {stratum.name} ring")

    def _websites(self, stratum: Stratum, iteration: int, wanted: int) -> Iterator[tuple[int, int]]:
        """Website and row, a task of each website of the stretch, then a second of each, until there are no more.

        A website gives its tasks in an order of its own, a turn further in every walk.
        """
        size = len(stratum.sites)
        walk, positions = self._stretch(size, iteration, wanted)
        turns = -(-wanted // max(1, len(positions)))
        order = [shuffled(position, size, f"{self._settings.seed} {stratum.name} {walk}") for position in positions]
        turn = 0
        while order:
            for at in order:
                start, tasks = stratum.starts[at], stratum.starts[at + 1] - stratum.starts[at]
                place = shuffled((walk * turns + turn) % tasks, tasks, f"{self._settings.seed} {stratum.name} site {at}")
                yield stratum.sites[at], stratum.rows[start + place]
            turn += 1
            order = [at for at in order if stratum.starts[at + 1] - stratum.starts[at] > turn]


def walk_test_set(path: str | Path) -> Iterator[Task]:
    """Every test task in the file's order. Nothing is left out: a dead website costs a model as it costs every other."""
    with TaskFile.open(path) as file:
        yield from (task for task in file if task.split == "test")


def _place(starts: array[int], at: int) -> int:
    """The website to which the task at a place belongs."""
    return bisect_right(starts, at) - 1
