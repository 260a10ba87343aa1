"""The policy's client against real HTTP servers that misbehave, die and come back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError

from tests.faults.injection import until
from tests.unit.agents.endpoint import WAIT, PolicyServer
from webgym import logs
from webgym.agents.dialects import Invalid, Screen, cut_while_thinking, dialect
from webgym.agents.policy import Policy
from webgym.agents.settings import PolicySettings
from webgym.endpoint import Image, Message
from webgym.errors import ConfigError, EndpointDown, EndpointRefused
from webgym.types import Back

SECRET = "sk-canary-policy-0123456789"
PROMPT = [Message("system", "Act."), Message("user", "Look.", Image(b"\xff\xd8 picture"))]
QUICK: dict[str, Any] = {"timeout": 2.0, "backoff": 0.01, "max_backoff": 0.05, "patience": 5.0, "avoid": 0.3}


@pytest.fixture
async def server() -> AsyncIterator[PolicyServer]:
    async with PolicyServer() as running:
        yield running


@pytest.fixture
async def other() -> AsyncIterator[PolicyServer]:
    async with PolicyServer() as running:
        yield running


def at(*servers: PolicyServer, clock: Callable[[], float] = time.monotonic, **changes: Any) -> Policy:
    chosen = {"urls": tuple(server.url for server in servers), "model": "m", **QUICK, **changes}
    return Policy(PolicySettings(**chosen), clock=clock)


async def test_a_reply_comes_with_its_tokens_and_its_time(server: PolicyServer) -> None:
    server.latency = 0.05
    async with at(server, extra_body={"chat_template_kwargs": {"enable_thinking": False}}) as policy:
        reply = await policy.ask(PROMPT, episode="e")
        (totals,) = policy.totals
    assert reply.text == WAIT
    assert (reply.model, reply.prompt_tokens, reply.completion_tokens) == ("served", 100, 7)
    assert 0.05 <= reply.seconds < 2
    assert (totals.replies, totals.failures, totals.in_flight) == (1, 0, 0)
    assert (totals.prompt_tokens, totals.completion_tokens) == (100, 7)
    body = server.bodies[0]
    assert (body["temperature"], body["top_p"], body["top_k"], body["max_tokens"]) == (1.0, 0.99, 2, 3072)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["messages"][1]["content"][1]["image_url"]["url"].startswith("data:image/jpeg;base64,/9gg")
    assert "return_token_ids" not in body


async def test_token_ids_and_logprobs_are_asked_for_and_kept(server: PolicyServer) -> None:
    server.more = {
        "token_ids": [5, 6],
        "logprobs": {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]},
    }
    server.above = {"prompt_token_ids": [1, 2, 3]}
    async with at(server, token_ids=True, logprobs=True) as policy:
        reply = await policy.ask(PROMPT, episode="e")
        assert (reply.prompt_token_ids, reply.token_ids, reply.logprobs) == ((1, 2, 3), (5, 6), (-0.5, -1.0))
        server.more["token_ids"] = [5]
        torn = await policy.ask(PROMPT, episode="e")
        assert (torn.token_ids, torn.logprobs) == (None, None)
    assert server.bodies[0]["return_token_ids"] is True
    assert server.bodies[0]["logprobs"] is True


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r'{"choices": [{"message": {"content": "half \ud800 a character"}}]}', "half ? a character"),
        ('{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"logprob": -Infinity}]}}]}', "x"),
        (
            '{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"logprob": -1}, {"logprob": null}]}}]}',
            "x",
        ),
        ('{"choices": [{"message": {"content": "x"}, "stop_reason": {"kind": "end"}}]}', "x"),
        ('{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": null}}', "x"),
        ('{"choices": [{"message": {"content": null}}]}', ""),
    ],
    ids=["surrogate", "infinite logprob", "null logprob", "odd stop reason", "no count", "silence"],
)
async def test_an_odd_completion_is_still_a_reply(server: PolicyServer, body: str, text: str) -> None:
    server.plan = [web.Response(text=body)]
    async with at(server) as policy:
        reply = await policy.ask(PROMPT, episode="e")
    assert reply.text == text
    assert reply.logprobs is None
    assert not reply.rebuilt
    assert isinstance(dialect("qwen3_vl").read(reply.text, Screen(1280, 768)), Invalid)
    assert len(server.bodies) == 1


async def test_token_ids_stay_where_a_log_probability_is_missing(server: PolicyServer) -> None:
    server.more = {"token_ids": [5, 6], "logprobs": {"content": [{"token": "a", "logprob": -1}, {"token": "b"}]}}
    async with at(server, token_ids=True, logprobs=True) as policy:
        reply = await policy.ask(PROMPT, episode="e")
    assert (reply.token_ids, reply.logprobs) == ((5, 6), None)


@pytest.mark.parametrize(
    ("told", "finish", "rebuilt"),
    [
        ({"stop_reason": None}, "stop", False),
        ({"stop_reason": "</tool_call>"}, "stop_string", True),
        ({"finish_reason": "tool_calls", "stop_reason": "</tool_call>"}, "stop_string", True),
        ({"stop_reason": 151643}, "stop_token", True),
        ({"stop_reason": 0}, "stop_token", True),
        ({"finish_reason": "length", "stop_reason": "</tool_call>"}, "length", False),
    ],
    ids=["end token", "stop string", "stop string in a call", "stop token", "the first token", "cut"],
)
async def test_a_reply_that_a_stop_string_ended_is_told_from_one_that_the_model_ended(
    server: PolicyServer, told: dict[str, Any], finish: str, rebuilt: bool
) -> None:
    server.more = told
    async with at(server) as policy:
        reply = await policy.ask(PROMPT, episode="e")
    assert (reply.text, reply.finish, reply.rebuilt) == (WAIT, finish, rebuilt)


async def test_calls_and_thoughts_that_the_server_split_off_come_back_into_the_text(server: PolicyServer) -> None:
    call = {"type": "function", "id": "1", "function": {"name": "go_back", "arguments": "{}"}}
    broken = {"type": "function", "id": "1", "function": {"name": "go_back", "arguments": '{"a'}}
    spoken = [
        server.completion(None, tool_calls=[call], reasoning_content="Hmm."),
        server.completion("Both.", tool_calls=[call, call]),
        server.completion(None, tool_calls=[broken]),
        server.completion(None, refusal="I would rather not."),
    ]
    server.plan = list(spoken)
    async with at(server) as policy:
        replies = [await policy.ask(PROMPT, episode="e") for _ in spoken]
    speaker, screen = dialect("gemini_computer_use"), Screen(1280, 768)
    assert replies[0].text.startswith("<think>\nHmm.\n</think>")
    assert speaker.read(replies[0].text, screen) == Back()
    assert all(isinstance(speaker.read(reply.text, screen), Invalid) for reply in replies[1:])
    assert replies[3].text == "I would rather not."
    assert [reply.rebuilt for reply in replies] == [True, True, True, False]


async def test_a_thought_that_was_cut_is_not_closed_for_the_model(server: PolicyServer) -> None:
    server.more = {"finish_reason": "length"}
    server.plan = [server.completion(said, reasoning_content="Perhaps") for said in (None, "So")]
    async with at(server) as policy:
        cut, after = [await policy.ask(PROMPT, episode="e") for _ in range(2)]
    assert (cut.text, cut_while_thinking(cut), cut.rebuilt) == ("<think>\nPerhaps", True, True)
    assert (after.text, cut_while_thinking(after)) == ("<think>\nPerhaps\n</think>\nSo", False)


async def test_a_busy_server_is_waited_for_as_long_as_it_asks(server: PolicyServer, other: PolicyServer) -> None:
    async with at(server, other) as policy:
        await policy.ask(PROMPT, episode="e")
        home = server if server.bodies else other
        home.plan = [web.Response(status=429, headers={"Retry-After": "0.4"})]
        before = time.monotonic()
        await policy.ask(PROMPT, episode="e")
        assert time.monotonic() - before >= 0.4
    assert len(home.bodies) == 3
    assert len(server.bodies) + len(other.bodies) == 3


async def test_a_pause_longer_than_patience_is_not_waited_for(server: PolicyServer) -> None:
    server.plan = [web.Response(status=503, headers={"Retry-After": "3600"})]
    async with at(server) as policy:
        before = time.monotonic()
        with pytest.raises(EndpointDown):
            await policy.ask(PROMPT, episode="e")
        assert time.monotonic() - before < 1


async def test_a_replica_that_asks_for_longer_than_patience_is_left_alone(server: PolicyServer, other: PolicyServer) -> None:
    async with at(server, other) as policy:
        await policy.ask(PROMPT, episode="e")
        home, away = (server, other) if server.bodies else (other, server)
        home.plan = [web.Response(status=503, headers={"Retry-After": "3600"})]
        for _ in range(2):
            assert (await policy.ask(PROMPT, episode="e")).text == WAIT
        assert [totals.url for totals in policy.totals if totals.down] == [home.url]
    assert (len(home.bodies), len(away.bodies)) == (2, 2)


async def test_a_request_that_we_cancel_is_no_failure_of_the_replica(server: PolicyServer) -> None:
    server.plan = ["slow"]
    async with at(server, timeout=60.0) as policy:
        asking = asyncio.create_task(policy.ask(PROMPT, episode="e"))
        await until(lambda: bool(server.bodies), 20)
        asking.cancel()
        await asyncio.wait({asking})
        assert (policy.totals[0].failures, policy.totals[0].in_flight) == (0, 0)


@pytest.mark.parametrize(
    "fault",
    [web.Response(status=500), web.Response(status=502, text="<html>"), "half_open", web.Response(text='{"choices": []}')],
    ids=["500", "502", "half-open", "no completion"],
)
async def test_a_failing_try_is_repeated(server: PolicyServer, fault: Any) -> None:
    server.plan = [fault]
    async with at(server) as policy:
        assert (await policy.ask(PROMPT, episode="e")).text == WAIT
        assert policy.totals[0].failures == 1


async def test_a_slow_try_ends_at_its_deadline_and_is_repeated(server: PolicyServer) -> None:
    server.plan = ["slow"]
    async with at(server, timeout=0.2) as policy:
        before = time.monotonic()
        assert (await policy.ask(PROMPT, episode="e")).text == WAIT
        assert 0.2 <= time.monotonic() - before < 2


async def test_a_refusal_is_not_repeated(server: PolicyServer) -> None:
    server.plan = [web.Response(status=400, text="too long")]
    async with at(server) as policy:
        with pytest.raises(EndpointRefused) as refused:
            await policy.ask(PROMPT, episode="e")
    assert refused.value.status == 400
    assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_what_one_replica_refuses_another_is_asked(server: PolicyServer, other: PolicyServer, status: int) -> None:
    async with at(server, other, avoid=600.0) as policy:
        home, away = await home_of(policy, server, other)
        home.plan = [web.Response(status=status, text="no such model")]
        for _ in range(3):
            assert (await policy.ask(PROMPT, episode="e")).text == WAIT
        assert [totals.url for totals in policy.totals if totals.down] == [home.url]
    assert (len(home.bodies), len(away.bodies)) == (1, 3), "the one that refused is left alone"


async def test_a_refusal_stands_once_every_replica_has_refused(server: PolicyServer, other: PolicyServer) -> None:
    for one in (server, other):
        one.plan = [web.Response(status=401, text="bad key")]
    async with at(server, other) as policy:
        with pytest.raises(EndpointRefused) as refused:
            await policy.ask(PROMPT, episode="e")
        assert refused.value.status == 401
        assert (len(server.bodies), len(other.bodies)) == (1, 1)
        assert (await policy.ask(PROMPT, episode="e")).text == WAIT, "whoever mended the key is heard at once"


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_request_that_nobody_would_take_is_asked_of_nobody_else(
    server: PolicyServer, other: PolicyServer, status: int
) -> None:
    async with at(server, other) as policy:
        home, away = await home_of(policy, server, other)
        home.plan = [web.Response(status=status, text="too long")]
        with pytest.raises(EndpointRefused):
            await policy.ask(PROMPT, episode="e")
        assert not any(totals.down for totals in policy.totals)
    assert (len(home.bodies), len(away.bodies)) == (1, 0)


async def test_the_cap_on_a_reply_goes_by_the_name_that_the_endpoint_has_for_it(server: PolicyServer) -> None:
    async with at(server, limit_field="max_completion_tokens", sampling={"max_tokens": 7}) as policy:
        await policy.ask(PROMPT, episode="e")
    assert server.bodies[0]["max_completion_tokens"] == 7
    assert "max_tokens" not in server.bodies[0]


async def test_a_server_that_is_down_is_waited_for_within_patience(server: PolicyServer) -> None:
    await server.stop()
    async with at(server, patience=0.6) as policy:
        before = time.monotonic()
        with pytest.raises(EndpointDown):
            await policy.ask(PROMPT, episode="e")
        assert 0.3 < time.monotonic() - before < 1.5
        assert policy.totals[0].down
        assert 3 < policy.totals[0].failures < 200
    await server.start()


async def test_a_server_that_dies_and_comes_back_loses_no_reply(server: PolicyServer) -> None:
    async with at(server) as policy:
        await policy.ask(PROMPT, episode="e")
        await server.stop()
        waiting = [asyncio.create_task(policy.ask(PROMPT, episode=f"e{n}")) for n in range(5)]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in waiting)
        await server.start()
        assert [reply.text for reply in await asyncio.gather(*waiting)] == [WAIT] * 5


async def test_an_episode_stays_with_its_replica_and_episodes_spread(server: PolicyServer, other: PolicyServer) -> None:
    async with at(server, other) as policy:
        for episode in range(40):
            counts = len(server.bodies), len(other.bodies)
            for _ in range(3):
                await policy.ask(PROMPT, episode=f"{episode:032x}")
            moved = len(server.bodies) - counts[0], len(other.bodies) - counts[1]
            assert sorted(moved) == [0, 3]
        shares = [totals.replies for totals in policy.totals]
    assert min(shares) >= 30


async def test_an_episode_moves_while_its_replica_is_down_and_returns(server: PolicyServer, other: PolicyServer) -> None:
    async with at(server, other) as policy:
        await policy.ask(PROMPT, episode="e")
        home, away = (server, other) if server.bodies else (other, server)
        await home.stop()
        before = time.monotonic()
        await policy.ask(PROMPT, episode="e")
        await policy.ask(PROMPT, episode="e")
        assert time.monotonic() - before < 0.3  # the other is tried at once, and the dead one is left alone
        assert len(away.bodies) == 2
        await home.start()
        await asyncio.sleep(QUICK["avoid"])
        await policy.ask(PROMPT, episode="e")
    assert len(home.bodies) == 2
    assert sum(totals.failures for totals in policy.totals) == 1


class Clock:
    """Time passes when the test says so: what is asked does not depend on how quick the machine is."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def home_of(policy: Policy, server: PolicyServer, other: PolicyServer) -> tuple[PolicyServer, PolicyServer]:
    """The replica of episode e, and the one that it is not."""
    await policy.ask(PROMPT, episode="e")
    home, away = (server, other) if server.bodies else (other, server)
    home.bodies.clear()
    return home, away


