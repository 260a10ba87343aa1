"""Decomposition, split, deduplication and writing of 300,000 synthetic tasks, through the code that `webgym tasks build` runs.

    python -m benchmarks.tasks [--tasks 300000]

Nothing here waits for a model: seeds bring rubrics, children get a made-up instruction. Difficulty follows the public set
and so do websites: half of the tasks are on a dozen head sites, the rest is spread over a hundred thousand. The last line is
JSON: tasks in the file, seconds for all of it, peak memory of the process in MB, milliseconds to open the file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from webgym.tasks.build import finish
from webgym.tasks.decompose import DecomposeSettings, child_of, children
from webgym.tasks.duplicates import Deduplicator
from webgym.tasks.files import TaskFile
from webgym.tasks.rubric import task_of
from webgym.tasks.seed import Seed
from webgym.tasks.selection import TaskFilter
from webgym.tasks.split import Entry, SplitSettings
from webgym.tasks.taxonomy import DOMAIN_OF
from webgym.types import FactGroup, Task

DIFFICULTY = {1: 54.9, 2: 102.7, 3: 72.2, 4: 35.1, 5: 13.6, 6: 7.0, 7: 3.2, 8: 1.4, 9: 0.9, 12: 1.3}
HEAD = 13
DUPLICATES = 0.03
WORDS = (
    "find compare list name show tell price weight colour year author rating review hotel tent kettle album recipe train flight "
    "museum course job city team player release version address phone hours discount delivery size material brand model cheapest "
    "newest longest nearest largest popular available refundable vegan wireless waterproof handmade vintage monthly annual free"
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
            last = f"{website} {' '.join(rng.choices(WORDS, k=rng.randint(10, 30)))} {rng.randrange(1000)}"
        where, _, words = last.partition(" ")
        subdomain, domain = rng.choice(subjects)
        yield Seed(
            id=f"synthetic/{number}",
            source=f"source-{number % 10}",
            instruction=words,
            website=where,
            groups=groups(rng.choices(sizes, weights)[0], rng),
            domain=domain,
            subdomain=subdomain,
            file="synthetic.jsonl",
            line=number,
        )


def groups(facts: int, rng: random.Random) -> tuple[FactGroup, ...]:
    """So many facts in groups of one to four."""
    found: list[FactGroup] = []
    while facts:
        size = min(facts, rng.randint(1, 4))
        stated = tuple(f"The {rng.choice(WORDS)} of part {len(found)} is stated ({n})." for n in range(size))
        found.append(FactGroup(id=len(found) + 1, description=f"Part {len(found) + 1}", facts=stated))
        facts -= size
    return tuple(found)


def tasks(source: Iterator[Seed], counts: dict[str, int]) -> Iterator[Task]:
    settings = DecomposeSettings()
    for seed in source:
        task = task_of(seed)
        yield task
        for places in children(task, settings):
            counts["children"] += 1
            yield child_of(task, places, f"{task.instruction} (only {' '.join(map(str, places))})", "child.1")


def measure(count: int, folder: Path) -> dict[str, float]:
    counts, entries, unique = {"children": 0}, [], Deduplicator()
    out, stage = folder / "tasks.parquet", folder / "tasks.jsonl"
    started = time.perf_counter()
    with stage.open("wb") as file:
        for task in tasks(unique.unique(seeds(count, random.Random(0))), counts):
            file.write(task.model_dump_json(exclude_defaults=True).encode() + b"\n")
            entries.append(Entry.of(task, evaluation_only=False))
    staged = time.perf_counter()
    placed = finish(stage, out, entries, SplitSettings())
    seconds = time.perf_counter() - started
    print(f"made, freed of duplicates, taken apart   {staged - started:6.1f} s   {unique.counts}")
    print(f"split, written, read back, checked       {seconds - (staged - started):6.1f} s   {dict(placed)}")
    print(f"{count / seconds:,.0f} seeds/s; {counts['children']:,} children; file of {out.stat().st_size / 1e6:.0f} MB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)
    started = time.perf_counter()
    with TaskFile.open(out) as opened:
        open_ms = 1000 * (time.perf_counter() - started)
        started = time.perf_counter()
        hard = len(opened.where(TaskFilter(split="train", band="hard")))
        print(
            f"opened in {open_ms:.1f} ms; filtered to {hard:,} hard ones in {1000 * (time.perf_counter() - started):.0f} ms"
        )
        total = len(opened)
    return {"tasks": total, "seconds": round(seconds, 1), "peak_mb": round(peak), "open_ms": round(open_ms, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the task-set factory without a model.")
    parser.add_argument("--tasks", type=int, default=300_000)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(parser.parse_args().tasks, Path(folder))))


if __name__ == "__main__":
    main()
