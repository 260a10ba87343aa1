"""Mind2Web: people's tasks on 73 websites with the actions they took. Websites are named without their ending."""

from __future__ import annotations

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source

# All others end in .com.
_WHOLE_NAMES = frozenset({"last.fm", "new.mta.info", "nps.gov"})
_ENDINGS = {"nyc": "nyc.gov"}
_MOST_STEPS = 40


class Mind2Web(Source):
    name = "Mind2Web"
    licence = "CC-BY-4.0"
    formats = ("json", "jsonl", "parquet")

    def seed(self, row: Row) -> Seed:
        website = row.text("website").lower()
        return self.make(
            row,
            row.text("task", "confirmed_task"),
            own_id=row.maybe("annotation_id"),
            website=website if website in _WHOLE_NAMES else _ENDINGS.get(website, f"{website}.com"),
            hints=tuple(f"Step: {step}" for step in _steps(row)[:_MOST_STEPS]),
        )


def _steps(row: Row) -> tuple[str, ...]:
    actions = row.values.get("actions")
    if not isinstance(actions, list):
        return row.texts("action_reprs")
    return tuple(" ".join(filter(None, map(str, action))) for action in actions if isinstance(action, list))
