"""The engine against a stand-in server and a real store: every episode has one outcome, whatever happens."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.standin.browsers import Browsers
from tests.unit.rollout.rolled import Walker, rolled, task_at
from webgym.agents.agent import Decision
from webgym.errors import EndpointDown, EndpointRefused, RolloutStopped, StoreError
from webgym.rollout.blocking import BlockList
from webgym.rollout.engine import sole, unjudged
from webgym.store import Run
from webgym.store.audit import audit
from webgym.types import Click, Episode, Judgement, Look, Observation, Scored


def tasks(count: int, host: str = "shop.localhost", **fields: Any) -> list[Any]:
    return [task_at(host, n, **fields) for n in range(count)]


def clean(folder: Path, *, finished: bool = True) -> bool:
    report = audit(folder, finished=finished)
    return report.clean


async def test_every_planned_episode_is_played_once_kept_and_released(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(20), slots=4, replicas=2) as one:
        await one.engine.run()
        assert one.kinds() == ["answered"] * 40
        assert one.browsers.open == {}
        assert one.browsers.opened == 40
        assert one.browsers.most_open == 4
        assert all(agent.closed for agent in one.agents)
        assert one.engine.unfinished == 0
        episode = next(iter(one.run.episodes()))
        assert [step.action.kind for step in episode.steps if step.action] == ["click", "click", "answer"]
        assert episode.answer == "done"
        assert not episode.steps[0].unchanged
        assert episode.final_screenshot == episode.steps[-1].screenshot
    assert clean(tmp_path / "run")


async def test_each_sort_of_trouble_has_its_own_outcome(tmp_path: Path):
    hosts = ["dead.localhost", "refusing.localhost", "dying-1.localhost", "dying-9.localhost", "shop.localhost"]
    async with rolled(tmp_path / "run", [task_at(host) for host in hosts], retries=2) as one:
        await one.engine.run()
        assert one.kinds() == ["site_error", "blocked", "answered", "infra", "answered"]
        attempts = {episode.task.website: episode.attempt for episode in one.run.episodes()}
        assert attempts["http://dying-1.localhost"] == 1
        assert one.browsers.died["dying-9.localhost"] == 3
        assert one.browsers.open == {}
    assert clean(tmp_path / "run")


async def test_the_step_limit_is_that_of_the_band_and_split(tmp_path: Path):
    plan = [*tasks(1, facts=1), *tasks(1, "b.localhost", facts=5, split="test")]
    async with rolled(tmp_path / "run", plan, agent=lambda: Walker(10_000)) as one:
        await one.engine.run()
        assert [len(episode.steps) for episode in sorted(one.run.episodes(), key=lambda e: e.task.split)] == [50, 10]
        assert one.kinds() == ["step_limit"] * 2


async def test_a_reply_that_cannot_be_read_is_a_step_in_which_nothing_is_done(tmp_path: Path):
    class Mumbler(Walker):
        async def decide(self, observation: Observation) -> Decision:
            if self._clicks == 2:
                self._clicks -= 1
                return Decision(invalid="no call in it")
            return await super().decide(observation)

    async with rolled(tmp_path / "run", tasks(1), agent=lambda: Mumbler(2)) as one:
        await one.engine.run()
        episode = next(iter(one.run.episodes()))
        assert (episode.steps[0].invalid, episode.steps[0].unchanged) == ("no call in it", True)
        assert one.browsers.steps["shop.localhost"] == 2  # to go there, and one click


async def test_an_outline_asked_for_by_the_engine_is_kept_and_not_shown_to_the_agent(tmp_path: Path):
    class Curious(Walker):
        async def decide(self, observation: Observation) -> Decision:
            assert observation.accessibility is None
            return await super().decide(observation)

    async with rolled(tmp_path / "run", tasks(1), agent=lambda: Curious(1)) as one:
        one.engine._player.outlines = True
        await one.engine.run()
        assert next(iter(one.run.episodes())).steps[0].visible == "an outline"


async def test_a_policy_that_is_down_is_no_fault_of_the_episode_and_is_redone_on_resume(tmp_path: Path):
    class Silent(Walker):
        async def decide(self, observation: Observation) -> Decision:
            raise EndpointDown("no answer")

    async with rolled(tmp_path / "run", tasks(2), agent=lambda: Silent(1)) as one:
        await one.engine.run()
        assert one.kinds() == ["policy_unavailable"] * 2
        assert one.browsers.open == {}
    async with rolled(tmp_path / "run", tasks(2)) as again:
        await again.engine.run()
        assert again.kinds() == ["answered"] * 2
    assert clean(tmp_path / "run")


async def test_an_agent_that_does_not_decide_in_time_is_taken_for_a_policy_that_is_down(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(1), agent=lambda: Walker(1, pause=60), decision=0.1) as one:
        await one.engine.run()
        assert one.kinds() == ["policy_unavailable"]


async def test_a_bug_in_an_agent_is_loud_and_leaves_no_session(tmp_path: Path):
    class Broken(Walker):
        async def decide(self, observation: Observation) -> Decision:
            raise ZeroDivisionError

    async with rolled(tmp_path / "run", tasks(3), agent=lambda: Broken(1)) as one:
        with pytest.raises(ExceptionGroup) as failure:
            await one.engine.run()
        assert failure.group_contains(ZeroDivisionError)
        assert one.browsers.open == {}
    assert clean(tmp_path / "run", finished=False)


async def test_stragglers_get_their_grace_and_no_more(tmp_path: Path):
    plan = [*tasks(19), task_at("slow.localhost")]
    async with rolled(tmp_path / "run", plan, slots=20, stragglers={"share": 0.95, "grace": 0.3}) as one:
        began = time.monotonic()
        await one.engine.run()
        assert 0.3 < time.monotonic() - began < 10
        assert one.kinds() == ["answered"] * 19 + ["straggler"]
        assert one.browsers.open == {}
    assert clean(tmp_path / "run")


async def test_the_breaker_stops_a_rollout_that_only_fails_and_says_why(tmp_path: Path):
    class Refused(Walker):
        async def decide(self, observation: Observation) -> Decision:
            raise EndpointRefused("there is no such model", status=404)

    breaker = {"last": 5, "share": 0.6}
    async with rolled(tmp_path / "run", tasks(50), agent=lambda: Refused(1), slots=3, breaker=breaker) as one:
        with pytest.raises(RolloutStopped, match="there is no such model"):
            await one.engine.run()
        kinds = one.kinds()
        assert 5 <= kinds.count("infra") <= 8
        assert kinds.count("infra") + kinds.count("circuit_open") == 50
    assert clean(tmp_path / "run")
    async with rolled(tmp_path / "run", tasks(50)) as again:
        await again.engine.run()
        assert again.kinds() == ["answered"] * 50


async def test_stopping_lets_those_under_way_finish_and_a_resumed_run_does_the_rest_once(tmp_path: Path):
    browsers = Browsers(latency=0.05)
    async with rolled(tmp_path / "run", tasks(12), slots=3, browsers=browsers) as one:
        asyncio.get_running_loop().call_later(0.1, one.engine.stop)
        await one.engine.run()
        kinds = one.kinds()
        assert 3 <= kinds.count("answered") < 12
        assert set(kinds) == {"answered", "unfinished"}
        assert one.engine.unfinished == kinds.count("unfinished")
    async with rolled(tmp_path / "run", tasks(12)) as again:
        await again.engine.run()
        assert again.kinds() == ["answered"] * 12
        assert again.browsers.opened == kinds.count("unfinished")
    assert clean(tmp_path / "run")


async def test_stopping_twice_cancels_those_under_way_at_once(tmp_path: Path):
    async with rolled(tmp_path / "run", [task_at("slow.localhost", n) for n in range(4)], slots=2) as one:
        loop = asyncio.get_running_loop()
        loop.call_later(0.3, one.engine.stop)
        loop.call_later(0.5, one.engine.stop)
        async with asyncio.timeout(10):
            await one.engine.run()
        assert one.kinds() == ["shutdown"] * 2 + ["unfinished"] * 2
        assert one.browsers.open == {}
    assert clean(tmp_path / "run", finished=False)


async def test_those_who_do_not_finish_in_the_grace_are_cancelled(tmp_path: Path):
    async with rolled(tmp_path / "run", [task_at("slow.localhost")], grace=0.2) as one:
        asyncio.get_running_loop().call_later(0.2, one.engine.stop)
        async with asyncio.timeout(10):
            await one.engine.run()
        assert one.kinds() == ["shutdown"]


async def test_a_website_that_refused_is_left_alone_in_training_and_visited_in_a_test(tmp_path: Path):
    blocked = BlockList(tmp_path / "blocked.jsonl")
    plan = [*tasks(3, "refusing.localhost"), *tasks(1, "refusing.localhost", split="test")]
    plan[3] = plan[3].model_copy(update={"id": "the test"})
    async with rolled(tmp_path / "run", plan, slots=1, blocklist=blocked) as one:
        await one.engine.run()
        assert one.kinds() == ["blocked", "blocked_site", "blocked_site", "blocked"]
        assert one.browsers.opened == 2
    assert clean(tmp_path / "run")


class OneJudge:
    name = "one"

    def __init__(self, fail: bool = False) -> None:
        self.fail, self.seen = fail, 0

    async def judge(self, episode: Episode) -> Judgement:
        self.seen += 1
        if self.fail:
            raise EndpointDown("the judge is away")
        return Judgement(episode=episode.id, judge=self.name, verdict=Scored(reward=1), judged=time.time())


async def test_episodes_that_can_be_scored_are_judged_and_a_judge_that_fails_gives_no_reward(tmp_path: Path):
    plan = [*tasks(4), task_at("dead.localhost")]
    async with rolled(tmp_path / "run", plan, judge=OneJudge()) as one:
        await one.engine.run()
        assert [judgement.verdict.kind for judgement in one.run.judgements("one")] == ["scored"] * 4
        assert one.events.counts().rewarded == 4
        assert unjudged(one.run, 0, "one") == []
    async with rolled(tmp_path / "other", plan, judge=OneJudge(fail=True)) as other:
        await other.engine.run()
        assert [judgement.verdict.kind for judgement in other.run.judgements("one")] == ["unscorable"] * 4
        assert other.events.counts().judged == 0
    assert clean(tmp_path / "run")


async def test_what_was_kept_and_not_judged_is_judged_later(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(3)) as one:
        await one.engine.run()
        waiting = unjudged(one.run, 0, "one")
    async with rolled(tmp_path / "run", tasks(3), judge=(judge := OneJudge())) as again:
        await again.engine.run(waiting)
        assert judge.seen == 3
        assert unjudged(again.run, 0, "one") == []


async def test_gates_bound_what_is_done_at_once(tmp_path: Path):
    class Counting(Walker):
        inside = most = 0

        async def decide(self, observation: Observation) -> Decision:
            Counting.inside += 1
            Counting.most = max(Counting.most, Counting.inside)
            await asyncio.sleep(0.005)
            Counting.inside -= 1
            return await super().decide(observation)

    async with rolled(tmp_path / "run", tasks(12), agent=lambda: Counting(3), slots=12, gates={"model": 2}) as one:
        await one.engine.run()
        assert Counting.most == 2
        stats = {gate.name: gate for gate in one.gates.stats()}
        assert stats["model"].wait.longest > 0
        assert stats["model"].service.count == 48
        assert stats["slots"].inside == 0


async def test_the_events_of_a_rollout_add_up(tmp_path: Path):
    hosts = ["dead.localhost", "dying-1.localhost", "shop.localhost"]
    async with rolled(tmp_path / "run", [task_at(host) for host in hosts]) as one:
        await one.engine.run()
        state = one.events.state()
        assert state.finished
        assert state.counts.outcomes == {"answered": 2, "site_error": 1}
        assert state.counts.retries == 1
        assert {view.outcome for view in state.episodes} == {"answered", "site_error"}
        assert all(view.screenshot for view in state.episodes)


def test_one_rollout_at_a_time_works_on_a_run(tmp_path: Path):
    Run.create(tmp_path / "run").close()
    with sole(tmp_path / "run"), pytest.raises(StoreError, match="another rollout"), sole(tmp_path / "run"):
        raise AssertionError("both are at work")
    with sole(tmp_path / "run"):
        assert clean(tmp_path / "run", finished=False)


async def test_screenshots_without_marks_are_what_a_click_leaves(tmp_path: Path):
    """The agent's own look is asked for, and a decision's look replaces it once."""

    class Looker(Walker):
        look = Look(image="none")

        async def decide(self, observation: Observation) -> Decision:
            self._clicks -= 1
            assert (observation.screenshot is None) == (self._clicks != 0)
            if self._clicks < 0:
                return await super().decide(observation)
            return Decision(action=Click(x=1, y=1), look=Look() if self._clicks == 1 else None)

    async with rolled(tmp_path / "run", tasks(1), agent=lambda: Looker(2)) as one:
        await one.engine.run()
        assert one.kinds() == ["answered"]
