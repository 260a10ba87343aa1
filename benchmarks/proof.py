"""Does the loop teach? `python -m benchmarks.proof`: a tiny model, real browsers, its own successes, unseen websites.

For each seed: a tiny Qwen3-VL is warmed up on a few demonstrations (configs/proof-warm-up.yaml) and then trained by the loop
(configs/proof.yaml); its success on the test websites is measured before the first update and after the last. With
`--ablations`, the first seed is trained again without the filter of unchanged screenshots, and on failures as on successes.

Everything is kept under `--folder` and is not done again: a proof that was stopped goes on where it was. The last line is
JSON: before, after, factor, seeds, minutes (of the slowest seed, its warm-up and the shared demonstrations included), and
the factor and minutes of each seed. Of a loop they are the minutes of phases that came to their end: what a process did in
one before it was killed is not in them, so they are the time of a proof that nobody stopped. Exit status 1 unless there are
three seeds or more, every one's intervals are apart and its minutes at most an hour, and the factor of all is at least that
of the paper.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop
from rich.console import Console
from rich.table import Table

from webgym.config import load
from webgym.demonstrating.settings import WarmUpSettings
from webgym.demonstrating.warming import prepare
from webgym.loop.figures import Rate
from webgym.loop.plot import Point, learning_curve
from webgym.loop.running import LoopReport, run
from webgym.loop.settings import LoopSettings

LEAST: Final = 42.9 / 26.2  # what the paper's run gained on its test set
SEEDS: Final = 3  # fewer may be tried, and prove nothing
MOST_MINUTES: Final = 60.0
WARM_UP: Final = "configs/proof-warm-up.yaml"
LOOP: Final = "configs/proof.yaml"
ABLATIONS: Final = {
    "unchanged steps kept": ["--no-replay.drop-unchanged"],
    "failures cloned too": ["--no-replay.successes-only"],
}


@dataclass(frozen=True)
class Proved:
    """One training: what was varied, and what came of it."""

    name: str
    before: Rate
    after: Rate
    minutes: float
    test: tuple[Point, ...]
    train: tuple[Point, ...]

    @property
    def factor(self) -> float:
        return factor(self.before, self.after)

    @property
    def apart(self) -> bool:
        """Whether the 95 % intervals do not touch, and the second is the higher one."""
        return self.before.interval[1] < self.after.interval[0]


def factor(before: Rate, after: Rate) -> float:
    return (after.share or 0.0) / before.share if before.share else float("inf")


def on_the_same(rates: Sequence[Rate]) -> Rate:
    """What several models came to on the same test: all their episodes, and no more tasks than each had."""
    return sum(rates, Rate()).model_copy(update={"tasks": max(rate.tasks for rate in rates)})


def on_their_own(rates: Sequence[Rate]) -> Rate:
    """What several models came to in training, for which each seed draws tasks of its own."""
    return sum(rates, Rate())


def pooled(curves: Sequence[Sequence[Point]], together: Callable[[Sequence[Rate]], Rate]) -> list[Point]:
    """Curves of several seeds as one: the episodes of all at each version that all have."""
    versions = sorted(set.intersection(*({point.version for point in curve} for curve in curves)))
    by_version = [{point.version: point.rate for point in curve} for curve in curves]
    return [Point(version, together([rates[version] for rates in by_version])) for version in versions]


def warmed(folder: Path, seed: int, port: int, console: Console) -> tuple[Path, float]:
    """The checkpoint of a seed's warm model, and the minutes it took; the demonstrations that all share count for each."""
    given = ["--config", WARM_UP, "--folder", str(folder), "--train.seed", str(seed), "--worlds.port", str(port)]
    result = uvloop.run(prepare(load(WarmUpSettings, given, command="proof"), console))
    return result.checkpoint, shown_in(folder) + result.seconds_total / 60


def shown_in(folder: Path) -> float:
    """Minutes from the first demonstration to the samples of all, pauses of a warm-up that was stopped included."""
    began = float(json.loads((folder / "demonstrations" / "run.json").read_text())["created"])
    return ((folder / "samples.parquet").stat().st_mtime - began) / 60


def loop_folder(folder: Path, name: str) -> Path:
    return folder / f"loop-{name.replace(' ', '-')}"


