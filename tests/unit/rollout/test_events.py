from __future__ import annotations

import asyncio
import time

import msgspec

from tests.unit.rollout.rolled import task_at
from webgym.rollout.events import FAILED, LAST, Events
from webgym.types import Answered, Cancelled, Click, Infra, Reply, Step, Turn

TASK = task_at("shop.localhost")


def step(index: int) -> Step:
    reply = Reply(text="r" * 10_000, completion_tokens=7, token_ids=(1,) * 100)
    return Step(
        index=index, screenshot="ab" * 32, url="http://x", title="t" * 10_000, action=Click(x=1, y=2),
        prompt=(Turn(role="user", parts=()),), reply=reply, seconds=0.1,
    )  # fmt: skip


def begun(events: Events, *ids: str) -> None:
    for one in ids:
        events.plan(one, TASK, 0, limit=10)
    for one in ids:
        events.begin(one, TASK, 0, limit=10)


async def test_a_watcher_is_told_the_latest_view_of_what_changed_and_nothing_grows_while_it_sleeps():
    events = Events()
    begun(events, "a", "b")
    with events.subscribe() as changes:
        for n in range(10_000):
            events.doing("a", "model", step=n)
        update = await changes.next(within=0.1)
        assert update is not None
        assert [(view.id, view.step) for view in update.episodes] == [("a", 9_999)]
        events.finish()
        last = await changes.next()
        assert last is not None
        assert last.finished
        assert await changes.next() is None


async def test_a_watcher_that_nothing_happens_to_still_gets_the_gates_and_the_time():
    events = Events()
    with events.subscribe() as changes:
        began = time.monotonic()
        update = await changes.next(within=0.05)
        assert time.monotonic() - began < 1
        assert update is not None
        assert update.episodes == ()


def test_counts_are_complete_whatever_is_kept():
    events = Events(keep=5)
    ids = [f"e{n}" for n in range(50)]
    for one in ids:
        events.plan(one, TASK, 0, limit=10)
    for one in ids[:30]:
        events.begin(one, TASK, 0, limit=10)
        events.step(one, step(0))
        events.end(one, Answered())
    for one in ids[30:]:
        events.end(one, Cancelled(reason="straggler"))
    events.restore(Infra(reason="x"))
    counts = events.counts()
    assert counts.total == sum(counts.doing.values()) == 51
    assert (counts.doing["done"], counts.doing["cancelled"], counts.doing["failed"]) == (30, 20, 1)
    assert counts.outcomes == {"answered": 30, "cancelled(straggler)": 20, "infra": 1}
    assert (counts.steps, counts.completion_tokens) == (30, 210)
    assert len(events.state().episodes) <= 5


def test_history_is_held_for_episodes_under_way_and_not_for_what_is_in_the_store():
    events = Events()
    begun(events, "a")
    for n in range(500):
        events.step("a", step(n))
    history = events.history("a")
    assert history[-1].index == 499
    assert len(history) <= 128
    assert (view := events.view("a")) is not None
    assert (view.step, view.action) == (500, "click")
    events.doing("a", "waiting", attempt=1, reason="r" * 9_999)
    assert events.history("a") == ()
    view = events.view("a")
    assert view is not None
    assert len(view.reason) <= 300
    events.end("a", Answered())
    assert events.history("a") == ()


def test_the_last_episodes_without_a_file_keep_their_last_steps_and_not_what_weighs():
    events = Events()
    for n in range(FAILED + 1):
        begun(events, f"e{n}")
        for index in range(LAST + 1):
            events.step(f"e{n}", step(index))
        events.end(f"e{n}", Infra(reason="the browser died") if n % 2 else Cancelled(reason="shutdown"))
    assert events.history("e0") == ()
    last = events.history(f"e{FAILED}")
    assert [one.index for one in last] == list(range(1, LAST + 1))
    assert last[0].prompt == ()
    assert last[0].reply is not None
    assert last[0].reply.token_ids is None
    assert len(last[0].reply.text) < 10_000


def test_a_state_can_be_written_as_json():
    events = Events("run")
    begun(events, "a")
    events.step("a", step(0))
    plain = msgspec.json.decode(msgspec.json.encode(events.state()))
    assert plain["episodes"][0]["step"] == 1
    assert plain["counts"]["doing"]["waiting"] == 1


async def test_telling_costs_at_most_fifty_microseconds():
    events = Events()
    begun(events, *(f"e{n}" for n in range(2_000)))
    with events.subscribe(), events.subscribe():
        best = float("inf")
        for _ in range(5):  # the best of some: others use the machine too
            began = time.process_time()
            for n in range(2_000):
                events.doing(f"e{n}", "model", url="http://shop.localhost/", title="A shop")
            best = min(best, (time.process_time() - began) / 2_000)
            await asyncio.sleep(0)
    assert best < 50e-6
