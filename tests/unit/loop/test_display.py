"""What a person sees: a bar on a terminal, lines elsewhere, results that nothing a page or a model said can disturb."""

from __future__ import annotations

import asyncio
from io import StringIO

import pytest
from rich.console import Console

from webgym.loop.display import Display, Glance, of_rollout
from webgym.rollout.events import Events
from webgym.types import Answered, FactGroup, Task

TASK = Task(
    id="t",
    source="s",
    instruction="Do it",
    website="",
    domain="Misc.",
    subdomain="News",
    groups=(FactGroup(id=1, description="it", facts=("so",)),),
)


async def shown(*, terminal: bool, seconds: float) -> str:
    written = StringIO()
    display = Display(Console(file=written, force_terminal=terminal, width=200), 4, lines=0.2)
    async with display.phase(2, "train"):
        display.follow(lambda: Glance(3, 12, "loss 0.5 [red]not markup[/]"))
        await asyncio.sleep(seconds)
    return written.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
async def test_a_phase_shows_how_far_it_is(terminal: bool):
    said = await shown(terminal=terminal, seconds=1.0)
    assert "iteration 2/4 train" in said
    assert ("3/12" if terminal else "3 of 12") in said
    assert "loss 0.5 [red]not markup[/]" in said


async def test_a_phase_that_is_over_is_no_longer_asked():
    asked = 0

    def look() -> Glance:
        nonlocal asked
        asked += 1
        return Glance()

    display = Display(Console(file=StringIO(), force_terminal=True), 1)
    async with display.phase(0, "replay"):
        display.follow(look)
        await asyncio.sleep(0.7)
    before = asked
    await asyncio.sleep(0.7)
    assert before
    assert asked == before


async def test_a_look_that_breaks_is_loud():
    def broken() -> Glance:
        raise RuntimeError("a bug")

    async def showing() -> None:
        display = Display(Console(file=StringIO(), force_terminal=True), 1)
        async with display.phase(0, "replay"):
            display.follow(broken)
            await asyncio.sleep(0.7)

    with pytest.raises(RuntimeError, match="a bug"):
        await showing()


def test_a_finished_phase_is_one_line_however_long():
    written = StringIO()
    Display(Console(file=written, width=40), 9).finished(3, "judge", 3725.0, "success " + "x" * 100)
    assert written.getvalue().count("\n") == 1
    assert written.getvalue().startswith("iteration 3/9")
    assert "1 h 02 min" in written.getvalue()


def test_a_rollout_shows_its_success_so_far():
    events = Events("run", 0)
    for name, reward in (("a", 1), ("b", 0), ("c", None)):
        events.plan(name, TASK, 0, limit=3)
        events.begin(name, TASK, 0, limit=3)
        events.judged(name, reward)
        events.end(name, Answered())
    glance = of_rollout(events)()
    assert (glance.done, glance.total) == (3, 3)
    assert glance.text.startswith("success 50% of 2")
