"""A run's folder, read for people: a line an episode, the whole of one, its images. Nothing is ever written.

The index holds a small line for every episode, whatever the run's size, and is brought up to date a little at a time: plan
and outcomes are read as they grow, an episode's file once, when its turn comes. Episodes themselves, and
what judges wrote of them, are read when somebody asks and are not kept.

Invariants: a reward is shown only of an episode that is done, and only if it was given for the file that is there: what was
said of a damaged file is void once the episode is attempted again. An image is served only if its bytes are those of its
name and those of a JPEG or PNG. A link that leads out of the folder, or a file that is something else, is not there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256 as hash_of
from math import inf
from pathlib import Path
from sys import intern
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from webgym.errors import StoreError
from webgym.store import Record, Run
from webgym.store.log import Garbage, Log
from webgym.types import Episode, Judgement, Wire
from webgym.ui import words
from webgym.ui.view import Cell, Detail, Doing, Ruling

PAGE: Final = 50
BIGGEST_IMAGE: Final = 32 * 1024 * 1024
LABEL: Final = 160
_SIGNATURES: Final = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"))
_JUDGEMENTS: Final[TypeAdapter[Judgement]] = TypeAdapter(Judgement)


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode in the index. What only its file tells is empty until that was read."""

    id: str
    iteration: int
    task: str
    replica: int
    doing: Doing = "planned"
    outcome: str = "unfinished"
    why: str = ""
    at: float = 0.0
    stored: bool = False
    reward: int | None = None
    read: bool = False
    instruction: str = ""
    website: str = ""
    agent: str = ""
    steps: int = 0
    seconds: float = 0.0

    def cell(self) -> Cell:
        return Cell(
            self.id, words.cut(self.instruction or self.task, LABEL), self.doing, self.steps, 0, self.reward, self.why
        )


class Score(NamedTuple):
    """What the index keeps of a judgement."""

    judged: float
    reward: int | None


class Asked(Wire):
    """Which episodes to list; empty: any. Pages begin at 1."""

    outcome: Literal["answered", "step_limit", "blocked", "site_error", "infra", "cancelled", "unfinished", ""] = ""
    reward: Literal["1", "0", "none", ""] = ""
    website: Annotated[str, Field(max_length=200)] = ""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Line(Wire):
    """A row of the episode list."""

    id: str
    iteration: int
    task: str
    replica: int
    doing: Doing
    outcome: str
    why: str
    reward: int | None
    instruction: str
    website: str
    steps: int
    seconds: float
    stored: bool


class Page(Wire):
    """One page of the episode list. `unread` episodes have files that the index has not come to yet."""

    page: int
    pages: int
    found: int
    total: int
    unread: int
    lines: tuple[Line, ...]