async def test_a_replica_that_hangs_is_asked_less_and_less_often(server: PolicyServer, other: PolicyServer) -> None:
    clock = Clock()
    async with at(server, other, clock=clock, timeout=0.5, avoid=40.0) as policy:
        hung, away = await home_of(policy, server, other)
        hung.latency = 60.0
        asked = []
        for _ in range(20):
            before = len(hung.bodies)
            assert (await policy.ask(PROMPT, episode="e")).text == WAIT
            if len(hung.bodies) > before:
                asked.append(clock.now)
            clock.now += 10.0
    assert asked == [0.0, 40.0, 120.0]
    assert (len(hung.bodies), len(away.bodies)) == (3, 20)


async def test_a_reply_ends_the_doubling(server: PolicyServer, other: PolicyServer) -> None:
    clock = Clock()
    async with at(server, other, clock=clock, avoid=40.0) as policy:
        home, _ = await home_of(policy, server, other)
        for passing in (40.0, 80.0):
            home.plan = [web.Response(status=500)]
            await policy.ask(PROMPT, episode="e")
            clock.now += passing
        for plan, down in (([], 0), ([web.Response(status=500)], 1)):
            home.plan = plan
            await policy.ask(PROMPT, episode="e")
            assert sum(totals.down for totals in policy.totals) == down
        clock.now += 40.0
        assert not any(totals.down for totals in policy.totals)
    assert len(home.bodies) == 4


