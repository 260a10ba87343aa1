"""Mind2Web-2: long research tasks, some with the tree of checks a grader walked.

The leaves of a tree speak about an answer ("the name is provided"), not about pages, so they are hints for whoever writes
the rubric and not facts themselves. A tree is read when it lies beside the tasks as `<task>_rubric.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Reader, Source

_SUFFIX = "_rubric.json"
_DEEPEST = 32


def read_checks(path: Path) -> tuple[str, ...]:
    """The leaves of a rubric tree, each after the name of its branch."""
    found: list[str] = []
    for row in _trees(path):
        found.extend(_leaves(row.part("verification_tree"), branch="", depth=0))
    return tuple(found)


def _trees(path: Path) -> Iterator[Row]:
    """The file is one object, `{"eval_breakdown": [tree, …]}`: its only value is an array, not a row."""
    wrapped = Row(path.name, 1, {"eval_breakdown": _value(path)})
    yield from wrapped.parts("eval_breakdown")


def _value(path: Path) -> object:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found.get("eval_breakdown") if isinstance(found, dict) else None


def _leaves(node: Row, branch: str, depth: int) -> Iterator[str]:
    said = " ".join(node.maybe("desc", "claim").split())
    children = node.parts("children")
    if depth > _DEEPEST:
        return
    if not children:
        if said:
            yield f"{branch}: {said}" if branch else said
        return
    for child in children:
        # The root repeats the task.
        yield from _leaves(child, said if depth else "", depth + 1)


class Mind2Web2(Source):
    name = "Mind2Web-2"
    licence = "MIT"
    formats = ("json", "jsonl", "csv", "parquet")

    def seed(self, row: Row) -> Seed:
        return self._seed({}, row)

    def reader(self, folder: Path | None) -> Reader:
        paths = sorted(folder.glob(f"*{_SUFFIX}")) if folder is not None else []
        return partial(self._seed, {path.name.removesuffix(_SUFFIX): read_checks(path) for path in paths})

    def _seed(self, checks: dict[str, tuple[str, ...]], row: Row) -> Seed:
        own_id = row.key or row.maybe("task_id", "id")
        return self.make(
            row,
            row.text("task_description", "confirmed_task"),
            own_id=own_id,
            website=row.maybe("website"),
            hints=tuple(f"Check: {check}" for check in checks.get(own_id, ())),
        )
