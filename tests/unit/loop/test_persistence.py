"""A phase in which too much failed for reasons of ours is played once more, and then stops the loop instead of counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.replay.making import Plan, make_episode, make_run
from webgym.errors import RolloutStopped
from webgym.loop.phases import Stopped, faults, persistent
from webgym.rolling.assembly import Played
from webgym.rollout.settings import EngineSettings
from webgym.types import Cancelled, Infra

REDO = EngineSettings().redo
DOWN = "the model does not answer"


class Attempts:
    """Rollouts that come to what is given, one after another."""

    def __init__(self, *given: tuple[Played, int], steady: bool = True, stopped: bool = False) -> None:
        self._given: Iterator[tuple[Played, int]] = iter(given)
        self._failed, self._steady, self._stopped = 0, steady, stopped
        self.made, self.told = 0, list[str]()

    async def play(self) -> Played:
        self.made += 1
        played, self._failed = next(self._given)
        return played

    async def failed(self) -> Counter[str]:
        return Counter({DOWN: self._failed} if self._failed else {})

    async def steady(self) -> bool:
        return self._steady

    async def persist(self) -> Played:
        return await persistent(
            self.play, self.failed, most=0.1, steady=self.steady, stopped=lambda: self._stopped, say=self.told.append
        )


WHOLE, STOPPED = Played(20), Played(20, failure=RolloutStopped("most of the last failed"))


async def test_a_few_faults_are_no_reason_to_play_again():
    attempts = Attempts((WHOLE, 2))
    assert await attempts.persist() is WHOLE
    assert (attempts.made, attempts.told) == (1, [])


async def test_nothing_is_played_once_more_for_a_person_who_wants_to_stop():
    attempts = Attempts((WHOLE, 3), (WHOLE, 0), stopped=True)
    with pytest.raises(Stopped):
        await attempts.persist()
    assert attempts.made == 1


async def test_more_faults_than_may_be_are_played_once_more():
    attempts = Attempts((WHOLE, 3), (WHOLE, 0))
    assert await attempts.persist() is WHOLE
    assert attempts.told == [f"3 of 20 episodes ended by faults of ours, most often: {DOWN}. They are played once more."]


async def test_faults_that_stay_stop_the_loop_and_leave_the_phase_undone():
    attempts = Attempts((WHOLE, 3), (WHOLE, 3))
    with pytest.raises(RolloutStopped, match=rf"3 of 20 episodes .* {DOWN}\. .*the same command plays them again"):
        await attempts.persist()
    assert attempts.made == 2


async def test_a_rollout_that_stopped_itself_is_played_again_only_if_the_model_server_died():
    alive, dead = Attempts((STOPPED, 9)), Attempts((STOPPED, 9), (WHOLE, 0), steady=False)
    with pytest.raises(RolloutStopped, match="most of the last failed"):
        await alive.persist()
    assert await dead.persist() is WHOLE
    assert (alive.made, dead.made) == (1, 2)
    twice = Attempts((STOPPED, 9), (STOPPED, 9), steady=False)
    with pytest.raises(RolloutStopped, match="most of the last failed"):
        await twice.persist()


async def test_a_person_who_stops_it_is_not_told_of_faults():
    attempts = Attempts((Played(20, unfinished=4), 16), stopped=True)
    with pytest.raises(Stopped):
        await attempts.persist()
    assert attempts.told == []


async def test_outcomes_that_found_no_room_are_not_taken_for_a_persons_wish():
    attempts = Attempts((Played(20, unfinished=4), 0))
    with pytest.raises(RolloutStopped, match="the outcomes of 4 episodes could not be written: is the disk full"):
        await attempts.persist()


def recorded(path: Path, *outcomes: Infra | Cancelled, count: Callable[[Counter[str]], None]) -> None:
    """Count the faults of a run in which one episode was kept and the others have only these records."""
    tasks = [f"task-{n}" for n in range(len(outcomes))]
    with make_run(path, [Plan("kept")]) as run:
        run.plan(1, tasks, replicas=1)
        for name, outcome in zip(tasks, outcomes, strict=True):
            run.record(make_episode(Plan(name, iteration=1)).id, outcome)
        count(faults(run, 1, REDO))
        assert not faults(run, 0, REDO)
        assert not faults(run, 1, ())


def test_faults_are_what_a_resumed_run_would_do_again(tmp_path: Path):
    policy = Cancelled(reason="policy_unavailable", detail=DOWN)
    late, open_ = Cancelled(reason="straggler"), Cancelled(reason="circuit_open")
    found: list[Counter[str]] = []
    recorded(tmp_path / "run", Infra(reason="it broke"), policy, policy, late, open_, count=found.append)
    assert found == [Counter({"it broke": 1, DOWN: 2, "circuit_open": 1})]
