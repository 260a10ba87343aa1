"""The engine against a stand-in server and a real store: every episode has one outcome, whatever happens."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

import pytest
from aiohttp import web

from tests.faults.injection import until
from tests.standin.browsers import Browsers, Page
from tests.unit.agents.endpoint import PolicyServer
from tests.unit.rollout.rolled import Walker, rolled, task_at
from webgym.agents.agent import Decision
from webgym.agents.model import ModelAgents
from webgym.agents.policy import Policy
from webgym.agents.settings import AgentSettings
from webgym.errors import DiskFull, EndpointDown, EndpointRefused, Forbidden, RolloutStopped, StoreError
from webgym.rollout.blocking import BlockList
from webgym.rollout.engine import JUDGE_BACKLOG, sole, unjudged
from webgym.server.egress import EgressPolicy
from webgym.store import Run
from webgym.store.audit import audit
from webgym.types import Click, Episode, Judgement, Look, Observation, Scored, Screenshot


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


async def test_a_start_page_that_is_an_error_of_the_server_is_the_websites_fault(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(1, "broken.localhost")) as one:
        await one.engine.run()
        assert one.kinds() == ["site_error"]
        (episode,) = one.run.episodes()
        assert "502" in episode.outcome.reason  # type: ignore[union-attr]


async def test_an_episode_without_the_outlines_that_its_verifier_needs_is_a_fault_of_ours(tmp_path: Path):
    async with rolled(tmp_path / "run", [*tasks(1, "busy.localhost"), *tasks(1)], retries=1) as one:
        one.engine._player.outlines = True
        await one.engine.run()
        assert one.kinds() == ["infra", "answered"]
        assert one.browsers.opened == 3, "it was tried twice"


async def test_what_a_server_broke_off_is_not_the_models_reply(tmp_path: Path):
    async with PolicyServer(more={"finish_reason": "abort"}) as server:
        policy = {"urls": [server.url], "patience": 0.5, "backoff": 0.05, "max_backoff": 0.05}
        settings = AgentSettings.model_validate({"policy": policy})
        async with Policy(settings.policy) as model:
            (task,), agents = tasks(1), ModelAgents(model, settings)
            async with rolled(tmp_path / "run", [task], agent=lambda: agents(task, "e")) as one:
                with pytest.raises(RolloutStopped, match="abort"):
                    await one.engine.run()
                assert one.kinds() == ["policy_unavailable"]
                assert model.totals[0].failures > 1
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


async def test_replies_that_are_never_readable_end_at_the_step_limit_with_nothing_done(tmp_path: Path):
    async with PolicyServer(reply="I am lost.") as server:
        settings = AgentSettings.model_validate({"policy": {"urls": [server.url]}})
        async with Policy(settings.policy) as policy:
            (task,), agents = tasks(1), ModelAgents(policy, settings)
            async with rolled(tmp_path / "run", [task], agent=lambda: agents(task, "e")) as one:
                await one.engine.run()
                assert one.kinds() == ["step_limit"]
                (episode,) = one.run.episodes()
                assert [step.action for step in episode.steps] == [None] * 10
                assert all(step.invalid and step.unchanged for step in episode.steps)
                assert one.browsers.steps == {"shop.localhost": 1}  # the way there
        assert len(server.bodies) == 10
    assert clean(tmp_path / "run")


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
        with pytest.raises(RolloutStopped, match="no answer"):
            await one.engine.run()
        assert one.kinds() == ["policy_unavailable"] * 2
        assert one.browsers.open == {}
    async with rolled(tmp_path / "run", tasks(2)) as again:
        await again.engine.run()
        assert again.kinds() == ["answered"] * 2
    assert clean(tmp_path / "run")


async def test_an_agent_that_does_not_decide_in_time_is_taken_for_a_policy_that_is_down(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(1), agent=lambda: Walker(1, pause=60), decision=0.1) as one:
        with pytest.raises(RolloutStopped, match="did not decide"):
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


class Offline(Browsers):
    """None of whose pages can be loaded, but for those of some hosts."""

    def __init__(self, *but: str) -> None:
        super().__init__()
        self._but = but

    def _seen(self, page: Page, *, image: bool = True) -> Observation:
        seen = super()._seen(page, image=image)
        return (
            seen if page.host in self._but else seen.model_copy(update={"navigation_error": "net::ERR_ADDRESS_UNREACHABLE"})
        )


async def test_the_breaker_stops_a_rollout_when_no_start_page_can_be_loaded(tmp_path: Path):
    """Each alone is its website's fault. All of them together are the network's, and no episode says anything then."""
    everywhere, breaker = [task_at(f"site{n}.localhost", n) for n in range(50)], {"last": 5, "share": 0.6}
    async with rolled(tmp_path / "run", everywhere, browsers=Offline(), slots=3, breaker=breaker) as one:
        with pytest.raises(RolloutStopped, match=r"start pages of \d websites in a row .*ERR_ADDRESS_UNREACHABLE"):
            await one.engine.run()
        kinds = one.kinds()
        # Of the five that were not loaded, two may not have been written yet when the breaker opened, and are circuit_open.
        assert 3 <= kinds.count("site_error") <= 8
        assert kinds.count("site_error") + kinds.count("circuit_open") == 50


async def test_tasks_without_a_website_do_not_hide_that_the_network_is_gone(tmp_path: Path):
    mixed = [task_at(f"site{n}.localhost", n) for n in range(50)]
    mixed = [task.model_copy(update={"website": ""}) if n % 2 else task for n, task in enumerate(mixed)]
    breaker = {"last": 5, "share": 0.6}
    async with rolled(tmp_path / "run", mixed, browsers=Offline(""), slots=1, breaker=breaker) as one:
        with pytest.raises(RolloutStopped, match=r"start pages of \d websites in a row"):
            await one.engine.run()
        assert "answered" in one.kinds(), "about:blank needs no network"
    searching = {"session": {"blank": "http://search.localhost"}}
    async with rolled(
        tmp_path / "up", mixed, browsers=Offline("search.localhost"), slots=1, breaker=breaker, **searching
    ) as one:
        await one.engine.run()
        assert Counter(one.kinds()) == {"site_error": 25, "answered": 25}, "a start page of the network's is a sign of it"


async def test_websites_that_are_down_stop_no_rollout_while_others_are_up(tmp_path: Path):
    breaker = {"last": 5, "share": 0.6}
    mixed = [task_at(f"site{n}.localhost", n) for n in range(40)]
    up = [f"site{n}.localhost" for n in range(0, 40, 4)]
    async with rolled(tmp_path / "run", mixed, browsers=Offline(*up), slots=1, breaker=breaker) as one:
        await one.engine.run()
        assert Counter(one.kinds()) == {"site_error": 30, "answered": 10}
    failing = [task_at("broken.localhost" if n % 4 == 0 else f"site{n}.localhost", n) for n in range(40)]
    async with rolled(tmp_path / "answers", failing, browsers=Offline("broken.localhost"), slots=1, breaker=breaker) as one:
        await one.engine.run()
        assert one.kinds() == ["site_error"] * 40, "a page that says 502 was loaded"
    async with rolled(tmp_path / "same", tasks(50), browsers=Offline(), slots=3, breaker=breaker) as one:
        await one.engine.run()
        assert one.kinds() == ["site_error"] * 50, "it is one website"


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


class Wandering(Browsers):
    """Pages whose second step leads elsewhere, where automation is refused."""

    def __init__(self, elsewhere: str) -> None:
        super().__init__()
        self._elsewhere = elsewhere

    def _seen(self, page: Page, *, image: bool = True) -> Observation:
        if page.steps > 1:
            page = Page(self._elsewhere, page.steps)
            seen = super()._seen(page, image=image)
            return seen.model_copy(update={"status": 403, "title": "Just a moment..."})
        return super()._seen(page, image=image)


@pytest.mark.parametrize(
    ("elsewhere", "website", "listed"),
    [
        ("guarded.example", "http://shop.example", ()),
        ("guarded.example", "", ()),
        ("shop.example", "http://shop.example", ("shop.example",)),
        ("m.shop.example", "http://www.shop.example", ("shop.example",)),
    ],
)
async def test_a_refusal_is_held_against_the_website_only_for_a_page_of_its_own(
    tmp_path: Path, elsewhere: str, website: str, listed: tuple[str, ...]
):
    blocked = BlockList(tmp_path / "blocked.jsonl")
    plan = [task.model_copy(update={"website": website}) for task in tasks(2)]
    async with rolled(tmp_path / "run", plan, slots=1, blocklist=blocked, browsers=Wandering(elsewhere)) as one:
        await one.engine.run()
        assert one.kinds() == ["blocked", "blocked_site" if listed else "blocked"]
    assert blocked.current() == listed


async def test_a_start_page_that_leads_to_a_guard_is_its_websites_refusal(tmp_path: Path):
    class Guarded(Browsers):
        def _seen(self, page: Page, *, image: bool = True) -> Observation:
            seen = super()._seen(page, image=image)
            return seen.model_copy(update={"url": "https://geo.captcha-delivery.com/captcha/?x=1"})

    blocked = BlockList(tmp_path / "blocked.jsonl")
    async with rolled(tmp_path / "run", tasks(1), blocklist=blocked, browsers=Guarded()) as one:
        await one.engine.run()
        assert one.kinds() == ["blocked"]
    assert blocked.current() == ("shop.localhost",)


class Closed(Browsers):
    """A server whose own rules shut some pages."""

    def __init__(self, **told: str) -> None:
        super().__init__()
        self._told = told

    def _seen(self, page: Page, *, image: bool = True) -> Observation:
        seen = super()._seen(page, image=image)
        return seen.model_copy(update=self._told) if page.host.startswith("shut") else seen


async def test_a_start_page_that_our_own_policy_shuts_is_no_fault_of_the_website(tmp_path: Path):
    with pytest.raises(Forbidden) as refused:
        EgressPolicy(deny=("shut.localhost",)).check_url("http://shut.localhost")
    said = str(refused.value)
    plan = [task_at("shut.localhost"), *tasks(1)]
    async with rolled(tmp_path / "run", plan, browsers=Closed(action_error=said)) as one:
        await one.engine.run()
        assert one.kinds() == ["infra", "answered"]
        assert one.browsers.opened == 2  # it is not tried twice
        reason = one.run.outcomes()[one.jobs[0].id].outcome.reason
        assert said in reason
        assert "allow" in reason
    async with rolled(tmp_path / "run", plan) as again:  # the policy was put right
        await again.engine.run()
        assert again.kinds() == ["answered"] * 2


async def test_a_website_that_leads_to_a_place_of_no_public_is_at_fault_itself(tmp_path: Path):
    said = "blocked by the egress policy: shut.localhost is 127.0.0.1, which is loopback"
    async with rolled(tmp_path / "run", [task_at("shut.localhost")], browsers=Closed(navigation_error=said)) as one:
        await one.engine.run()
        assert one.kinds() == ["site_error"]


class Full(Browsers):
    """A server with no session free for the first requests."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.refused, self._times = 0, times

    async def _create(self, request: web.Request) -> web.StreamResponse:
        if self.refused < self._times:
            self.refused += 1
            await request.read()
            body = {"error": {"code": "overloaded", "message": "all sessions are taken", "retry_after": 0.01}}
            return web.json_response(body, status=429)
        return await super()._create(request)


