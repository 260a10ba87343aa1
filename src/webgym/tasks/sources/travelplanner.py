"""TravelPlanner: requests for itineraries.

The facts its sandbox offers (`<split>_ref_info.jsonl`, row by row beside the queries) describe a frozen world, not the
web, so only what they are about becomes a hint.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from webgym.tasks.rows import BrokenRow, Row, read_rows
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Reader, Source

_CONSTRAINTS = ("house rule", "cuisine", "room type", "transportation")


def read_topics(path: Path) -> dict[int, tuple[str, ...]]:
    """What the reference facts of each row are about."""
    return {row.ordinal: tuple(row.values) for row in read_rows(path, ("jsonl",)) if not isinstance(row, BrokenRow)}


class TravelPlanner(Source):
    name = "TravelPlanner"
    licence = "MIT"
    formats = ("jsonl", "csv", "parquet")

    def seed(self, row: Row) -> Seed:
        return self._seed({}, row)

    def reader(self, folder: Path | None) -> Reader:
        topics = {}
        if folder is not None:
            for path in sorted(folder.glob("*_ref_info.jsonl")):
                topics[path.name.removesuffix("_ref_info.jsonl")] = read_topics(path)
        return partial(self._seed, topics)

    def _seed(self, topics: dict[str, dict[int, tuple[str, ...]]], row: Row) -> Seed:
        known = topics.get(Path(row.file).stem.partition("_")[0], {}).get(row.ordinal, ())
        wishes = row.part("local_constraint")
        return self.make(
            row,
            row.text("query"),
            own_id=row.maybe("id", "idx"),
            hints=(
                *(f"Needs: {topic}" for topic in known),
                *(f"Constraint: {name}: {wish}" for name in _CONSTRAINTS if (wish := wishes.maybe(name))),
            ),
        )
