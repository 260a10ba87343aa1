"""The figures of a bench, against numbers worked out by hand and against simulation."""

from __future__ import annotations

import io
import random
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.unit.judge_bench.episodes import facts
from webgym.judge.bench.figures import Case, Counts, Figures, figures, kappa, over_episodes, over_facts, wilson
from webgym.judge.bench.plot import plot
from webgym.judge.bench.table import spending, table
from webgym.types import Scored, Unscorable, Verdict


def case(true: int, said: int | None, *, kind: str = "oracle", number: int = 0, seconds: float = 1.0) -> Case:
    verdict: Verdict = Unscorable(reason="the endpoint died") if said is None else Scored(reward=1 if said else 0)
    return Case(f"{number:032x}", kind, Scored(reward=1 if true else 0), verdict, seconds, dollars=0.5, tokens=100)


def test_wilson_is_the_textbook_interval():
    found = wilson(8, 10)
    assert (found.value, found.of) == (0.8, 10)
    assert found.low == pytest.approx(0.4902, abs=1e-4)
    assert found.high == pytest.approx(0.9433, abs=1e-4)


def test_nothing_to_count_has_no_value():
    found = wilson(0, 0)
    assert (found.value, found.low, found.high, found.of) == (None, None, None, 0)


def test_fewer_independent_cases_make_a_wider_interval_around_the_same_share():
    narrow, wide = wilson(80, 100), wilson(80, 100, independent=20)
    assert narrow.value == wide.value
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low


@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_holds_its_share_and_stays_between_0_and_1(hits: int, misses: int):
    found = wilson(hits, hits + misses)
    if found.value is not None:
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_wilsons_interval_holds_the_true_share_as_often_as_it_promises():
    chance, holds, turns = random.Random(5), 0, 400
    for _ in range(turns):
        found = wilson(sum(chance.random() < 0.9 for _ in range(120)), 120)
        assert found.low is not None
        assert found.high is not None
        holds += found.low <= 0.9 <= found.high
    assert holds / turns >= 0.92


def test_kappa_is_the_textbook_value():
    # Two readers of 50 proposals: 20 both yes, 15 both no, 5 and 10 apart.
    assert Counts(true_pass=20, false_pass=10, true_fail=15, false_fail=5).kappa == pytest.approx(0.4)


def test_kappa_is_none_where_there_is_nothing_to_tell_apart_and_zero_for_a_judge_that_does_not():
    assert Counts(true_pass=9).kappa is None
    assert Counts(true_fail=5, false_pass=4).kappa is None
    assert Counts(true_pass=5, false_pass=5).kappa == 0
    assert Counts().kappa is None
    assert kappa([Counts(true_pass=1)] * 9).value is None


def test_kappas_interval_holds_its_value_and_is_the_same_every_time():
    clusters = (
        [Counts(true_pass=1)] * 20 + [Counts(true_fail=1)] * 15 + [Counts(false_pass=1)] * 10 + [Counts(false_fail=1)] * 5
    )
    found = kappa(clusters)
    assert found == kappa(clusters)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.4 < found.high


def test_precision_falls_for_rewarding_failures_and_recall_for_refusing_successes():
    lenient = over_episodes([case(1, 1)] * 6 + [case(0, 1)] * 2 + [case(0, 0)] * 2)
    assert (lenient.precision.value, lenient.recall.value, lenient.accuracy.value) == (0.75, 1.0, 0.8)
    harsh = over_episodes([case(1, 1)] * 3 + [case(1, 0)] * 3 + [case(0, 0)] * 4)
    assert (harsh.precision.value, harsh.recall.value, harsh.accuracy.value) == (1.0, 0.5, 0.7)


def test_a_kind_that_always_fails_has_an_accuracy_and_nothing_else():
    found = over_episodes([case(0, 1)] * 2 + [case(0, 0)] * 6)
    assert found.accuracy.value == 0.75
    assert found.precision.value is found.recall.value is found.kappa.value is None


def test_what_was_not_scored_is_a_share_of_its_own_and_no_error():
    found = over_episodes([case(1, 1)] * 6 + [case(1, None)] * 4)
    assert found.cases == 10
    assert found.unscorable.value == pytest.approx(0.4)
    assert (found.accuracy.value, found.accuracy.of) == (1.0, 6)
    assert found.successes.value == 1.0


def test_facts_are_matched_by_name_and_unsaid_ones_are_unscorable():
    truth = Scored(reward=0, facts=facts(True, False))
    swapped = Scored(reward=0, facts=facts(True, False)[::-1])
    partial = Scored(reward=0, facts=facts(False, False)[:1])
    cases = [
        Case("a", "x", truth, swapped),
        Case("b", "x", truth, partial),
        Case("c", "x", truth, Unscorable(reason="late")),
    ]
    found = over_facts(cases)
    assert found is not None
    assert found.cases == 6
    assert (found.true_pass, found.true_fail, found.false_fail, found.false_pass) == (1, 1, 1, 0)
    assert found.unscorable.value == pytest.approx(0.5)


def test_facts_of_one_episode_do_not_pass_for_many_cases():
    truth, many = Scored(reward=1, facts=facts(True, True)), 20
    found = over_facts([Case(f"{n}", "x", truth, truth) for n in range(many)])
    assert found is not None
    assert found.accuracy.low == wilson(many, many).low


def test_a_truth_without_facts_has_no_figures_of_facts():
    assert over_facts([case(1, 1)]) is None


def made() -> Figures:
    cases = [case(n % 2, (n % 2 if n % 5 else 1 - n % 2), number=n, seconds=n / 10) for n in range(40)]
    cases += [case(0, None if n < 2 else n % 2, kind="<injecting>", number=100 + n) for n in range(10)]
    return figures(cases, judge="rubric & co", truth="worlds-verify", run="bench", made=1.0)


def test_figures_survive_the_disk():
    found = made()
    assert Figures.model_validate_json(found.model_dump_json()) == found
    assert [kind.name for kind in found.kinds] == ["<injecting>", "oracle"]
    assert found.spent.dollars == pytest.approx(25.0)
    assert found.reasons == {"the endpoint died": 2}


def test_the_table_tells_every_kind_and_dashes_where_nothing_can_be_said():
    written = io.StringIO()
    Console(width=200, file=written).print(table(made()))
    said = written.getvalue()
    for words in ("all episodes", "<injecting>", "oracle", "80.0 %", "–", "20.0 %"):
        assert words in said
    assert "$0.5000 an episode" in spending(made())


def test_the_plot_is_sound_and_names_are_escaped():
    root = ET.fromstring(plot(made()))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<injecting>" in texts
    assert any("rubric & co" in (text or "") for text in texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 4 + 4 + 1  # an injecting agent has no true success
