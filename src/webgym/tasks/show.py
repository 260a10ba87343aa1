"""Tasks and their statistics for people: tables and bars in the terminal."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from webgym.tasks.files import TaskFile, read_tasks
from webgym.tasks.rows import BrokenRow
from webgym.tasks.selection import TaskFilter
from webgym.tasks.stats import BANDS, SPLITS, TaskStats
from webgym.types import Task

_BAR = 36
_TOP_SITES = 10


def matching(path: Path, chosen: TaskFilter, limit: int, seed: int | None) -> tuple[int, list[Task]]:
    """How many tasks pass, and the first of them, or a draw by seed."""
    if path.suffix.lower() == ".parquet":
        with TaskFile.open(path) as file:
            found = file.where(chosen)
            return len(found), list(islice(found, limit)) if seed is None else found.sample(limit, seed=seed)
    tasks = [task for task in read_tasks(path) if not isinstance(task, BrokenRow) and chosen.matches(task)]
    if seed is None:
        return len(tasks), tasks[:limit]
    drawn = random.Random(seed).sample(range(len(tasks)), min(limit, len(tasks)))  # noqa: S311 - a draw, not a secret
    return len(tasks), [tasks[n] for n in drawn]


def card(task: Task) -> RenderableType:
    """One task, whole."""
    facts = Tree(Text(f"difficulty {task.difficulty}, {task.band}"), guide_style="dim")
    for group in task.groups:
        branch = facts.add(Text(f"{group.id}. {group.description}", style="bold"))
        for fact in group.facts:
            branch.add(Text(fact))
    about = Table.grid(padding=(0, 2))
    about.add_column(style="dim")
    about.add_column(overflow="fold")
    origin = task.provenance
    lines = (
        ("website", task.website or "none"),
        ("about", f"{task.domain} · {task.subdomain}"),
        ("answer", task.reference_answer or ""),
        ("source", f"{task.source}, {task.split}"),
        ("parent", task.parent_id or ""),
        ("from", f"{origin.file}:{origin.line}" if origin.line else origin.file),
        ("licence", origin.licence),
        ("rubric by", " ".join(filter(None, (origin.rubric_model, origin.rubric_version)))),
    )
    for name, value in lines:
        if value:
            about.add_row(name, Text(value))
    return Panel(Group(Text(task.instruction), Text(), facts, Text(), about), title=Text(task.id), title_align="left")


def row_list(tasks: Sequence[Task]) -> RenderableType:
    """Several tasks, a row each."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("id", "website", "facts", "instruction"):
        table.add_column(name, overflow="fold", justify="right" if name == "facts" else "left")
    for task in tasks:
        table.add_row(Text(task.id), Text(task.website), str(task.difficulty), Text(task.instruction))
    return table


def print_stats(stats: TaskStats, console: Console) -> None:
    console.print(
        f"[bold]{stats.tasks:,}[/] tasks on [bold]{len(stats.sites):,}[/] websites"
        f" ({', '.join(f'{stats.splits[split]:,} {split}' for split in SPLITS)}; {stats.children:,} decomposed)"
    )
    if stats.nowhere:
        console.print(f"[bold]{stats.nowhere:,}[/] of them name no website")
    if stats.broken:
        console.print(f"[red]{stats.broken:,} broken rows were left out[/]")
    sources = _table("source", *SPLITS, *BANDS)
    for name, _ in stats.by_source():
        counts = (*(stats.sources[name, split] for split in SPLITS), *(stats.source_bands[name, band] for band in BANDS))
        sources.add_row(Text(name), *(f"{count:,}" for count in counts))
    bands = _table("split", *BANDS)
    for split in SPLITS:
        total = stats.splits[split] or 1
        bands.add_row(split, *(f"{(n := stats.bands[split, band]):,} ({n / total:.1%})" for band in BANDS))
    console.print(sources, bands, *_bars("difficulty", stats.histogram().items()))
    console.print(*_bars("domain", stats.by_domain()))
    subdomains = [(f"{domain} · {name}", count) for (domain, name), count in stats.subdomains.most_common()]
    console.print(*_bars("subdomain", subdomains))
    console.print(*_bars("website", stats.sites.most_common(_TOP_SITES)))


def _table(*names: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for n, name in enumerate(names):
        table.add_column(name, justify="right" if n else "left")
    return table


def _bars(title: str, values: Iterable[tuple[str, int]]) -> tuple[RenderableType, ...]:
    listed = list(values)
    longest = max((count for _, count in listed), default=0) or 1
    table = _table(title, "tasks", "")
    table.columns[2].justify = "left"
    for name, count in listed:
        table.add_row(Text(name or "none"), f"{count:,}", Text("█" * round(_BAR * count / longest), style="blue"))
    return Text(), table
