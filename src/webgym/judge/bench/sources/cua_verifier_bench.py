"""CUAVerifierBench: trajectories of computer-using agents, each labelled by people, as Parquet.

    FOLDER/trajectories/<split>-*.parquet   task_id, instruction, init_url, final_answer, web_surfer_log, screenshots, …
    FOLDER/annotations/<split>-*.parquet    task_id, annotator, human_judgement_outcome, …

The truth is the strict majority of the people who had not seen a verifier's word (`human_judgement_outcome`, Correct or
Incorrect). A tie has no truth: left out. So is a trajectory without screenshots, of which one split has many. An annotation
that cannot be read is a fault, and the truth of its trajectory is then unknown. `<no_answer>` is no answer. Verifiers'
outputs, process labels and labels given after seeing a verifier's are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from webgym.errors import ConfigError
from webgym.judge.bench.importing import Fault, Found, LeftOut, Moment, Record, problems

SPLITS: Final = ("fara7b_om2w_browserbase", "internal")
AGENT: Final = "fara-7b"
NO_ANSWER: Final = "<no_answer>"
Vote = Literal["Correct", "Incorrect"]
T = TypeVar("T", bound=BaseModel)


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)


class _Annotation(_Told):
    task_id: Annotated[str, Field(min_length=1)]
    annotator: Annotated[str, Field(min_length=1)]
    human_judgement_outcome: Vote


class _Picture(_Told):
    bytes: bytes


class _Trajectory(_Told):
    task_id: Annotated[str, Field(min_length=1, max_length=150)]
    instruction: Annotated[str, Field(min_length=1)]
    init_url: str | None
    final_answer: str | None
    web_surfer_log: str | None
    screenshots: list[_Picture] | None
    n_screenshots: int


class _Event(_Told):
    """A line of the log: what was done, with its arguments in the agent's own form."""

    action: str | None = None
    arguments: dict[str, object] = {}
    url: str | None = None


class _Broken(Exception):
    """A part of a record cannot be read."""


class CuaVerifierBench:
    """One split of the set."""

    name = "cua-verifier-bench"
    licence = "MIT"

    def __init__(self, folder: Path, split: str = SPLITS[0]) -> None:
        self._folder, self._split = folder, split

    @property
    def truth(self) -> str:
        return f"people of {self.name} on {self._split}"

    def records(self) -> Iterator[Found]:
        votes: dict[str, dict[str, Vote]] = {}
        unknown: set[str] = set()  # whose truth is unknown: an annotation of theirs is a fault
        for where, row in self._rows("annotations", _Annotation):
            try:
                told = _read(_Annotation, row)
                given = votes.setdefault(told.task_id, {})
                if told.annotator in given:
                    raise _Broken(f"{told.annotator} judges {told.task_id!r} twice")
                given[told.annotator] = told.human_judgement_outcome
            except _Broken as e:
                yield Fault(where, str(e))
                unknown.add(str(row.get("task_id")))
        played: set[str] = set()
        for where, row in self._rows("trajectories", _Trajectory):
            played.add(str(row.get("task_id")))
            try:
                yield _record(where, _read(_Trajectory, row), votes, unknown)
            except _Broken as e:
                yield Fault(where, str(e))
        for task in votes:
            if task not in played:
                yield Fault("annotations", f"{task!r} is annotated and has no trajectory")

    def _rows(self, part: str, kind: type[BaseModel]) -> Iterator[tuple[str, dict[str, object]]]:
        """Rows of a part, one at a time: a trajectory holds all its screenshots."""
        paths = sorted((self._folder / part).glob(f"{self._split}-*.parquet"))
        if not paths:
            raise ConfigError(f"{self._folder / part} has no {self._split}-*.parquet; splits are {' and '.join(SPLITS)}")
        for path in paths:
            try:
                with pq.ParquetFile(path) as file:
                    wanted = list(kind.model_fields)
                    if missing := [name for name in wanted if name not in file.schema_arrow.names]:
                        raise ConfigError(f"{path} has no column {', '.join(missing)}")
                    batches = file.iter_batches(batch_size=1, columns=wanted)
                    for number, batch in enumerate(batches, 1):
                        yield f"{part}/{path.name}, row {number}", batch.to_pylist()[0]
            except (pa.ArrowException, OSError) as e:
                raise ConfigError(f"{path} cannot be read as Parquet: {e}") from e


def _record(where: str, told: _Trajectory, votes: dict[str, dict[str, Vote]], unknown: set[str]) -> Found:
    pictures = [picture.bytes for picture in told.screenshots or ()]
    if len(pictures) != told.n_screenshots:
        raise _Broken(f"says it has {told.n_screenshots} screenshots, and has {len(pictures)}")
    moments = _moments(pictures, _events(told.web_surfer_log or ""))
    if told.task_id in unknown:
        return LeftOut(where, "an annotation of it cannot be read")
    counted = Counter(votes.get(told.task_id, {}).values())
    if not counted:
        return LeftOut(where, "nobody has annotated it")
    if counted["Correct"] == counted["Incorrect"]:
        return LeftOut(where, f"people are divided, {counted['Correct']} to {counted['Incorrect']}")
    if not pictures:
        return LeftOut(where, "it has no screenshots")
    reward: Literal[0, 1] = 1 if counted["Correct"] > counted["Incorrect"] else 0
    answer = told.final_answer if told.final_answer not in (None, "", NO_ANSWER) else None
    why = f"{counted['Correct']} of {counted.total()} people: correct"
    return Record(where, told.task_id, told.instruction, told.init_url or "", AGENT, moments, answer, reward, why)


def _events(log: str) -> list[_Event]:
    found = []
    for number, line in enumerate(log.split("\n"), 1):
        if line.strip():
            try:
                found.append(_Event.model_validate_json(line))
            except ValidationError as e:
                raise _Broken(f"web_surfer_log, line {number}: {problems(e)}") from e
    return found


def _moments(pictures: list[bytes], events: list[_Event]) -> tuple[Moment, ...]:
    moments = []
    for place in range(max(len(pictures), len(events))):
        event = events[place] if place < len(events) else None
        words = msgspec.json.encode(event.arguments or {"action": event.action}).decode() if event is not None else ""
        url = event.url or "" if event is not None else ""
        moments.append(Moment(pictures[place] if place < len(pictures) else None, words, url))
    return tuple(moments)


def _read(kind: type[T], row: dict[str, object]) -> T:
    try:
        return kind.model_validate(row)
    except ValidationError as e:
        raise _Broken(problems(e)) from e
