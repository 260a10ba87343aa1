"""`webgym rollout` put together, against stand-ins for browsers and models."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from tests.faults.injection import until
from tests.standin.browsers import Browsers
from tests.unit.agents.endpoint import PolicyServer
from tests.unit.rollout.rolled import Walker, rolled, task_at
from webgym.agents.policy import ReplicaTotals
from webgym.errors import ConfigError
from webgym.rolling import assembly
from webgym.rolling.assembly import Played, Rolling, acting, browsing, play
from webgym.rolling.plan import draw_tasks, open_run
from webgym.rolling.settings import RolloutSettings
from webgym.rolling.show import summary
from webgym.rollout.agent import NewAgent
from webgym.rollout.blocking import BlockList
from webgym.rollout.client import Client
from webgym.rollout.events import Events
from webgym.tasks.files import write_tasks
from webgym.types import Answered, Cancelled, Episode, Judgement, Scored

ANSWER = '<tool_call>\n{"name": "computer_use", "arguments": {"action": "answer", "text": "42"}}\n</tool_call>'


class Judging:
    """Answers when it is let; its name is the same in every process."""

    name = "one"

    def __init__(self, *, let: bool = True) -> None:
        self.seen: list[str] = []
        self._let = asyncio.Event()
        if let:
            self._let.set()

    async def judge(self, episode: Episode) -> Judgement:
        self.seen.append(episode.id)
        await self._let.wait()
        return Judgement(episode=episode.id, judge=self.name, verdict=Scored(reward=1), judged=0.0)


@asynccontextmanager
async def unwatched(rolling: Rolling) -> AsyncIterator[None]:
    yield


async def played(settings: RolloutSettings) -> Played:
    async with AsyncExitStack() as stack:
        store = stack.enter_context(open_run(settings))

        async def surroundings() -> tuple[Client, NewAgent]:
            client = await stack.enter_async_context(browsing(settings))
            return client, await stack.enter_async_context(acting(settings))

        return await play(settings, store, surroundings, unwatched)


async def recorded(folder: Path, count: int) -> list[Episode]:
    tasks = [task_at("shop.localhost", n) for n in range(count)]
    clicks = iter(range(1, count + 1))
    async with rolled(folder, tasks, agent=lambda: Walker(next(clicks)), slots=1) as one:
        await one.engine.run()
        return [one.run.episode(planned.id) for planned in one.run.planned(0)]


async def test_a_recorded_run_is_done_again_step_by_step(tmp_path: Path):
    before = await recorded(tmp_path / "first", 3)
    async with Browsers() as browsers:
        given: dict[str, Any] = {"agent": "replay", "recording": {"run": tmp_path / "first"}, "server": browsers.url}
        settings = RolloutSettings(run=tmp_path / "again", **given)
        assert (await played(settings)).planned == 3
        with open_run(settings) as run:
            after = [run.episode(planned.id) for planned in run.planned(0)]
        given["recording"] |= {"episode": before[1].id}
        assert (await played(RolloutSettings(run=tmp_path / "one", **given))).planned == 1
        capped = RolloutSettings(
            run=tmp_path / "capped", **given, engine={"caps": {"train": {"easy": 1, "medium": 1, "hard": 1}}}
        )
        await played(capped)
        with open_run(capped) as run:
            assert len(next(run.episodes()).steps) == len(before[1].steps) > 1, "what was recorded has its own length"
        narrow = RolloutSettings(run=tmp_path / "narrow", **given, engine={"session": {"width": 800}})
        with pytest.raises(ConfigError, match=r"1280 × 768.*800 × 768"):
            await played(narrow)
    assert [episode.task for episode in after] == [episode.task for episode in before]
    for old, new in zip(before, after, strict=True):
        assert [step.action for step in new.steps] == [step.action for step in old.steps]
        assert (new.answer, new.agent) == ("done", "replay of walker")


async def test_a_replay_of_nothing_is_said_before_anything_is_started(tmp_path: Path):
    await recorded(tmp_path / "first", 1)
    settings = RolloutSettings(
        run=tmp_path / "again", agent="replay", recording={"run": tmp_path / "first", "iteration": 7}, server="http://x:1"
    )
    with pytest.raises(ConfigError, match="kept no episode of iteration 7"):
        await played(settings)
    with pytest.raises(ValidationError, match="recording is not set"):
        RolloutSettings(run=tmp_path / "again", agent="replay")


def test_the_offline_web_is_not_served_here_for_browsers_elsewhere(tmp_path: Path):
    for near in ("http://127.0.0.1:7860", "http://[::1]:7860", "http://localhost:7860"):
        RolloutSettings(run=tmp_path / "run", worlds={}, server=near)
    with pytest.raises(ValidationError, match=r"server is on browsers\.example"):
        RolloutSettings(run=tmp_path / "run", worlds={}, server="http://browsers.example:7860")


async def test_what_is_only_to_be_judged_starts_neither_browsers_nor_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    judges: list[Judging] = []

    async def with_judge(*_: object) -> Judging:
        return judges[-1]

    monkeypatch.setattr(assembly, "_judge", with_judge)
    tasks = [task_at("shop.localhost", n) for n in range(3)]
    write_tasks(tmp_path / "tasks.parquet", tasks)
    async with Browsers() as browsers, PolicyServer(reply=ANSWER) as model:
        given: dict[str, Any] = {
            "run": tmp_path / "run", "tasks": tmp_path / "tasks.parquet", "count": 3, "server": browsers.url,
            "sampler": {"spare": 0}, "model": {"policy": {"urls": [model.url]}},
        }  # fmt: skip
        settings = RolloutSettings(**given)
        judges.append(Judging(let=False))
        with open_run(settings) as store:

            async def surroundings() -> tuple[Client, NewAgent]:
                client = await around.enter_async_context(browsing(settings))
                return client, await around.enter_async_context(acting(settings))

            @asynccontextmanager
            async def stopped(rolling: Rolling) -> AsyncIterator[None]:
                async def stop() -> None:
                    await until(lambda: len(judges[-1].seen) == 3, 20)
                    rolling.stop()
                    rolling.stop()

                stopping = asyncio.create_task(stop())
                yield
                await stopping

            async with AsyncExitStack() as around:
                first = await play(settings, store, surroundings, stopped)
        assert (first.unfinished, first.unjudged) == (0, 3)
        assert assembly._said(Console(quiet=True), first) == assembly.EXIT_UNFINISHED

    async def nobody() -> tuple[Client, NewAgent]:
        raise AssertionError("there is nothing to play")

    judges.append(Judging())
    again = RolloutSettings(**given, resume=True)
    with open_run(again) as store:
        second = await play(again, store, nobody, unwatched)
    assert len(judges[-1].seen) == 3
    assert (second.unfinished, second.unjudged) == (0, 0)
    assert assembly._said(Console(quiet=True), second) == 0


def test_a_website_that_refused_is_not_drawn_and_its_neighbour_at_another_port_is(tmp_path: Path):
    tasks = [task_at(f"shop.localhost:{port}") for port in (8090, 8091)]
    write_tasks(tmp_path / "tasks.parquet", tasks)
    blocked = BlockList(tmp_path / "blocked.jsonl")
    blocked.add("http://shop.localhost:8090", "status 403")
    settings = RolloutSettings(run=tmp_path / "run", tasks=tmp_path / "tasks.parquet", count=2, sampler={"spare": 0})
    assert [task.website for task in draw_tasks(settings, blocked)] == ["http://shop.localhost:8091"]


def shown(events: Events, *replicas: ReplicaTotals) -> str:
    said = io.StringIO()
    Console(file=said, width=200).print(summary(events.state(), 0, replicas))
    return said.getvalue()


def test_the_speed_counts_what_was_played_here_however_many_views_are_held():
    now = [0.0]
    events, task = Events("run", keep=2, clock=lambda: now[0]), task_at("shop.localhost")
    events.restore(Answered())
    for n in range(12):
        events.plan(f"e{n}", task, 0, limit=5)
    now[0] = 3600.0
    for n in range(10):
        events.begin(f"e{n}", task, 0, limit=5)
        events.end(f"e{n}", Answered())
    for n in range(10, 12):
        events.end(f"e{n}", Cancelled(reason="straggler", detail="not begun"))
    events.finish()
    assert "10 episodes an hour" in shown(events)


def test_replicas_that_failed_are_told():
    said = shown(Events("run"), ReplicaTotals("http://a/v1", replies=3), ReplicaTotals("http://b/v1", 5, 2, down=True))
    assert "http://b/v1: 5 replies, 2 failures, down at the end" in said
    assert "http://a/v1" not in said
