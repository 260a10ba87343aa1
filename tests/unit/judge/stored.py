"""Runs with episodes to judge."""

from __future__ import annotations

from pathlib import Path

from tests.unit.judge.judged import make_episode, make_task, put_in, walk
from webgym.store import Run
from webgym.types import Infra


def make_run(folder: Path, episodes: int, *, steps: int = 2, broken: int = 0) -> Run:
    """A run in which every third episode is a failure; the last `broken` ended by a fault of ours and are not kept."""
    run = Run.create(folder)
    planned = run.plan(0, [f"task-{n}" for n in range(episodes + broken)])
    for n in range(episodes):
        pictures = walk(steps, met=n % 3 != 2, marked=f"of {n}")
        run.commit(make_episode(put_in(run), pictures, task=make_task(n=n), run=run.info.name))
    for one in planned[episodes:]:
        run.record(one.id, Infra(reason="the browser died"))
    return run


def rewards(run: Run, judge: str) -> list[int | None]:
    """The last verdict on each kept episode in the order of the plan; None where there is no reward."""
    said = run.latest_judgements(judge)
    kept = [one.id for one in run.planned() if run.outcomes()[one.id].stored]
    found = [said[one].verdict if one in said else None for one in kept]
    return [one.reward if one is not None and one.kind == "scored" else None for one in found]
