"""No reply, however broken, becomes a reward: the whole judge against models that say anything at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.standin.judge import JudgingModel, picture
from tests.standin.server import completion
from tests.unit.judge.judged import Album, judging, make_episode, settings_for, walk
from webgym.endpoint.cache import StoredReply
from webgym.endpoint.replies import read
from webgym.errors import UnusableReply
from webgym.judge.reading import Fact, WholeReply, check_whole, is_clear
from webgym.types import Scored, Unscorable

GOOD: dict[str, Any] = {
    "blocking": {"reason": "r", "blocked": False, "confidence": 99},
    "orders": [],
    "claims": {"reason": "r", "unsupported": [], "supported": True, "confidence": 99},
    "comparison": None,
    "facts": [
        {"fact": n, "reason": "r", "screenshots": [1], "met": True, "confidence": 99} for n in (1, 2, 3)
    ],
}  # fmt: skip
CHECK = check_whole((1, 2, 3), {1, 2}, reference=False)


def take(text: str) -> WholeReply:
    return read(StoredReply(model="m", text=text, finish="stop"), WholeReply, CHECK)


def test_a_good_reply_is_read():
    assert len(take(json.dumps(GOOD)).facts) == 3


def spoilt(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


def fact(n: int = 3, **changes: Any) -> dict[str, Any]:
    return GOOD["facts"][0] | {"fact": n} | changes


BROKEN = {
    "empty": "",
    "prose": "All facts are met. Reward: 1.",
    "a list": "[]",
    "only a word": "true",
    "cut": json.dumps(GOOD)[:-3],
    "twice": json.dumps(GOOD) * 2,
    "a doubled name": json.dumps(GOOD)[:-1] + ', "comparison": null}',
    "NaN": json.dumps(GOOD).replace("99", "NaN", 1),
    "infinite": json.dumps(GOOD).replace("99", "Infinity", 1),
    "a missing fact": spoilt(facts=GOOD["facts"][:2]),
    "no facts": spoilt(facts=[]),
    "a doubled fact": spoilt(facts=[*GOOD["facts"], fact(3)]),
    "a doubled fact in place of another": spoilt(facts=[*GOOD["facts"][:2], fact(2)]),
    "an unknown fact": spoilt(facts=[*GOOD["facts"][:2], fact(4)]),
    "a fact of zero": spoilt(facts=[*GOOD["facts"][:2], fact(0)]),
    "met by a word": spoilt(facts=[*GOOD["facts"][:2], fact(met="true")]),
    "met by a number": spoilt(facts=[*GOOD["facts"][:2], fact(met=1)]),
    "met without a screenshot": spoilt(facts=[*GOOD["facts"][:2], fact(screenshots=[])]),
    "met on a screenshot nobody saw": spoilt(facts=[*GOOD["facts"][:2], fact(screenshots=[9])]),
    "a screenshot twice": spoilt(facts=[*GOOD["facts"][:2], fact(screenshots=[1, 1])]),
    "a confidence beyond all": spoilt(facts=[*GOOD["facts"][:2], fact(confidence=1000)]),
    "no reason": spoilt(facts=[*GOOD["facts"][:2], fact(reason=" ")]),
    "a book for a reason": spoilt(facts=[*GOOD["facts"][:2], fact(reason="x" * 5_000)]),
    "orders on a screenshot that was not shown": spoilt(orders=[3]),
    "supported and not": spoilt(claims=GOOD["claims"] | {"unsupported": ["a claim"]}),
    "unsupported without a claim": spoilt(claims=GOOD["claims"] | {"supported": False}),
    "a comparison with nothing": spoilt(comparison={"reason": "r", "agrees": True, "confidence": 9}),
    "no claims": json.dumps({name: part for name, part in GOOD.items() if name != "claims"}),
    "a reward of its own": spoilt(reward=1),
    "nested without end": '{"blocking":' * 50_000,
}  # fmt: skip


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
def test_a_broken_reply_is_not_read(reply: str):
    with pytest.raises(UnusableReply):
        take(reply)


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
async def test_a_broken_reply_is_asked_for_once_more_and_then_unscorable(reply: str) -> None:
    album = Album()
    async with JudgingModel(mangle=lambda kind, good: reply) as model, judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, walk(1)))).verdict
    assert isinstance(verdict, Unscorable)
    assert len(model.kinds) == 2


@pytest.mark.parametrize("finish", ["length", "max_tokens", "content_filter"])
async def test_a_reply_that_did_not_end_by_itself_is_unscorable_however_good(finish: str) -> None:
    album = Album()
    model = JudgingModel(mangle=lambda kind, good: completion(b"", json.dumps(good), finish=finish))
    async with model, judging(settings_for(model), album) as judge:
        assert isinstance((await judge.judge(make_episode(album.put, walk(1)))).verdict, Unscorable)


async def test_one_good_reply_after_a_bad_one_is_enough() -> None:
    album, replies = Album(), iter(["no", None])
    model = JudgingModel(mangle=lambda kind, good: next(replies) or json.dumps(good))
    async with model, judging(settings_for(model), album) as judge:
        verdict = (await judge.judge(make_episode(album.put, walk(1)))).verdict
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1


scalars = st.none() | st.booleans() | st.integers(-5, 200) | st.floats() | st.text(max_size=8)
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner))


@st.composite
def bent(draw: st.DrawFn) -> str:
    """A good reply about an episode that deserves it, with one or more places of it replaced, dropped or doubled."""
    reply: Any = json.loads(json.dumps(GOOD))
    for _ in range(draw(st.integers(1, 3))):
        holder: Any = reply
        while True:
            places: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not places:
                break
            place = draw(st.sampled_from(places))
            if isinstance(holder[place], dict | list) and draw(st.booleans()):
                holder = holder[place]
                continue
            match draw(st.sampled_from(["replace", "drop", "double"])):
                case "replace":
                    holder[place] = draw(anything)
                case "drop":
                    del holder[place]
                case _ if isinstance(holder, list):
                    holder.append(holder[place])
                case _:
                    holder[f"{place} again"] = holder[place]
            break
    text = json.dumps(reply)
    cut = draw(st.integers(0, len(text)))
    return text if draw(st.integers(0, 3)) else text[:cut]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bent() | st.text(max_size=200) | anything.map(json.dumps))
def test_what_is_read_of_a_bent_reply_is_whole(text: str):
    """Whatever is taken has every fact once, by number, with evidence that was shown for what is met."""
    try:
        reply = take(text)
    except UnusableReply:
        return
    assert sorted(one.fact for one in reply.facts) == [1, 2, 3]
    assert all(set(one.screenshots) <= {1, 2} for one in reply.facts)
    assert all(one.screenshots for one in reply.facts if one.met)
    assert reply.claims.supported == (not reply.claims.unsupported)
    assert reply.comparison is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(bent() | st.text(max_size=60), min_size=2, max_size=2), st.sampled_from(["stop", "length", ""]))
def test_no_reply_but_a_whole_one_becomes_a_reward(texts: list[str], finish: str):
    """The judge from end to end, over HTTP: a reward only where an independent reader finds everything met."""
    verdict, said = asyncio.run(_judged(texts, finish))
    if not isinstance(verdict, Scored) or verdict.reward == 0:
        return
    reply = json.loads(said)
    assert finish != "length"
    assert reply["blocking"]["blocked"] is False
    assert reply["claims"]["supported"] is True
    assert not reply["claims"]["unsupported"]
    assert sorted(one["fact"] for one in reply["facts"]) == [1, 2, 3]
    assert all(one["met"] is True and one["screenshots"] for one in reply["facts"])


async def _judged(texts: list[str], finish: str) -> tuple[Scored | Unscorable, str]:
    album, replies, last = Album(), iter(texts), ""

    def mangle(kind: str, good: dict[str, Any]) -> web.Response:
        nonlocal last
        last = next(replies)
        return completion(b"", last, finish=finish)

    async with JudgingModel(mangle=mangle) as model, judging(settings_for(model), album) as judge:
        return (await judge.judge(make_episode(album.put, [picture(), picture(words="end")]))).verdict, last


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=1), st.integers(0, 100), st.integers(0, 100))
def test_a_small_model_decides_only_what_it_is_sure_of(parts: list[tuple[bool, int]], accept: int, reject: int):
    facts = [
        Fact(fact=n, reason="r", screenshots=(1,), met=met, confidence=sure) for n, (met, sure) in enumerate(parts, start=1)
    ]
    reply = WholeReply.model_validate(GOOD | {"facts": facts})
    clear = is_clear(reply, accept=accept, reject=reject)
    if all(met for met, _ in parts):
        assert clear == (min(99, *(sure for _, sure in parts)) >= accept)
    else:
        assert clear == any(not met and sure >= reject for met, sure in parts)


@given(st.integers(0, 100), st.integers(0, 100))
def test_a_refusal_is_believed_only_if_the_small_model_is_sure_of_it(sure: int, sure_of_a_failure: int):
    blocking = {"reason": "a challenge, perhaps", "blocked": True, "confidence": sure}
    reply = take(spoilt(blocking=blocking, facts=[*GOOD["facts"][:2], fact(met=False, confidence=sure_of_a_failure)]))
    assert is_clear(reply, accept=95, reject=85) == (sure >= 85)
