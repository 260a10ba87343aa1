"""NNetNav: goals a model named after exploring websites; of the open web (`goal`) and of WebArena's (`intent`)."""

from __future__ import annotations

from collections.abc import Mapping

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source
from webgym.tasks.sources.webarena import hosted


class NNetNav(Source):
    name = "NNetNav"
    licence = "Apache-2.0"
    formats = ("json", "jsonl", "parquet")

    def __init__(self, sites: Mapping[str, str] | None = None) -> None:
        self._sites = dict(sites or {})

    def seed(self, row: Row) -> Seed:
        return self.make(row, row.text("goal", "intent"), website=hosted(row.text("start_url"), self._sites))
