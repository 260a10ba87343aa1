"""A run's folder as a board: what its plan, its outcomes and its judges say, also while another process writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from webgym.ui.archive import Archive, Entry
from webgym.ui.view import ENDS, Cell, Detail, Head

MOST_CELLS: Final = 10_000  # the latest planned; the list has all


class FolderBoard:
    """The archive's index, drawn. `Archive.refresh` moves it on."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._cells: dict[str, tuple[Entry, Cell]] = {}
        # The archive's versions these were made of: a big folder is summed up when it changes, not when somebody looks.
        self._headed, self._head = -1, Head(run="", live=False, total=0, counts={})
        self._drawn = -1

    def head(self) -> Head:
        if self._headed != (version := self._archive.version):
            self._headed, self._head = version, self._summed()
        return self._head

    def _summed(self) -> Head:
        entries = self._archive.entries
        counts = Counter(one.doing for one in entries)
        ends = [one for one in entries if one.doing in ENDS]
        read = [one for one in ends if one.read]
        # Outcomes carry the time they were written: the first began a little before its own.
        began = min((one.at - one.seconds for one in ends), default=0.0)
        elapsed = max((one.at for one in ends), default=0.0) - began
        steps = sum(one.steps for one in read)
        return Head(
            run=self._archive.run.info.name,
            agent=next((one.agent for one in read), ""),
            live=False,
            total=len(entries),
            counts=dict(counts),
            scored=sum(one.reward is not None for one in ends),
            passed=sum(one.reward == 1 for one in ends),
            steps=steps,
            elapsed=elapsed,
            episodes_per_hour=len(ends) / elapsed * 3600 if elapsed > 0 else 0.0,
            steps_per_second=steps / elapsed if elapsed > 0 else 0.0,
        )

    def cells(self) -> Sequence[Cell]:
        if self._drawn != (version := self._archive.version):
            self._drawn = version
            self._draw()
        return [cell for _, cell in self._cells.values()]

    def _draw(self) -> None:
        drawn: dict[str, tuple[Entry, Cell]] = {}
        for entry in self._archive.entries[-MOST_CELLS:]:
            before = self._cells.get(entry.id)
            drawn[entry.id] = before if before is not None and before[0] is entry else (entry, entry.cell())
        self._cells = drawn

    def detail(self, episode: str) -> Detail | None:
        return None
