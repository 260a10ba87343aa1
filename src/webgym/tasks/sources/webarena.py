"""WebArena, its Lite and Verified editions, and VisualWebArena, as imports for evaluation.

Their websites are hosted by whoever runs them, and their files say `__SHOPPING__` instead of an address. A placeholder
becomes `http://shopping.webarena.localhost` unless `sites` maps it to an address, as in
`WebArena({"SHOPPING": "http://10.0.0.5:7770"})`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from webgym.tasks.rows import Row
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Source, digest

_PLACEHOLDER = re.compile(r"__([A-Z_]+?)__")


class WebArena(Source):
    name = "WebArena"
    licence = "Apache-2.0"
    formats = ("json", "jsonl", "parquet")
    evaluation_only = True

    def __init__(self, sites: Mapping[str, str] | None = None) -> None:
        self._sites = dict(sites or {})

    def seed(self, row: Row) -> Seed:
        edition = "verified" if "start_urls" in row.values else "lite" if "old_task_id" in row.values else ""
        number = row.text("task_id")
        return self._made(row, f"{edition}-{number}" if edition else number)

    def _made(self, row: Row, own_id: str) -> Seed:
        starts = row.texts("start_urls") or tuple(row.text("start_url").split(" |AND| "))
        first, *others = (hosted(start, self._sites) for start in starts)
        return self.make(
            row,
            hosted(row.text("intent"), self._sites),
            own_id=own_id,
            website=first,
            hints=(*(f"Also open: {other}" for other in others), *_images(row)),
            reference_answer=_answer(row),
        )


class VisualWebArena(WebArena):
    """The same record; task numbers start again in each file, and many tasks come with pictures."""

    name = "VisualWebArena"
    licence = "MIT"

    def seed(self, row: Row) -> Seed:
        number = row.text("task_id")
        return self._made(row, f"{digest(row.text('start_url'), row.text('intent'), *_images(row))[:8]}-{number}")


def hosted(text: str, sites: Mapping[str, str]) -> str:
    """A text with addresses instead of placeholders."""

    def address(found: re.Match[str]) -> str:
        name = found[1]
        default = f"http://{name.lower().replace('_', '-')}.webarena.localhost"
        return sites.get(name, default).rstrip("/")

    return _PLACEHOLDER.sub(address, text)


def _images(row: Row) -> tuple[str, ...]:
    return tuple(f"Picture: {image}" for image in row.texts("image"))


def _answer(row: Row) -> str | None:
    """The answer in words: annotated, exact, or retrieved. Programs that look at the page have none."""
    checks = row.part("eval")
    expected = checks.part("reference_answers")
    retrieved = (check.part("expected") for check in row.parts("eval"))
    return (
        checks.maybe("reference_answer_raw_annotation")
        or expected.maybe("exact_match")
        or "; ".join((*expected.texts("must_include"), *expected.texts("fuzzy_match")))
        or "; ".join(text for one in retrieved for text in one.texts("retrieved_data"))
        or None
    )
