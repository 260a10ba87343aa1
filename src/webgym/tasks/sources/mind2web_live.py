"""Mind2Web-Live: tasks on live websites with checkpoints along the way.

The public files overlap, and the same task carries a different index in each: a task is known by its words. The website is
that of the first checkpoint; checkpoints become hints where they say something a person can check.
"""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source, digest
from webgym.tasks.websites import canonical_origin


class Mind2WebLive(Source):
    name = "Mind2Web-Live"
    licence = "MIT"
    formats = ("json", "jsonl", "parquet")

    def seed(self, row: Row) -> Seed:
        task, checkpoints = row.text("task"), row.parts("evaluation")
        addresses = (checkpoint.part("content").maybe("url") for checkpoint in checkpoints)
        website = next((origin for address in addresses if (origin := canonical_origin(address))), "")
        return self.make(
            row,
            task,
            own_id=digest(task),
            website=website,
            hints=tuple(filter(None, map(_hint, checkpoints))),
        )


def _hint(checkpoint: Row) -> str:
    content = checkpoint.part("content")
    expected, key = content.maybe("reference_answer"), content.maybe("key")
    if not expected:
        return ""
    match checkpoint.maybe("match_function_name"):
        case "url_included_match":
            return f"Checkpoint: the address contains {expected}"
        case "url_exactly_match":
            return f"Checkpoint: the address has {key}={expected}" if key else f"Checkpoint: the address is {expected}"
        case "url_semantic_match" | "element_value_semantic_match":
            return f"Checkpoint: {expected}"
        case "element_value_exactly_match":
            return f"Checkpoint: a field holds {expected}"
        case _:  # The path of an element means nothing to a reader.
            return ""
