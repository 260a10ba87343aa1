"""The offline web: a file of `webgym worlds tasks`, whose tasks come whole.

Their ids are what the programmatic verifier knows them by, so they are kept, and nothing is written for them: rubrics,
subjects and children are there already. A child that a model made up would have no verifier.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webgym.errors import ConfigError
from webgym.tasks.dates import is_date_bound
from webgym.tasks.files import read_tasks
from webgym.tasks.record import from_record, split_of
from webgym.tasks.rows import BrokenRow, Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.hub import PREFIX
from webgym.tasks.sources.source import Source
from webgym.types import Task


class OfflineWeb(Source):
    name = "Offline web"
    licence = "Apache-2.0"
    formats = ("parquet", "jsonl")

    def read(self, path: str | Path) -> Iterator[Seed | BrokenRow]:
        """Every task of a file, in either of the forms that the command writes."""
        if isinstance(path, str) and path.startswith(PREFIX):
            raise ConfigError(f"{path}: the offline web is not on the hub; `webgym worlds tasks` writes its file")
        path = Path(path)
        if path.suffix.lower() == ".jsonl":
            return super().read(path)
        return self._whole(path)

    def seed(self, row: Row) -> Seed:
        return self._seed(from_record(row, split=split_of(row.file)), row.file, row.line)

    def _whole(self, path: Path) -> Iterator[Seed | BrokenRow]:
        for number, task in enumerate(read_tasks(path), 1):
            yield task if isinstance(task, BrokenRow) else self._seed(task, path.name, number)

    def _seed(self, task: Task, file: str, line: int) -> Seed:
        return Seed(
            id=task.id,
            source=task.source,
            instruction=task.instruction,
            website=task.website,
            groups=task.groups,
            domain=task.domain,
            subdomain=task.subdomain,
            reference_answer=task.reference_answer,
            parent_id=task.parent_id,
            whole=True,
            evaluation_only=task.split == "test",
            date_bound=is_date_bound(task.instruction),
            file=file,
            line=line,
            licence=self.licence,
        )
