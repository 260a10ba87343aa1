"""PAE-WebVoyager: tasks a model proposed on WebVoyager's websites, for training, in WebVoyager's record.

Their ids are not kept: only site and words tell tasks apart.
"""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source


class PaeWebVoyager(Source):
    name = "PAE-WebVoyager"
    licence = "unstated"
    formats = ("jsonl", "json", "parquet")

    def seed(self, row: Row) -> Seed:
        return self.make(row, row.text("ques"), website=row.text("web"))
