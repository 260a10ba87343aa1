"""The engine's events on the board."""

from __future__ import annotations

import pytest

from tests.unit.ui.playing import make_task
from webgym.rollout.events import Events
from webgym.rollout.gates import GateStats, Times
from webgym.watching import EventsBoard


def gate(name: str, size: int, busy: float) -> GateStats:
    return GateStats(name, size, 1, 3, Times(4, 2.0, 1.0, 0.4, 0.9), Times(4, 8.0, 3.0, 1.9, 2.8), busy)


def test_use_is_that_of_the_fullest_gate_since_the_last_measure():
    now = [100.0]
    events = Events("run", clock=lambda: now[0])
    gates = [gate("allocate", 4, 0.0), gate("step", 4, 10.0), gate("model", 8, 20.0)]
    events.watch(lambda: tuple(gates))
    board = EventsBoard(events)
    assert board.head().model_use is None, "nothing is measured yet"
    now[0] = 102.0
    board.head()
    gates[:] = [gate("allocate", 4, 1.0), gate("step", 4, 16.0), gate("model", 8, 24.0)]
    now[0] = 104.0
    head = board.head()
    assert head.browser_use == pytest.approx(6 / 8)
    assert head.model_use == pytest.approx(4 / 16)
    assert [(one.queued, one.wait, one.service_p95) for one in head.gates] == [(3, 0.5, 2.8)] * 3


def test_a_waiting_episode_says_for_what_and_a_failed_one_why():
    events = Events("run")
    task = make_task(0)
    events.plan("a" * 32, task, 0, limit=10)
    board = EventsBoard(events)
    events.begin("a" * 32, task, 0, limit=10)
    events.doing("a" * 32, "waiting", gate="model")
    assert board.cells()[0].why == "in line for model"
    events.doing("a" * 32, "opening")
    assert board.cells()[0].doing == "navigating"
    assert board.cells()[0] is board.cells()[0], "what did not change is the same object"
