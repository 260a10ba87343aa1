"""What the proof claims, and when it must not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.proof import LEAST, Proved, on_the_same, on_their_own, pooled, refuted, shown_in
from webgym.loop.figures import Rate
from webgym.loop.plot import Point

LOW, HIGH = Rate(passed=15, of=288), Rate(passed=66, of=288)
SEEDS = [Proved(f"seed {n}", LOW, HIGH, 28.0, (), ()) for n in range(3)]


def test_three_seeds_apart_within_the_hour_are_a_proof():
    assert refuted(SEEDS, SEEDS[0].factor) == []


@pytest.mark.parametrize(
    ("seeds", "factor", "said"),
    [
        (SEEDS[:1], 4.4, "1 seeds prove nothing"),
        ([*SEEDS[:2], replace(SEEDS[2], minutes=61.0)], 4.4, "seed 2: 61 minutes, more than 60"),
        (
            [*SEEDS[:2], replace(SEEDS[2], after=Rate(passed=20, of=288))],
            4.4,
            "seed 2: the intervals before and after touch",
        ),
        (SEEDS, LEAST - 0.01, "less than the paper's 1.64"),
    ],
)
def test_anything_less_is_named_and_is_none(seeds: list[Proved], factor: float, said: str):
    (found,) = refuted(seeds, factor)
    assert said in found


def test_seeds_that_share_their_tasks_have_no_more_tasks_than_each():
    curves = [[Point(0, LOW), Point(6, HIGH)], [Point(0, LOW), Point(3, HIGH), Point(6, HIGH)]]
    test = pooled(curves, on_the_same)
    assert test == [Point(0, Rate(passed=30, of=576, tasks=288)), Point(6, Rate(passed=132, of=576, tasks=288))]
    assert test[0].rate.interval == LOW.interval
    assert pooled(curves, on_their_own)[0].rate.tasks == 576


def test_demonstrations_count_from_the_first_to_the_samples(tmp_path: Path):
    (tmp_path / "demonstrations").mkdir()
    (tmp_path / "demonstrations" / "run.json").write_text(json.dumps({"created": 1000.0}))
    (tmp_path / "samples.parquet").touch()
    os.utime(tmp_path / "samples.parquet", (1090.0, 1090.0))
    assert shown_in(tmp_path) == 1.5
