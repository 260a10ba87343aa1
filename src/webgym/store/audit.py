"""Whether a run's folder keeps its promises: every planned episode accounted for once, every file whole.

A *breach* means that a promise was broken, or that bytes were damaged after they were written. *Debris* is what a crash
leaves and the next opening of the run clears away: no reader ever sees it, and it breaks nothing. An audit writes nothing;
`repair` opens the run, which clears the debris, writes records anew that contradict their files, sets aside what is damaged,
and is followed by a second audit. Opening alone reads no file that has a record, so it cannot see that the two disagree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from webgym.errors import Damaged, StoreError
from webgym.store.episodes import images_of
from webgym.store.log import Garbage
from webgym.store.run import Run
from webgym.types import Episode, Outcome

Severity = Literal["breach", "debris"]


@dataclass(frozen=True)
class Finding:
    """Something that should not be so, and what to do about it."""

    severity: Severity
    where: str
    what: str
    remedy: str
    episode: str | None = None


@dataclass
class Report:
    """A run in numbers, and what is wrong with it."""

    planned: int = 0
    committed: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    cancelled: Counter[str] = field(default_factory=Counter)
    unfinished: int = 0
    images: int = 0
    judgements: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def breaches(self) -> list[Finding]:
        return [one for one in self.findings if one.severity == "breach"]

    @property
    def clean(self) -> bool:
        return not self.breaches


RESUME = "resume the rollout: it finishes the plan"
REOPEN = "nothing: the next opening of the run clears it, `webgym audit RUN --repair` does it now"
REWRITE = "`webgym audit RUN --repair` writes the record anew from the file, which is right"
SET_ASIDE = "`webgym audit RUN --repair` sets it aside; the others load"
MISSING = "`webgym audit RUN --repair` counts the episode as failed; the others load"
BY_HAND = "look at it and move it out of the run: the store did not write it"
RESTORE = "restore it from a copy: without it the run cannot be accounted for"


def audit(path: str | Path, *, finished: bool = False, repair: bool = False) -> Report:
    """Check a run. `finished`: an episode without a terminal record is then a breach."""
    if repair:
        with Run.open(path) as run:
            _repair(run, _Audit(run).check(finished=False))
    with Run.open(path, read_only=True) as run:
        return _Audit(run).check(finished=finished)


def _repair(run: Run, report: Report) -> None:
    """Put wrong records right, then set aside the episodes that cannot be trusted; images that are not their name's bytes go
    with them."""
    for finding in report.findings:
        if finding.episode is not None and finding.remedy == REWRITE:
            run.correct(finding.episode)
    for finding in report.findings:
        path = run.path / finding.where
        if finding.remedy == SET_ASIDE and path.is_relative_to(run.path / "images") and path.is_file():
            run.set_aside(path, finding.what)
    for finding in report.findings:
        if finding.episode is not None and finding.remedy in (SET_ASIDE, MISSING):
            run.quarantine(finding.episode, f"{finding.where}: {finding.what}")


class _Audit:
    def __init__(self, run: Run) -> None:
        self._run, self._report = run, Report()
        self._unrecorded: set[str] = set()  # whole files that opening the run writes a record for
        self._bad_images: dict[str, str | None] = {}  # what is wrong with each image looked at; None if nothing

    def check(self, *, finished: bool) -> Report:
        planned = self._plan()
        self._outcomes(planned)
        stored = self._episodes(planned)
        self._stored_records(stored)
        self._missing(planned, finished=finished)
        self._images()
        self._verdicts(planned)
        for path in self._run.disk.leftovers():
            self._debris(path, "left by a writer that died")
        return self._report

    def _plan(self) -> dict[str, int]:
        planned: dict[str, int] = {}
        for iteration in self._run.plans.iterations():
            try:
                for one in self._run.planned(iteration):
                    if one.id in planned:
                        self._breach(self._run.plans.path(iteration), f"plans episode {one.id} a second time", RESTORE)
                    planned[one.id] = one.iteration
            except StoreError as e:
                self._breach(self._run.plans.path(iteration), str(e), RESTORE)
        self._report.planned = len(planned)
        return planned

    def _outcomes(self, planned: dict[str, int]) -> None:
        ledger, where = self._run.ledger, self._run.ledger.log.path
        ledger.refresh()
        if ledger.log.torn():
            self._debris(where, "ends in a torn line")
        for line in ledger.garbage:
            self._breach(where, f"has a line that is no record: {line[:60]!r}", SET_ASIDE)
        for episode in ledger.doubled:
            self._breach(where, f"has two terminal records of episode {episode}; the first counts", BY_HAND)
        for episode, record in ledger.records.items():
            if episode not in planned:
                self._breach(where, f"has a record of episode {episode}, which nobody planned", BY_HAND)
            else:
                self._count(record.outcome, stored=record.stored)

    def _count(self, outcome: Outcome, *, stored: bool) -> None:
        if outcome.kind == "cancelled":
            self._report.cancelled[outcome.reason] += 1
        elif stored and outcome.kind != "infra":
            self._report.committed += 1
        else:
            self._report.failed[outcome.kind] += 1

    def _missing(self, planned: dict[str, int], *, finished: bool) -> None:
        """Episodes that have ended neither by a record nor by a whole file, which wins over a record that was lost."""
        ledger = self._run.ledger
        missing = [one for one in planned if one not in ledger.records and one not in self._unrecorded]
        self._report.unfinished = len(missing)
        for episode in missing if finished else ():
            self._breach(ledger.log.path, f"has no terminal record of episode {episode}", RESUME)

    def _episodes(self, planned: dict[str, int]) -> set[str]:
        """Every episode file, read whole; returns the ids there are."""
        found: set[str] = set()
        records = self._run.ledger.records
        for path in self._run.files.strangers():
            self._breach(path, "is no episode file", BY_HAND)
        for path in self._run.files.paths():
            found.add(path.stem)
            if planned.get(path.stem) != int(path.parent.name):
                self._breach(path, "is an episode nobody planned", BY_HAND)
                continue
            try:
                episode = self._run.files.read(path)
            except Damaged as e:
                self._breach(path, str(e), SET_ASIDE, path.stem)
                continue
            record = records.get(path.stem)
            if record is None:
                self._debris(path, "has no terminal record yet")
                self._unrecorded.add(path.stem)
                self._count(episode.outcome, stored=True)
            elif not record.stored:
                self._breach(path, f"ended {episode.outcome.kind}, its record knows of no file", REOPEN)
            elif record.outcome != episode.outcome:
                self._breach(path, f"ended {episode.outcome.kind}, its record says otherwise", REWRITE, path.stem)
            self._seen(path, episode)
        return found

    def _seen(self, path: Path, episode: Episode) -> None:
        for sha256 in sorted(images_of(episode)):
            if wrong := self._image(sha256):
                self._breach(path, f"refers to image {sha256}: {wrong}", SET_ASIDE, episode.id)

    def _image(self, sha256: str) -> str | None:
        """What is wrong with an image; each is read once."""
        if sha256 not in self._bad_images:
            wrong = None
            try:
                self._run.images.get(sha256)
            except Damaged:
                wrong = "its bytes are damaged"
            except StoreError:
                wrong = "it is not there"
            self._bad_images[sha256] = wrong
        return self._bad_images[sha256]

    def _stored_records(self, stored: set[str]) -> None:
        for episode, record in self._run.ledger.records.items():
            if record.stored and episode not in stored:
                what = f"says episode {episode} is kept, and there is no file"
                self._breach(self._run.ledger.log.path, what, MISSING, episode)

    def _images(self) -> None:
        """Images no episode refers to are checked too: an episode still running may commit them."""
        for path in self._run.images:
            self._report.images += 1
            if self._image(path.stem) is not None:
                self._breach(path, "is not the bytes of its name", SET_ASIDE)

    def _verdicts(self, planned: dict[str, int]) -> None:
        for log in self._run.verdicts.logs():
            if log.torn():
                self._debris(log.path, "ends in a torn line")
            for record in log:
                if isinstance(record, Garbage):
                    self._breach(log.path, f"has a line that is no judgement: {record.line[:60]!r}", SET_ASIDE)
                    continue
                self._report.judgements += 1
                if record.episode not in planned:
                    self._breach(log.path, f"judges episode {record.episode}, which nobody planned", BY_HAND)

    def _breach(self, where: Path, what: str, remedy: str, episode: str | None = None) -> None:
        self._report.findings.append(Finding("breach", self._relative(where), what, remedy, episode))

    def _debris(self, where: Path, what: str) -> None:
        self._report.findings.append(Finding("debris", self._relative(where), what, REOPEN))

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._run.path))