class Archive:
    """Every method but the properties blocks on the disk; any thread may call them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.version = 0  # grows with every change of the index
        self._entries: dict[str, Entry] = {}
        self._planned: set[int] = set()
        self._records: dict[str, Record] = {}
        self._judges: dict[Path, Log[Judgement]] = {}
        self._scores: dict[str, dict[str, Score]] = {}  # by episode and judge: what judges wrote is read when asked for
        self._unread: dict[str, None] = {}
        self._lock = threading.Lock()

    @property
    def entries(self) -> list[Entry]:
        """The index as it stands, in the order of the plan."""
        return list(self._entries.values())

    def refresh(self, seconds: float) -> None:
        """Take in what the folder has gained; read episode files for about so long."""
        with self._lock:
            for iteration in self.run.plans.iterations():
                if iteration not in self._planned:
                    for one in self.run.planned(iteration):
                        self._put(Entry(one.id, one.iteration, one.task, one.replica))
                    self._planned.add(iteration)
            self._take_outcomes()
            self._take_judgements()
            until = time.monotonic() + seconds
            while self._unread and time.monotonic() < until:
                self._read(next(iter(self._unread)))

    def page(self, asked: Asked) -> Page:
        """The episodes that fit, a page of them; one past the end is the last."""
        self.refresh(1.0)
        with self._lock:
            fitting = [one for one in self._entries.values() if _fits(one, asked)]
            pages = max(1, -(-len(fitting) // PAGE))
            page = min(asked.page, pages)
            return Page(
                page=page,
                pages=pages,
                found=len(fitting),
                total=len(self._entries),
                unread=len(self._unread),
                lines=tuple(_line(one) for one in fitting[(page - 1) * PAGE : page * PAGE]),
            )

    def detail(self, episode: str) -> Detail | None:
        """An episode of the plan: all of it if it is kept, else what is known."""
        self.refresh(0)
        entry = self._entries.get(episode)
        if entry is None:
            return None
        last = {one.judge: one for one in self.run.judgements_of(episode)}
        rulings = tuple(map(_ruling, sorted(last.values(), key=lambda one: one.judged)))
        if entry.stored:
            try:
                return _whole(self.run.episode(episode), entry, rulings)
            except StoreError as e:
                entry = replace(entry, doing="failed", why=words.cut(str(e), words.LONGEST_TEXT))
        return Detail(id=episode, task=entry.task, doing=entry.doing, why=entry.why, rulings=rulings)

    def image(self, sha256: str) -> tuple[bytes, str] | None:
        """An image's bytes and type; None if there is no such image."""
        try:
            path = self.run.images.path(sha256)
            folder = (self.run.path / "images").resolve()
            if not path.resolve().is_relative_to(folder):
                return None
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                data = file.read(BIGGEST_IMAGE + 1)
        except (StoreError, OSError):
            return None
        media = next((media for start, media in _SIGNATURES if data.startswith(start)), None)
        if media is None or len(data) > BIGGEST_IMAGE or hash_of(data).hexdigest() != sha256:
            return None
        return data, media

    def _take_outcomes(self) -> None:
        records = dict(self.run.outcomes())
        for episode, record in records.items():
            before = self._records.get(episode)
            if before is not record and before != record and (entry := self._entries.get(episode)) is not None:
                doing, why = words.of_outcome(record.outcome)
                self._put(
                    replace(entry, doing=doing, why=why, outcome=record.outcome.kind, at=record.at, stored=record.stored)
                )
                if record.stored:
                    self._unread[episode] = None
                else:
                    self._unread.pop(episode, None)
        for episode in self._records.keys() - records.keys():  # withdrawn, to be done again
            if (entry := self._entries.get(episode)) is not None:
                self._unread.pop(episode, None)
                self._put(Entry(entry.id, entry.iteration, entry.task, entry.replica))
        self._records = {one: record for one, record in records.items() if one in self._entries}

    def _take_judgements(self) -> None:
        for episode, judgement in self._new_judgements():
            self._scores.setdefault(episode, {})[intern(judgement.judge)] = Score(judgement.judged, _rewarded(judgement))
            if (entry := self._entries.get(episode)) is not None:
                self._put(entry)

    def _reward(self, episode: str) -> int | None:
        """Of the judge who scored it last, by the clock: folders are read in any order, and one who failed said nothing."""
        begun = self.run.ledger.begun_anew.get(episode, -inf)
        given = self._scores.get(episode, {}).values()
        scores = [(one.judged, one.reward) for one in given if one.reward is not None and one.judged > begun]
        return max(scores)[1] if scores else None

    def _new_judgements(self) -> Iterator[tuple[str, Judgement]]:
        for found in self.run.verdicts.logs():
            log = self._judges.setdefault(found.path, Log(found.path, self.run.disk, _JUDGEMENTS))
            for record in log.added().records:
                if not isinstance(record, Garbage):
                    yield record.episode, record

    def _read(self, episode: str) -> None:
        del self._unread[episode]
        entry = self._entries[episode]
        try:
            whole = self.run.episode(episode)
        except StoreError as e:
            self._put(replace(entry, read=True, doing="failed", why=words.cut(str(e), words.LONGEST_TEXT)))
            return
        self._put(
            replace(
                entry,
                read=True,
                instruction=words.cut(whole.task.instruction, LABEL),
                website=words.cut(whole.task.website, LABEL),
                agent=words.cut(whole.agent, LABEL),
                steps=len(whole.steps),
                seconds=max(0.0, whole.ended - whole.started),
            )
        )

    def _put(self, entry: Entry) -> None:
        reward = self._reward(entry.id) if entry.doing == "done" else None
        self._entries[entry.id] = replace(entry, reward=reward)
        self.version += 1


def _fits(entry: Entry, asked: Asked) -> bool:
    if asked.outcome and entry.outcome != asked.outcome:
        return False
    if asked.reward and (str(entry.reward) if entry.reward is not None else "none") != asked.reward:
        return False
    return asked.website.lower() in entry.website.lower()


def _line(entry: Entry) -> Line:
    return Line(
        id=entry.id,
        iteration=entry.iteration,
        task=entry.task,
        replica=entry.replica,
        doing=entry.doing,
        outcome=entry.outcome,
        why=entry.why,
        reward=entry.reward,
        instruction=entry.instruction,
        website=entry.website,
        steps=entry.steps,
        seconds=entry.seconds,
        stored=entry.stored,
    )


def _rewarded(judgement: Judgement) -> int | None:
    return judgement.verdict.reward if judgement.verdict.kind == "scored" else None


def _ruling(judgement: Judgement) -> Ruling:
    verdict = judgement.verdict
    return Ruling(
        judge=judgement.judge,
        reward=_rewarded(judgement),
        reason=verdict.reason,
        facts=verdict.facts if verdict.kind == "scored" else (),
    )


def _whole(episode: Episode, entry: Entry, rulings: tuple[Ruling, ...]) -> Detail:
    return Detail(
        id=episode.id,
        task=episode.task.id,
        instruction=episode.task.instruction,
        website=episode.task.website,
        groups=episode.task.groups,
        agent=episode.agent,
        doing=entry.doing,
        why=entry.why,
        step=len(episode.steps),
        width=episode.width,
        height=episode.height,
        steps=tuple(words.of_step(step) for step in episode.steps),
        screenshot=episode.final_screenshot,
        url=words.cut(episode.final_url, words.LONGEST_ADDRESS),
        answer=episode.answer,
        seconds=max(0.0, episode.ended - episode.started),
        rulings=rulings,
    )
