"""What changed on the board since a reader last looked, as bytes to send.

There is no queue. Every row knows the revision at which it changed last, and a reader says which one it has seen: whoever
reads slowly gets the same changes, merged, later, and nothing grows behind it. A reader that has seen nothing, or something
too old, gets everything. The board is looked at when somebody reads and at most every `EVERY` seconds, so a monitor that
nobody watches costs its samples for the charts and nothing more.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from webgym.ui.view import Board, Cell

EVERY: Final = 0.25
SAMPLE_EVERY: Final = 2.0
SAMPLES: Final = 300
GONE: Final = 20_000  # removals remembered

_encode = msgspec.json.Encoder().encode


class Sample(NamedTuple):
    """A point of the charts."""

    at: float
    episodes_per_hour: float
    steps_per_second: float
    model_use: float | None
    browser_use: float | None


class Row(NamedTuple):
    key: int
    cell: Cell
    revision: int
    named: int  # the revision at which its label was new


class Deltas:
    """The board's changes, numbered."""

    def __init__(self, board: Board, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._board, self._clock = board, clock
        self._rows: dict[str, Row] = {}
        self._keys = 0
        self._gone: deque[tuple[int, int]] = deque(maxlen=GONE)  # revision, key
        self._forgotten = 0  # the newest revision whose removals are not all remembered
        self._head = board.head()
        self._looked = -EVERY
        self._samples: deque[Sample] = deque(maxlen=SAMPLES)
        self._sampled = 0  # samples taken so far
        self._encoded: dict[tuple[int, int], bytes] = {}
        self.revision = 0

    def sample(self) -> None:
        """Take a point of the charts, now."""
        head = self._board.head()
        self._samples.append(
            Sample(self._clock(), head.episodes_per_hour, head.steps_per_second, head.model_use, head.browser_use)
        )
        self._sampled += 1

    def look(self) -> None:
        """Note what is new on the board, unless that was done a moment ago."""
        now = self._clock()
        if now - self._looked < EVERY * 0.9:
            return
        self._looked = now
        self._encoded.clear()
        self._head = self._board.head()
        self.revision += 1
        seen = set()
        for cell in self._board.cells():
            seen.add(cell.id)
            row = self._rows.get(cell.id)
            if row is None:
                self._keys += 1
                self._rows[cell.id] = Row(self._keys, cell, self.revision, self.revision)
            elif row.cell is not cell and row.cell != cell:
                named = row.named if row.cell.label == cell.label else self.revision
                self._rows[cell.id] = Row(row.key, cell, self.revision, named)
        if len(seen) < len(self._rows):
            for episode in [one for one in self._rows if one not in seen]:
                if len(self._gone) == GONE:
                    self._forgotten = self._gone[0][0]
                self._gone.append((self.revision, self._rows.pop(episode).key))

    def since(self, revision: int, sampled: int) -> tuple[str, bytes, int, int]:
        """The name and the data of the event that brings a reader up to date, and what it will then have seen."""
        whole = revision <= self._forgotten or revision > self.revision
        key = (0, 0) if whole else (revision, sampled)
        if key not in self._encoded:
            self._encoded[key] = self._whole() if whole else self._changes(revision, sampled)
        return "snapshot" if whole else "delta", self._encoded[key], self.revision, self._sampled

    def _whole(self) -> bytes:
        rows = [_named(row) for row in self._rows.values()]
        return _encode({"head": self._head.model_dump(), "named": rows, "samples": self._samples_since(0)})

    def _changes(self, revision: int, sampled: int) -> bytes:
        fresh = [row for row in self._rows.values() if row.revision > revision]
        said = {
            "head": self._head.model_dump(),
            "named": [_named(row) for row in fresh if row.named > revision],
            "cells": [(row.key, *_changing(row.cell)) for row in fresh if row.named <= revision],
            "gone": [key for at, key in self._gone if at > revision],
            "samples": self._samples_since(sampled),
        }
        return _encode(said)

    def _samples_since(self, sampled: int) -> list[Sample]:
        new = min(self._sampled - sampled, len(self._samples))
        return list(self._samples)[len(self._samples) - new :] if new > 0 else []


def _changing(cell: Cell) -> tuple[str, int, int, int | None, str]:
    return cell.doing, cell.step, cell.limit, cell.reward, cell.why


def _named(row: Row) -> tuple[int, str, str, str, int, int, int | None, str]:
    return (row.key, row.cell.id, row.cell.label, *_changing(row.cell))
