"""The programmatic judge: whose verifier speaks, and when none does."""

from __future__ import annotations

import pytest

from tests.unit.judge.judged import Album, make_episode, make_task, walk
from webgym.judging.programmatic import WorldsJudge, programmatic_verdict
from webgym.types import Episode, Scored, Unscorable
from webgym.worlds.miniwob.record import HOST, Record


def episode_of(task_id: str, **changes: object) -> Episode:
    task = make_task(1).model_copy(update={"id": task_id})
    return make_episode(Album().put, walk(1), task=task).model_copy(update=changes)


async def test_a_task_without_a_verifier_is_unscorable() -> None:
    judgement = await WorldsJudge().judge(episode_of("elsewhere-1"))
    assert isinstance(judgement.verdict, Unscorable)
    assert judgement.judge == "worlds-verify"


def test_a_task_of_miniwob_is_judged_by_the_record_of_its_page():
    for raw, reward in ((1.0, 1), (-1.0, 0)):
        kept = Record(task="click-test", seed=3, mode="train", starts=1, done=True, raw=raw).model_dump_json()
        verdict = programmatic_verdict(episode_of("miniwob:click-test:3", state={HOST: kept}))
        assert isinstance(verdict, Scored)
        assert verdict.reward == reward


def test_a_task_of_miniwob_whose_state_was_not_kept_is_no_failure():
    assert isinstance(programmatic_verdict(episode_of("miniwob:click-test:3")), Unscorable)


@pytest.mark.parametrize("task", ["worlds-nonsense", "worlds-", "miniwob:click-test"])
def test_an_id_that_only_looks_like_one_of_ours_is_unscorable(task: str):
    kept = Record(task="click-test", seed=3, mode="train", starts=1).model_dump_json()
    assert isinstance(programmatic_verdict(episode_of(task, state={HOST: kept})), Unscorable)
