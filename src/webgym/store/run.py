"""A run's folder: what was planned, what became of it, and everything that was seen.

    RUN/run.json                             who this run is and with which settings
    RUN/plan/<iteration>.jsonl               what is to be done
    RUN/episodes/<iteration>/<id>.parquet    what was done, one file each
    RUN/outcomes.jsonl                       how each planned episode ended
    RUN/images/<ab>/<sha256>.jpg, .png       what was seen, each image once
    RUN/verdicts/<judge>/judgements.jsonl    what judges said
    RUN/quarantine/                          what turned out damaged, and why
    RUN/staging/, RUN/lock                   files on their way; held for the moment of a record

Invariants. Every planned episode gets at most one terminal record, and the first wins, also between processes: an episode
file and its record are made under one lock. A reader sees a whole episode or none. After any crash, opening the run is all
the repair it needs: staging files of dead writers go, a torn line goes, and an episode file without a record gets one. If
file and record disagree, the file is right.

Every method blocks on the disk and may be called from any thread: a coroutine calls them with `asyncio.to_thread`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from math import inf
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, Field, JsonValue, ValidationError

from webgym.errors import Damaged, NewerVersion, StoreError
from webgym.store.episodes import Episodes, encode, images_of
from webgym.store.files import Disk
from webgym.store.images import Images
from webgym.store.log import Garbage, Log
from webgym.store.outcomes import EVENTS, Ended, Event, Ledger, Quarantined, Record, Withdrawn
from webgym.store.plan import Plan, Planned, episode_id
from webgym.store.verdicts import Verdicts
from webgym.types import Episode, Judgement, Outcome, Wire

log = logging.getLogger(__name__)

VERSION: Final = 1


class RunInfo(Wire):
    """Who a run is."""

    version: int = VERSION
    name: str = Field(description="Part of every episode's id.")
    created: float = Field(description="Seconds since the epoch.")
    settings: dict[str, JsonValue] = Field({})


class SetAside(Wire):
    """Why something is in quarantine."""

    name: str
    reason: str
    at: float


class _Versioned(BaseModel):
    version: int


class Run:
    """One run on disk. Make it with `create` or `open`; close it, or use it in a `with`."""

    def __init__(self, path: Path, info: RunInfo, disk: Disk, *, read_only: bool, clock: Callable[[], float]) -> None:
        self.path, self.info, self.disk, self.read_only = path, info, disk, read_only
        self.images = Images(path / "images", disk)
        self.files = Episodes(path / "episodes")
        self.verdicts = Verdicts(path / "verdicts", disk)
        self.ledger = Ledger(Log(path / "outcomes.jsonl", disk, EVENTS))
        self.plans = Plan(path / "plan", info.name, disk)
        self._planned: dict[str, int] = {}  # the iteration of each planned episode
        self._clock = clock

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        name: str | None = None,
        settings: Mapping[str, JsonValue] | None = None,
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
    ) -> Self:
        """A new run; its name is the folder's unless given. A folder that is a run already is an error."""
        path = Path(path).absolute()
        disk = disk or Disk(path)
        info = RunInfo(name=name or path.name, created=clock(), settings=dict(settings or {}))
        if not disk.publish(path / "run.json", info.model_dump_json(indent=2).encode() + b"\n"):
            raise StoreError(f"{path} is a run already: open it, or choose another folder")
        return cls(path, info, disk, read_only=False, clock=clock)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
    ) -> Self:
        """A run that exists. Unless it is only read, what a crash left behind is repaired first."""
        path = Path(path).absolute()
        run = cls(path, read_info(path), disk or Disk(path), read_only=read_only, clock=clock)
        if not read_only:
            run.recover()
        return run

    def close(self) -> None:
        self.disk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # plan

    def plan(self, iteration: int, tasks: Iterable[str], *, replicas: int = 1) -> list[Planned]:
        """Plan an iteration, whole and for good: `replicas` attempts at each of these task ids."""
        self._writable()
        return self.plans.write(iteration, tasks, replicas=replicas)

    def planned(self, iteration: int | None = None) -> Iterator[Planned]:
        return self.plans.read(iteration)

    def unfinished(self, iteration: int | None = None) -> Iterator[Planned]:
        """Planned episodes without a terminal record, in the order they were planned."""
        ended = self.outcomes()
        return (one for one in self.planned(iteration) if one.id not in ended)

    # outcomes

    def commit(self, episode: Episode) -> bool:
        """Keep an episode, with its terminal record. False, and nothing kept, if it has ended before."""
        self._writable()
        self._check(episode)
        if self._has_ended(episode.id):
            return False
        data, path = encode(episode), self.files.path(episode.iteration, episode.id)
        self.images.sync(images_of(episode))
        self.disk.folder(path.parent)
        with self.disk.staged(data) as staged, self._alone():
            if self._has_ended(episode.id):
                return False
            if not self.disk.link(staged, path):
                if self._adopt(path):
                    return False
                self.disk.link(staged, path)  # a damaged file had the name and was set aside
            ended = Ended(episode=episode.id, outcome=episode.outcome, stored=True, at=self._clock())
            try:
                # The file is on the disk and says all this: should the line be lost, opening the run writes it again.
                self.ledger.log.append((ended,), durable=False)
            except StoreError as e:
                log.warning("%s is kept, its record will be written when the run is opened next: %s", path.name, e)
                self.ledger.apply(ended)
            return True

    def record(self, episode: str, outcome: Outcome) -> bool:
        """The terminal record of an episode that has no file. False, and nothing done, if it has ended before."""
        self._writable()
        iteration = self._iteration(episode)
        if outcome.kind in ("answered", "step_limit"):
            raise StoreError(f"an episode that ended {outcome.kind!r} has steps: commit it")
        with self._alone():
            if self._has_ended(episode):
                return False
            path = self.files.path(iteration, episode)
            if path.exists() and self._adopt(path):
                return False
            self._append(Ended(episode=episode, outcome=outcome, stored=False, at=self._clock()))
            return True

    def withdraw(self, episode: str, reason: str) -> bool:
        """Take back a record without a file, to attempt the episode again. False if there is none to take back."""
        self._writable()
        with self._alone():
            self.ledger.refresh()
            record = self.ledger.records.get(episode)
            if record is None or record.stored:
                return False
            self._append(Withdrawn(episode=episode, reason=reason, at=self._clock()))
            return True

    def outcomes(self) -> Mapping[str, Record]:
        """The terminal record of every episode that has ended, by episode id, as of now."""
        return self.ledger.snapshot()

    # episodes

    def episodes(self, iteration: int | None = None) -> Iterator[Episode]:
        """Every episode kept, one at a time. A damaged one is put in quarantine, or left out of a run only read."""
        for path in self.files.paths(iteration):
            try:
                yield self.files.read(path)
            except Damaged as e:
                log.warning("left out: %s", e)
                if not self.read_only:
                    self._quarantine(path, str(e))

    def episode(self, episode: str) -> Episode:
        return self.files.read(self.files.path(self._iteration(episode), episode))

    def quarantine(self, episode: str, reason: str) -> None:
        """Set a damaged episode aside, with the reason. It has failed, for good unless withdrawn."""
        self._writable()
        self._quarantine(self.files.path(self._iteration(episode), episode), reason)

    def set_aside(self, path: Path, reason: str) -> None:
        """Move a damaged file of the run to the quarantine folder, with the reason."""
        self._writable()
        with self._alone():
            self._set_aside(path, reason)

    # judgements

    def add_judgement(self, judgement: Judgement) -> None:
        self._writable()
        self._iteration(judgement.episode)
        with self._alone():
            self.verdicts.add(judgement)

    def judgements(self, judge: str | None = None) -> Iterator[Judgement]:
        """Every judgement, of one judge or of all, each judge's in the order they were made; but for those of a file that
        was damaged and then replaced: they are of another attempt."""
        return self._standing(self.verdicts.read(judge))

    def judgements_of(self, episode: str) -> Iterator[Judgement]:
        """The same of one episode, of all judges."""
        return self._standing(self.verdicts.of(episode))

    def _standing(self, judgements: Iterator[Judgement]) -> Iterator[Judgement]:
        self.ledger.refresh()
        begun = self.ledger.begun_anew
        return (one for one in judgements if one.judged > begun.get(one.episode, -inf))

    def latest_judgements(self, judge: str, among: Iterable[str] | None = None) -> dict[str, Judgement]:
        """What a judge said last of each episode, or of these: a run may hold many more than one wants in memory."""
        wanted = None if among is None else frozenset(among)
        return {one.episode: one for one in self.judgements(judge) if wanted is None or one.episode in wanted}

    def free_space(self) -> int:
        """Bytes that may still be written: an engine stops admitting episodes when this gets small."""
        return self.disk.free_space()

    # repair

    def recover(self) -> None:
        """Put right what a crash can leave: nothing here needs a person."""
        self._writable()
        self.disk.sweep()
        with self._alone():
            self._clean(self.ledger.log)
            for judge in self.verdicts.logs():
                self._clean(judge)
            self.ledger.refresh()
            for path in self.files.paths():
                record = self.ledger.records.get(path.stem)
                if record is not None and record.quarantined:
                    self._set_aside(path, "its quarantine was cut short")
                elif record is None or not record.stored:
                    self._adopt(path)

    def correct(self, episode: str) -> None:
        """Write a kept episode's record anew from its file: where the two disagree, the file is right."""
        self._writable()
        path = self.files.path(self._iteration(episode), episode)
        with self._alone():
            self.ledger.refresh()
            if path.exists():
                self._adopt(path)

    def _adopt(self, path: Path) -> bool:
        """Write the record that an episode file stands for, in place of any other; a damaged file is set aside. The caller
        holds the lock."""
        try:
            episode = self.files.read(path)
        except Damaged as e:
            self._set_aside(path, str(e))
            return False
        if episode.id in self.ledger.records:
            self._append(Withdrawn(episode=episode.id, reason="there is an episode file", at=self._clock()))
        self._append(Ended(episode=episode.id, outcome=episode.outcome, stored=True, at=self._clock()))
        return True

    def _clean(self, records: Log[Any]) -> None:
        """Cut off a torn line; set aside the lines that are no records."""
        records.mend()
        garbage = [record.line for record in records if isinstance(record, Garbage)]
        if garbage:
            where = records.path.relative_to(self.path)
            place = self._note_reason("-".join(where.parts[-2:]), f"{where}: {len(garbage)} lines that are no records")
            self.disk.publish(place, b"".join(line + b"\n" for line in garbage))
            records.purge()

    def _quarantine(self, path: Path, reason: str) -> None:
        with self._alone():
            if self._is_planned(path.stem):  # the record first: after a crash in between, opening the run moves the file
                self._append(Quarantined(episode=path.stem, reason=reason, at=self._clock()))
            if path.exists():
                self._set_aside(path, reason)

    def _set_aside(self, path: Path, reason: str) -> None:
        log.warning("in quarantine: %s", reason)
        moved = self._note_reason(path.name, reason)
        self.disk.move(path, moved)

    def _note_reason(self, name: str, reason: str) -> Path:
        """Write why something is about to come to quarantine; returns its place there. The caller holds the lock."""
        folder, number = self.path / "quarantine", 0
        place = folder / name
        while place.exists():
            number += 1
            place = folder / f"{number}-{name}"
        note = SetAside(name=name, reason=reason, at=self._clock())
        self.disk.replace(place.with_name(f"{place.name}.reason.json"), note.model_dump_json().encode() + b"\n")
        return place

    # small print

    def _alone(self) -> AbstractContextManager[None]:
        return self.disk.alone(self.path / "lock")

    def _append(self, event: Event) -> None:
        self.ledger.log.append((event,), durable=True)
        self.ledger.refresh()

    def _has_ended(self, episode: str) -> bool:
        self.ledger.refresh()
        return episode in self.ledger.records

    def _is_planned(self, episode: str) -> bool:
        if episode not in self._planned:  # another process may have planned it since
            self._planned = {one.id: one.iteration for one in self.planned()}
        return episode in self._planned

    def _iteration(self, episode: str) -> int:
        if not self._is_planned(episode):
            raise StoreError(f"episode {episode} is not in the plan of {self.info.name!r}")
        return self._planned[episode]

    def _check(self, episode: Episode) -> None:
        wanted = episode_id(self.info.name, episode.iteration, episode.task.id, episode.replica)
        if (episode.run, episode.id) != (self.info.name, wanted):
            raise StoreError(f"episode {episode.id} of run {episode.run!r} should be {wanted} of {self.info.name!r}")
        self._iteration(episode.id)

    def _writable(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.path} was opened to be read only")


def read_info(path: Path) -> RunInfo:
    """Who the run in a folder is."""
    file = path / "run.json"
    try:
        data = file.read_bytes()
    except FileNotFoundError as e:
        raise StoreError(f"{path} is no run: it has no run.json") from e
    except OSError as e:
        raise StoreError(f"reading {file}: {e.strerror}") from e
    try:
        version = _Versioned.model_validate_json(data).version
        if version > VERSION:
            raise NewerVersion(f"{path} is a run of version {version}; this reads up to {VERSION}: use a later WebGym")
        return RunInfo.model_validate_json(data)
    except ValidationError as e:
        raise Damaged(f"{file} does not say which run this is") from e
