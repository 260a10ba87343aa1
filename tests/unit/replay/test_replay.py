"""What replay lets through, what it keeps out and why, and that the same disk and seed give the same samples."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.replay.making import JUDGE, OUTCOMES, VERDICTS, Plan, make_run
from webgym.replay.buffer import replay
from webgym.replay.drawing import Candidate, draw
from webgym.replay.settings import ReplaySettings
from webgym.store.samples import Sample, read_samples
from webgym.types import Judgement, Scored

ALL = ReplaySettings(samples=None)


def replayed(path: Path, plans: list[Plan], chosen: ReplaySettings = ALL, *, iteration: int = 0, **more):
    with make_run(path / "run", plans) as run:
        account = replay(run, path / "samples.parquet", judge=JUDGE, iteration=iteration, settings=chosen, **more)
    return account, list(read_samples(path / "samples.parquet"))


def texts(samples: list[Sample]) -> list[str]:
    return [sample.reply.text for sample in samples]


def test_only_the_steps_of_successes_that_did_something_are_cloned(tmp_path: Path) -> None:
    plans = [
        Plan("good", unchanged=(1,)),
        Plan("bad", verdict="failure"),
        Plan("clumsy", invalid=(0,)),
        Plan("held back", split="test"),
    ]
    account, samples = replayed(tmp_path, plans)
    assert sorted(texts(samples)) == ["clumsy 0 1", "clumsy 0 2", "good 0 0", "good 0 2"]
    assert {sample.advantage for sample in samples} == {1.0}
    assert account.dropped == {"unchanged": 1, "invalid": 1}
    assert account.episodes_dropped == {"failed": 1, "test": 1}
    assert (account.planned, account.used, account.kept, account.judge) == (4, 2, 4, JUDGE)


def test_the_prompt_of_a_sample_is_exactly_what_was_sent(tmp_path: Path) -> None:
    with make_run(tmp_path / "run", [Plan("one")]) as run:
        replay(run, tmp_path / "samples.parquet", judge=JUDGE, iteration=0, settings=ALL)
        [episode] = run.episodes()
    for sample in read_samples(tmp_path / "samples.parquet"):
        assert (sample.prompt, sample.reply) == (episode.steps[sample.step].prompt, episode.steps[sample.step].reply)


def test_another_judges_verdicts_do_not_count(tmp_path: Path) -> None:
    with make_run(tmp_path / "run", [Plan("one", verdict="failure")]) as run:
        [planned] = run.planned()
        kind = Judgement(episode=planned.id, judge="generous", verdict=Scored(reward=1), judged=2.0)
        run.add_judgement(kind)
        assert replay(run, tmp_path / "a", judge=JUDGE, iteration=0).kept == 0
        assert replay(run, tmp_path / "b", judge="generous", iteration=0).kept == 3
        assert replay(run, tmp_path / "c", judge="nobody", iteration=0).episodes_dropped == {"unjudged": 1}


def test_a_later_verdict_of_the_same_judge_replaces_the_earlier(tmp_path: Path) -> None:
    with make_run(tmp_path / "run", [Plan("one", verdict="unscorable")]) as run:
        [planned] = run.planned()
        assert replay(run, tmp_path / "a", judge=JUDGE, iteration=0).episodes_dropped == {"unscorable": 1}
        run.add_judgement(Judgement(episode=planned.id, judge=JUDGE, verdict=Scored(reward=1), judged=2.0))
        assert replay(run, tmp_path / "b", judge=JUDGE, iteration=0).kept == 3


def test_the_window_ends_at_the_iteration_and_reaches_so_many_back(tmp_path: Path) -> None:
    plans = [Plan(f"t{n}", iteration=n) for n in range(6)]
    account, _ = replayed(tmp_path, plans, ReplaySettings(samples=None, iterations=3), iteration=4)
    assert account.kept_by_iteration == {2: 3, 3: 3, 4: 3}


def test_later_iterations_are_drawn_in_proportion_to_their_weight() -> None:
    found = [Candidate(f"{i}-{n}", 0, i, f"t{n}", "w", 1.0) for i in range(4) for n in range(2_000)]
    chosen, dropped = draw(found, ReplaySettings(samples=600, power=2.0), iteration=3)
    shares = Counter(one.iteration for one in chosen)
    assert dropped == {"not_drawn": 7_400}
    for iteration in range(4):  # (i+1)² of 30; drawing without replacement bends it a little
        assert shares[iteration] / 600 == pytest.approx((iteration + 1) ** 2 / 30, abs=0.06)


def test_what_is_drawn_depends_on_the_seed_and_not_on_the_order() -> None:
    found = [Candidate(f"{n}", n % 3, n % 4, f"t{n % 9}", f"w{n % 5}", 1.0) for n in range(300)]
    shuffled = random.Random(1).sample(found, len(found))
    chosen = ReplaySettings(samples=50, per_task=9, per_website=12)
    assert draw(found, chosen, iteration=3) == draw(shuffled, chosen, iteration=3)
    assert draw(found, chosen, iteration=3) != draw(found, chosen.model_copy(update={"seed": 1}), iteration=3)


def test_every_update_draws_anew_and_each_draw_can_be_repeated() -> None:
    found = [Candidate(f"{n}", 0, 0, f"t{n}", "w", 1.0) for n in range(2_000)]
    chosen = ReplaySettings(samples=600)
    fourth, fifth = ({one.episode for one in draw(found, chosen, iteration=n)[0]} for n in (4, 5))
    assert draw(found, chosen, iteration=4) == draw(found, chosen, iteration=4)
    assert len(fourth & fifth) == pytest.approx(600 * 600 / 2_000, abs=38)  # four deviations of independent draws


def test_what_one_update_passes_over_another_may_learn_from(tmp_path: Path) -> None:
    plans = [*(Plan("old", replica=n) for n in range(40)), *(Plan("new", iteration=n, verdict="failure") for n in (1, 2))]
    with make_run(tmp_path / "run", plans) as run:

        def drawn(iteration: int) -> list[str]:
            path, few = tmp_path / f"{iteration}.parquet", ReplaySettings(samples=30)
            replay(run, path, judge=JUDGE, iteration=iteration, settings=few)
            return texts(list(read_samples(path)))

        assert drawn(1) == drawn(1)
        assert set(drawn(1)) != set(drawn(2))


def test_caps_hold_for_every_task_and_website() -> None:
    found = [Candidate(f"{n}", 0, 0, f"t{n % 3}", f"w{n % 2}", 1.0) for n in range(60)]
    chosen, dropped = draw(found, ReplaySettings(samples=None, per_task=5, per_website=6), iteration=0)
    assert max(Counter(one.task for one in chosen).values()) <= 5
    assert max(Counter(one.website for one in chosen).values()) == 6
    assert dropped["task_cap"] + dropped["website_cap"] == 60 - len(chosen)


def test_groups_compare_the_episodes_of_a_task_and_drop_those_that_say_nothing(tmp_path: Path) -> None:
    plans = [
        *(Plan("mixed", replica=n, verdict="success" if n == 0 else "failure") for n in range(4)),
        *(Plan("easy", replica=n) for n in range(4)),
        *(Plan("alone", replica=n, verdict="none" if n else "success") for n in range(4)),
    ]
    account, samples = replayed(tmp_path, plans, objective="reinforce")
    assert account.episodes_dropped == {"same_rewards": 4, "small_group": 1, "unjudged": 3}
    assert Counter(sample.advantage for sample in samples) == {0.75: 3, -0.25: 9}
    assert {sample.group for sample in samples} == {"0/mixed"}
    shutil.rmtree(tmp_path / "run")
    _, samples = replayed(tmp_path, plans, objective="grpo")
    deviation = (0.25 * 0.75) ** 0.5
    assert {round(sample.advantage, 9) for sample in samples} == {
        round(0.75 / deviation / 10, 9),
        round(-0.25 / deviation / 10, 9),
    }


def test_ratios_need_the_logprobs_of_the_rollout(tmp_path: Path) -> None:
    plans = [Plan("t", replica=0, logprobs=False), Plan("t", replica=1, verdict="failure")]
    account, samples = replayed(tmp_path, plans, objective="grpo")
    assert account.dropped == {"no_logprobs": 3}
    assert all(sample.reply.logprobs for sample in samples)


def test_what_did_nothing_may_be_discouraged_and_is_never_encouraged(tmp_path: Path) -> None:
    plans = [
        Plan("t", replica=0, unchanged=(0,), invalid=(1,)),
        Plan("t", replica=1, verdict="failure", unchanged=(0,), invalid=(1,)),
    ]
    _, samples = replayed(tmp_path, plans, objective="reinforce")
    assert Counter(sample.advantage for sample in samples) == {0.5: 1, -0.5: 3}


def test_steps_on_a_website_that_is_tested_on_are_left_out_and_the_others_stay(tmp_path: Path) -> None:
    plans = [Plan("roams", website="", urls=("http://a.localhost/", "http://secret.localhost/x", "http://b.localhost/"))]
    account, samples = replayed(tmp_path, plans, tested=lambda address: "secret" in address)
    assert texts(samples) == ["roams 0 0", "roams 0 2"]
    assert account.dropped == {"test_website": 1}
    assert (account.used, account.kept) == (1, 2)


def test_steps_whose_prompt_still_shows_a_website_that_is_tested_on_are_left_out(tmp_path: Path) -> None:
    urls = ("http://a.localhost/", "http://secret.localhost/x", *["http://b.localhost/"] * 4)
    plans = [Plan("roams", website="", steps=6, urls=urls, window=2)]
    account, samples = replayed(tmp_path, plans, tested=lambda address: "secret" in address)
    assert texts(samples) == ["roams 0 0", "roams 0 4", "roams 0 5"]
    assert account.dropped == {"test_website": 3}


def test_a_task_of_a_tested_website_is_no_stray_and_stays_for_all_to_see(tmp_path: Path) -> None:
    plans = [Plan("wrong", website="http://secret.localhost", urls=("http://secret.localhost/",) * 3)]
    account, samples = replayed(tmp_path, plans, tested=lambda address: "secret" in address)
    assert (len(samples), account.dropped) == (3, {})


def test_the_filters_can_be_taken_away_to_show_what_they_do(tmp_path: Path) -> None:
    plans = [Plan("a", unchanged=(0, 1)), Plan("b", verdict="failure"), Plan("c", verdict="unscorable")]
    open_to_all = ReplaySettings(samples=None, drop_unchanged=False, successes_only=False)
    account, samples = replayed(tmp_path, plans, open_to_all)
    assert sorted({text.split()[0] for text in texts(samples)}) == ["a", "b"]
    assert account.episodes_dropped == {"unscorable": 1}


plans_of_any_kind = st.lists(
    st.builds(
        Plan,
        task=st.sampled_from(["a", "b", "c"]),
        iteration=st.integers(0, 2),
        replica=st.integers(0, 3),
        outcome=st.sampled_from(sorted(OUTCOMES)),
        verdict=st.sampled_from(sorted(VERDICTS)),
        split=st.sampled_from(["train", "train", "test"]),
        unchanged=st.sets(st.integers(0, 2)).map(tuple),
        invalid=st.sets(st.integers(0, 2)).map(tuple),
        logprobs=st.booleans(),
    ),
    min_size=1,
    max_size=10,
    unique_by=lambda plan: (plan.task, plan.iteration, plan.replica),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    plans=plans_of_any_kind,
    objective=st.sampled_from(["filtered_bc", "reinforce", "grpo"]),
    successes_only=st.booleans(),
)
def test_nothing_but_scored_train_episodes_that_ended_by_themselves_ever_becomes_a_sample(
    plans: list[Plan], objective, successes_only: bool
) -> None:
    chosen = ReplaySettings(samples=None, successes_only=successes_only)
    with tempfile.TemporaryDirectory() as folder:
        account, samples = replayed(Path(folder), plans, chosen, iteration=2, objective=objective)
    may = {
        (plan.iteration, plan.task, plan.replica): plan
        for plan in plans
        if plan.outcome in ("answered", "step_limit") and plan.verdict in ("success", "failure") and plan.split == "train"
    }
    for sample in samples:
        task, replica, step = sample.reply.text.split()
        plan = may[sample.iteration, task, int(replica)]  # a KeyError here is a poisoned batch
        if objective == "filtered_bc":
            assert sample.advantage == 1.0
            assert plan.verdict == "success" or not successes_only
        else:
            assert (sample.advantage > 0) == (plan.verdict == "success")
            assert sample.iteration == 2
        if sample.advantage > 0:
            assert int(step) not in plan.unchanged
            assert int(step) not in plan.invalid
    assert account.kept == len(samples)
    assert account.planned == account.used + sum(account.episodes_dropped.values())
    assert 3 * account.used == account.kept + sum(account.dropped.values())
