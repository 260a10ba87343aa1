"""A judge at work on labelled episodes: every way it can fail, and a model whose errors are known."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.standin.flipping import FlippingModel, ModelJudge
from tests.unit.judge_bench.episodes import TRUTH, labelled_run
from webgym.endpoint import Endpoint, EndpointSettings
from webgym.errors import ConfigError, EndpointDown
from webgym.judge.bench.figures import Case, Estimate, figures
from webgym.judge.bench.labelled import count, labelled, truth_of
from webgym.judge.bench.measuring import measure
from webgym.store import Run
from webgym.types import Episode, Judgement, Scored

EPISODES = 300
WRONG = 0.12  # how often the stand-in says the opposite of what is true
WRONG_FACTS = 0.25


def holds(estimate: Estimate, value: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= value <= estimate.high


async def test_the_error_rate_of_a_stand_in_model_is_recovered_within_its_interval(tmp_path: Path):
    run, truths = labelled_run(tmp_path / "bench", EPISODES)
    server = FlippingModel(truths, WRONG, WRONG_FACTS)
    async with server.serving() as url, Endpoint(EndpointSettings(url=url, model="flipping", concurrency=32)) as model:
        cases = await measure(ModelJudge(model), labelled(run), at_once=32, keep=run.add_judgement)
    found = figures(cases, judge="stand-in", truth=TRUTH, run="bench", made=0.0)
    whole = found.overall
    assert server.requests == whole.cases == EPISODES
    assert holds(whole.accuracy, 1 - WRONG)
    assert not holds(whole.accuracy, 1.0)
    # Success is as frequent as the truth says; from that and the error rate the rest follows.
    done = sum(truth.reward for truth in truths.values()) / EPISODES
    said = done * (1 - WRONG) + (1 - done) * WRONG
    assert holds(whole.recall, 1 - WRONG)
    assert holds(whole.precision, done * (1 - WRONG) / said)
    chance = done * said + (1 - done) * (1 - said)
    assert holds(whole.kappa, (1 - WRONG - chance) / (1 - chance))
    for kind in found.kinds:
        assert holds(kind.agreement.accuracy, 1 - WRONG)
    assert found.facts is not None
    assert found.facts.unscorable.value  # facts that would have contradicted the verdict were not told
    assert found.spent.tokens == 100 * EPISODES
    assert len(run.latest_judgements("stand-in")) == EPISODES


async def test_the_truth_itself_is_right_always(tmp_path: Path):
    run, truths = labelled_run(tmp_path / "bench", 40)

    class Knowing:
        name = "knowing"

        async def judge(self, episode: Episode) -> Judgement:
            return Judgement(episode=episode.id, judge=self.name, verdict=truths[episode.id], judged=0.0)

    found = figures(await measure(Knowing(), labelled(run)), judge="knowing", truth=TRUTH, run="bench", made=0.0)
    assert found.overall.accuracy.value == found.overall.kappa.value == 1.0
    assert found.facts is not None
    assert found.facts.accuracy.value == 1.0
    assert found.overall.unscorable.value == 0.0


class Failing:
    """Fails in a different way for each episode: raises, is late, speaks of another."""

    name = "failing"

    def __init__(self) -> None:
        self._turn = 0

    async def judge(self, episode: Episode) -> Judgement:
        self._turn += 1
        match self._turn % 3:
            case 0:
                raise EndpointDown("nobody answers")
            case 1:
                await asyncio.sleep(60)
        return Judgement(episode="0" * 32, judge=self.name, verdict=Scored(reward=1), judged=0.0)


async def test_a_judge_that_fails_in_any_way_has_said_nothing(tmp_path: Path):
    run, _ = labelled_run(tmp_path / "bench", 9)
    heard: list[Case] = []
    cases = await measure(Failing(), labelled(run), at_once=3, within=0.2, told=heard.append)
    assert {case.said.kind for case in cases} == {"unscorable"}
    assert len(cases) == len(heard) == 9
    reasons = figures(cases, judge="failing", truth=TRUTH, run="bench", made=0.0).reasons
    assert sorted(reason.split()[0] for reason in reasons) == ["EndpointDown:", "no", "the"]


async def test_a_bug_of_a_judge_is_loud(tmp_path: Path):
    run, _ = labelled_run(tmp_path / "bench", 3)

    class Buggy:
        name = "buggy"

        async def judge(self, episode: Episode) -> Judgement:
            raise KeyError("a bug")

    with pytest.raises(ExceptionGroup, match="unhandled"):
        await measure(Buggy(), labelled(run))


async def test_no_more_than_so_many_are_judged_at_once(tmp_path: Path):
    run, truths = labelled_run(tmp_path / "bench", 30)
    now, most = 0, 0

    class Counting:
        name = "counting"

        async def judge(self, episode: Episode) -> Judgement:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.005)
            now -= 1
            return Judgement(episode=episode.id, judge=self.name, verdict=truths[episode.id], judged=0.0)

    await measure(Counting(), labelled(run), at_once=4)
    assert 1 < most <= 4


def test_a_run_without_a_truth_is_refused_with_what_to_do(tmp_path: Path):
    run = Run.create(tmp_path / "run")
    with pytest.raises(ConfigError, match="webgym judge bench"):
        truth_of(run)


def test_only_what_has_a_truth_is_measured(tmp_path: Path):
    run, truths = labelled_run(tmp_path / "bench", 5)
    assert count(run) == 5
    assert {one.episode.id: one.truth for one in labelled(run)} == truths