async def test_a_server_that_is_full_is_waited_for_and_costs_no_attempt(tmp_path: Path):
    browsers = Full(times=12)
    async with rolled(tmp_path / "run", tasks(2), retries=0, browsers=browsers, client_patience=0.0) as one:
        await one.engine.run()
        assert one.kinds() == ["answered"] * 2
        assert browsers.refused == 12
        assert one.events.counts().retries == 0
        assert {episode.attempt for episode in one.run.episodes()} == {0}


async def test_a_server_that_stays_full_is_given_up_when_patience_ends(tmp_path: Path):
    plan, session = tasks(1), {"patience": 0.1}
    async with rolled(
        tmp_path / "run", plan, session=session, browsers=Full(times=10**6), client_patience=0.0, breaker=None
    ) as one:
        await one.engine.run()
        assert one.kinds() == ["infra"]
        assert "no session was free" in one.run.outcomes()[one.jobs[0].id].outcome.reason


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


async def test_a_damaged_episode_is_not_judged_and_hinders_no_other(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(3)) as one:
        await one.engine.run()
        waiting = unjudged(one.run, 0, "one")
    async with rolled(tmp_path / "run", tasks(3), judge=(judge := OneJudge())) as again:
        next((tmp_path / "run/episodes").rglob(f"{waiting[0]}.parquet")).write_bytes(b"something else")
        await again.engine.run(waiting)
        assert judge.seen == 2
        assert {judgement.episode for judgement in again.run.judgements("one")} == set(waiting[1:])


