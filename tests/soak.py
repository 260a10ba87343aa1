"""`make soak`: a fleet under load for a while; memory, handles, processes and temporary files must stay flat.

Sixteen clients run short episodes on ordinary and on nasty pages, sometimes vanish without releasing, and browsers are
retired often. Samples of the first part after warm-up are compared with those of the last part. Ends with one line of JSON
and exit status 1 if anything grew, or if so little was done or so much of it failed that flat figures say nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import pairwise

import psutil
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.conftest import KEY, settings_for
from tests.site.server import Site
from webgym import types as t
from webgym.errors import WebGymError
from webgym.rollout.client import Client
from webgym.server.fleet.local import LocalFleet, running_fleet
from webgym.server.folders import default_root

PAGES = (
    "/form",
    "/docs-long",
    "/bench/images",
    "/marks",
    "/dialogs",
    "/popup",
    "/downloads",
    "/live/raf-forever",
    "/drip-image",
)
SAMPLE_SECONDS = 2.0
LEAST_EPISODES = 1.0  # of each client in a minute
MOST_FAILED = 0.1  # of all episodes: nasty pages are to be survived, not to be failed at
# What a part may grow by between the two windows: a share, and an amount below which the share does not count.
ALLOWED = {
    "memory_mb": (0.10, 60),
    "python_mb": (0.05, 15),
    "handles": (0.05, 40),
    "processes": (0.15, 6),
    "folders": (0.2, 2),
}


@dataclass(frozen=True)
class Sample:
    memory_mb: float
    python_mb: float
    handles: int
    processes: int
    zombies: int
    folders: int


def sample(fleet: LocalFleet) -> Sample:
    children = [child.process.pid for child in (fleet.master, *fleet.workers) if child.process is not None]
    memory = python = handles = processes = zombies = 0.0
    for pid in children:
        try:
            members = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        except psutil.Error:
            continue
        for process in members:
            try:
                zombies += process.status() == psutil.STATUS_ZOMBIE
                size = _own_memory(process.pid) / 2**20
                memory += size
                processes += 1
                if process.pid == pid:
                    python += size
                    handles += process.num_fds()
            except (psutil.Error, OSError):
                continue
    folders = sum(1 for _ in default_root().glob("worker-*/*/*"))
    return Sample(memory, python, int(handles), int(processes), int(zombies), folders)


def _own_memory(pid: int) -> float:
    """Proportional share on Linux, resident memory elsewhere."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:  # noqa: PTH123
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
    except OSError:
        return float(psutil.Process(pid).memory_info().rss)


async def episode(client: Client, site: Site, dice: random.Random) -> int:
    vanishes = dice.random() < 0.1  # without a word: the lease must free the session
    session = await client.session(url=site.url(dice.choice(PAGES)), ttl=5, wait=60, renew=not vanishes)
    steps = 0
    for _ in range(dice.randint(2, 8)):
        action = dice.choice(
            (
                t.Click(x=dice.choice((100, 280, 460, 640)), y=40),
                t.Scroll(dy=dice.choice((-400, 400, 900))),
                t.Type(text="soak"),
                t.Navigate(url=site.url(dice.choice(PAGES))),
                t.Back(),
                t.NewTab(),
            )
        )
        await session.step(action, t.Look(marks=dice.random() < 0.3))
        steps += 1
    if not vanishes:
        await session.release()
    return steps


async def client_loop(client: Client, site: Site, ends: float, seed: int, done: dict[str, int]) -> None:
    dice = random.Random(seed)
    while time.monotonic() < ends:
        try:
            steps = await episode(client, site, dice)
            done["steps"] += steps
            done["episodes"] += 1
        except WebGymError as e:
            done[type(e).__name__] = done.get(type(e).__name__, 0) + 1


async def soak(minutes: float, sessions: int) -> int:
    console = Console(stderr=True)
    samples: list[Sample] = []
    done = {"steps": 0, "episodes": 0}
    async with Site() as site:
        settings = settings_for(
            site,
            sessions=sessions,
            browsers=os.cpu_count() or 1,
            limits={"max_sessions": 40},
            settle={"quiet": 0.5, "network": 0.5, "load": 1},
        )
        async with running_fleet(settings, KEY) as fleet, Client(fleet.url, key=KEY) as client:
            seconds = minutes * 60
            started = time.monotonic()
            with Progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console) as progress:
                bar = progress.add_task("soaking", total=seconds)
                async with asyncio.TaskGroup() as group:
                    for seed in range(sessions):
                        group.create_task(client_loop(client, site, started + seconds, seed, done))
                    while (past := time.monotonic() - started) < seconds:
                        await asyncio.sleep(SAMPLE_SECONDS)
                        samples.append(await asyncio.to_thread(sample, fleet))
                        progress.update(bar, completed=past, description=f"soaking: {done['episodes']} episodes")
    return report(samples, done, Console(), least=LEAST_EPISODES * minutes * sessions)


def worked(done: dict[str, int], least: float) -> bool:
    """Whether there was a load at all."""
    failed = sum(count for name, count in done.items() if name not in ("steps", "episodes"))
    return done["episodes"] >= least and failed <= MOST_FAILED * (done["episodes"] + failed)


def report(samples: list[Sample], done: dict[str, int], console: Console, *, least: float) -> int:
    n = len(samples)
    early, late = samples[n // 4 : n // 2], samples[-n // 4 :]
    table = Table(title=f"{done}")
    for column in ("what", "second quarter", "last quarter", "growth", "allowed", ""):
        table.add_column(column)
    flat = True
    figures: dict[str, float | bool] = dict(done)
    for name, (share, amount) in ALLOWED.items():
        before = statistics.median(asdict(one)[name] for one in early)
        after = statistics.median(asdict(one)[name] for one in late)
        growth = after - before
        fine = growth <= max(share * before, amount)
        flat = flat and fine
        figures[name + "_growth"] = round(growth, 1)
        table.add_row(
            name,
            f"{before:.0f}",
            f"{after:.0f}",
            f"{growth:+.1f}",
            f"{max(share * before, amount):.0f}",
            "" if fine else "GREW",
        )
    # One that is being reaped just then is none: it counts what two samples in a row have.
    zombies = max(min(one.zombies, next_one.zombies) for one, next_one in pairwise(late))
    flat = flat and zombies <= 2
    console.print(table)
    loaded = worked(done, least)
    if not loaded:
        console.print(f"too little was done or too much of it failed: {least:.0f} episodes were expected at least")
    sys.stdout.write(json.dumps(figures | {"zombies": zombies, "flat": flat, "loaded": loaded}) + "\n")
    return 0 if flat and loaded else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="webgym-soak-") as apart:
        # Apart from the workers of others, whose folders come and go as they please.
        os.environ["TMPDIR"] = tempfile.tempdir = apart
        return asyncio.run(soak(arguments.minutes, arguments.sessions))


if __name__ == "__main__":
    sys.exit(main())