async def test_the_time_that_a_replica_is_left_alone_has_a_bound(server: PolicyServer, other: PolicyServer) -> None:
    clock = Clock()
    async with at(server, other, clock=clock, avoid=1.0) as policy:
        home, _ = await home_of(policy, server, other)
        for _ in range(10):
            home.plan = [web.Response(status=500)]
            await policy.ask(PROMPT, episode="e")
            assert not home.plan
            clock.now += 64.0


async def test_requests_that_fail_together_are_one_failure_of_the_replica(server: PolicyServer, other: PolicyServer) -> None:
    clock = Clock()
    async with at(server, other, clock=clock, timeout=0.5, avoid=40.0) as policy:
        hung, away = await home_of(policy, server, other)
        hung.latency = 60.0
        await asyncio.gather(*(policy.ask(PROMPT, episode="e") for _ in range(8)))
        assert (len(hung.bodies), len(away.bodies)) == (8, 8)
        assert any(totals.down for totals in policy.totals)
        clock.now += 40.0
        assert not any(totals.down for totals in policy.totals)


async def test_what_a_replica_asks_for_itself_is_not_multiplied(server: PolicyServer, other: PolicyServer) -> None:
    clock = Clock()
    async with at(server, other, clock=clock, avoid=40.0, patience=5.0) as policy:
        home, _ = await home_of(policy, server, other)
        home.plan = [web.Response(status=503, headers={"Retry-After": "100"}) for _ in range(3)]
        for _ in range(3):
            await policy.ask(PROMPT, episode="e")
            assert any(totals.down for totals in policy.totals)
            clock.now += 100.0
            assert not any(totals.down for totals in policy.totals)
    assert not home.plan


