"""WebGym's own public record: rubrics come with the tasks and are kept.

The children are in the record too, without a word on whose they are: a task that brings its rubric is not taken apart again.
Benchmarks that are evaluation-only or confidential stay so here, and a file or split named test is evaluation-only.
"""

from __future__ import annotations

from collections.abc import Mapping

from webgym.tasks.dates import is_date_bound
from webgym.tasks.record import from_record, split_of
from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source, slug


class WebGym(Source):
    name = "WebGym"
    licence = "CDLA-Permissive-2.0"
    formats = ("jsonl", "json", "parquet")

    def __init__(self, origins: Mapping[str, Source] | None = None) -> None:
        """`origins` are the benchmarks a record may name, by slug."""
        self._origins = dict(origins or {})

    def seed(self, row: Row) -> Seed:
        split = split_of(row.file)
        task = from_record(row, split=split)
        origin = self._origins.get(slug(task.source))
        return Seed(
            id=task.id,
            source=task.source,
            instruction=task.instruction,
            website=task.website,
            groups=task.groups,
            domain=task.domain,
            subdomain=task.subdomain,
            reference_answer=task.reference_answer,
            whole=bool(task.groups),
            evaluation_only=split == "test" or (origin is not None and origin.evaluation_only),
            confidential=origin is not None and origin.confidential,
            date_bound=is_date_bound(task.instruction),
            file=row.file,
            line=row.line,
            licence=self.licence,
        )
