"""`webgym tasks stats`, `show` and `validate`. Settings are read before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field
from pydantic_settings import CliPositionalArg

from webgym.config import Settings, load
from webgym.errors import ConfigError
from webgym.types import DifficultyBand, Split

if TYPE_CHECKING:
    from webgym.tasks.selection import TaskFilter

T = TypeVar("T")


class StatsSettings(Settings):
    """Count what a task file holds."""

    file: CliPositionalArg[Path] = Field(description="A .parquet or .jsonl file of tasks.")
    plot: Path | None = Field(None, description="Write the charts as an SVG file.")


class ShowSettings(Settings):
    """Show tasks: one by its id, or those that pass the filters."""

    file: CliPositionalArg[Path] = Field(description="A .parquet or .jsonl file of tasks.")
    id: str | None = Field(None, description="The task of this id, whole; may also follow the file's name.")
    source: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    subdomain: tuple[str, ...] = ()
    website: tuple[str, ...] = Field((), description="Names or addresses; scheme and www. do not matter.")
    split: Split | None = None
    band: DifficultyBand | None = None
    min_difficulty: Annotated[int, Field(ge=0)] | None = None
    max_difficulty: Annotated[int, Field(ge=0)] | None = None
    contains: str = Field("", description="Text of the instruction, whatever its case.")
    limit: Annotated[int, Field(ge=1)] = Field(20, description="Show at most so many tasks.")
    seed: int | None = Field(None, description="Draw tasks by this seed instead of taking the first.")
    full: bool = Field(False, description="Show each task whole.")

    def chosen(self) -> TaskFilter:
        from webgym.tasks.selection import TaskFilter

        return TaskFilter(
            ids=(self.id,) if self.id else (),
            sources=self.source,
            domains=self.domain,
            subdomains=self.subdomain,
            websites=self.website,
            split=self.split,
            band=self.band,
            min_difficulty=self.min_difficulty,
            max_difficulty=self.max_difficulty,
            contains=self.contains,
        )


class ValidateSettings(Settings):
    """Check task files against every rule; several files are checked as one set."""

    files: CliPositionalArg[list[Path]] = Field(description="Files of tasks, .parquet or .jsonl.", min_length=1)
    limit: Annotated[int, Field(ge=1)] = Field(50, description="Print at most so many breaches; all are counted.")


def run_stats(arguments: list[str]) -> int:
    settings = load(StatsSettings, arguments, command="webgym tasks stats")
    from rich.console import Console

    from webgym.tasks.chart import bar_chart
    from webgym.tasks.show import print_stats
    from webgym.tasks.stats import count_tasks, glances

    path = _existing(settings.file)
    stats = count_tasks(_watched(glances(path), "counting"))
    if settings.plot is not None:
        panels = (
            ("By source", stats.by_source()),
            ("By difficulty (facts)", list(stats.histogram().items())),
            ("By domain", stats.by_domain()),
        )
        settings.plot.write_text(bar_chart(f"{path.name}: {stats.tasks:,} tasks", panels))
    print_stats(stats, Console())
    return 0


def run_show(arguments: list[str]) -> int:
    settings = load(ShowSettings, _with_id(arguments), command="webgym tasks show")
    from rich.console import Console

    from webgym.tasks.show import card, matching, row_list

    console = Console()
    count, tasks = matching(_existing(settings.file), settings.chosen(), settings.limit, settings.seed)
    if not tasks:
        sys.stderr.write("no task passes\n")
        return 1
    if settings.id or settings.full:
        for task in tasks:
            console.print(card(task))
    else:
        console.print(row_list(tasks))
    if count > len(tasks):
        console.print(f"{len(tasks):,} of {count:,} tasks", style="dim")
    return 0


def run_validate(arguments: list[str]) -> int:
    settings = load(ValidateSettings, arguments, command="webgym tasks validate")
    from webgym.tasks.validate import Ledger, candidates, check, leaks

    paths = [_existing(path) for path in settings.files]
    ledger, found = Ledger(), 0

    def every() -> Iterator[object]:
        yield from check(_watched(candidates(paths), "checking"), ledger)
        yield from leaks(ledger)

    for breach in every():
        found += 1
        if found <= settings.limit:
            sys.stdout.write(f"{breach}\n")
    if found > settings.limit:
        sys.stdout.write(f"and {found - settings.limit:,} more\n")
    sys.stdout.write(f"{ledger.checked:,} tasks, {f'{found:,} breaches' if found else 'no breach'}\n")
    return 1 if found else 0


def _with_id(arguments: list[str]) -> list[str]:
    """`show FILE ID` is `show FILE --id ID`."""
    if len(arguments) >= 2 and not arguments[0].startswith("-") and not arguments[1].startswith("-"):
        return [arguments[0], "--id", *arguments[1:]]
    return arguments


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file")
    return path


def _watched(items: Iterable[T], doing: str) -> Iterator[T]:
    """Items as they come, with a progress bar where a person is looking."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield from progress.track(items, description=doing)
