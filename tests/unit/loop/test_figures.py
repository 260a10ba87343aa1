"""What episodes came to: rates with honest intervals, and nothing that was not scored counted as a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.unit.replay.making import JUDGE, Plan, make_episode, make_run
from webgym.loop.figures import Rate, measure
from webgym.types import Judgement, Scored


def test_the_interval_is_wilsons():
    low, high = Rate(passed=5, of=10).interval
    assert (round(low, 4), round(high, 4)) == (0.2366, 0.7634)
    low, high = Rate(passed=0, of=20).interval
    assert (low, round(high, 4)) == (0.0, 0.1611)


@given(st.integers(0, 400), st.integers(0, 400))
def test_an_interval_holds_its_share_and_stays_between_0_and_1(passed: int, failed: int):
    rate = Rate(passed=passed, of=passed + failed)
    low, high = rate.interval
    assert 0.0 <= low <= high <= 1.0
    if rate.share is not None:
        assert low - 1e-12 <= rate.share <= high + 1e-12


def test_repeats_of_a_task_do_not_make_the_interval_narrower(tmp_path: Path):
    plans = [
        Plan(f"t{task}", replica=replica, verdict="success" if task < 4 else "failure", steps=1)
        for task in range(10)
        for replica in range(8)
    ]
    with make_run(tmp_path / "run", plans) as run:
        rate = measure(run, 0, JUDGE).success
    assert (rate.passed, rate.of, rate.tasks, rate.share) == (32, 80, 10, 0.4)
    assert rate.interval == Rate(passed=4, of=10).interval
    assert str(rate) == "40.0% of 80 on 10 tasks (16.8% to 68.7%)"


def test_rates_of_different_tasks_add_up_with_their_tasks():
    both = Rate(passed=6, of=8, tasks=2) + Rate(passed=1, of=3)
    assert both == Rate(passed=7, of=11, tasks=5)
    assert sum([], Rate()) == Rate()


def test_a_rate_that_was_kept_without_its_tasks_is_of_one_episode_a_task():
    assert Rate.model_validate_json('{"passed": 5, "of": 10}') == Rate(passed=5, of=10, tasks=10)
    assert Rate.model_validate_json(Rate(passed=5, of=10, tasks=5).model_dump_json()).tasks == 5


@pytest.mark.parametrize("tasks", [0, 11])
def test_a_rate_of_no_task_or_of_more_tasks_than_episodes_is_none(tasks: int):
    with pytest.raises(ValidationError, match=f"10 episodes cannot be of {tasks} tasks"):
        Rate(passed=5, of=10, tasks=tasks)


def test_a_rate_of_nothing_says_so():
    assert Rate().share is None
    assert Rate().interval == (0.0, 1.0)
    assert str(Rate()) == "none scored"


@pytest.mark.parametrize("outcome", ["infra", "blocked", "site_error"])
def test_an_episode_that_failed_by_no_fault_of_the_agent_is_in_no_rate(tmp_path: Path, outcome: str):
    plans = [Plan("good"), Plan("bad", verdict="failure"), Plan("broken", outcome=outcome, verdict="failure")]
    with make_run(tmp_path / "run", plans) as run:
        figures = measure(run, 0, JUDGE)
    assert figures.success == Rate(passed=1, of=2)
    assert figures.outcomes == {"answered": 2, outcome: 1}
    assert figures.planned == 3


def test_unscorable_and_unjudged_episodes_are_counted_apart(tmp_path: Path):
    plans = [Plan("a"), Plan("b", verdict="unscorable"), Plan("c", verdict="none")]
    with make_run(tmp_path / "run", plans) as run:
        figures = measure(run, 0, JUDGE)
    assert (figures.success.of, figures.unscorable, figures.unjudged) == (1, 1, 1)


def test_another_judges_verdicts_do_not_count(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a")]) as run:
        assert measure(run, 0, "somebody else").success == Rate()


def test_every_judgement_of_this_judge_costs_and_the_latest_counts(tmp_path: Path):
    with make_run(tmp_path / "run", [Plan("a", verdict="unscorable"), Plan("b", iteration=1)]) as run:
        for judge, task, iteration in ((JUDGE, "a", 0), ("another", "a", 0), (JUDGE, "b", 1)):
            name = make_episode(Plan(task, iteration=iteration)).id
            run.add_judgement(Judgement(episode=name, judge=judge, verdict=Scored(reward=1), dollars=0.5, judged=2.0))
        run.add_judgement(Judgement(episode=name, judge=JUDGE, verdict=Scored(reward=0), dollars=0.25, judged=3.0))
        first, second = measure(run, 0, JUDGE), measure(run, 1, JUDGE)
    assert (first.judge_dollars, first.success) == (0.5, Rate(passed=1, of=1))
    assert (second.judge_dollars, second.success) == (0.75, Rate(passed=0, of=1))


def test_steps_and_shares_follow_from_the_steps(tmp_path: Path):
    plans = [Plan("a", invalid=(1,), unchanged=(0, 2)), Plan("b", steps=1), Plan("other", iteration=1)]
    with make_run(tmp_path / "run", plans) as run:
        figures = measure(run, 0, JUDGE)
    assert (figures.steps, figures.invalid, figures.unchanged, figures.kept) == (4, 1, 2, 2)
    assert figures.steps_per_episode == 2.0
    assert figures.invalid_share == 0.25
    assert figures.infra_share == 0.0