async def test_those_who_wait_for_a_place_at_a_replica_that_hangs_go_elsewhere_when_that_is_known(
    server: PolicyServer, other: PolicyServer
) -> None:
    async with at(server, other, timeout=1.0, avoid=600.0, concurrency=1) as policy:
        hung, away = await home_of(policy, server, other)
        hung.latency = 60.0
        replies = await asyncio.gather(*(policy.ask(PROMPT, episode="e") for _ in range(3)))
        assert [reply.text for reply in replies] == [WAIT] * 3
        assert (len(hung.bodies), len(away.bodies)) == (1, 3)
        assert sum(totals.failures for totals in policy.totals) == 1
        # Their places were given back: were one lost, the replica that has only one would take nobody any more.
        assert [replica.limits.slots.locked() for replica in policy._replicas] == [False, False]


async def test_one_request_finds_out_whether_a_replica_is_back_while_the_others_go_elsewhere(
    server: PolicyServer, other: PolicyServer
) -> None:
    clock = Clock()
    async with at(server, other, clock=clock, timeout=1.0, avoid=40.0) as policy:
        hung, away = await home_of(policy, server, other)
        hung.plan = [web.Response(status=500), "slow"]
        await policy.ask(PROMPT, episode="e")
        clock.now += 40.0
        await asyncio.gather(*(policy.ask(PROMPT, episode="e") for _ in range(8)))
        assert (len(hung.bodies), len(away.bodies)) == (2, 9)
        clock.now += 80.0
        await policy.ask(PROMPT, episode="e")
        await asyncio.gather(*(policy.ask(PROMPT, episode="e") for _ in range(8)))
    assert (len(hung.bodies), len(away.bodies)) == (11, 9)


