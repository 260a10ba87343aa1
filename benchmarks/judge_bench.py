"""Does the judge bench measure what is there? `python -m benchmarks.judge_bench --episodes 120`.

Episodes of the offline web by the cast of five are played in real browsers, or found again in `--runs`. The programmatic
judge must be right about every one of them, and every episode must have ended as its agent was made to. Then stand-in models
that say the opposite of the truth at set rates, behind a real OpenAI-compatible server, are measured: each rate must lie in
the interval that the bench gives. Exit status 1 if anything of this does not hold. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from tests.standin.flipping import FlippingModel, ModelJudge
from webgym.endpoint import Endpoint, EndpointSettings
from webgym.judge.bench.figures import Estimate, Figures, figures
from webgym.judge.bench.labelled import Labelled, labelled, truth_of
from webgym.judge.bench.measuring import Judge, measure
from webgym.judge.bench.plot import plot
from webgym.judge.bench.table import table
from webgym.judging.programmatic import WorldsJudge
from webgym.judging.truth import Cast, Stage, make_truth, unexpected
from webgym.store import Run

RATES = (0.02, 0.1, 0.2, 0.35)
SEEDS = 25  # stand-ins of each rate: an interval of 95 % may miss the rate for one in twenty
WIDTH = 150


async def run(cast: Cast, runs: Path, picture: Path | None) -> int:
    folder, console = runs / cast.folder, Console(width=WIDTH)
    began = time.monotonic()
    missing = await make_truth(folder, cast, Stage.here())
    console.print(f"{cast.episodes} episodes in {time.monotonic() - began:.0f} s; {missing} missing", highlight=False)
    with Run.open(folder, read_only=True) as store:
        odd = unexpected(store)
        for line in odd:
            console.print(f"ended otherwise than it was made to: {line}", highlight=False, markup=False)
        episodes, truth = list(labelled(store)), truth_of(store)
        known = await _measured(WorldsJudge(), episodes, truth)
        console.print(table(known))
        rows = Table("said wrongly", "of stand-ins", "interval holds it", "accuracy of the first", title="Stand-in models")
        shares = []
        for rate in RATES:
            found = [await _stand_in(episodes, truth, rate, seed) for seed in range(SEEDS)]
            held = sum(holds(one.overall.accuracy, 1 - rate) for one in found) / SEEDS
            shares.append(held)
            rows.add_row(f"{rate:.0%}", str(SEEDS), f"{held:.0%}", _told(found[0].overall.accuracy))
            if picture is not None and rate == RATES[1]:
                await asyncio.to_thread(picture.write_text, plot(found[0]))
        console.print(rows)
    right = known.overall.accuracy.value == 1.0 and known.facts is not None and known.facts.accuracy.value == 1.0
    print(json.dumps({"episodes": known.overall.cases, "programmatic": known.overall.accuracy.value, "unexpected": len(odd),
                      "held": round(sum(shares) / len(shares), 3)}))  # fmt: skip
    return int(missing > 0 or bool(odd) or not right or sum(shares) / len(shares) < 0.9)


async def _stand_in(episodes: Sequence[Labelled], truth: str, rate: float, seed: int) -> Figures:
    model = FlippingModel({one.episode.id: one.truth for one in episodes}, rate, rate, seed=seed)
    async with model.serving() as url, Endpoint(EndpointSettings(url=url, model="flipping", concurrency=16)) as endpoint:
        return await _measured(ModelJudge(endpoint, f"a stand-in that errs {rate:.0%} of the time"), episodes, truth)


async def _measured(judge: Judge, episodes: Sequence[Labelled], truth: str) -> Figures:
    cases = await measure(judge, episodes, at_once=16)
    return figures(cases, judge=judge.name, truth=truth, run="judge bench", made=time.time())


def holds(estimate: Estimate, value: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= value <= estimate.high


def _told(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f}, {estimate.high:.3f})"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.judge_bench", description="Measure the judge bench.")
    parser.add_argument("--episodes", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0, help="another seed is another set of tasks")
    parser.add_argument("--runs", type=Path, help="where the episodes are kept; nowhere if unset")
    parser.add_argument("--plot", type=Path, help="write the plot of one stand-in's figures here (.svg)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cast = Cast.of(options.episodes, options.seed)
        return uvloop.run(run(cast, options.runs or Path(scratch), options.plot))


if __name__ == "__main__":
    sys.exit(main())
