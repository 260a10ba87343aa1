"""What a task file holds, counted in one pass over its narrow columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from webgym.tasks.files import TaskFile, read_tasks
from webgym.tasks.rows import BrokenRow
from webgym.tasks.websites import site
from webgym.types import DifficultyBand, Split, Task

BANDS: tuple[DifficultyBand, ...] = ("easy", "medium", "hard")
SPLITS: tuple[Split, ...] = ("train", "test")
_COLUMNS = ("source", "domain", "subdomain", "website", "split", "difficulty", "parent_id")
_TOP_DIFFICULTY = 10


@dataclass(frozen=True)
class Glance:
    """What statistics need of a task."""

    source: str
    domain: str
    subdomain: str
    website: str
    split: str
    difficulty: int
    is_child: bool


@dataclass
class TaskStats:
    tasks: int = 0
    children: int = 0
    broken: int = 0
    sources: Counter[tuple[str, str]] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    bands: Counter[tuple[str, DifficultyBand]] = field(default_factory=Counter)
    difficulties: Counter[tuple[str, int]] = field(default_factory=Counter)
    subdomains: Counter[tuple[str, str]] = field(default_factory=Counter)
    sites: Counter[str] = field(default_factory=Counter)
    source_bands: Counter[tuple[str, DifficultyBand]] = field(default_factory=Counter)

    def add(self, task: Glance) -> None:
        band = band_of(task.difficulty)
        self.tasks += 1
        self.children += task.is_child
        self.sources[task.source, task.split] += 1
        self.source_bands[task.source, band] += 1
        self.splits[task.split] += 1
        self.bands[task.split, band] += 1
        self.difficulties[task.split, task.difficulty] += 1
        self.subdomains[task.domain, task.subdomain] += 1
        if task.website:
            self.sites[site(task.website)] += 1

    @property
    def nowhere(self) -> int:
        """Tasks that name no website."""
        return self.tasks - self.sites.total()

    def histogram(self) -> dict[str, int]:
        """Tasks by difficulty, with everything from ten up in one bin."""
        bins = {f"{n}" if n < _TOP_DIFFICULTY else f"{n}+": 0 for n in range(1, _TOP_DIFFICULTY + 1)}
        if any(difficulty == 0 for _, difficulty in self.difficulties):
            bins = {"0": 0, **bins}
        for (_, difficulty), count in self.difficulties.items():
            bins[str(difficulty) if difficulty < _TOP_DIFFICULTY else f"{_TOP_DIFFICULTY}+"] += count
        return bins

    def by_source(self) -> list[tuple[str, int]]:
        totals: Counter[str] = Counter()
        for (source, _), count in self.sources.items():
            totals[source] += count
        return sorted(totals.items(), key=lambda item: (-item[1], item[0]))

    def by_domain(self) -> list[tuple[str, int]]:
        totals: Counter[str] = Counter()
        for (domain, _), count in self.subdomains.items():
            totals[domain] += count
        return sorted(totals.items(), key=lambda item: (-item[1], item[0]))


def band_of(difficulty: int) -> DifficultyBand:
    return "easy" if difficulty <= 3 else "medium" if difficulty <= 6 else "hard"


def count_tasks(tasks: Iterable[Glance | BrokenRow]) -> TaskStats:
    stats = TaskStats()
    for task in tasks:
        if isinstance(task, BrokenRow):
            stats.broken += 1
        else:
            stats.add(task)
    return stats


def glances(path: Path) -> Iterator[Glance | BrokenRow]:
    """Every task of a .parquet or .jsonl file, seen from afar."""
    if path.suffix.lower() == ".parquet":
        with TaskFile.open(path) as file:
            for table in file.read_columns(*_COLUMNS):
                columns = [table.column(name).to_pylist() for name in _COLUMNS]
                for source, domain, subdomain, website, split, difficulty, parent in zip(*columns, strict=True):
                    yield Glance(source, domain, subdomain, website, split, difficulty, parent is not None)
        return
    for task in read_tasks(path):
        yield task if isinstance(task, BrokenRow) else glance(task)


def glance(task: Task) -> Glance:
    return Glance(
        task.source, task.domain, task.subdomain, task.website, task.split, task.difficulty, task.parent_id is not None
    )
