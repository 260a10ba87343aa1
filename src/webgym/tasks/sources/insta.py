"""InSTA-v3: model-written tasks over the open web, with the steps and criteria its authors' model proposed."""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source


class Insta(Source):
    name = "InSTA-v3"
    licence = "MIT"
    formats = ("jsonl", "parquet")

    def seed(self, row: Row) -> Seed:
        steps = (f"Step: {step}" for step in row.texts("steps"))
        criteria = (f"Criterion: {criterion}" for criterion in row.texts("criteria"))
        return self.make(row, row.text("instruction"), website=row.text("website"), hints=(*steps, *criteria))
