"""What a run sets out to do: one file an iteration, one line an episode, whole before the first of them starts.

An episode's id is a hash of run, iteration, task and replica. It says what is to be done and not when or by whom, so a
restarted run finds its episodes again, and a second attempt at one is known as such.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from webgym.errors import Damaged, StoreError
from webgym.store.files import Disk, trouble
from webgym.types import EpisodeId, Wire

_NAME = re.compile(r"\d{6,}\.jsonl")


class Planned(Wire):
    """One attempt to be made at a task."""

    id: EpisodeId
    iteration: Annotated[int, Field(ge=0)]
    task: str = Field(description="The task's id.")
    replica: Annotated[int, Field(ge=0)] = 0


def episode_id(run: str, iteration: int, task: str, replica: int = 0) -> str:
    """32 hexadecimal digits that stand for one planned attempt, the same wherever they are computed."""
    said = json.dumps([run, iteration, task, replica], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


class Plan:
    """The plan files of a run."""

    def __init__(self, folder: Path, run: str, disk: Disk) -> None:
        self._folder, self._run, self._disk = folder, run, disk

    def write(self, iteration: int, tasks: Iterable[str], *, replicas: int = 1) -> list[Planned]:
        """Plan an iteration. Planning the same again changes nothing; planning it differently is refused."""
        planned = [
            Planned(id=episode_id(self._run, iteration, task, replica), iteration=iteration, task=task, replica=replica)
            for task in tasks
            for replica in range(replicas)
        ]
        if len({one.id for one in planned}) < len(planned):
            raise StoreError(f"iteration {iteration} plans a task twice: use replicas to attempt one several times")
        data = b"".join(one.model_dump_json().encode() + b"\n" for one in planned)
        path = self.path(iteration)
        if not self._disk.publish(path, data) and path.read_bytes() != data:
            raise StoreError(f"iteration {iteration} of {self._run!r} is planned already, with other tasks: see {path}")
        return planned

    def iterations(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(path.stem) for path in self._folder.iterdir() if _NAME.fullmatch(path.name))

    def read(self, iteration: int | None = None) -> Iterator[Planned]:
        """Planned episodes in the order they were planned; of one iteration or of all."""
        for one in self.iterations() if iteration is None else [iteration]:
            path = self.path(one)
            with trouble(f"reading {path}"):
                if not path.exists():
                    continue
                lines = path.read_bytes().split(b"\n")
            for number, line in enumerate(lines[:-1], 1):
                yield self._read(path, number, line, one)

    def path(self, iteration: int) -> Path:
        return self._folder / f"{iteration:06}.jsonl"

    def _read(self, path: Path, number: int, line: bytes, iteration: int) -> Planned:
        try:
            found = Planned.model_validate_json(line)
        except ValidationError as e:
            raise Damaged(f"{path}:{number} is no planned episode") from e
        if found.iteration != iteration or found.id != episode_id(self._run, iteration, found.task, found.replica):
            raise Damaged(f"{path}:{number}: the id is not that of its run, iteration, task and replica")
        return found
