"""WebVoyager: questions on fifteen live websites, for evaluation.

Its reference answers lie in a file of their own, `reference_answer.json`, which is read when it lies beside the tasks.
Only answers marked golden are references; a possible answer may have changed and is a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from webgym.tasks.rows import BrokenRow, Row, read_rows
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Reader, Source

ANSWERS = "reference_answer.json"


@dataclass(frozen=True)
class KnownAnswer:
    text: str
    golden: bool


def read_answers(path: Path) -> dict[str, KnownAnswer]:
    """Answers by task id; ids are `<site>--<number>`."""
    answers = {}
    for row in read_rows(path, ("json",)):
        if isinstance(row, BrokenRow):
            continue
        for answer in row.parts("answers"):
            text, number = answer.maybe("ans"), answer.maybe("id")
            if text and number:
                answers[f"{row.key}--{number}"] = KnownAnswer(text, golden=answer.maybe("type") == "golden")
    return answers


class WebVoyager(Source):
    name = "WebVoyager"
    licence = "Apache-2.0"
    formats = ("jsonl", "json", "parquet")
    evaluation_only = True

    def seed(self, row: Row) -> Seed:
        return self._seed({}, row)

    def reader(self, folder: Path | None) -> Reader:
        known = folder is not None and (folder / ANSWERS).is_file()
        return partial(self._seed, read_answers(folder / ANSWERS) if folder is not None and known else {})

    def _seed(self, answers: dict[str, KnownAnswer], row: Row) -> Seed:
        own_id = row.text("id")
        answer = answers.get(own_id)
        return self.make(
            row,
            row.text("ques"),
            own_id=own_id,
            website=row.text("web"),
            hints=(f"A possible answer: {answer.text}",) if answer and not answer.golden else (),
            reference_answer=answer.text if answer and answer.golden else None,
        )
