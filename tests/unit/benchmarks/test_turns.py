"""The instrument for browser steps: what it counts, and what it leaves out."""

import asyncio
import os
from pathlib import Path

import pytest

from benchmarks.episodes import STEPS, Seen
from benchmarks.measure import Cpu, Meter
from benchmarks.report import RAW, Results
from benchmarks.runs import Pair, Player, Turn
from webgym import types as t

METER = Meter(Path("no-such-chromium"), os.getpid())


def turn(steps: int, *, others: float = 0.0) -> Turn:
    cores = os.cpu_count() or 1
    return Turn(seconds=1.0, cpu=Cpu(1.0, 0.1, 0.1, others * cores), latencies=[0.1] * steps, image_bytes=1.0, retaken=0)


def against_raw(*pairs: Pair) -> Results:
    return Results(pairs={(RAW, 8): list(pairs)})


def test_the_speed_is_the_median_of_ratios_within_a_pair():
    results = against_raw(Pair(turn(30), turn(30)), Pair(turn(9), turn(10)), Pair(turn(5), turn(10)))
    assert results.speed_against(RAW) == pytest.approx(0.9)
    assert list(results.disturbed()) == []


@pytest.mark.parametrize(("side", "with_it"), [("ours", "0.50"), ("theirs", "5.45")])
def test_a_pair_disturbed_on_either_side_is_left_out_and_told(side: str, with_it: str):
    noisy = turn(1, others=0.2)
    disturbed = Pair(noisy, turn(10)) if side == "ours" else Pair(turn(10), noisy)
    results = against_raw(Pair(turn(9), turn(10)), disturbed)
    assert results.speed_against(RAW) == pytest.approx(0.9)
    (words,) = results.disturbed()
    assert "disturbed 1 of 2 pairs, left out" in words
    assert with_it in words


def test_where_most_pairs_are_disturbed_all_count_and_nobody_is_to_trust_them():
    noisy = Pair(turn(5, others=0.2), turn(10))
    results = against_raw(Pair(turn(9), turn(10)), noisy, noisy)
    assert results.speed_against(RAW) == pytest.approx(0.5)
    (words,) = results.disturbed()
    assert "do not trust" in words


class Counting:
    """A session that takes a moment for a step and remembers which it did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.busy = False

    async def step(self, action: t.Action) -> Seen:
        self.busy = True
        await asyncio.sleep(0.01)
        self.busy = False
        self.done.append(action.model_dump_json())
        return Seen(b"image", "", "", 0.0)


async def test_a_turn_goes_on_where_the_last_one_stopped_and_ends_with_whole_steps():
    session = Counting()
    player = Player([session], "http://site")
    first = await player.turn(METER, warming=0.05, seconds=0.1)
    assert not session.busy
    assert 2 <= len(first.latencies) < len(session.done), "what comes before and after is not measured"
    while len(session.done) < 2 * STEPS:
        await player.turn(METER, warming=0.0, seconds=0.1)
    assert session.done[:STEPS] == session.done[STEPS : 2 * STEPS], "episode after episode, no step twice"
    assert len(set(session.done[:STEPS])) > STEPS / 2


async def test_a_turn_without_steps_is_an_error():
    class Stuck(Counting):
        async def step(self, action: t.Action) -> Seen:
            await asyncio.sleep(0.2)
            return await super().step(action)

    with pytest.raises(RuntimeError, match="too few"):
        await Player([Stuck()], "http://site").turn(METER, warming=0.0, seconds=0.05)


async def test_a_session_that_fails_ends_the_turn():
    class Failing(Counting):
        async def step(self, action: t.Action) -> Seen:
            raise RuntimeError("the server said no")

    with pytest.raises(ExceptionGroup):
        await Player([Failing(), Counting()], "http://site").turn(METER, warming=5.0, seconds=5.0)
