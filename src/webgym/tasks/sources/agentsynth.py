"""AgentSynth-Web: tasks a model composed by chaining short ones on a website; recorded actions come with them."""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source


class AgentSynth(Source):
    name = "AgentSynth-Web"
    licence = "Apache-2.0"
    formats = ("jsonl", "json", "parquet")

    def seed(self, row: Row) -> Seed:
        # The recorded answers are a model's, not references: they say nothing a rubric should trust.
        return self.make(row, row.text("task"), website=row.text("website"))