class SlowJudge(OneJudge):
    """Says nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def judge(self, episode: Episode) -> Judgement:
        self.seen += 1
        await self.let.wait()
        return await super().judge(episode)


async def test_episodes_leave_their_slots_however_long_the_judge_takes(tmp_path: Path):
    judge = SlowJudge()
    async with rolled(tmp_path / "run", tasks(12), slots=2, judge=judge, gates={"judge": 1}) as one:
        running = asyncio.create_task(one.engine.run())
        await until(lambda: not one.engine.unfinished and judge.seen > 0, 20)
        assert one.kinds() == ["answered"] * 12
        assert judge.seen == 1
        assert len(one.engine._judging) == JUDGE_BACKLOG
        assert not any(one.events.history(job.id) for job in one.jobs), "their steps are on the disk"
        judge.let.set()
        await running
        assert len(list(one.run.judgements("one"))) == 12
        assert one.events.counts().doing["done"] == 12


@pytest.mark.parametrize("stops", [1, 2])
async def test_stopping_ends_the_judge_too_and_what_is_unjudged_is_judged_on_resume(tmp_path: Path, stops: int):
    grace = {"grace": 0.1} if stops == 1 else {}
    async with rolled(tmp_path / "run", tasks(12), judge=(judge := SlowJudge()), gates={"judge": 2}, **grace) as one:
        running = asyncio.create_task(one.engine.run())
        await until(lambda: not one.engine.unfinished and judge.seen > 0, 20)
        for _ in range(stops):
            one.engine.stop()
        async with asyncio.timeout(20):
            await running
        assert one.engine.unjudged == 12
        assert one.events.counts().doing["done"] == 12
        waiting = unjudged(one.run, 0, "one")
        assert len(waiting) == 12
    async with rolled(tmp_path / "run", tasks(12), judge=OneJudge()) as again:
        await again.engine.run(waiting)
        assert again.engine.unjudged == 0
        assert unjudged(again.run, 0, "one") == []
    assert clean(tmp_path / "run")


async def test_a_breaker_that_opens_gives_the_judge_its_grace_and_no_more(tmp_path: Path):
    class Unlucky(Walker):
        made = 0

        async def decide(self, observation: Observation) -> Decision:
            Unlucky.made += 1
            if Unlucky.made > 3:
                raise EndpointRefused("there is no such model", status=404)
            return await super().decide(observation)

    breaker = {"last": 3, "share": 0.6}
    async with rolled(
        tmp_path / "run", tasks(9), agent=lambda: Unlucky(0), slots=1, breaker=breaker, grace=0.1, judge=SlowJudge()
    ) as one:
        async with asyncio.timeout(20):
            with pytest.raises(RolloutStopped, match="no such model"):
                await one.engine.run()
        assert one.engine.unjudged == 3


async def test_an_iteration_too_small_for_the_breaker_that_only_fails_ends_with_the_reason(tmp_path: Path):
    class Refused(Walker):
        async def decide(self, observation: Observation) -> Decision:
            raise EndpointRefused("there is no such model", status=404)

    async with rolled(tmp_path / "run", tasks(3), agent=lambda: Refused(1)) as one:
        with pytest.raises(RolloutStopped, match=r"all 3 episodes .* there is no such model"):
            await one.engine.run()
        assert one.kinds() == ["infra"] * 3
    async with rolled(tmp_path / "run", tasks(3)) as again:
        await again.engine.run()
        assert again.kinds() == ["answered"] * 3


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


async def test_an_agent_looks_while_a_screenshot_is_written_and_nothing_is_done_before_it_is_kept(tmp_path: Path):
    happened: list[str] = []

    class Telling(Browsers):
        def _seen(self, page: Page, *, image: bool = True) -> Observation:
            happened.extend(["page"] * image)
            return super()._seen(page, image=image)

    class Thinker(Walker):
        async def decide(self, observation: Observation) -> Decision:
            happened.append("look")
            return await super().decide(observation)

    async with rolled(tmp_path / "run", tasks(1), agent=lambda: Thinker(2), browsers=Telling()) as one:
        assert one.engine._player is not None
        keep = one.engine._player.keep

        class Slowly:
            """Kept no sooner than the agent was asked, who would never be if its screenshot were waited for."""

            def __init__(self, shot: Screenshot) -> None:
                self._keeping = keep(shot)

            def __await__(self) -> Generator[Any, None, str]:
                yield from until(lambda: happened[-1] == "look", 10).__await__()
                kept = yield from self._keeping.__await__()
                happened.append("kept")
                return kept

        one.engine._player.keep = Slowly
        await one.engine.run()
        assert one.kinds() == ["answered"]
    assert happened == ["page", "look", "kept"] * 3
    assert clean(tmp_path / "run")


async def test_a_screenshot_that_is_not_what_the_server_calls_it_is_a_fault_of_the_server(tmp_path: Path):
    class Lying(Browsers):
        def _seen(self, page: Page, *, image: bool = True) -> Observation:
            seen = super()._seen(page, image=image)
            if seen.screenshot is None:
                return seen
            return seen.model_copy(update={"screenshot": seen.screenshot.model_copy(update={"sha256": "ab" * 32})})

    async with rolled(tmp_path / "run", tasks(1), browsers=Lying(), retries=1) as one:
        with pytest.raises(RolloutStopped, match="the screenshot's hash is"):
            await one.engine.run()
        assert one.kinds() == ["infra"]
        assert one.browsers.opened == 2
    assert clean(tmp_path / "run")


async def test_a_disk_that_is_full_for_a_moment_costs_no_screenshot(tmp_path: Path):
    async with rolled(tmp_path / "run", tasks(1)) as one:
        put, full = one.run.images.put, iter([True, True, False, True])

        def fail_at_times(data: bytes, image_format: Literal["jpeg", "png"]) -> str:
            if next(full, False):
                raise DiskFull("no room")
            return put(data, image_format)

        one.run.images.put = fail_at_times  # type: ignore[method-assign]
        await one.engine.run()
        assert one.kinds() == ["answered"]
        assert one.events.notice == ""
    assert clean(tmp_path / "run")


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
