"""A verdict comes from the record alone."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from webgym.types import Answered, Episode, Infra, Outcome, Scored, StepLimit, Unscorable
from webgym.worlds.miniwob import suite
from webgym.worlds.miniwob.record import HOST, read
from webgym.worlds.miniwob.verify import verify

TASK = suite.task("click-button", 7, origin="http://miniwob.localhost:8127")
DONE = {"task": "click-button", "seed": 7, "mode": "train", "starts": 1, "done": True, "raw": 1, "reward": 0.5}


def episode(kept: str | None, outcome: Outcome = Answered()) -> Episode:  # noqa: B008 (frozen)
    return Episode(
        id="0" * 32, run="r", iteration=0, task=TASK, agent="script", width=160, height=210, steps=(), outcome=outcome,
        state={} if kept is None else {HOST: kept}, started=0, ended=1,
    )  # fmt: skip


def cookie(**changes: Any) -> str:
    return quote(json.dumps(DONE | changes))


def scored(kept: str | None, **how: Any) -> Scored:
    verdict = verify(episode(kept), **how)
    assert isinstance(verdict, Scored)
    return verdict


def test_a_positive_raw_reward_is_a_success():
    assert scored(cookie()).reward == 1
    assert scored(cookie(raw=0.2)).reward == 1


@pytest.mark.parametrize("raw", [0, -1, -0.4])
def test_any_other_raw_reward_is_a_failure_and_says_which(raw: float):
    verdict = scored(cookie(raw=raw, reason="timed out"))
    assert verdict.reward == 0
    assert verdict.facts[0].reason == f"raw reward {raw:g}: timed out"


def test_partial_credit_can_be_refused():
    assert scored(cookie(raw=0.9), above=0.99).reward == 0
    assert scored(cookie(raw=1.0), above=0.99).reward == 1


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (None, "no record"),
        (cookie(done=False, raw=None, reward=None), "did not end"),
        (cookie(task="click-test"), "played click-test with seed 7"),
        (cookie(seed=8), "seed 8"),
        (cookie(mode="test"), "(test)"),
    ],
)
def test_what_was_not_done_is_scored_zero_with_the_reason(kept: str | None, reason: str):
    verdict = scored(kept)
    assert verdict.reward == 0
    assert reason in verdict.facts[0].reason


@pytest.mark.parametrize("kept", ["", "nonsense", cookie(raw=None), cookie(raw="NaN"), cookie(extra=1), "%FF"])
def test_an_unreadable_record_is_never_a_reward(kept: str):
    assert isinstance(verify(episode(kept)), Unscorable)


def test_a_fault_of_ours_is_never_a_reward():
    assert isinstance(verify(episode(cookie(), Infra(reason="the browser died"))), Unscorable)


def test_running_out_of_steps_does_not_undo_a_success():
    verdict = verify(episode(cookie(), StepLimit(limit=10)))
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1


def test_a_record_is_read_encoded_or_plain():
    assert read(cookie(utterance='100% "ヘルプ"')) == read(json.dumps(DONE | {"utterance": '100% "ヘルプ"'}))