async def test_no_more_requests_are_under_way_than_allowed(server: PolicyServer) -> None:
    server.latency = 0.05
    async with at(server, concurrency=3) as policy:
        await asyncio.gather(*(policy.ask(PROMPT, episode=str(n)) for n in range(12)))
    assert server.most_in_flight == 3


async def test_the_key_is_sent_and_never_shown(
    server: PolicyServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("POLICY_KEY", SECRET)
    server.key, server.reply = SECRET, f"my key is {SECRET}"
    caplog.set_level(logging.DEBUG)
    async with at(server, key_variable="POLICY_KEY") as policy:
        reply = await policy.ask(PROMPT, episode="e")
        assert SECRET not in repr(policy)
        server.key = "another"
        with pytest.raises(EndpointRefused) as refused:
            await policy.ask(PROMPT, episode="e")
        server.key = SECRET
        server.plan = [web.Response(status=500, text=f"Bearer {SECRET}")]
        await policy.ask(PROMPT, episode="e")
    assert SECRET not in reply.text
    assert SECRET not in str(refused.value)
    assert SECRET not in caplog.text
    assert "status 500" in caplog.text
    assert SECRET in logs._secrets


@pytest.mark.parametrize("key", ["EMPTY", "1"])
async def test_a_key_that_is_no_secret_changes_nothing_that_the_model_says(
    server: PolicyServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("POLICY_KEY", key)
    server.key, server.reply = key, "The basket is EMPTY: 1 of 1 gone."
    async with at(server, key_variable="POLICY_KEY") as policy:
        reply = await policy.ask(PROMPT, episode="e")
    assert (reply.text, reply.prompt_tokens) == (server.reply, 100)


async def test_a_missing_key_is_said_before_anything_is_sent(server: PolicyServer) -> None:
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        async with at(server, key_variable="NO_SUCH_KEY"):
            pass


@pytest.mark.parametrize("urls", [(), ("ftp://x/v1",), ("http://user:pass@x/v1",), ("http://x/v1", "http://x/v1/")])
def test_addresses_that_cannot_be_right_are_refused(urls: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        PolicySettings(urls=urls)


async def test_an_answer_over_the_cap_is_not_read_to_its_end(server: PolicyServer) -> None:
    server.plan = ["x" * 100_000]
    async with at(server, max_reply_bytes=10_000) as policy:
        assert (await policy.ask(PROMPT, episode="e")).text == WAIT
        assert policy.totals[0].failures == 1
