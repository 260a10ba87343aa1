"""Decomposition, split, deduplication and writing of 300,000 synthetic tasks, by the code that `webgym tasks build` runs.

    python -m benchmarks.tasks [--tasks 300000]

Nothing here waits for a model: seeds bring rubrics, children get a made-up instruction. Difficulty follows the public set
and so do websites: half of the tasks are on a dozen head sites, the rest is spread over a hundred thousand. Tasks of a head
site follow a hundred patterns, which makes them about as alike as real ones: with 1,800 tasks on a site, a seed has three
near-duplicate candidates to be compared with, where the real files of NNetNav have one to four. The last line is JSON:
tasks made, seconds for all of it, peak memory of the process in MB, milliseconds to open the file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from webgym.tasks.build import finish
from webgym.tasks.decompose import DecomposeSettings, child_of, children
from webgym.tasks.duplicates import Deduplicator
from webgym.tasks.files import TaskFile
from webgym.tasks.prepare import seeds_in
from webgym.tasks.rubric import task_of
from webgym.tasks.seed import Seed
from webgym.tasks.selection import TaskFilter
from webgym.tasks.split import Entry, SplitSettings
from webgym.tasks.taxonomy import DOMAIN_OF
from webgym.types import FactGroup, Task

DIFFICULTY = {1: 54.9, 2: 102.7, 3: 72.2, 4: 35.1, 5: 13.6, 6: 7.0, 7: 3.2, 8: 1.4, 9: 0.9, 12: 1.3}
HEAD = 13
PATTERNS = 100
DUPLICATES = 0.03
CHILDREN = 0.13  # for each original
GROUP_SIZES = (1, 2, 3, 4, 5, 6, 8, 8, 8)
FILTERS = {
    "hard ones to train on": TaskFilter(split="train", band="hard"),
    "with a word": TaskFilter(contains="price"),
}
WORDS = (  # noqa: SIM905 - a column of fifty words is harder to read
    "find compare list name show tell price weight colour year author rating review hotel tent kettle album recipe train "
    "flight museum course job city team player release version address phone hours discount delivery size material brand "
    "model cheapest newest longest nearest largest popular available refundable vegan wireless handmade monthly annual free"
).split()


def seeds(count: int, rng: random.Random) -> Iterator[Seed]:
    """Synthetic seeds with rubrics; some repeat an earlier one."""
    sizes, weights = list(DIFFICULTY), list(DIFFICULTY.values())
    subjects = list(DOMAIN_OF.items())
    last = ""
    for number in range(count):
        tail = rng.random() < 0.5
        website = f"https://www.site{rng.randrange(100_000)}.com" if tail else f"https://head{rng.randrange(HEAD)}.com"
        if rng.random() >= DUPLICATES:
            words = rng.choices(WORDS, k=rng.randint(10, 30)) if tail else after_a_pattern(website, rng)
            last = f"{website} {' '.join(words)} {rng.randrange(1000)}"
        where, _, instruction = last.partition(" ")
        subdomain, domain = rng.choice(subjects)
        yield Seed(
            id=f"synthetic/{number}",
            source=f"source-{number % 10}",
            instruction=instruction,
            website=where,
            groups=groups(rng.choices(sizes, weights)[0], rng),
            domain=domain,
            subdomain=subdomain,
            file="synthetic.jsonl",
            line=number,
        )


def after_a_pattern(website: str, rng: random.Random) -> list[str]:
    """Ten words that many tasks of the site share, then some of its own."""
    pattern = random.Random(f"{website} {rng.randrange(PATTERNS)}")
    return pattern.choices(WORDS, k=10) + rng.choices(WORDS, k=rng.randint(4, 10))


def groups(facts: int, rng: random.Random) -> tuple[FactGroup, ...]:
    """So many facts, most often in one group, so that about one child comes of eight tasks."""
    found: list[FactGroup] = []
    while facts:
        size = min(facts, rng.choice(GROUP_SIZES))
        stated = tuple(f"The {rng.choice(WORDS)} of part {len(found)} is stated ({n})." for n in range(size))
        found.append(FactGroup(id=len(found) + 1, description=f"Part {len(found) + 1}", facts=stated))
        facts -= size
    return tuple(found)


def taken_apart(source: Iterable[Seed]) -> Iterator[Task]:
    settings = DecomposeSettings()
    for seed in source:
        task = task_of(seed)
        yield task
        for places in children(task, settings):
            yield child_of(task, places, f"{task.instruction} (only {' '.join(map(str, places))})", "child.1")


def measure(count: int, folder: Path) -> dict[str, float]:
    taken, stage, out = folder / "seeds.jsonl", folder / "tasks.jsonl", folder / "tasks.parquet"
    with taken.open("wb") as file:
        for seed in seeds(round(count / (1 + CHILDREN) / (1 - DUPLICATES)), random.Random(0)):
            file.write(seed.model_dump_json(exclude_defaults=True).encode() + b"\n")
    entries, unique = [], Deduplicator()
    started, processor = time.perf_counter(), time.process_time()
    with stage.open("wb") as file:
        for task in taken_apart(unique.unique(seeds_in(taken))):
            file.write(task.model_dump_json(exclude_defaults=True).encode() + b"\n")
            entries.append(Entry.of(task, evaluation_only=False))
    half = time.perf_counter() - started
    placed = finish(stage, out, entries, SplitSettings())
    seconds, busy = time.perf_counter() - started, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)
    born = sum(entry.parent_id is not None for entry in entries)
    print(f"read, freed of duplicates, taken apart   {half:6.1f} s   {unique.counts}; {born:,} children")
    print(f"split, written, read back, checked       {seconds - half:6.1f} s   {dict(placed)}")
    print(
        f"{len(entries) / seconds:,.0f} tasks/s; {busy:.1f} s of processor time; {out.stat().st_size / 1e6:.0f} MB written"
    )
    started = time.perf_counter()
    with TaskFile.open(out) as opened:
        open_ms = 1000 * (time.perf_counter() - started)
        print(f"opened in {open_ms:.1f} ms")
        for what, wanted in FILTERS.items():
            started = time.perf_counter()
            found = len(opened.where(wanted))
            print(f"filtered to {found:,} {what} in {1000 * (time.perf_counter() - started):.0f} ms")
    return {"tasks": len(entries), "seconds": round(seconds, 1), "peak_mb": round(peak), "open_ms": round(open_ms, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the task-set factory without a model.")
    parser.add_argument("--tasks", type=int, default=300_000)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(parser.parse_args().tasks, Path(folder))))


if __name__ == "__main__":
    main()
