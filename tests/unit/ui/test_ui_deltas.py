"""What a reader of the stream gets: everything once, then only what changed, however slowly it reads."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.ui.playing import Play, make_task
from webgym.store import Run
from webgym.ui import deltas
from webgym.ui.deltas import Deltas
from webgym.ui.view import Cell, Detail, Head
from webgym.watching import EventsBoard


class Board:
    """A board to write on."""

    def __init__(self, count: int) -> None:
        self.drawn = {f"{n:032x}": Cell(f"{n:032x}", f"task {n}", "waiting") for n in range(count)}

    def head(self) -> Head:
        return Head(run="written", live=True, total=len(self.drawn), counts={"waiting": len(self.drawn)}, model_use=0.5)

    def cells(self) -> list[Cell]:
        return list(self.drawn.values())

    def detail(self, episode: str) -> Detail | None:
        return None

    def change(self, n: int, **changes: Any) -> None:
        self.drawn[f"{n:032x}"] = replace(self.drawn[f"{n:032x}"], **changes)


class Reader:
    """A page that applies what it gets, as the page's script does."""

    def __init__(self, source: Deltas) -> None:
        self.source, self.revision, self.sampled = source, 0, 0
        self.rows: dict[int, list[Any]] = {}
        self.samples: list[Any] = []
        self.said: dict[str, Any] = {}

    def read(self) -> str:
        name, data, self.revision, self.sampled = self.source.since(self.revision, self.sampled)
        self.said = json.loads(data)
        if name == "snapshot":
            self.rows, self.samples = {}, []
        for key, *row in self.said["named"]:
            self.rows[key] = row
        for key, *row in self.said.get("cells", ()):
            self.rows[key] = [*self.rows[key][:2], *row]
        for key in self.said.get("gone", ()):
            del self.rows[key]
        self.samples += self.said["samples"]
        return name

    def seen(self) -> list[tuple[str, str, int]]:
        return [(row[0], row[2], row[3]) for row in self.rows.values()]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def looked(source: Deltas, clock: Clock) -> None:
    clock.now += deltas.EVERY
    source.look()


def test_a_change_is_sent_alone_and_once(clock: Clock):
    board = Board(1000)
    source = Deltas(board, clock=clock)
    reader = Reader(source)
    looked(source, clock)
    assert reader.read() == "snapshot"
    assert len(reader.rows) == 1000
    board.change(7, doing="model", step=3)
    looked(source, clock)
    assert reader.read() == "delta"
    assert [row[1:3] for row in reader.said["cells"]] == [["model", 3]]
    looked(source, clock)
    reader.read()
    assert reader.said["cells"] == reader.said["named"] == []


def test_a_slow_reader_gets_the_changes_merged_and_ends_up_with_the_same(clock: Clock):
    board = Board(20)
    source = Deltas(board, clock=clock)
    quick, slow = Reader(source), Reader(source)
    looked(source, clock)
    quick.read()
    slow.read()
    for n in range(50):
        board.change(n % 5, doing="executing", step=n)
        if n == 30:
            del board.drawn[f"{19:032x}"]
            board.drawn[f"{77:032x}"] = Cell(f"{77:032x}", "late", "waiting")
        looked(source, clock)
        quick.read()
    assert slow.read() == "delta"
    assert len(slow.said["cells"]) == 5
    assert slow.seen() == quick.seen() == [(cell.id, cell.doing, cell.step) for cell in board.cells()]


def test_a_reader_that_missed_forgotten_removals_starts_anew(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deltas, "GONE", 4)
    board = Board(10)
    source = Deltas(board, clock=clock)
    reader = Reader(source)
    looked(source, clock)
    reader.read()
    for n in range(6):
        del board.drawn[f"{n:032x}"]
        looked(source, clock)
    assert reader.read() == "snapshot"
    assert reader.seen() == [(cell.id, cell.doing, cell.step) for cell in board.cells()]


def test_the_board_is_looked_at_four_times_a_second_at_most(clock: Clock):
    source = Deltas(Board(1), clock=clock)
    for _ in range(1000):
        clock.now += 0.002
        source.look()
    assert source.revision <= 9


def test_samples_come_once_to_each_reader(clock: Clock):
    source = Deltas(Board(1), clock=clock)
    early = Reader(source)
    looked(source, clock)
    early.read()
    for n in range(5):
        clock.now = 10.0 + n
        source.sample()
        source.look()
        early.read()
    late = Reader(source)
    late.read()
    assert [point[0] for point in early.samples] == [point[0] for point in late.samples] == [10, 11, 12, 13, 14]


def test_a_reader_of_a_rollout_sees_what_its_events_say(run: Run, clock: Clock):
    play = Play(run, [make_task(n) for n in range(60)])
    source = Deltas(EventsBoard(play.events), clock=clock)
    reader = Reader(source)
    for n in range(80):
        play.move(20)
        looked(source, clock)
        if n % 3 == 0:
            reader.read()
    reader.read()
    views = play.events.state().episodes
    assert [(view.id, view.step) for view in views] == [(one[0], one[2]) for one in reader.seen()]
    assert {"done", "failed"} <= {one[1] for one in reader.seen()}
    assert sum(reader.said["head"]["counts"].values()) == 60
