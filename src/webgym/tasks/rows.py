"""Rows of foreign files, each with the place it came from.

A file is read as a stream. A row that cannot be read is a `BrokenRow`, never an exception: it names file and line, and the
next row follows. Only a file that is not there, or of a kind the source does not have, is the caller's mistake.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from webgym.errors import ConfigError

Format = Literal["jsonl", "json", "csv", "parquet"]

_SUFFIXES: Mapping[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}
_LONGEST_FIELD = 1 << 24
_decode = json.JSONDecoder().raw_decode


class Misfit(ValueError):
    """A row does not say what its source's rows say. The message never quotes the row: it may be confidential."""


@dataclass(frozen=True)
class BrokenRow:
    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line or '?'}: {self.reason}"


@dataclass(frozen=True)
class Row:
    """One row: its fields, the key it stood under if the file is an object of rows, and its ordinal, from 1. Broken rows
    count, blank lines and headings do not: files that go row by row beside each other agree on it, whatever their kind."""

    file: str
    line: int
    values: Mapping[str, object] = field(repr=False)
    key: str = ""
    ordinal: int = 0

    def text(self, *names: str) -> str:
        """The first of these fields that holds text."""
        found = self.maybe(*names)
        if not found:
            raise Misfit(f"no text in {' or '.join(map(repr, names))}")
        return found

    def maybe(self, *names: str) -> str:
        """The first of these fields that holds text or a number; empty if none does."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
            # Not a number is what a table makes of an empty cell, and unequal to itself.
            if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
                return str(value)
        return ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one, anything else is left out."""
        value = self.values.get(name)
        listed = value if isinstance(value, list | tuple) else [value]
        return tuple(text for one in listed if isinstance(one, str) and (text := one.strip()))

    def part(self, name: str) -> Row:
        """A field that holds fields of its own; empty if it does not."""
        value = self.values.get(name)
        return Row(self.file, self.line, value if isinstance(value, dict) else {})

    def parts(self, name: str) -> tuple[Row, ...]:
        """A list of such."""
        value = self.values.get(name)
        return (
            tuple(Row(self.file, self.line, one) for one in value if isinstance(one, dict))
            if isinstance(value, list)
            else ()
        )


T = TypeVar("T")


def read_rows(path: Path, formats: tuple[Format, ...]) -> Iterator[Row | BrokenRow]:
    """Every row of a local file."""
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None or kind not in formats:
        raise ConfigError(f"{path}: expected a file of kind {', '.join(formats)}")
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file")
    return _numbered(_READERS[kind](path))


def _numbered(rows: Iterator[Row | BrokenRow]) -> Iterator[Row | BrokenRow]:
    for ordinal, row in enumerate(rows, 1):
        yield row if isinstance(row, BrokenRow) else replace(row, ordinal=ordinal)


def _read_jsonl(path: Path) -> Iterator[Row | BrokenRow]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as e:
                yield BrokenRow(path.name, number, f"not JSON: {_brief(e)}")
                continue
            yield _row(path, number, values)


def _read_json(path: Path) -> Iterator[Row | BrokenRow]:
    """An array of rows, or an object of rows by name, decoded one row at a time to know each one's line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as e:
        yield BrokenRow(path.name, None, f"not UTF-8: {e.reason}")
        return
    at = _space(text, 0)
    opening = text[at : at + 1]
    if opening not in ("[", "{"):
        yield BrokenRow(path.name, 1, "neither an array nor an object of rows")
        return
    closing = "]" if opening == "[" else "}"
    at, seen, line, key = _space(text, at + 1), 0, 1, ""
    while text[at : at + 1] != closing:
        line, seen = line + text.count("\n", seen, at), at
        try:
            if opening == "{":
                key, at = _decode(text, at)
                at = _space(text, at)
                if not isinstance(key, str) or text[at : at + 1] != ":":
                    raise ValueError("a row has no name")
                at = _space(text, at + 1)
            values, at = _decode(text, at)
        except (ValueError, RecursionError) as e:
            yield BrokenRow(path.name, line, f"not JSON, the rest of the file is lost: {_brief(e)}")
            return
        yield _row(path, line, values, key)
        at = _space(text, at)
        if text[at : at + 1] == ",":
            at = _space(text, at + 1)
        elif text[at : at + 1] != closing:
            yield BrokenRow(path.name, line, "not JSON, the rest of the file is lost: no comma after the row")
            return


def _read_csv(path: Path) -> Iterator[Row | BrokenRow]:
    csv.field_size_limit(_LONGEST_FIELD)
    # Bytes that are no UTF-8 survive as surrogates and are refused with their row, not with the file.
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as lines:
        reader = csv.reader(lines)
        names = next(reader, None)
        while names is not None:
            line = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as e:
                yield BrokenRow(path.name, line, f"not CSV: {e}")
                continue
            if cells is None:
                return
            if not cells:
                continue
            if len(cells) != len(names):
                yield BrokenRow(path.name, line, f"{len(cells)} cells under {len(names)} headings")
                continue
            yield Row(path.name, line, dict(zip(names, cells, strict=True)))


def _read_parquet(path: Path) -> Iterator[Row | BrokenRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            for batch in file.iter_batches(batch_size=1_024):
                for values in batch.to_pylist():
                    number += 1
                    yield _row(path, number, values)
    except (pa.ArrowException, OSError) as e:
        yield BrokenRow(path.name, number + 1, f"not Parquet, the rest of the file is lost: {type(e).__name__}")


_READERS: Mapping[Format, Callable[[Path], Iterator[Row | BrokenRow]]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "parquet": _read_parquet,
}


def _row(path: Path, line: int, values: object, key: str = "") -> Row | BrokenRow:
    if not isinstance(values, dict):
        return BrokenRow(path.name, line, f"a row must be an object, not {type(values).__name__}")
    return Row(path.name, line, values, key)


def _space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _brief(error: Exception) -> str:
    """What is wrong, without the text that is."""
    match error:
        case json.JSONDecodeError():
            return error.msg
        case UnicodeDecodeError():
            return error.reason
        case RecursionError():
            return "nested too deeply"
        case _:
            return str(error)[:80]
