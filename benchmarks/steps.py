"""Browser steps, side by side: `python -m benchmarks.steps`, or `make bench-steps`.

Contestants: (a) raw CDP in this process, (b) Playwright with PNG and with JPEG screenshots, (c) `webgym serve` over HTTP,
and again with `--low-memory`. Each plays the same episodes on the same local pages, which a process of their own serves, in
as many browsers (one a core), every run in fresh ones. Contestants take turns, there and back, because a shared machine is
now faster and now slower: an even number of repetitions is the fairest. What each leaves out is told in its module: (a) and
(b) do not wait for pages to come to rest, (c) does.

`python_cpu_share` is the processor time of the server's own processes (master and workers) in that of those and Chromium;
the client's, in this process, is in the table beside it. The last line of stdout is the summary as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks import raw, report, served, starts, via_playwright
from benchmarks.children import website
from benchmarks.episodes import STEPS, Contestant
from benchmarks.measure import Meter
from benchmarks.report import JPEG, JUDGED_AT, LOW_MEMORY, PNG, RAW, SERVED, Results
from benchmarks.runs import run
from webgym.server import chromium

MEASURED_STEPS = 288
LEAST_EPISODES, MOST_EPISODES = 1, 6
FRESH_BROWSERS = 5
STOPPED = 130
QUIET = 0.1  # of the machine: what other programs may use before the figures say more about them


@dataclass(frozen=True)
class Plan:
    sessions: tuple[int, ...]
    repetitions: int
    quick: bool
    raw_in_batch: bool = False

    def episodes(self, sessions: int) -> int:
        """Measured episodes of each session: fewer when there are many."""
        if self.quick:
            return LEAST_EPISODES
        return min(MOST_EPISODES, max(LEAST_EPISODES, MEASURED_STEPS // (sessions * STEPS)))

    def turns(self, repetition: int) -> list[tuple[int, str]]:
        """Who runs with how many sessions, in this repetition's order."""
        turns = []
        for sessions in self.sessions:
            # There and back: whoever is compared has his turn right beside the server's, before it as often as after it.
            names = [PNG, RAW, SERVED, JPEG] + ([LOW_MEMORY] if sessions == JUDGED_AT else [])
            turns += [(sessions, name) for name in (names if repetition % 2 == 0 else names[::-1])]
        return turns

    def steps(self) -> int:
        """All steps of the whole measurement, the unmeasured ones too."""
        turns = [turn for repetition in range(self.repetitions) for turn in self.turns(repetition)]
        return sum(sessions * STEPS * (1 + self.episodes(sessions)) for sessions, _ in turns)


async def measure(plan: Plan, progress: Progress) -> Results:
    found = chromium.find()
    results = Results()
    task = progress.add_task("", total=plan.steps())
    async with website() as site:
        meter = Meter(found.path.resolve(), site.pid)
        contestants: dict[str, Contestant] = {
            RAW: partial(raw.running, found, in_batch=plan.raw_in_batch),
            SERVED: partial(served.running, site.url),
            JPEG: partial(via_playwright.running, found, "jpeg"),
            PNG: partial(via_playwright.running, found, "png"),
            LOW_MEMORY: partial(served.running, site.url, low_memory=True),
        }
        tick: Callable[[], None] = partial(progress.advance, task)
        for repetition in range(plan.repetitions):
            progress.update(task, description=f"{repetition + 1}/{plan.repetitions} session start")
            results.fresh.append(await starts.fresh(found, site.url, FRESH_BROWSERS))
            results.leased.append(await starts.leased(site.url, JUDGED_AT))
            for sessions, name in plan.turns(repetition):
                progress.update(task, description=f"{repetition + 1}/{plan.repetitions} {name}, {sessions} sessions")
                results.add(name, await run(contestants[name], sessions, plan.episodes(sessions), site.url, meter, tick))
    return results


def main() -> int:
    options = _options()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    plan = Plan(options.sessions, options.repetitions or (1 if options.quick else 4), options.quick, options.raw_in_batch)
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress:
            results = uvloop.run(measure(plan, progress))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return STOPPED
    summary = results.summary()
    console = Console(width=None if sys.stdout.isatty() else 160)
    for shown in (report.table(results), report.starts(results), report.verdicts(summary)):
        console.print(shown)
    for (name, sessions), runs in results.runs.items():
        if retaken := sum(run.retaken for run in runs):
            console.print(f"{name}, {sessions} sessions: {retaken} screenshots failed and were taken again.")
    if (disturbance := results.disturbance()) > QUIET:
        console.print(f"Other programs used up to {disturbance:.0%} of the machine meanwhile: do not trust these figures.")
    print(json.dumps(summary), flush=True)
    return int(options.strict and not all(report.holds(key, value) for key, value in summary.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.steps", description="Browser steps, side by side.")
    parser.add_argument("--quick", action="store_true", help="one repetition of few episodes")
    parser.add_argument("--repetitions", type=_positive, help="4 if not told otherwise")
    parser.add_argument("--sessions", type=_numbers, default=(1, 8, 32), help=f"such as 1,8,32; {JUDGED_AT} is always run")
    parser.add_argument("--raw-in-batch", action="store_true", help="schedule the raw loop's browsers as the server's are")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({JUDGED_AT, *map(_positive, text.split(","))}))


if __name__ == "__main__":
    sys.exit(main())
