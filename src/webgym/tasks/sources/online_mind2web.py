"""Online-Mind2Web: 300 tasks on live websites, for evaluation only."""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source


class OnlineMind2Web(Source):
    name = "Online-Mind2Web"
    licence = "CC-BY-4.0"
    formats = ("json", "jsonl", "parquet")
    evaluation_only = True

    def seed(self, row: Row) -> Seed:
        return self.make(row, row.text("confirmed_task"), own_id=row.text("task_id"), website=row.text("website"))
