"""Task files: Parquet inside, public records (jsonl) outside.

A Parquet file is mapped, not loaded: opening reads its footer, a filter reads the columns it asks for, and tasks are
decoded one row group at a time. Files appear whole or not at all (written to a staging name, then renamed), and the same
tasks in the same order give the same bytes, however they were handed to the writer.
"""

from __future__ import annotations

import json
import os
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from webgym.errors import ConfigError
from webgym.tasks.columns import DICTIONARY, SCHEMA, VERSION, VERSION_KEY, from_table, to_table
from webgym.tasks.record import from_record, split_of, to_record
from webgym.tasks.rows import BrokenRow, Misfit, read_rows
from webgym.tasks.selection import TaskFilter
from webgym.types import Split, Task

ROW_GROUP = 8_192
_SEARCHERS = 4


@dataclass(frozen=True)
class TaskFile:
    """A Parquet task file, or the part of one that passed a filter. Rows keep the file's order."""

    path: Path
    _parquet: pq.ParquetFile = field(repr=False)
    _starts: list[int] = field(repr=False)
    _rows: pa.Array | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: str | Path) -> TaskFile:
        path = Path(path)
        try:
            footer = pq.read_metadata(path, memory_map=True)
        except FileNotFoundError as e:
            raise ConfigError(f"{path}: there is no such file") from e
        except (pa.ArrowException, OSError) as e:
            raise ConfigError(f"{path} is not a Parquet file: {e}") from e
        found = (footer.metadata or {}).get(VERSION_KEY, b"").decode()
        if found != VERSION or footer.schema.to_arrow_schema().names != SCHEMA.names:
            held = f"tasks of version {found}" if found else "no tasks"
            raise ConfigError(f"{path} holds {held}; this reads version {VERSION}")
        repeating = [name for name in DICTIONARY if "." not in name]
        parquet = pq.ParquetFile(path, memory_map=True, metadata=footer, read_dictionary=repeating)
        sizes = (parquet.metadata.row_group(n).num_rows for n in range(parquet.num_row_groups))
        return cls(path, parquet, list(accumulate(sizes, initial=0)))

    def close(self) -> None:
        self._parquet.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._starts[-1] if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[Task]:
        for group in range(len(self._starts) - 1):
            start, end = self._starts[group], self._starts[group + 1]
            if self._rows is None:
                yield from self._decoded(group, None)
                continue
            rows = self._rows.filter(pc.and_(pc.greater_equal(self._rows, start), pc.less(self._rows, end)))
            if len(rows):
                yield from self._decoded(group, pc.subtract(rows, start))

    def where(self, chosen: TaskFilter) -> TaskFile:
        """The tasks that pass a filter, as a file of their own."""
        if not chosen.columns:
            return self
        masks = []
        if narrow := [name for name in chosen.columns if name != "instruction"]:
            masks.append(chosen.without_text().mask(self._parquet.read(columns=narrow)))
        if chosen.contains:
            masks.append(self._text_mask(TaskFilter(contains=chosen.contains)))
        rows = pc.indices_nonzero(reduce(pc.and_, masks)).cast(pa.int64())
        if self._rows is not None:
            rows = rows.filter(pc.is_in(rows, value_set=self._rows))
        return TaskFile(self.path, self._parquet, self._starts, rows)

    def _text_mask(self, text: TaskFilter) -> pa.ChunkedArray:
        """Rows whose instruction passes. The widest column is read a row group at a time, on every core."""
        groups, workers = range(len(self._starts) - 1), min(_SEARCHERS, os.cpu_count() or 1)

        def look(worker: int) -> dict[int, pa.ChunkedArray]:
            # A handle of its own: one cannot be read from two threads.
            with pq.ParquetFile(self.path, memory_map=True, metadata=self._parquet.metadata) as file:
                mine = groups[worker::workers]
                return {n: text.mask(file.read_row_group(n, ["instruction"], use_threads=False)) for n in mine}

        with ThreadPoolExecutor(workers) as pool:
            found = {n: mask for part in pool.map(look, range(workers)) for n, mask in part.items()}
        return pa.chunked_array([chunk for n in groups for chunk in found[n].chunks], pa.bool_())

    def get(self, task_id: str) -> Task | None:
        """The task of an id, if it is here."""
        return next(iter(self.where(TaskFilter(ids=(task_id,)))), None)

    def sample(self, count: int, *, seed: int) -> list[Task]:
        """Tasks drawn without replacement; the same seed draws the same tasks in the same order."""
        drawn = random.Random(seed).sample(range(len(self)), min(count, len(self)))  # noqa: S311 - a draw, not a secret
        rows = drawn if self._rows is None else self._rows.take(pa.array(drawn, pa.int64())).to_pylist()
        return self.take(rows)

    def take(self, rows: Iterable[int]) -> list[Task]:
        """The tasks at these rows of the whole file, in the order asked for."""
        wanted = list(rows)
        found: dict[int, Task] = {}
        by_group: dict[int, list[int]] = {}
        for row in sorted(set(wanted)):
            by_group.setdefault(bisect_right(self._starts, row) - 1, []).append(row)
        for group, inside in by_group.items():
            local = pa.array([row - self._starts[group] for row in inside], pa.int64())
            found.update(zip(inside, self._decoded(group, local), strict=True))
        return [found[row] for row in wanted]

    def read_columns(self, *names: str) -> Iterator[pa.Table]:
        """Some columns, a row group at a time, without the rest."""
        for group in range(len(self._starts) - 1):
            table = self._parquet.read_row_group(group, columns=list(names))
            if self._rows is not None:
                start, end = self._starts[group], self._starts[group + 1]
                rows = self._rows.filter(pc.and_(pc.greater_equal(self._rows, start), pc.less(self._rows, end)))
                table = table.take(pc.subtract(rows, start))
            yield table

    def _decoded(self, group: int, rows: pa.Array | None) -> Iterator[Task]:
        table = self._parquet.read_row_group(group)
        try:
            yield from from_table(table if rows is None else table.take(rows))
        except ValidationError as e:
            raise ConfigError(f"{self.path}: row group {group} holds what is no task: {e}") from e


