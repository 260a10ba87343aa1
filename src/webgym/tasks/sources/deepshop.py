"""DeepShop: shopping queries with the attributes, filters and orders they were built from."""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source


class DeepShop(Source):
    name = "DeepShop"
    licence = "MIT"
    formats = ("jsonl", "json", "csv", "parquet")

    def seed(self, row: Row) -> Seed:
        parts = (
            (name, row.texts(name) or tuple(filter(None, [row.maybe(name)]))) for name in ("attribute", "filter", "sort")
        )
        return self.make(
            row,
            row.text("ques"),
            own_id=row.maybe("id"),
            website=row.text("web"),
            hints=tuple(f"{name.capitalize()}: {', '.join(values)}" for name, values in parts if values),
        )
