"""Does the loop teach? `python -m benchmarks.proof`: a tiny model, real browsers, its own successes, unseen websites.

For each seed: a tiny Qwen3-VL is warmed up on a few demonstrations (configs/proof-warm-up.yaml) and then trained by the loop
(configs/proof.yaml); its success on the test websites is measured before the first update and after the last. With
`--ablations`, the first seed is trained again without the filter of unchanged screenshots, and on failures as on successes.

Everything is kept under `--folder` and is not done again: a proof that was stopped goes on where it was. The last line is
JSON: before, after, factor, seeds, minutes (of the slowest seed, its warm-up and the shared demonstrations included). Exit
status 1 unless every seed's intervals are apart and the factor of all is at least that of the paper.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
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


def pooled(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """Curves of several seeds as one: the episodes of all at each version that all have."""
    versions = sorted(set.intersection(*({point.version for point in curve} for curve in curves)))
    by_version = [{point.version: point.rate for point in curve} for curve in curves]
    return [Point(version, sum((rates[version] for rates in by_version), Rate())) for version in versions]


def warmed(folder: Path, seed: int, port: int, console: Console) -> tuple[Path, float]:
    """The checkpoint of a seed's warm model, and the minutes it took; what a seed shares with others is counted for each."""
    clock = folder / f"seed-{seed}.minutes"
    given = ["--config", WARM_UP, "--folder", str(folder), "--train.seed", str(seed), "--worlds.port", str(port)]
    settings = load(WarmUpSettings, given, command="proof")
    began = time.monotonic()
    result = uvloop.run(prepare(settings, console))
    if not clock.exists():
        clock.write_text(f"{(time.monotonic() - began) / 60}\n")
    shared = folder / "seed-0.minutes"
    return result.checkpoint, max(float(clock.read_text()), float(shared.read_text()) if shared.exists() else 0.0)


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
    before, after = (sum((getattr(row, name) for row in rows), Rate()) for name in ("before", "after"))
    everything = Proved(
        "all seeds", before, after, max(row.minutes for row in rows),
        tuple(pooled([row.test for row in rows])), tuple(pooled([row.train for row in rows])),
    )  # fmt: skip
    console.print(table([*rows, everything, *rest]))
    plot = given.plot or given.folder / "proof.svg"
    plot.write_text(learning_curve(f"A tiny model, {given.seeds} seeds", everything.test, everything.train))
    print(
        json.dumps(
            {
                "before": round(before.share or 0.0, 4),
                "after": round(after.share or 0.0, 4),
                "factor": round(everything.factor, 3),
                "seeds": given.seeds,
                "minutes": round(everything.minutes, 1),
                "intervals_apart": [row.apart for row in rows],
                "ablations": {row.name: round(row.after.share or 0.0, 4) for row in rest},
            }
        )
    )
    return 0 if everything.factor >= LEAST and all(row.apart for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
