"""What a source of tasks is: it turns rows of a benchmark's files into seeds.

Invariants: a row gives one seed or one `BrokenRow`; nothing a file can hold raises; the same row always gets the same id;
the text of a confidential source appears in no message and no repr.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from webgym.tasks.dates import is_date_bound
from webgym.tasks.rows import BrokenRow, Format, Misfit, Row, read_rows
from webgym.tasks.seed import Seed
from webgym.tasks.sources.hub import PREFIX, HubName, read_hub
from webgym.tasks.websites import canonical_origin
from webgym.types import FactGroup

Reader = Callable[[Row], Seed]


class Source(ABC):
    """One benchmark. A new one sets the names below, writes `seed`, and is listed in `sources/__init__.py`."""

    name: ClassVar[str]
    licence: ClassVar[str]
    formats: ClassVar[tuple[Format, ...]] = ("jsonl", "json", "parquet")
    evaluation_only: ClassVar[bool] = False
    confidential: ClassVar[bool] = False

    @abstractmethod
    def seed(self, row: Row) -> Seed:
        """The seed of a row; raises Misfit (or lets pydantic refuse) when the row is not one."""

    def reader(self, folder: Path | None) -> Reader:
        """`seed`, or a version of it that also knows the files lying beside the rows."""
        return self.seed

    def read(self, path: str | Path) -> Iterator[Seed | BrokenRow]:
        """Every row of a local file, or of a dataset of the hub (`hf:owner/name`)."""
        if isinstance(path, str) and path.startswith(PREFIX):
            return self._seeds(read_hub(HubName.parse(path)), self.reader(None))
        path = Path(path)
        return self._seeds(read_rows(path, self.formats), self.reader(path.parent))

    def _seeds(self, rows: Iterator[Row | BrokenRow], seed: Reader) -> Iterator[Seed | BrokenRow]:
        for row in rows:
            if isinstance(row, BrokenRow):
                yield row
                continue
            try:
                yield seed(row)
            except Misfit as e:
                yield BrokenRow(row.file, row.line, str(e))
            except ValidationError as e:
                yield BrokenRow(row.file, row.line, _said(e))

    def make(
        self,
        row: Row,
        instruction: str,
        *,
        own_id: str = "",
        website: str = "",
        hints: tuple[str, ...] = (),
        groups: tuple[FactGroup, ...] = (),
        reference_answer: str | None = None,
    ) -> Seed:
        """A seed of this source. Without an id of its own, a task is known by its website and words."""
        origin = canonical_origin(website)
        start = _start_page(website, origin)
        return Seed(
            id=f"{slug(self.name)}/{own_id or digest(origin, instruction)}",
            source=self.name,
            instruction=instruction,
            website=origin,
            hints=(f"Starts at {start}", *hints) if start else hints,
            groups=groups,
            reference_answer=reference_answer or None,
            evaluation_only=self.evaluation_only,
            confidential=self.confidential,
            date_bound=is_date_bound(instruction),
            file=row.file,
            line=row.line,
            licence=self.licence,
        )


def slug(name: str) -> str:
    """A source's name as ids carry it: `InSTA-v3` is `insta-v3`."""
    return name.lower().replace(" ", "-")


def digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _start_page(website: str, origin: str) -> str:
    """The address a source starts at, if it says more than the origin does."""
    if not origin or "://" not in website:
        return ""
    parts = urlsplit(website)
    return website if parts.path.strip("/") or parts.query else ""


def _said(error: ValidationError) -> str:
    """What pydantic minds, without the text it minds."""
    return "; ".join(
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    )
