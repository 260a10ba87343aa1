"""Which tasks of a file are meant: one filter, applied to columns or to tasks."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from webgym.tasks.websites import origins_of
from webgym.types import DifficultyBand, Split, Task, Wire

_BANDS: dict[DifficultyBand, tuple[int, int]] = {"easy": (0, 3), "medium": (4, 6), "hard": (7, 2**31 - 1)}


class TaskFilter(Wire):
    """All that is set must hold; of several values of one kind, one. Nothing set means everything."""

    ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    subdomains: tuple[str, ...] = ()
    websites: tuple[str, ...] = Field((), description="Names or addresses; scheme and www. do not matter.")
    split: Split | None = None
    band: DifficultyBand | None = None
    min_difficulty: Annotated[int, Field(ge=0)] | None = None
    max_difficulty: Annotated[int, Field(ge=0)] | None = None
    contains: str = Field("", description="Text of the instruction, whatever its case.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns the filter looks at."""
        looks = {
            **{name: bool(values) for name, values in self._choices().items()},
            "difficulty": any(bound is not None for bound in (self.band, self.min_difficulty, self.max_difficulty)),
            "instruction": bool(self.contains),
        }
        return tuple(name for name, needed in looks.items() if needed)

    def without_text(self) -> TaskFilter:
        """The part of the filter that looks at narrow columns only."""
        return self.model_copy(update={"contains": ""})

    def mask(self, table: pa.Table) -> pa.Array:
        """Which rows of a table with these columns pass."""
        tests = [
            pc.is_in(table.column(name), value_set=_strings(values)) for name, values in self._choices().items() if values
        ]
        if "difficulty" in self.columns:
            low, high = self._bounds()
            difficulty = table.column("difficulty")
            tests += [pc.greater_equal(difficulty, _number(low)), pc.less_equal(difficulty, _number(high))]
        if self.contains:
            tests.append(pc.match_substring(table.column("instruction"), self.contains, ignore_case=True))
        return reduce(pc.and_, tests)

    def matches(self, task: Task) -> bool:
        """Whether one task passes."""
        low, high = self._bounds()
        values = {"id": task.id, "source": task.source, "domain": task.domain, "subdomain": task.subdomain}
        values |= {"website": task.website, "split": task.split}
        return (
            all(not chosen or values[name] in chosen for name, chosen in self._choices().items())
            and low <= task.difficulty <= high
            and self.contains.lower() in task.instruction.lower()
        )

    def _choices(self) -> dict[str, tuple[str, ...]]:
        return {
            "id": self.ids,
            "source": self.sources,
            "domain": self.domains,
            "subdomain": self.subdomains,
            "website": tuple(origin for website in self.websites for origin in origins_of(website)),
            "split": (self.split,) if self.split else (),
        }

    def _bounds(self) -> tuple[int, int]:
        low, high = _BANDS[self.band] if self.band else (0, 2**31 - 1)
        return max(low, self.min_difficulty or 0), high if self.max_difficulty is None else min(high, self.max_difficulty)


# `pa.array` and `pa.scalar` import pandas, if it is there, to ask whether they were given a series: that takes longer than
# many a filter. So a filter's few values become Arrow's by their bytes.


def _strings(values: Sequence[str]) -> pa.StringArray:
    encoded = [value.encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _number(value: int) -> pa.Scalar:
    return pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(array("q", [value]))])[0]
