"""The split by website: the test set is out of distribution because no site of it has a train task.

Invariants, which `check` verifies on the finished set without trusting how it came about: every test task is on a site of
its own (unless siblings are kept as tests too), no site is on both sides, no family of a task and its decomposed children
is on both sides, and no evaluation-only task, nor a twin of one, is in train unless forced.

A test task is an original on a site with few tasks: large head sites stay in train, where losing them would cost most. The
quota by difficulty is met exactly if it can be met at all; sites that serve several bands are moved between them as needed.
Order and chance come from a hash of the seed, so the same tasks give the same split on every machine.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from webgym.errors import ConfigError, LeakageError
from webgym.tasks.sources.source import slug
from webgym.tasks.websites import site
from webgym.types import DifficultyBand, Split, Task

BANDS: Final[tuple[DifficultyBand, ...]] = ("easy", "medium", "hard")
Place = Literal["train", "test", "dropped"]
_SHOWN: Final = 5
_OFFLINE_WEB: Final = ("offline-web", "worlds")  # the source's name, and what its tasks call it


def known_as(source: str) -> str:
    """One name for a source however it is written."""
    return _OFFLINE_WEB[1] if (name := slug(source)) == _OFFLINE_WEB[0] else name


class Quota(BaseModel):
    """Shares of the test set by difficulty; only their ratio counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    easy: Annotated[int, Field(ge=0)] = 832
    medium: Annotated[int, Field(ge=0)] = 251
    hard: Annotated[int, Field(ge=0)] = 84

    def of(self, total: int) -> dict[DifficultyBand, int]:
        """Whole numbers in this ratio that add up to `total`: the largest remainders are rounded up."""
        shares: dict[DifficultyBand, int] = {"easy": self.easy, "medium": self.medium, "hard": self.hard}
        whole = sum(shares.values())
        if whole == 0:
            raise ConfigError("split.quota: at least one of easy, medium and hard must be above 0")
        counts = {band: total * share // whole for band, share in shares.items()}
        by_remainder = sorted(BANDS, key=lambda band: (-(total * shares[band] % whole), BANDS.index(band)))
        for band in by_remainder[: total - sum(counts.values())]:
            counts[band] += 1
        return counts


class SplitSettings(BaseModel):
    """How the test set is chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    test: Annotated[int, Field(ge=0)] = Field(1167, description="Test tasks, each on a website of its own; 0 for none.")
    quota: Quota = Quota()
    head: Annotated[int, Field(ge=1)] = Field(50, description="A website with more tasks than this stays in train.")
    siblings: Literal["drop", "test"] = Field("drop", description="Where the other tasks of a test website go.")
    force: tuple[str, ...] = Field((), description="Evaluation-only sources that may enter train all the same.")
    seed: int = 0

    @property
    def forced(self) -> frozenset[str]:
        return frozenset(map(known_as, self.force))

    def check_force(self, sources: Iterable[str]) -> None:
        """Raise ConfigError if a forced name is none of these sources': a slip would leave its tasks out in silence."""
        known = frozenset(map(known_as, sources))
        if strange := sorted(name for name in self.force if known_as(name) not in known):
            raise ConfigError(f"split.force: no task is of {', '.join(strange)}; choose from {', '.join(sorted(known))}")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the split needs to know of a task."""

    id: str
    website: str
    band: DifficultyBand
    parent_id: str | None = None
    evaluation_only: bool = False
    source: str = ""
    held_by: tuple[str, ...] = ()  # whose evaluation-only task it is, if not its own source's alone

    @classmethod
    def of(cls, task: Task, *, evaluation_only: bool, held_by: tuple[str, ...] = ()) -> Entry:
        return cls(task.id, task.website, task.band, task.parent_id, evaluation_only, task.source, held_by)

    def held_out(self, forced: frozenset[str]) -> bool:
        """Whether it must stay out of train: one of those who hold it for evaluation is not forced."""
        return self.evaluation_only and not forced.issuperset(map(known_as, self.held_by or (self.source,)))


@dataclass
class _Matching:
    """Sites to bands, each site at most once. `offers` holds what a site can serve, in order of preference."""

    quota: dict[DifficultyBand, int]
    offers: dict[str, frozenset[DifficultyBand]]
    given: dict[str, DifficultyBand] = field(default_factory=dict)

    def fill(self) -> None:
        scarce = Counter(band for served in self.offers.values() for band in served)
        for band in sorted(BANDS, key=lambda band: (scarce[band] / (self.quota[band] or 1), band)):
            missing = self.quota[band]
            for place, served in self.offers.items():
                if missing == 0:
                    break
                if band in served and place not in self.given:
                    self.given[place] = band
                    missing -= 1
            while missing and self._augment(band):
                missing -= 1

    def short(self) -> dict[DifficultyBand, int]:
        got = Counter(self.given.values())
        return {band: self.quota[band] - got[band] for band in BANDS if got[band] < self.quota[band]}

    def _augment(self, band: DifficultyBand) -> bool:
        """Find one more site for a band by moving sites between bands along the shortest chain."""
        came_by: dict[DifficultyBand, tuple[str, DifficultyBand]] = {}
        queue, seen = [band], {band}
        while queue:
            wanted = queue.pop(0)
            for place, served in self.offers.items():
                if wanted not in served or (holder := self.given.get(place)) in seen:
                    continue
                if holder is None:
                    self.given[place] = wanted
                    while wanted in came_by:
                        moved, wanted = came_by[wanted]
                        self.given[moved] = wanted
                    return True
                seen.add(holder)
                came_by[holder] = (place, wanted)
                queue.append(holder)
        return False


def split(entries: Sequence[Entry], settings: SplitSettings) -> list[Place]:
    """Where each task goes, in the order given."""
    sites = [site(entry.website) if entry.website else "" for entry in entries]
    chosen = _choose(entries, sites, settings)
    on_test = {sites[place] for place in chosen}
    forced = settings.forced
    placed: list[Place] = []
    for place, (entry, where) in enumerate(zip(entries, sites, strict=True)):
        if place in chosen or (where in on_test and settings.siblings == "test"):
            placed.append("test")
        elif where in on_test or entry.held_out(forced):
            placed.append("dropped")
        else:
            placed.append("train")
    return _with_families(entries, placed)


def check(entries: Iterable[tuple[Entry, Split]], settings: SplitSettings) -> None:
    """Raise LeakageError unless train and test are apart."""
    sites: dict[Split, Counter[str]] = {"train": Counter(), "test": Counter()}
    families: dict[Split, set[str]] = {"train": set(), "test": set()}
    forced = settings.forced
    found: list[str] = []
    for entry, side in entries:
        families[side].add(entry.parent_id or entry.id)
        if entry.website:
            sites[side][site(entry.website)] += 1
        elif side == "test":
            found.append(f"test task {entry.id} names no website")
        if side == "train" and entry.held_out(forced):
            found.append(f"evaluation-only task {entry.id} is in train")
    found += [f"website {where} is in train and test" for where in sites["test"] if where in sites["train"]]
    found += [f"the family of task {name} is in train and test" for name in sorted(families["test"] & families["train"])]
    if settings.siblings == "drop":
        found += [f"website {where} has {count} test tasks" for where, count in sites["test"].items() if count > 1]
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise LeakageError(f"train and test are not apart: {'; '.join(found[:_SHOWN])}{more}")


def _choose(entries: Sequence[Entry], sites: Sequence[str], settings: SplitSettings) -> set[int]:
    """Positions of the test tasks."""
    if settings.test == 0:
        return set()
    size = Counter(sites)
    candidates: dict[str, dict[DifficultyBand, tuple[bytes, int]]] = defaultdict(dict)
    for place, (entry, where) in enumerate(zip(entries, sites, strict=True)):
        if where and entry.parent_id is None and size[where] <= settings.head:
            rank = (_chance(settings.seed, entry.id), place)
            best = candidates[where].get(entry.band)
            if best is None or rank < best:
                candidates[where][entry.band] = rank
    order = sorted(candidates, key=lambda where: _chance(settings.seed, where))
    matching = _Matching(settings.quota.of(settings.test), {where: frozenset(candidates[where]) for where in order})
    matching.fill()
    if short := matching.short():
        lacking = ", ".join(f"{count} more {band}" for band, count in short.items())
        raise ConfigError(
            f"split.test asks for {settings.test} tasks on websites of their own, each with at most split.head = "
            f"{settings.head} tasks, and {lacking} would be needed: lower split.test, change split.quota or raise split.head"
        )
    return {candidates[where][band][1] for where, band in matching.given.items()}


def _with_families(entries: Sequence[Entry], placed: list[Place]) -> list[Place]:
    """Drop from train what has kin in test on another website; this happens only if a source's parent moved house."""
    in_test = {entry.parent_id or entry.id for entry, place in zip(entries, placed, strict=True) if place == "test"}
    return [
        "dropped" if place == "train" and (entry.parent_id or entry.id) in in_test else place
        for entry, place in zip(entries, placed, strict=True)
    ]


def _chance(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"{seed}\n{name}".encode(errors="surrogatepass"), digest_size=16).digest()
