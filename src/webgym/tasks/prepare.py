"""Seeds for a build: sources read in their order, screened, freed of duplicates, and laid down in one file.

The result depends on the sources and the settings alone. Whether a task is for evaluation only does not depend on the order
of the sources: the kept one of two twins bears what either bore. Confidential seeds (decrypted or gated) are left out unless
the settings ask for them, because everything after this point is written to disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from webgym.errors import ConfigError
from webgym.tasks.duplicates import DEFAULT_THRESHOLD, Deduplicator, DuplicateCounts
from webgym.tasks.files import Staged
from webgym.tasks.filters import Refusal, SeedRules, screen
from webgym.tasks.seed import Seed
from webgym.tasks.sources import Intake, read_seeds


class SourceFile(BaseModel):
    """Tasks to take in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="The source, such as insta-v3; docs/tasks-sources.md lists them.")
    path: str = Field(description="A local file, or a dataset of the hub: hf:owner/name:split.")
    limit: Annotated[int, Field(ge=1)] | None = Field(None, description="Take the first so many good rows.")


@dataclass
class Prepared:
    """What came of the sources."""

    path: Path
    count: int = 0
    confidential: int = 0
    sources: set[str] = field(default_factory=set)  # as the settings and the seeds name them
    intake: Intake = field(default_factory=Intake)
    refused: Counter[Refusal] = field(default_factory=Counter)
    duplicates: DuplicateCounts = field(default_factory=DuplicateCounts)

    def lines(self) -> list[str]:
        refused = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.refused.items())) or "none"
        twins = self.duplicates
        return [
            f"read         {self.intake.read:,} rows, {self.intake.broken:,} broken",
            f"left out     {refused}; {self.confidential:,} confidential",
            f"duplicates   {twins.exact + twins.same_id:,} exact, {twins.near:,} near",
            f"seeds        {self.count:,}",
        ]


def prepare(
    sources: Iterable[SourceFile],
    rules: SeedRules,
    path: Path,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    confidential: bool = False,
) -> Prepared:
    """Write the seeds of a build to a jsonl file, which appears whole."""
    found = Prepared(path)
    unique = Deduplicator(threshold, found.duplicates)
    unmarked = path.with_name(f".unmarked.{path.name}")
    try:
        with Staged(unmarked) as file:
            for seed in unique.unique(screen(_opened(sources, found, confidential=confidential), rules, found.refused)):
                file.write(_line(seed))
                found.count += 1
        if unique.held:  # known in full only now
            with Staged(unmarked) as file:
                file.writelines(_line(_marked(seed, unique.held.get(seed.id))) for seed in seeds_in(unmarked))
        unmarked.replace(path)
    finally:
        unmarked.unlink(missing_ok=True)
    return found


def _line(seed: Seed) -> bytes:
    return seed.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _marked(seed: Seed, holders: set[str] | None) -> Seed:
    """The seed with what its evaluation-only twins ask of it."""
    if holders is None:
        return seed
    held_by = holders | ({seed.source} if seed.evaluation_only else set())
    return seed.model_copy(update={"evaluation_only": True, "held_by": tuple(sorted(held_by))})


def seeds_in(path: Path) -> Iterator[Seed]:
    """The seeds of a prepared file."""
    with path.open("rb") as lines:
        for line in lines:
            yield Seed.model_validate_json(line)


def _opened(sources: Iterable[SourceFile], found: Prepared, *, confidential: bool) -> Iterator[Seed]:
    for source in sources:
        named = False
        try:
            for seed in islice(read_seeds(source.name, source.path, found.intake), source.limit):
                found.sources.add(seed.source)
                named = True
                if seed.confidential and not confidential:
                    found.confidential += 1
                else:
                    yield seed
        except OSError as e:
            raise ConfigError(f"{source.path} cannot be read: {e.strerror}") from e
        if not named:  # else its tasks may be of others, as those of a record are: to force it would do nothing
            found.sources.add(source.name)
