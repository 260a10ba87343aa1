"""GAIA-Web: the questions of GAIA that need only the web. Gated, so confidential: never to be republished."""

from __future__ import annotations

from webgym.tasks.rows import Misfit, Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source


class GaiaWeb(Source):
    name = "GAIA-Web"
    licence = "gated, not redistributable"
    formats = ("jsonl", "json", "parquet")
    confidential = True

    def seed(self, row: Row) -> Seed:
        if row.maybe("file_name"):
            raise Misfit("needs a file that comes with the question, so it is no task of the web")
        return self.make(
            row,
            row.text("ques", "Question"),
            own_id=row.text("task_id", "id"),
            website=row.maybe("web"),
            reference_answer=row.text("Final answer"),
        )
