"""An append-only file of JSON lines that several processes may write.

Appends are made one at a time, under a lock the caller holds. A line torn by a crash or a full disk is cut off before the
next one is written, so it never spoils its neighbour; readers, who take no lock, leave out a last line without an end. A
whole line that cannot be read is handed on as `Garbage`: one bad line costs one record.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from webgym.errors import StoreError
from webgym.store.files import Disk, trouble

E = TypeVar("E")


@dataclass(frozen=True)
class Garbage:
    """A line that is no record."""

    line: bytes


@dataclass(frozen=True)
class Added(Generic[E]):
    """What a log holds beyond what its reader had seen. Records are made as they are asked for, once: all of a long log at a
    time would take many times the room of its bytes."""

    records: Iterator[E | Garbage] = field(default_factory=lambda: iter(()))
    anew: bool = False  # the log was repaired meanwhile: these are all its records


class Log(Generic[E]):
    """Records of one kind."""

    def __init__(self, path: Path, disk: Disk, records: TypeAdapter[E]) -> None:
        self.path = path
        self._disk, self._records = disk, records
        self._file, self._offset = 0, 0

    def append(self, records: Iterable[E], *, durable: bool) -> None:
        """Add records. The caller holds the lock."""
        self.mend()
        data = b"".join(self._records.dump_json(record) + b"\n" for record in records)
        self._disk.append(self.path, data, durable=durable)

    def __iter__(self) -> Iterator[E | Garbage]:
        """Every record, a line at a time."""
        return self.naming("")

    def naming(self, text: str) -> Iterator[E | Garbage]:
        """The records in whose line this text stands; the others are passed over unread, which is many times as quick."""
        wanted = text.encode()
        try:
            with self.path.open("rb") as lines:
                for line in lines:
                    if wanted in line and line.endswith(b"\n"):
                        yield self._read(line)
        except FileNotFoundError:
            return
        except OSError as e:
            raise StoreError(f"reading {self.path}: {e.strerror}") from e

    def added(self) -> Added[E]:
        """What was written since the last time this was asked, by anyone."""
        if self._all_seen():
            return Added()
        try:
            with trouble(f"reading {self.path}"), self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                anew = found.st_ino != self._file or found.st_size < self._offset
                start = 0 if anew else self._offset
                if found.st_size == start:
                    return Added(anew=anew)
                file.seek(start)
                data = file.read()
        except StoreError as e:
            if isinstance(e.__cause__, FileNotFoundError):
                return Added()
            raise
        whole = data[: data.rfind(b"\n") + 1]
        self._file, self._offset = found.st_ino, start + len(whole)
        return Added(map(self._read, BytesIO(whole)), anew)

    def torn(self) -> int:
        """Bytes after the last whole line."""
        if self._all_seen():
            return 0
        try:
            with trouble(f"reading {self.path}"), self.path.open("rb") as file:
                if not file.seek(0, os.SEEK_END):
                    return 0
                file.seek(-1, os.SEEK_END)
                if file.read(1) == b"\n":
                    return 0
                file.seek(0)
                data = file.read()
        except StoreError as e:
            if isinstance(e.__cause__, FileNotFoundError):
                return 0
            raise
        return len(data) - (data.rfind(b"\n") + 1)

    def mend(self) -> None:
        """Cut off a torn last line. The caller holds the lock."""
        if torn := self.torn():
            self._disk.cut(self.path, self.path.stat().st_size - torn)

    def purge(self) -> None:
        """Take out the lines that are no records. The caller holds the lock."""
        with trouble(f"reading {self.path}"), self.path.open("rb") as lines:
            kept = [line for line in lines if not isinstance(self._read(line), Garbage)]
        self._disk.replace(self.path, b"".join(kept))

    def _all_seen(self) -> bool:
        """Whether the log ends where its reader stands, which is after a whole line. Asked far more often than not, and
        cheaper than to open it."""
        try:
            found = os.stat(self.path)  # noqa: PTH116
        except OSError:
            return False
        return (found.st_ino, found.st_size) == (self._file, self._offset)

    def _read(self, line: bytes) -> E | Garbage:
        try:
            return self._records.validate_json(line)
        except ValidationError:
            return Garbage(line.rstrip(b"\n"))
