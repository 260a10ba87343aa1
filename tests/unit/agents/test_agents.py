"""Agents as the engine sees them: a model over HTTP, random, a replay, and a script that drives a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from tests.unit.agents.endpoint import WAIT, PolicyServer
from tests.unit.agents.test_context import seen
from webgym.agents.agent import Agent, Decision, NewAgent
from webgym.agents.context import messages_of
from webgym.agents.model import ModelAgent, ModelAgents
from webgym.agents.policy import Policy
from webgym.agents.scripted import DrivenAgent, Hands, RandomAgent, RandomAgents, ReplayAgent
from webgym.agents.settings import AgentSettings, PolicySettings
from webgym.endpoint.messages import body_of
from webgym.errors import BrowserError, EndpointDown
from webgym.types import Answer, Answered, Click, Episode, FactGroup, Look, Observation, Step, Task, Terminate, Wait

TASK = Task(
    id="t", source="s", instruction="Find <|im_end|> it.", website="https://shop.example", domain="d", subdomain="e",
    groups=(FactGroup(id=1, description="d", facts=("f",)),),
)  # fmt: skip


@pytest.fixture
async def server() -> AsyncIterator[PolicyServer]:
    async with PolicyServer() as running:
        yield running


def settings_at(server: PolicyServer, **changes: Any) -> AgentSettings:
    policy = PolicySettings(urls=(server.url,), model="m", backoff=0.01, patience=1)
    return AgentSettings(policy=policy, **changes)


def last_text(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"][0]["text"])


async def test_a_model_acts_and_the_stored_prompt_is_the_one_the_server_got(server: PolicyServer) -> None:
    settings = settings_at(server)
    first, second = seen(b"\xff\xd8 one"), seen(b"\xff\xd8 two")
    async with Policy(settings.policy) as policy:
        agent: Agent = ModelAgents(policy, settings)(TASK, "e")
        decisions = [await agent.decide(first), await agent.decide(second)]
        await agent.close()
    assert [decision.action for decision in decisions] == [Wait(), Wait()]
    assert agent.name == "qwen3_vl/m"
    images = {observation.screenshot.sha256: observation.screenshot.data for observation in (first, second)}  # type: ignore[union-attr]
    for decision, body in zip(decisions, server.bodies, strict=True):
        rebuilt = b"".join(body_of(messages_of(decision.prompt, images.__getitem__), {}))
        assert msgspec.json.decode(rebuilt) == {"messages": body["messages"]}
        assert decision.reply is not None
        assert decision.reply.text == WAIT
    assert last_text(server.bodies[1]).startswith("The action was done.\n")
    assert "<|im_end|>" not in str(server.bodies)


async def test_an_unreadable_reply_is_a_decision_and_the_model_is_told(server: PolicyServer) -> None:
    server.plan = ["I am lost. <tool_call>{</tool_call>", "x" * 300_000]
    settings = settings_at(server)
    async with Policy(settings.policy) as policy:
        agent = ModelAgents(policy, settings)(TASK, "e")
        lost, endless, sane = [await agent.decide(seen()) for _ in range(3)]
    assert lost.action is None
    assert lost.invalid is not None
    assert "not JSON" in lost.invalid
    assert endless.invalid is not None
    assert sane.action == Wait()
    assert "could not be read and nothing was done: the call is not JSON" in last_text(server.bodies[1])
    assert len(str(server.bodies[2])) < 30_000
    Step(index=0, screenshot=None, url="", title="", prompt=lost.prompt, reply=lost.reply, invalid=lost.invalid)


async def test_thoughts_do_not_enter_the_history(server: PolicyServer) -> None:
    server.reply = f"<think>A secret plan.</think>I wait.\n{WAIT}"
    settings = settings_at(server, thinking=True)
    async with Policy(settings.policy) as policy:
        agent = ModelAgents(policy, settings)(TASK, "e")
        decision = await agent.decide(seen())
        await agent.decide(seen())
    assert decision.reply is not None
    assert "secret plan" in decision.reply.text
    assert "secret plan" not in str(server.bodies[1]["messages"])
    assert "I wait." in str(server.bodies[1]["messages"])


async def test_a_reply_cut_while_thinking_is_not_acted_on_and_does_not_enter_the_history(server: PolicyServer) -> None:
    server.reply, server.more = f"A secret plan: perhaps {WAIT}", {"finish_reason": "length"}
    settings = settings_at(server, thinking=True)  # the prompt's template has opened the thought
    async with Policy(settings.policy) as policy:
        agent = ModelAgents(policy, settings)(TASK, "e")
        decision = await agent.decide(seen())
        await agent.decide(seen())
    assert decision.action is None
    assert decision.invalid is not None
    assert "cut while thinking" in decision.invalid
    assert "secret plan" not in str(server.bodies[1]["messages"])


@pytest.mark.parametrize(
    ("text", "finish", "thinking"),
    [(WAIT, "stop", True), (f"Hm.</think>{WAIT}", "length", True), (WAIT, "length", False)],
    ids=["thoughts kept by the server", "cut after the thought", "no thoughts"],
)
async def test_a_reply_that_is_no_thought_is_acted_on(server: PolicyServer, text: str, finish: str, thinking: bool) -> None:
    server.reply, server.more = text, {"finish_reason": finish}
    settings = settings_at(server, thinking=thinking)
    async with Policy(settings.policy) as policy:
        assert (await ModelAgents(policy, settings)(TASK, "e").decide(seen())).action == Wait()


async def test_the_model_is_told_what_came_of_its_action(server: PolicyServer) -> None:
    settings = settings_at(server)
    async with Policy(settings.policy) as policy:
        agent = ModelAgents(policy, settings)(TASK, "e")
        for data, error in [
            (b"1", None),
            (b"1", None),
            (b"2", "there is no\nelement 7"),
            (b"3", None),
            (b"4", None),
            (b"5", None),
            (b"6", None),
        ]:
            await agent.decide(seen(b"\xff\xd8" + data, action_error=error))
    assert last_text(server.bodies[1]).startswith("The action was done. The page looks the same as before.")
    assert last_text(server.bodies[2]).startswith("The action had no effect: there is no element 7\n")
    old = server.bodies[6]["messages"][1]["content"][0]["text"]
    assert '1. "Shop": wait 1 s → page unchanged\n2. "Shop": wait 1 s → no effect' in old


async def test_a_policy_that_is_down_is_the_engines_to_know(server: PolicyServer) -> None:
    settings = settings_at(server)
    async with Policy(settings.policy) as policy:
        agent = ModelAgents(policy, settings)(TASK, "e")
        await server.stop()
        with pytest.raises(EndpointDown):
            await agent.decide(seen())
        await server.start()
        assert (await agent.decide(seen())).action == Wait()  # asked again, as if nothing had been


async def test_a_model_without_a_screenshot_does_not_guess(server: PolicyServer) -> None:
    settings = settings_at(server)
    async with Policy(settings.policy) as policy:
        with pytest.raises(BrowserError):
            await ModelAgents(policy, settings)(TASK, "e").decide(seen(screenshot=None))
    assert server.bodies == []


def test_a_decision_is_an_action_or_a_reason() -> None:
    with pytest.raises(ValueError, match="either"):
        Decision()
    with pytest.raises(ValueError, match="either"):
        Decision(action=Wait(), invalid="no")


def test_settings_name_both_values_that_do_not_fit() -> None:
    with pytest.raises(ValidationError, match=r"min_pixels is 2000000.*1000000"):
        AgentSettings(min_pixels=2_000_000, max_pixels=1_000_000)


def test_factories_and_agents_fit_the_protocols(server: PolicyServer) -> None:
    settings = AgentSettings()
    factories: list[NewAgent] = [ModelAgents(Policy(settings.policy), settings), RandomAgents(1)]
    agents = [new(TASK, "e") for new in factories]
    assert [type(agent) for agent in agents] == [ModelAgent, RandomAgent]


async def test_random_agents_are_repeatable_and_stay_on_the_screen() -> None:
    observation = seen(width=224, height=160)

    async def acts(seed: int, episode: str) -> list[Any]:
        agent = RandomAgents(seed)(TASK, episode)
        return [(await agent.decide(observation)).action for _ in range(100)]

    assert await acts(1, "a") == await acts(1, "a")
    assert await acts(1, "a") != await acts(1, "b")
    assert await acts(1, "a") != await acts(2, "a")
    found = await acts(3, "c")
    assert {action.kind for action in found} >= {"click", "scroll", "type"}
    assert all(action.x < 224 and action.y < 160 for action in found if getattr(action, "x", None) is not None)


def recorded(*steps: Step) -> Episode:
    return Episode(
        id="0" * 32, run="r", iteration=0, task=TASK, agent="qwen3_vl/m", width=1280, height=768, steps=steps,
        outcome=Answered(), started=0, ended=1,
    )  # fmt: skip


def step(index: int, **changes: Any) -> Step:
    return Step(index=index, screenshot=None, url="", title="", **changes)


async def test_a_replay_does_what_was_recorded_and_then_gives_up() -> None:
    agent = ReplayAgent(
        recorded(step(0, action=Click(x=1, y=2)), step(1, invalid="no call"), step(2, action=Answer(text="5")))
    )
    decisions = [await agent.decide(seen()) for _ in range(4)]
    assert [decision.action for decision in decisions] == [
        Click(x=1, y=2),
        None,
        Answer(text="5"),
        Terminate(status="failure"),
    ]
    assert decisions[1].invalid == "no call"
    assert not agent.look.marks
    assert ReplayAgent(recorded(step(0, action=Click(element=3)))).look.marks


async def test_a_script_drives_through_decisions() -> None:
    noticed = []

    async def script(hands: Hands, first: Observation) -> None:
        noticed.append(first.title)
        for n in range(2):
            await asyncio.sleep(0)
            observation = await hands.step(Click(x=n, y=n), Look(marks=True))
            noticed.append(observation.title)
        await hands.step(Answer(text="done"), Look())

    agent: Agent = DrivenAgent("oracle", script)
    decisions = [await agent.decide(seen(title=f"page {n}")) for n in range(5)]
    await agent.close()
    assert [decision.action for decision in decisions[:3]] == [Click(x=0, y=0), Click(x=1, y=1), Answer(text="done")]
    assert decisions[0].look == Look(marks=True)
    assert [decision.action for decision in decisions[3:]] == [Terminate(status="failure")] * 2
    assert noticed == ["page 0", "page 1", "page 2"]


async def test_a_script_that_raises_raises_from_decide() -> None:
    async def script(hands: Hands, first: Observation) -> None:
        await hands.step(Wait(), Look())
        raise BrowserError("the element is gone")

    agent = DrivenAgent("oracle", script)
    await agent.decide(seen())
    with pytest.raises(BrowserError, match="gone"):
        await agent.decide(seen())
    await agent.close()


async def test_closing_ends_a_script_in_the_middle() -> None:
    ended = asyncio.Event()

    async def script(hands: Hands, first: Observation) -> None:
        try:
            while True:
                await hands.step(Wait(), Look())
        finally:
            ended.set()

    agent = DrivenAgent("oracle", script)
    await agent.decide(seen())
    await agent.close()
    assert ended.is_set()
