"""Arrow arrays of Python values, for columns whose type is known.

`pa.array` looks at each value to find out what it is, and its first call imports pandas wherever that is installed, which
takes longer than to keep a hundred episodes. A layout knows its type, and puts the values into the bytes Arrow wants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa


class Layout(ABC):
    """How values of one type lie in an array."""

    kind: pa.DataType

    def array(self, values: Sequence[Any]) -> pa.Array:
        """The values in a row; None is null."""
        known = [value is not None for value in values]
        nulls = None if all(known) else _bits(known)
        buffers, children = self._lay_out(values)
        return pa.Array.from_buffers(self.kind, len(values), [nulls, *buffers], children=children)

    @abstractmethod
    def _lay_out(self, values: Sequence[Any]) -> tuple[list[pa.Buffer], list[pa.Array]]: ...


class Text(Layout):
    kind = pa.string()

    def _lay_out(self, values: Sequence[str | None]) -> tuple[list[pa.Buffer], list[pa.Array]]:
        encoded = [b"" if value is None else value.encode() for value in values]
        return [_offsets(encoded), pa.py_buffer(b"".join(encoded))], []


class Flag(Layout):
    kind = pa.bool_()

    def _lay_out(self, values: Sequence[bool | None]) -> tuple[list[pa.Buffer], list[pa.Array]]:
        return [_bits(values)], []


class Whole(Layout):
    kind = pa.int64()

    def _lay_out(self, values: Sequence[int | None]) -> tuple[list[pa.Buffer], list[pa.Array]]:
        return [pa.py_buffer(array("q", [0 if value is None else value for value in values]))], []


class Real(Layout):
    kind = pa.float64()

    def _lay_out(self, values: Sequence[float | None]) -> tuple[list[pa.Buffer], list[pa.Array]]:
        return [pa.py_buffer(array("d", [0.0 if value is None else value for value in values]))], []


class Row(Layout):
    """Any number of values, each of the same layout."""

    def __init__(self, element: Layout) -> None:
        self.kind, self._element = pa.list_(pa.field("element", element.kind)), element

    def _lay_out(self, values: Sequence[Sequence[Any] | None]) -> tuple[list[pa.Buffer], list[pa.Array]]:
        rows = [value or () for value in values]
        return [_offsets(rows)], [self._element.array(list(chain.from_iterable(rows)))]


class Record(Layout):
    """Objects with attributes. One that an object does not have is null."""

    def __init__(self, **fields: Layout) -> None:
        self.kind = pa.struct([(name, layout.kind) for name, layout in fields.items()])
        self._fields = fields

    def _lay_out(self, values: Sequence[object]) -> tuple[list[pa.Buffer], list[pa.Array]]:
        found = [{} if value is None else vars(value) for value in values]
        return [], [layout.array([one.get(name) for one in found]) for name, layout in self._fields.items()]


def _offsets(values: Sequence[Sequence[Any]]) -> pa.Buffer:
    """Where each one begins, and the last one ends."""
    return pa.py_buffer(array("i", accumulate(map(len, values), initial=0)))


def _bits(flags: Sequence[bool | None]) -> pa.Buffer:
    """A bit each, the first one lowest."""
    number = int("".join(["1" if flag else "0" for flag in reversed(flags)]) or "0", 2)
    return pa.py_buffer(number.to_bytes((len(flags) + 7) // 8, "little"))
