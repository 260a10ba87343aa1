"""Websites that refuse automation: how a refusal is noticed, and the list of those who have lately refused.

`looks_blocked` is the cheap test made on every page: what `webgym.refusals` is certain of. It would rather miss a block
than invent one: the judge looks again, also at what is only suspected.

The list is a file of JSON lines, one a refusal, shared by all runs beside it. A line counts for some hours; an older one, or
a line a crash has torn, is passed over. It is never inside a run's folder, which holds only what the store wrote.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from webgym.errors import StoreError
from webgym.refusals import Page, find_refusal, site_of
from webgym.types import Observation, Wire

log = logging.getLogger(__name__)

Blocked = Callable[[Observation], str | None]


def looks_blocked(seen: Observation) -> str | None:
    """Why this page is certainly a refusal; None if it is not, or only may be."""
    found = find_refusal(Page(seen.url, seen.title, seen.status, seen.text or seen.accessibility))
    return found.reason if found is not None and found.strength == "certain" else None


class Refusal(Wire):
    """A website refused automation."""

    website: str
    reason: str
    at: float


class BlockList:
    """Who has refused in the last hours. Calls block on the disk, briefly."""

    def __init__(self, path: Path, *, hours: float = 12.0, clock: Callable[[], float] = time.time) -> None:
        self._path, self._seconds, self._clock = path, hours * 3600, clock
        self._until: dict[str, float] = {}
        for refusal in self._read():
            self._note(refusal)

    def __contains__(self, website: str) -> bool:
        return self._until.get(site_of(website), 0.0) > self._clock()

    def current(self) -> tuple[str, ...]:
        """The websites that are left alone now, each as its host and port."""
        now = self._clock()
        return tuple(sorted(site for site, until in self._until.items() if until > now))

    def add(self, website: str, reason: str, *, at: float | None = None) -> None:
        """`at` is when it refused, if not now: the hours count from then, and may be over."""
        if not (site := site_of(website)):
            return  # it would stand for every task that names no website
        refusal = Refusal(website=site, reason=reason[:300], at=self._clock() if at is None else at)
        self._note(refusal)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                size = os.fstat(handle).st_size
                torn = size and os.pread(handle, 1, size - 1) != b"\n"  # a crash cut the last line short
                os.write(handle, (b"\n" if torn else b"") + refusal.model_dump_json().encode() + b"\n")
            finally:
                os.close(handle)
        except OSError as e:  # the list spares browsers; a run can do without it
            log.warning("%s was not written: %s", self._path, e.strerror)

    def _note(self, refusal: Refusal) -> None:
        if site := site_of(refusal.website):
            self._until[site] = max(self._until.get(site, 0.0), refusal.at + self._seconds)

    def _read(self) -> list[Refusal]:
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as e:
            raise StoreError(f"reading {self._path}: {e.strerror}") from e
        found = []
        for line in filter(None, lines):
            try:
                found.append(Refusal.model_validate_json(line))
            except ValidationError:
                log.warning("%s: a line that is no refusal is passed over", self._path)
        return found
