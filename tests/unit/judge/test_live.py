"""The rubric judge beside a rollout: it holds no browser, and what it says is kept with the episode."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from tests.standin.browsers import Browsers, Page
from tests.standin.judge import JudgingModel, picture
from tests.unit.judge.judged import settings_for
from tests.unit.rollout.rolled import Rolled, Walker, rolled, task_at
from webgym.judge.models import opened
from webgym.judge.rubric import RubricJudge
from webgym.judging.assembly import rubric_judge
from webgym.rollout.blocking import BlockList
from webgym.types import Answer, Observation, Screenshot


class PaintedBrowsers(Browsers):
    """Pages that are pictures: the third shows the fact, except on hosts that never do; challenges stay challenges."""

    def _seen(self, page: Page, *, image: bool = True) -> Observation:
        seen = super()._seen(page, image=image)
        shows = (1,) if page.steps >= 2 and not page.host.startswith("empty") else ()
        data = picture(shows=shows, challenge=page.host.startswith("guarded"), words=f"{page.host} {page.steps}")
        shot = Screenshot(format="jpeg", width=320, height=200, sha256=hashlib.sha256(data).hexdigest(), data=data)
        return seen.model_copy(update={"screenshot": shot if image else None})


class Teller(Walker):
    async def decide(self, observation: Observation):
        decision = await super().decide(observation)
        if isinstance(decision.action, Answer):
            return type(decision)(action=Answer(text="The lamp costs 12."))
        return decision


async def test_episodes_are_judged_while_others_play_and_no_browser_waits_for_it(tmp_path: Path) -> None:
    at_once: list[int] = []
    tasks = [task_at(f"shop{n}.test") for n in range(4)] + [task_at("empty.test")]
    async with JudgingModel(latency=0.3) as model:
        settings = settings_for(model)
        async with opened(settings) as models:
            made: list[Rolled] = []
            judge = RubricJudge(settings, models, lambda sha256: made[0].run.images.get(sha256))
            async with rolled(
                tmp_path / "run", tasks, agent=lambda: Teller(2), judge=judge, browsers=PaintedBrowsers(), slots=1
            ) as one:
                made.append(one)
                watching = asyncio.create_task(_watch(model, one.browsers, at_once))
                await one.engine.run()
                watching.cancel()
                said = one.run.latest_judgements(judge.name)
                found = {one.run.episode(name).task.id: said[name].verdict for name in said}
    rewards = {task: verdict.reward for task, verdict in found.items() if verdict.kind == "scored"}
    assert rewards == {f"shop{n}.test-0": 1 for n in range(4)} | {"empty.test-0": 0}
    assert model.most_in_flight > 1, "with one slot, so episodes played while others were judged"
    assert 0 in at_once, "the last ones were judged when no browser was open any more"


async def _watch(model: JudgingModel, browsers: Browsers, at_once: list[int]) -> None:
    while True:
        if model.in_flight:
            at_once.append(len(browsers.open))
        await asyncio.sleep(0.01)


async def test_a_website_the_judge_saw_refusing_is_left_alone_from_then_on(tmp_path: Path) -> None:
    async with JudgingModel() as model:
        blocklist = BlockList(tmp_path / "blocked.jsonl")
        async with rolled(
            tmp_path / "run", [task_at("guarded.test")], agent=lambda: Teller(1), browsers=PaintedBrowsers()
        ) as one:
            await one.engine.run()
            (episode,) = one.run.episodes()
            async with rubric_judge(settings_for(model), one.run, blocklist=blocklist) as judge:
                verdict = (await judge.judge(episode)).verdict
    assert verdict.kind == "unscorable"
    assert verdict.reason.startswith("blocked: ")
    assert "http://guarded.test" in BlockList(tmp_path / "blocked.jsonl")


async def test_judging_an_old_episode_again_blocks_no_website_now(tmp_path: Path) -> None:
    """It refused then; whether it still does, nobody has tried."""
    async with JudgingModel() as model:
        blocklist = BlockList(tmp_path / "blocked.jsonl", hours=12)
        async with rolled(
            tmp_path / "run", [task_at("guarded.test")], agent=lambda: Teller(1), browsers=PaintedBrowsers()
        ) as one:
            await one.engine.run()
            (episode,) = one.run.episodes()
            old = episode.model_copy(update={"ended": episode.ended - 13 * 3600})
            async with rubric_judge(settings_for(model), one.run, blocklist=blocklist) as judge:
                verdict = (await judge.judge(old)).verdict
    assert verdict.kind == "unscorable"
    assert verdict.reason.startswith("blocked: ")
    assert "http://guarded.test" not in blocklist
    assert "http://guarded.test" not in BlockList(tmp_path / "blocked.jsonl", hours=12)