class Staged:
    """A file under a staging name, renamed when all went well and removed when not."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._staging = self.path.with_name(f".{self.path.name}.staging")
        self._file: IO[bytes] | None = None

    def __enter__(self) -> IO[bytes]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._staging.open("wb")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        assert self._file is not None
        if kind is None:
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()
        if kind is None:
            self._staging.replace(self.path)
        else:
            self._staging.unlink(missing_ok=True)


class ParquetWriter:
    """Holds one row group of tasks at most. Enter it, `add`, leave it; after an exception there is no file."""

    def __init__(self, path: str | Path) -> None:
        self._staged = Staged(path)
        self._pending: list[Task] = []
        self.count = 0

    def __enter__(self) -> Self:
        self._parquet = pq.ParquetWriter(
            self._staged.__enter__(),
            SCHEMA,
            compression="zstd",
            use_dictionary=list(DICTIONARY),
            write_statistics=True,
            data_page_version="2.0",
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
            self._parquet.close()
        except BaseException as e:
            self._staged.__exit__(type(e), e, e.__traceback__)
            raise
        self._staged.__exit__(kind, error, trace)

    def add(self, task: Task) -> None:
        self._pending.append(task)
        self.count += 1
        if len(self._pending) == ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            self._parquet.write_table(to_table(self._pending), row_group_size=ROW_GROUP)
            self._pending.clear()


class RecordWriter:
    """Public records, a line each."""

    def __init__(self, path: str | Path) -> None:
        self._staged = Staged(path)
        self.count = 0

    def __enter__(self) -> Self:
        self._file = self._staged.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._staged.__exit__(kind, error, trace)

    def add(self, task: Task) -> None:
        self._file.write(json.dumps(to_record(task), ensure_ascii=False).encode() + b"\n")
        self.count += 1


def task_writer(path: str | Path) -> ParquetWriter | RecordWriter:
    """The writer of a file's kind, told by its name."""
    match Path(path).suffix.lower():
        case ".parquet":
            return ParquetWriter(path)
        case ".jsonl":
            return RecordWriter(path)
        case other:
            raise ConfigError(f"{path}: tasks are written as .parquet or .jsonl, not {other or 'without an ending'}")


def write_tasks(path: str | Path, tasks: Iterable[Task]) -> int:
    """Write tasks to a .parquet or .jsonl file; returns how many."""
    with task_writer(path) as writer:
        for task in tasks:
            writer.add(task)
    return writer.count


def read_tasks(path: str | Path, *, split: Split | None = None) -> Iterator[Task | BrokenRow]:
    """Every task of a .parquet or .jsonl file. Records know no split: it is the file's, told by its name, unless given."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        with TaskFile.open(path) as file:
            yield from file
        return
    for row in read_rows(path, ("jsonl",)):
        if isinstance(row, BrokenRow):
            yield row
            continue
        try:
            yield from_record(row, split=split or split_of(path))
        except (Misfit, ValidationError) as e:
            yield BrokenRow(row.file, row.line, str(e).replace("\n", " "))