def trained(name: str, folder: Path, seed: int, given: Sequence[str], console: Console) -> LoopReport:
    settings = load(
        LoopSettings,
        [
            *("--config", LOOP, "--run", str(loop_folder(folder, name)), "--tasks", str(folder / "tasks.parquet")),
            *("--sampler.seed", str(seed), "--replay.seed", str(seed), "--train.seed", str(seed), *given),
        ],
        command="proof",
    )
    console.rule(f"{name}: {settings.iterations} iterations of {settings.count} tasks")
    return run(settings, console)


def prove(name: str, folder: Path, seed: int, given: Sequence[str], port: int, console: Console) -> Proved:
    """One training from its warm-up to its last evaluation. The time of a loop is that of its phases, whoever ended them."""
    checkpoint, minutes = warmed(folder, seed, port, console)
    place = ("--checkpoint", str(checkpoint), "--worlds.port", str(port))
    report = trained(name, folder, seed, [*place, *given], console)
    if not report.finished or report.before is None or report.after is None:
        raise SystemExit(f"{name} was stopped: the same command goes on")
    return Proved(name, report.before, report.after, minutes + spent(loop_folder(folder, name)), report.test, report.train)


def spent(loop: Path) -> float:
    """Minutes of all phases of a loop, from their result files."""
    phases = (loop / "loop").glob("*/*.json")
    return sum(float(json.loads(path.read_text()).get("seconds", 0.0)) for path in phases) / 60


def table(rows: Sequence[Proved]) -> Table:
    shown = Table("", "before", "after", "factor", "minutes", title="Success on websites never seen", title_justify="left")
    for row in rows:
        shown.add_row(row.name, str(row.before), str(row.after), f"{row.factor:.2f}", f"{row.minutes:.0f}")
    return shown


def refuted(seeds: Sequence[Proved], factor: float) -> list[str]:
    """What speaks against the proof."""
    found = [f"{len(seeds)} seeds prove nothing: {SEEDS} do"] if len(seeds) < SEEDS else []
    found += [f"{row.name}: the intervals before and after touch" for row in seeds if not row.apart]
    found += [
        f"{row.name}: {row.minutes:.0f} minutes, more than {MOST_MINUTES:g}" for row in seeds if row.minutes > MOST_MINUTES
    ]
    return found + ([f"a factor of {factor:.2f}, less than the paper's {LEAST:.2f}"] if factor < LEAST else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/proof"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--port", type=int, default=8090, help="where the offline web is served")
    parser.add_argument("--ablations", action="store_true", help="train the first seed twice more, each without a part")
    parser.add_argument("--plot", type=Path, help="where to draw the learning curve; FOLDER/proof.svg if unset")
    parser.add_argument("rest", nargs="*", help="settings of the loop after --, such as --iterations 4")
    given = parser.parse_args()
    console = Console(stderr=True)
    rows = [prove(f"seed {n}", given.folder, n, given.rest, given.port, console) for n in range(given.seeds)]
    rest = [
        prove(name, given.folder, 0, [*given.rest, *change], given.port, console)
        for name, change in (ABLATIONS.items() if given.ablations else ())
    ]
    before, after = on_the_same([row.before for row in rows]), on_the_same([row.after for row in rows])
    everything = Proved(
        "all seeds", before, after, max(row.minutes for row in rows),
        tuple(pooled([row.test for row in rows], on_the_same)), tuple(pooled([row.train for row in rows], on_their_own)),
    )  # fmt: skip
    console.print(table([*rows, everything, *rest]))
    plot = given.plot or given.folder / "proof.svg"
    plot.write_text(learning_curve(f"A tiny model, {given.seeds} seeds", everything.test, everything.train))
    against = refuted(rows, everything.factor)
    for line in against:
        console.print(f"not proved: {line}", highlight=False)
    print(
        json.dumps(
            {
                "proved": not against,
                "before": round(before.share or 0.0, 4),
                "after": round(after.share or 0.0, 4),
                "factor": round(everything.factor, 3),
                "seeds": given.seeds,
                "minutes": round(everything.minutes, 1),
                "factors": [round(row.factor, 3) for row in rows],
                "minutes_each": [round(row.minutes, 1) for row in rows],
                "intervals_apart": [row.apart for row in rows],
                "ablations": {row.name: round(row.after.share or 0.0, 4) for row in rest},
            }
        )
    )
    return 1 if against else 0


if __name__ == "__main__":
    sys.exit(main())
