"""Tasks as columns: the Parquet schema and the way in and out of it.

`difficulty` is stored beside the groups it is counted from, so that filters never read a nested column. The schema's
version is part of the file; a reader refuses versions it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import pyarrow as pa

from webgym.types import Task

VERSION = "1"
VERSION_KEY = b"webgym.tasks.version"

_TEXT = pa.string()
_FACTS = pa.list_(pa.field("element", _TEXT, nullable=False))
_GROUP_FIELDS = (
    pa.field("id", pa.int64(), nullable=False),
    pa.field("description", _TEXT, nullable=False),
    pa.field("facts", _FACTS, nullable=False),
)
_GROUP = pa.struct(_GROUP_FIELDS)
_GROUPS = pa.list_(pa.field("element", _GROUP, nullable=False))
_PROVENANCE_FIELDS = (
    pa.field("file", _TEXT, nullable=False),
    pa.field("line", pa.int64()),
    pa.field("licence", _TEXT, nullable=False),
    pa.field("rubric_model", _TEXT, nullable=False),
    pa.field("rubric_version", _TEXT, nullable=False),
)
SCHEMA = pa.schema(
    [
        pa.field("id", _TEXT, nullable=False),
        pa.field("source", _TEXT, nullable=False),
        pa.field("instruction", _TEXT, nullable=False),
        pa.field("website", _TEXT, nullable=False),
        pa.field("domain", _TEXT, nullable=False),
        pa.field("subdomain", _TEXT, nullable=False),
        pa.field("split", _TEXT, nullable=False),
        pa.field("difficulty", pa.int32(), nullable=False),
        pa.field("groups", _GROUPS, nullable=False),
        pa.field("reference_answer", _TEXT),
        pa.field("parent_id", _TEXT),
        pa.field("provenance", pa.struct(_PROVENANCE_FIELDS), nullable=False),
    ],
    metadata={VERSION_KEY: VERSION.encode()},
)
# Columns whose values repeat.
DICTIONARY = (
    "source",
    "website",
    "domain",
    "subdomain",
    "split",
    *(f"provenance.{name}" for name in ("file", "licence", "rubric_model", "rubric_version")),
)


def to_table(tasks: Sequence[Task]) -> pa.Table:
    """Tasks as one table."""
    provenance = [task.provenance for task in tasks]
    arrays: dict[str, pa.Array] = {
        name: pa.array([getattr(task, name) for task in tasks], SCHEMA.field(name).type)
        for name in SCHEMA.names
        if name not in ("groups", "provenance")
    }
    arrays["groups"] = _groups_array(tasks)
    arrays["provenance"] = pa.StructArray.from_arrays(
        [pa.array([getattr(one, field.name) for one in provenance], field.type) for field in _PROVENANCE_FIELDS],
        fields=list(_PROVENANCE_FIELDS),
    )
    return pa.Table.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def from_table(table: pa.Table) -> Iterator[Task]:
    """The tasks of a table, checked like everything that comes from a disk."""
    plain = [name for name in SCHEMA.names if name not in ("groups", "provenance", "difficulty")]
    values = [table.column(name).to_pylist() for name in plain]
    provenance = _flat(table.column("provenance")).to_pylist()
    for *row, groups, origin in zip(*values, _groups_lists(table), provenance, strict=True):
        task = dict(zip(plain, row, strict=True))
        yield Task.model_validate({**task, "groups": groups, "provenance": origin})


def _groups_array(tasks: Sequence[Task]) -> pa.Array:
    groups = [group for task in tasks for group in task.groups]
    facts = pa.ListArray.from_arrays(
        _offsets(len(group.facts) for group in groups),
        pa.array([fact for group in groups for fact in group.facts], _TEXT),
        type=_FACTS,
    )
    inside = pa.StructArray.from_arrays(
        [
            pa.array([group.id for group in groups], pa.int64()),
            pa.array([group.description for group in groups], _TEXT),
            facts,
        ],
        fields=list(_GROUP_FIELDS),
    )
    return pa.ListArray.from_arrays(_offsets(len(task.groups) for task in tasks), inside, type=_GROUPS)


def _groups_lists(table: pa.Table) -> Iterator[list[dict[str, object]]]:
    """Groups row by row, made from whole columns: many times quicker than asking Arrow for nested Python values."""
    outer = _flat(table.column("groups"))
    inside = outer.flatten()
    facts = inside.field("facts")
    texts, bounds = facts.flatten().to_pylist(), _bounds(facts)
    groups: list[dict[str, object]] = [
        {"id": number, "description": described, "facts": texts[start:end]}
        for number, described, (start, end) in zip(
            inside.field("id").to_pylist(), inside.field("description").to_pylist(), bounds, strict=True
        )
    ]
    for start, end in _bounds(outer):
        yield groups[start:end]


def _flat(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _bounds(lists: pa.Array) -> Iterator[tuple[int, int]]:
    """Where each list begins and ends in the flattened values."""
    offsets = lists.offsets.to_pylist()
    first = offsets[0] if offsets else 0
    return pairwise(offset - first for offset in offsets)


def _offsets(lengths: Iterator[int]) -> pa.Array:
    return pa.array(accumulate(lengths, initial=0), pa.int32())
