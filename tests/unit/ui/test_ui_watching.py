"""The engine's events on the board."""

from __future__ import annotations

import pytest

from tests.unit.ui.playing import make_task
from webgym.rollout.events import Events
from webgym.rollout.gates import GateStats, Times
from webgym.types import Click, Infra, Reply, Step
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


def test_the_use_of_the_model_is_measured_against_what_can_be_asked_at_once():
    now = [100.0]
    events = Events("run", clock=lambda: now[0])
    gates = [gate("slots", 32, 0.0), gate("model", 256, 0.0)]
    events.watch(lambda: tuple(gates))
    wide, narrow = EventsBoard(events), EventsBoard(events, asked=4)
    now[0] = 102.0
    wide.head()
    narrow.head()
    gates[1] = gate("model", 256, 8.0)
    now[0] = 104.0
    assert wide.head().model_use == pytest.approx(8 / (32 * 2))
    assert narrow.head().model_use == pytest.approx(8 / (4 * 2))


def test_the_steps_of_an_episode_are_told_in_words_with_its_aim_and_the_models_reply_also_when_it_has_failed():
    events, one, task = Events("run"), "a" * 32, make_task(0)
    board = EventsBoard(events, size=(1280, 768))
    events.plan(one, task, 0, limit=10)
    events.begin(one, task, 0, limit=10)
    click, said = Click(x=512, y=88), Reply(text="I click the kettle. " * 1_000)
    events.step(
        one,
        Step(index=0, screenshot=None, url="http://x", title="t" * 10_000, action=click, reply=said, error="too late"),
    )
    events.step(one, Step(index=1, screenshot=None, url="http://x", title="", invalid="no call in it"))
    for failed in (False, True):
        if failed:
            events.end(one, Infra(reason="the browser died"))
        detail = board.detail(one)
        assert detail is not None
        assert (detail.width, detail.height) == (1280, 768)
        first, second = detail.steps
        assert (first.words, first.aim, first.error) == ("Click at 512, 88", (512, 88), "too late")
        assert first.reply.startswith("I click the kettle.")
        assert len(first.reply) <= 6_000
        assert len(first.title) <= 300
        assert (second.words, second.invalid) == ("Unreadable reply", "no call in it")


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
