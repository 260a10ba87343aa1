"""What judges said, apart from what they judged: judging again adds a line and changes no episode.

Every judgement is kept, under its judge. A judge's identity is free text, so its folder is named by a readable part of it
and a hash of the whole; the records carry the identity itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from webgym.store.files import Disk
from webgym.store.log import Garbage, Log
from webgym.types import Judgement

_RECORDS: TypeAdapter[Judgement] = TypeAdapter(Judgement)


def folder_of(judge: str) -> str:
    readable = re.sub(r"[^a-z0-9]+", "-", judge.lower()).strip("-")[:40]
    return f"{readable}-{hashlib.sha256(judge.encode()).hexdigest()[:12]}".lstrip("-")


class Verdicts:
    """The judgements of a run."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder, self._disk = folder, disk

    def add(self, judgement: Judgement) -> None:
        """Keep a judgement. The caller holds the lock."""
        log = self._log(self._folder / folder_of(judgement.judge))
        self._disk.folder(log.path.parent)
        log.append((judgement,), durable=True)

    def read(self, judge: str | None = None) -> Iterator[Judgement]:
        """Every judgement in the order it was written, of one judge or of all; unreadable lines are left out."""
        for log in self.logs() if judge is None else (self._log(self._folder / folder_of(judge)),):
            yield from (record for record in log if not isinstance(record, Garbage))

    def of(self, episode: str) -> Iterator[Judgement]:
        """Every judgement of one episode, each judge's in the order they were made."""
        for log in self.logs():
            for record in log.naming(episode):
                if not isinstance(record, Garbage) and record.episode == episode:
                    yield record

    def logs(self) -> list[Log[Judgement]]:
        if not self._folder.is_dir():
            return []
        return [self._log(folder) for folder in sorted(self._folder.iterdir()) if folder.is_dir()]

    def _log(self, folder: Path) -> Log[Judgement]:
        return Log(folder / "judgements.jsonl", self._disk, _RECORDS)
