"""The offline web, measured: `python -m benchmarks.worlds`, or `make bench-worlds`.

1. The full set is written by `webgym worlds tasks`. Memory is the largest sum over its processes, read ten times
   a second; pages they share are divided among them.
2. Random pages of all kinds are rendered in this process; the time is the processor's, from the request to the HTML. Sites
   come and go, so many a page also pays for the making of its site's content.
3. Eight sessions of a real `webgym serve` follow random links. `site_cpu_share` is the site server's part of the processor
   time of all that took part: sites, server, Chromium and the clients in this process.

The last line of stdout is the summary as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.children import server
from benchmarks.measure import Meter
from benchmarks.offline import SEED, Address, offline_web, pages
from webgym import types as t
from webgym.rollout.client import Client
from webgym.server import chromium
from webgym.worlds.catalogue import TRAIN

SESSIONS = 8
WALK = 10  # steps of a session
QUICK_TASKS, QUICK_PAGES, QUICK_SECONDS = 10_000, 480, 15.0
PAGES, SECONDS = 1_008, 60.0
LOOK = t.Look(marks=True)
TARGETS = {"render_ms_p50": 5.0, "site_cpu_share": 0.15}
STOPPED = 130
Tick = Callable[[], None]


@dataclass(frozen=True)
class Written:
    tasks: int
    sites: int
    test_tasks: int
    seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Visited:
    steps: int
    seconds: float
    site: float
    server: float
    chromium: float
    clients: float
    others: float  # of all other programs on the machine

    @property
    def share(self) -> float:
        return self.site / (self.site + self.server + self.chromium + self.clients)


async def write_set(count: int, folder: Path) -> Written:
    """Have the command write the set, and watch its memory."""
    command = [str(Path(sys.executable).with_name("webgym")), "worlds", "tasks", "--out", str(folder)]
    command += ["--tasks", str(count), "--seed", str(SEED)]
    began, peak = time.monotonic(), 0
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    try:
        while process.returncode is None:
            peak = max(peak, _memory(process.pid))
            await asyncio.sleep(0.1)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    seconds = time.monotonic() - began
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return _counted(folder, seconds, peak / (1 << 20))


def _counted(folder: Path, seconds: float, megabytes: float) -> Written:
    """What is in the files. Their hashes are printed: another run must have the same."""
    tasks, sites, counts = 0, set[str](), {}
    for split in ("train", "test"):
        with (folder / f"{split}.jsonl").open() as lines:
            for counts[split], line in enumerate(lines, 1):
                sites.add(json.loads(line)["website"])
        tasks += counts[split]
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            print(f"sha256 of {path.name}: {hashlib.file_digest(file, 'sha256').hexdigest()}")
    return Written(tasks, len(sites), counts["test"], seconds, megabytes)


def _memory(root: int) -> int:
    """Bytes of a process and all below it."""
    total = 0
    try:
        top = psutil.Process(root)
        for process in (top, *top.children(recursive=True)):
            info = process.memory_full_info()
            total += getattr(info, "pss", info.rss)
    except psutil.Error:  # one ended while we looked
        return 0
    return total


def render(count: int, tick: Tick) -> dict[str, list[float]]:
    """Milliseconds of processor time of each page, by kind."""
    times = defaultdict[str, list[float]](list)
    for address in pages(count, random.Random("render")):
        times[address.kind].append(_timed(address))
        tick()
    return times


def _timed(address: Address) -> float:
    began = time.thread_time_ns()
    address.ask()
    return (time.thread_time_ns() - began) / 1e6


async def visit(seconds: float, tick: Tick) -> Visited:
    """Follow random links in eight sessions at once."""
    async with offline_web() as site, server(site.url, SESSIONS) as served, Client(served.url, key=served.key) as client:
        port = int(site.url.rpartition(":")[2])
        meter, sites = Meter(chromium.find().path.resolve(), site.pid), psutil.Process(site.pid)
        began, before, site_before = time.monotonic(), meter.cpu(), sum(sites.cpu_times()[:2])
        steps = 0

        async def wander(number: int) -> None:
            nonlocal steps
            chance = random.Random(f"wander {number}")
            while time.monotonic() < began + seconds:
                (start,) = pages(1, chance)
                async with client.open(url=start.url(port), look=LOOK) as session:
                    seen = session.observation
                    for _ in range(WALK):
                        if time.monotonic() > began + seconds:
                            break
                        seen = await session.step(_next(seen, chance), LOOK)
                        steps += 1
                        tick()

        async with asyncio.TaskGroup() as group:
            for number in range(SESSIONS):
                group.create_task(wander(number))
        spent, site_spent = meter.cpu() - before, sum(sites.cpu_times()[:2]) - site_before
        return Visited(steps, time.monotonic() - began, site_spent, spent.between, spent.chromium, spent.here, spent.others)


def _next(seen: t.Observation, chance: random.Random) -> t.Action:
    """Click a link on screen; where there is none, scroll."""
    found = [mark.box for mark in seen.marks or () if mark.role == "link"]
    if not found:
        return t.Scroll(dy=600)
    box = chance.choice(found)
    return t.Click(x=box.x + box.width / 2, y=box.y + box.height / 2)


async def measure(options: argparse.Namespace, progress: Progress) -> tuple[Written, dict[str, list[float]], Visited]:
    quick = options.quick
    task = progress.add_task("visiting", total=None)
    visited = await visit(QUICK_SECONDS if quick else SECONDS, lambda: progress.advance(task))
    count = QUICK_PAGES if quick else PAGES
    progress.reset(task, description="rendering", total=count)
    times = render(count, lambda: progress.advance(task))
    progress.reset(task, description="writing the set", total=None)
    with tempfile.TemporaryDirectory() as folder:
        written = await write_set(options.tasks or (QUICK_TASKS if quick else TRAIN), Path(folder))
    return written, times, visited


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.worlds", description="Measure the offline web.")
    parser.add_argument("--quick", action="store_true", help="a small set, fewer pages, a shorter visit")
    parser.add_argument("--tasks", type=int, help=f"train tasks; {TRAIN} if not told otherwise")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress:
            written, times, visited = uvloop.run(measure(options, progress))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return STOPPED
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(_rendered(times), _used(visited))
    summary = {
        "tasks": written.tasks,
        "sites": written.sites,
        "test_tasks": written.test_tasks,
        "tasks_per_s": round(written.tasks / written.seconds),
        "peak_mb": round(written.peak_mb),
        "render_ms_p50": round(statistics.median(ms for kind in times.values() for ms in kind), 2),
        "site_cpu_share": round(visited.share, 3),
    }
    missed = [f"{key} is {summary[key]:g}, over {most:g}" for key, most in TARGETS.items() if summary[key] > most]
    console.print("; ".join(missed) or "All targets hold.")
    print(json.dumps(summary), flush=True)
    return int(options.strict and bool(missed))


def _rendered(times: dict[str, list[float]]) -> Table:
    table = Table(title="Rendering a page, ms of processor time", pad_edge=False)
    table.add_column("kind")
    for head in ("pages", "p50", "p95", "most"):
        table.add_column(head, justify="right")
    everything = [ms for kind in times.values() for ms in kind]
    for name, ms in (*sorted(times.items()), ("all", everything)):
        p95 = sorted(ms)[int(len(ms) * 0.95)]
        table.add_row(name, str(len(ms)), f"{statistics.median(ms):.2f}", f"{p95:.2f}", f"{max(ms):.2f}")
    return table


def _used(visited: Visited) -> Table:
    machine = visited.seconds * (os.cpu_count() or 1)
    title = (
        f"{SESSIONS} sessions, {visited.steps} steps in {visited.seconds:.0f} s ({visited.steps / visited.seconds:.1f}/s)"
    )
    table = Table(title=title, pad_edge=False)
    for head in ("", "s of processor time", "of the machine"):
        table.add_column(head, justify="left" if not head else "right")
    parts = ("sites", visited.site), ("server", visited.server), ("Chromium", visited.chromium)
    for name, spent in (*parts, ("clients", visited.clients), ("other programs", visited.others)):
        table.add_row(name, f"{spent:.1f}", f"{spent / machine:.1%}")
    return table


if __name__ == "__main__":
    sys.exit(main())
