"""The bench's cast in real browsers: their truth, the programmatic judge's figures, and a site that refuses robots."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.conftest import SANDBOX, settings_for
from tests.site.server import Site
from webgym.agents.scripted import DrivenAgent, Hands
from webgym.judge.bench.figures import figures
from webgym.judge.bench.labelled import count, labelled, truth_of
from webgym.judge.bench.measuring import measure
from webgym.judge.blocking import look_for_blocking
from webgym.judging.agents import ROLES
from webgym.judging.programmatic import WorldsJudge
from webgym.judging.truth import Cast, Stage, make_truth, unexpected
from webgym.rollout.blocking import BlockList, looks_blocked
from webgym.rollout.client import Client
from webgym.rollout.engine import Engine
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events
from webgym.rollout.gates import Gates
from webgym.rollout.keeper import Keeper
from webgym.rollout.settings import EngineSettings
from webgym.server.fleet.local import running_fleet
from webgym.store import Run
from webgym.types import Answer, Answered, Look, Navigate, Observation, Task
from webgym.worlds import tasks
from webgym.worlds.server import WorldServer

CAST = Cast(tasks=2, seed=1)
STAGE = Stage(sessions=3, sandbox=SANDBOX)
KEY = "a-key-for-the-tests-only"
OUTLINE = Look(accessibility=True)


async def interrupted(folder: Path) -> None:
    """Begin to make the run and stop as Ctrl-C would, with some episodes done and some under way."""
    making = asyncio.create_task(make_truth(folder, CAST, STAGE))
    while True:
        await asyncio.sleep(0.2)
        assert not making.done()
        if (folder / "run.json").exists():
            with Run.open(folder, read_only=True) as run:
                if len(run.outcomes()) >= 2:
                    break
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    with Run.open(folder) as run:
        assert 2 <= len(run.outcomes()) < CAST.episodes


@pytest.mark.timeout(280)
async def test_the_cast_plays_as_made_though_interrupted_and_the_programmatic_judge_is_always_right(
    tmp_path: Path,
):
    folder = tmp_path / CAST.folder
    await interrupted(folder)
    assert await make_truth(folder, CAST, STAGE) == 0
    with Run.open(folder) as run:
        assert truth_of(run) == WorldsJudge.name
        assert unexpected(run) == []
        episodes = {one.episode.id: one for one in labelled(run)}
        assert len(episodes) == count(run) == CAST.episodes
        by_role = {role: [one for one in episodes.values() if one.episode.agent == role] for role in ROLES}
        assert {len(found) for found in by_role.values()} == {CAST.tasks}
        assert any(0 < one.truth.fraction < 1 for one in by_role["half-done"])
        for one in by_role["hallucinating"]:
            told = [other.episode.answer for other in by_role["oracle"] if other.episode.task.id == one.episode.task.id]
            assert [one.episode.answer] == told
        assert all(step.screenshot for one in episodes.values() for step in one.episode.steps)
        found = figures(
            await measure(WorldsJudge(), labelled(run)), judge=WorldsJudge.name, truth=truth_of(run), run="bench", made=0.0
        )
    assert found.overall.accuracy.value == found.overall.kappa.value == 1.0
    assert found.overall.unscorable.value == 0.0
    assert found.facts is not None
    assert found.facts.accuracy.value == 1.0
    assert await make_truth(folder, CAST, STAGE) == 0, "a run that is there is used again"


class Wanderer(DrivenAgent):
    """Looks at an ordinary page, then at the one that refuses robots; never gets to answer."""

    def __init__(self, task: Task) -> None:
        super().__init__("wanderer", self._wander, OUTLINE)
        self._website = task.website

    async def _wander(self, hands: Hands, first: Observation) -> None:
        assert looks_blocked(first) is None
        about = await hands.step(Navigate(url=f"{self._website}/about"), OUTLINE)
        assert looks_blocked(about) is None
        await hands.step(Navigate(url=f"{self._website}/partners"), OUTLINE)
        await hands.step(Answer(text="nobody refused me"), OUTLINE)


@pytest.mark.timeout(120)
async def test_the_page_of_the_offline_web_that_refuses_robots_blocks_an_episode_and_its_website(tmp_path: Path):
    async with WorldServer(0) as web, Site() as site:
        serve = settings_for(site, sessions=1, egress={"allow": [f"*.localhost:{web.port}"]})
        task = tasks.find("worlds-0:snowarch-shelter.localhost:lookup.2:18").task(port=web.port)
        run, blocked, options = Run.create(tmp_path / "run"), BlockList(tmp_path / "blocked.jsonl"), EngineSettings(slots=1)
        planned = run.plan(0, [task.id])
        events, gates = Events(run.info.name, 0), Gates(options.gates, options.slots)
        keeper = Keeper(run, options, events)
        async with running_fleet(serve, KEY) as fleet, Client(fleet.url, key=KEY) as client:

            def new_agent(goal: Task, episode: str) -> Wanderer:
                return Wanderer(goal)

            player = Player(run.info.name, client, new_agent, gates, events, options, keep=keeper.image, outlines=True)
            jobs = [Job(planned[0], task, 10)]
            await Engine(keeper, player, jobs, gates, events, options, blocklist=blocked).run()
    episode = run.episode(planned[0].id)
    assert episode.outcome.kind == "blocked"
    assert "status 403" in episode.outcome.reason
    assert task.website in blocked
    # Without the rollout's word and the status, the stored pages alone still say it.
    assert look_for_blocking(episode).standing == "blocked"
    assert look_for_blocking(episode.model_copy(update={"outcome": Answered()})).standing == "ask"
    run.close()
