"""WebVoyager: questions on fifteen live websites, for evaluation.

Its reference answers lie in a file of their own, `reference_answer.json`, which is read when it lies beside the tasks.
Only answers marked golden are references; a possible answer may have changed and is a hint. An edition that asks something
else under an old id gets no old answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from webgym.tasks.rows import BrokenRow, Row, read_rows
from webgym.tasks.seed import Seed
from webgym.tasks.sources.source import Reader, Source, digest

ANSWERS = "reference_answer.json"
QUESTIONS = "WebVoyager_data.jsonl"


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


def _asked(path: Path) -> dict[str, str]:
    rows = read_rows(path, ("jsonl",)) if path.is_file() else ()
    return {row.maybe("id"): row.maybe("ques") for row in rows if isinstance(row, Row)}


class WebVoyager(Source):
    name = "WebVoyager"
    licence = "Apache-2.0"
    formats = ("jsonl", "json", "parquet")
    evaluation_only = True

    def seed(self, row: Row) -> Seed:
        return self._seed({}, {}, row)

    def reader(self, folder: Path | None) -> Reader:
        if folder is None or not (folder / ANSWERS).is_file():
            return self.seed
        return partial(self._seed, read_answers(folder / ANSWERS), _asked(folder / QUESTIONS))

    def _seed(self, answers: dict[str, KnownAnswer], asked: dict[str, str], row: Row) -> Seed:
        own_id, question = row.text("id"), row.text("ques")
        answer = answers.get(own_id) if asked.get(own_id, question) == question else None
        return self.make(
            row,
            question,
            # Later editions ask something else under the same id.
            own_id=f"{own_id}-{digest(question)[:6]}",
            website=row.text("web"),
            hints=(f"A possible answer: {answer.text}",) if answer and not answer.golden else (),
            reference_answer=answer.text if answer and answer.golden else None,
        )
