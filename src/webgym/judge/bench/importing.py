"""Records of outside sets into a labelled run: an episode and what people said of it, or the reason why not.

Invariants. Every record of a source becomes exactly one episode, one fault (the record is not what its set says it is) or
one that is left out (sound, but without a truth or without anything to see); each with the file and the record it stands in.
Nothing is guessed: a record with a part that cannot be read is a fault as a whole.

These sets have no rubric. Each task gets a single fact, which is the task itself, so that a judge that asks for facts has
something to ask; the truth is of the whole episode and tells no facts. Actions of other systems are kept in their own words
as the reply of the step, not translated; the n-th action stands beside the n-th screenshot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import ValidationError

from webgym.errors import ConfigError
from webgym.judge.bench.labelled import TRUTH
from webgym.judge.bench.pictures import Shape, shape_of
from webgym.judge.foreign import foreign_step
from webgym.store import Run
from webgym.store.plan import episode_id
from webgym.types import (
    Answer,
    Answered,
    Episode,
    FactGroup,
    Judgement,
    Provenance,
    Scored,
    Step,
    StepLimit,
    Task,
)

SHOWN: Final = 5  # faults that an error names


@dataclass(frozen=True)
class Moment:
    """What was seen, and what was done then in the words of the source. Either may be missing, not both."""

    picture: bytes | None
    words: str = ""
    url: str = ""


@dataclass(frozen=True)
class Record:
    """One episode of an outside set and what is true of it. `why` says how the truth came about."""

    where: str
    task: str
    instruction: str
    website: str
    agent: str
    moments: tuple[Moment, ...]
    answer: str | None
    reward: Literal[0, 1]
    why: str


@dataclass(frozen=True)
class Fault:
    """A record that is not what its set says it is."""

    where: str
    problem: str


@dataclass(frozen=True)
class LeftOut:
    """A sound record that no judge can be measured on."""

    where: str
    reason: str


Found = Record | Fault | LeftOut


class Source(Protocol):
    """An outside set on this disk."""

    @property
    def name(self) -> str: ...

    @property
    def truth(self) -> str:
        """Whose word is the truth."""
        ...

    @property
    def licence(self) -> str: ...

    def records(self) -> Iterator[Found]:
        """Every record, one at a time. Raises ConfigError if the set as a whole is not there."""
        ...


@dataclass(frozen=True)
class Report:
    """What became of a set."""

    kept: int
    successes: int
    faults: tuple[Fault, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class _Draft:
    """An episode that is sound, its pictures in the store."""

    episode: Episode
    truth: Scored


def import_set(source: Source, folder: Path) -> Report:
    """Bring a set into a new run. Blocks. Raises ConfigError if nothing of it can be used."""
    drafts: dict[str, _Draft] = {}
    faults: list[Fault] = []
    left_out: list[LeftOut] = []
    run: Run | None = None
    try:
        for found in source.records():
            if isinstance(found, Fault):
                faults.append(found)
            elif isinstance(found, LeftOut):
                left_out.append(found)
            elif found.task in drafts:
                faults.append(Fault(found.where, f"task {found.task!r} comes twice"))
            else:
                run = run or Run.create(folder, settings={TRUTH: source.truth, "imported": source.name})
                draft = _drafted(source, run, found)
                if isinstance(draft, Fault):
                    faults.append(draft)
                else:
                    drafts[found.task] = draft
        if run is None or not drafts:
            raise ConfigError(_nothing(source, faults, left_out))
        run.plan(0, [draft.episode.task.id for draft in drafts.values()])
        for draft in drafts.values():
            run.commit(draft.episode)
            run.add_judgement(
                Judgement(episode=draft.episode.id, judge=source.truth, verdict=draft.truth, judged=time.time())
            )
    finally:
        if run is not None:
            run.close()
    return Report(len(drafts), sum(draft.truth.reward for draft in drafts.values()), tuple(faults), tuple(left_out))


def problems(error: ValidationError) -> str:
    """What is wrong with a record, field by field, without repeating what stands there."""
    told = ((".".join(map(str, one["loc"])), one["msg"]) for one in error.errors(include_url=False, include_input=False))
    return "; ".join(f"{name}: {said}" if name else said for name, said in told)


def origin(url: str) -> str:
    """The website of an address; empty if it is none of the web."""
    try:
        parts = urlsplit(url.strip())
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.scheme in ("http", "https") and parts.hostname else ""


def _drafted(source: Source, run: Run, record: Record) -> _Draft | Fault:
    pictures = [moment.picture for moment in record.moments]
    shapes = [None if picture is None else shape_of(picture) for picture in pictures]
    for number, (picture, shape) in enumerate(zip(pictures, shapes, strict=True), 1):
        if picture is not None and shape is None:
            return Fault(record.where, f"screenshot {number} is neither PNG nor JPEG, or is cut short")
    try:
        hashes = [_kept(run, picture, shape) for picture, shape in zip(pictures, shapes, strict=True)]
        episode = _episode(source, run.info.name, record, hashes, next(filter(None, reversed(shapes)), None))
    except ValidationError as e:
        return Fault(record.where, problems(e))
    return _Draft(episode, Scored(reward=record.reward, reason=record.why))


def _kept(run: Run, picture: bytes | None, shape: Shape | None) -> str | None:
    return run.images.put(picture, shape.format) if picture is not None and shape is not None else None


def _episode(source: Source, run: str, record: Record, hashes: Sequence[str | None], shape: Shape | None) -> Episode:
    task = _task(source, record)
    seen = [sha256 for sha256 in hashes if sha256 is not None]
    steps = [
        foreign_step(index, sha256, moment.url, moment.words)
        for index, (moment, sha256) in enumerate(zip(record.moments, hashes, strict=True))
    ]
    last = seen[-1] if seen else None
    url = next((moment.url for moment in reversed(record.moments) if moment.url), record.website)
    if record.answer is not None:
        steps.append(Step(index=len(steps), screenshot=last, url=url, title="", action=Answer(text=record.answer)))
    return Episode(
        id=episode_id(run, 0, task.id),
        run=run,
        iteration=0,
        task=task,
        agent=record.agent,
        width=shape.width if shape is not None else 0,
        height=shape.height if shape is not None else 0,
        steps=tuple(steps),
        final_screenshot=last,
        final_url=url,
        answer=record.answer,
        outcome=Answered() if record.answer is not None else StepLimit(limit=len(steps)),
        started=0.0,
        ended=0.0,
    )


def _task(source: Source, record: Record) -> Task:
    return Task(
        id=f"{source.name}:{record.task}",
        source=source.name,
        instruction=record.instruction,
        website=origin(record.website),
        domain="",
        subdomain="",
        groups=(FactGroup(id=1, description="the whole task", facts=(f"The task is done: {record.instruction}",)),),
        split="test",
        provenance=Provenance(file=record.where, licence=source.licence),
    )


def _nothing(source: Source, faults: Sequence[Fault], left_out: Sequence[LeftOut]) -> str:
    told = [f"{fault.where}: {fault.problem}" for fault in faults[:SHOWN]]
    told += [f"{one.where}: {one.reason}" for one in left_out[: SHOWN - len(told)]]
    listed = "".join(f"\n  {line}" for line in told)
    return f"nothing of {source.name} can be used: {len(faults):,} faults, {len(left_out):,} left out{listed}"
