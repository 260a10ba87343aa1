"""The public WebGym record: how a task looks outside.

`benchmark_name, task_name, domain, subdomain, website, difficulty, evaluator_reference, definite_answer, task_id`.
Reading is lenient where files differ (older ones carry the rubric as a string or a list of strings, ids may be numbers,
answers null or absent), writing has one form. The record has no room for parent, split and provenance: they live in
Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import Any, Final

from webgym.tasks.rows import Misfit, Row
from webgym.tasks.taxonomy import spelled
from webgym.tasks.websites import canonical_origin
from webgym.types import FactGroup, Provenance, Split, Task

FIELDS = (
    "benchmark_name",
    "task_name",
    "domain",
    "subdomain",
    "website",
    "difficulty",
    "evaluator_reference",
    "definite_answer",
    "task_id",
)
_HIGHEST: Final = 999_999_999


def to_record(task: Task) -> dict[str, object]:
    """A task as the public record."""
    return {
        "benchmark_name": task.source,
        "task_name": task.instruction,
        "domain": task.domain,
        "subdomain": task.subdomain,
        "website": task.website,
        "difficulty": task.difficulty,
        "evaluator_reference": [
            {"id": group.id, "description": group.description, "facts": list(group.facts)} for group in task.groups
        ],
        "definite_answer": task.reference_answer,
        "task_id": task.id,
    }


def from_record(row: Row, *, split: Split = "train") -> Task:
    """A task of a public record. Raises Misfit or a ValidationError when it is none."""
    return Task(
        id=row.text("task_id"),
        source=row.text("benchmark_name"),
        instruction=row.text("task_name"),
        website=canonical_origin(row.maybe("website")),
        domain=spelled(row.maybe("domain")),
        subdomain=spelled(row.maybe("subdomain")),
        groups=read_groups(row.values.get("evaluator_reference")),
        reference_answer=read_answer(row.values.get("definite_answer")),
        split=split,
        provenance=Provenance(file=row.file, line=row.line),
    )


def read_groups(value: object) -> tuple[FactGroup, ...]:
    """The rubric in any of its forms: groups, a list of facts, one fact; or any of these as JSON inside a string."""
    if isinstance(value, str):
        value = _unpacked(value)
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    loose = _facts(value)
    groups = [_group(one, number) for number, one in enumerate(value, 1) if isinstance(one, dict)]
    found = [group for group in groups if group is not None]
    if loose:
        found.insert(0, FactGroup(id=0, description="", facts=loose))
    if len({group.id for group in found}) < len(found) or loose:
        found = [group.model_copy(update={"id": number}) for number, group in enumerate(found, 1)]
    return tuple(found)


def read_answer(value: object) -> str | None:
    """The reference answer; a list of answers becomes one text, and nothing is None."""
    match value:
        case None:
            return None
        case str():
            return value.strip() or None
        case float() if isnan(value):  # what a table makes of an empty cell
            return None
        case list() | tuple():
            return "; ".join(text for one in value if (text := read_answer(one))) or None
        case _:
            return str(value)


def split_of(path: str | Path) -> Split:
    """The split a public file holds, told by its name: `test.jsonl`, `webgym_test.jsonl`, `hf:owner/name:test`."""
    name = str(path)
    stem = name.rpartition(":")[2] if name.startswith("hf:") else Path(name).stem
    return "test" if "test" in stem.lower().replace("-", "_").split("_") else "train"


def _group(value: Mapping[str, Any], number: int) -> FactGroup | None:
    facts = value.get("facts")
    kept = _facts(facts if isinstance(facts, list | tuple) else [facts])
    if not kept:
        return None
    described = value.get("description")
    return FactGroup(
        id=_number(value.get("id"), number),
        description=described.strip() if isinstance(described, str) else "",
        facts=kept,
    )


def _number(told: object, place: int) -> int:
    """A group's own number, or its place if it has none that a file can hold."""
    if isinstance(told, str) and told.isdecimal() and len(told) <= len(str(_HIGHEST)):
        told = int(told)
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= _HIGHEST else place


def _facts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise Misfit("facts must be a list")
    return tuple(text for one in values if isinstance(one, str) and (text := one.strip()))


def _unpacked(text: str) -> object:
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return [text]
