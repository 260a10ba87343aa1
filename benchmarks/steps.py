"""Browser steps, side by side: `python -m benchmarks.steps`, or `make bench-steps`.

Contestants: (a) raw CDP in this process, (b) Playwright with PNG and with JPEG screenshots, (c) `webgym serve` over HTTP.
Each plays the same episodes on the same local pages, which a process of their own serves, in as many browsers (one a core).
How they take turns is told in `runs`; what each leaves out, in its own module: (a) and (b) do not wait for pages to come to
rest, (c) does. Memory is measured of each alone, and of (c) with `--low-memory` too.

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
from benchmarks.episodes import Contestant
from benchmarks.measure import Meter
from benchmarks.report import JPEG, JUDGED_AT, LOW_MEMORY, PNG, RAW, RIVALS, SERVED, Results
from benchmarks.runs import alone, by_turns
from webgym.server import chromium

FRESH_BROWSERS = 5
TIMES = 2  # each contestant alone
STOPPED = 130


@dataclass(frozen=True)
class Plan:
    sessions: tuple[int, ...]
    judged: int  # pairs of turns with the number of sessions that has targets
    raw_in_batch: bool = False

    def pairs(self, sessions: int) -> int:
        """How often server and rival take turns: less where nothing is judged by it."""
        return self.judged if sessions == JUDGED_AT else max(1, self.judged // 4)

    def episodes(self, sessions: int) -> int:
        """Before memory is measured: fewer when there are many."""
        return 4 if sessions <= JUDGED_AT else 2

    def length(self) -> int:
        """Of the whole measurement, in things that are ticked off."""
        return sum(TIMES * len(contestants(sessions)) + len(RIVALS) * self.pairs(sessions) for sessions in self.sessions)


def contestants(sessions: int) -> tuple[str, ...]:
    return (SERVED, *RIVALS, LOW_MEMORY) if sessions == JUDGED_AT else (SERVED, *RIVALS)


async def measure(plan: Plan, progress: Progress) -> Results:
    found = chromium.find()
    results = Results()
    task = progress.add_task("", total=plan.length())
    async with website() as site:
        meter = Meter(found.path.resolve(), site.pid)
        known: dict[str, Contestant] = {
            RAW: partial(raw.running, found, in_batch=plan.raw_in_batch),
            SERVED: partial(served.running, site.url),
            JPEG: partial(via_playwright.running, found, "jpeg"),
            PNG: partial(via_playwright.running, found, "png"),
            LOW_MEMORY: partial(served.running, site.url, low_memory=True),
        }
        tick: Callable[[], None] = partial(progress.advance, task)
        for _ in range(TIMES):
            progress.update(task, description="session start")
            results.fresh.append(await starts.fresh(found, site.url, FRESH_BROWSERS))
            results.leased.append(await starts.leased(site.url, JUDGED_AT))
            for sessions in plan.sessions:
                for name in contestants(sessions):
                    progress.update(task, description=f"{name} alone, {sessions} sessions")
                    measured = await alone(known[name], sessions, plan.episodes(sessions), site.url, meter)
                    results.alone.setdefault((name, sessions), []).append(measured)
                    tick()
        for sessions in plan.sessions:
            for name in RIVALS:
                progress.update(task, description=f"{SERVED} and {name}, {sessions} sessions")
                results.pairs[name, sessions] = await by_turns(
                    known[SERVED], known[name], sessions, plan.pairs(sessions), site.url, meter, tick
                )
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
    plan = Plan(options.sessions, options.pairs, options.raw_in_batch)
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress:
            results = uvloop.run(measure(plan, progress))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return STOPPED
    summary = results.summary()
    console = Console(width=None if sys.stdout.isatty() else 160)
    for shown in (report.table(results), report.starts(results), report.verdicts(summary)):
        console.print(shown)
    for (name, sessions), pairs in results.pairs.items():
        if retaken := sum(pair.theirs.retaken for pair in pairs):
            console.print(f"{name}, {sessions} sessions: {retaken} screenshots failed and were taken again.")
    for words in results.disturbed():
        console.print(words)
    print(json.dumps(summary), flush=True)
    return int(options.strict and not all(report.holds(key, value) for key, value in summary.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.steps", description="Browser steps, side by side.")
    parser.add_argument("--pairs", type=_positive, default=12, help=f"turns of each with {JUDGED_AT} sessions (12)")
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
