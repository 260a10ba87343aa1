"""Rollouts, three schedules side by side: `python -m benchmarks.rollout`, or `make bench-rollout`.

Real browsers behind `webgym serve`, the offline web with heavy-tailed pages, a stand-in model with lognormal latency (mean
1 s, 32 at a time), each in processes of their own. The same episodes are played step-synchronously, episode-synchronously
and asynchronously (`rollout_schedules` says what that means), with as many sessions.

`engine_ms_per_step` is the processor time of this process in the asynchronous run: engine, client, agent and store;
browsers, model and web are elsewhere. `peak_mb` is its memory at the most while it plays 1,000 planned episodes of 20
steps (`--held`: another number) with screenshots of 100 KB against a server without browsers; `growth_mb` is what the second
half added. `--memory` measures that alone, `--engine` that and the asynchronous run.
The last line of stdout is the summary as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks.children import module, server
from benchmarks.rollout_children import PAGE_MEAN
from benchmarks.rollout_schedules import Measured, Schedule, length_of, measure, roll
from webgym.agents.agent import Decision
from webgym.agents.model import ModelAgents
from webgym.agents.policy import Policy
from webgym.agents.settings import AgentSettings
from webgym.rollout.client import Client
from webgym.rollout.settings import EngineSettings
from webgym.types import Answer, Click, Look, Observation, Task
from webgym.worlds.catalogue import generate

CHILDREN = "benchmarks.rollout_children"
LONG = 20  # steps of an episode of the memory's measurement
HOSTS = 8
STOPPED = 130
RIVALS: tuple[Schedule, ...] = ("step", "episode")
SCHEDULES: tuple[Schedule, ...] = ("async", "episode", "step")


@dataclass(frozen=True)
class Plan:
    sessions: int
    episodes: int
    held: int  # episodes of the memory's measurement
    page_seconds: float = PAGE_MEAN


FULL, QUICK = Plan(32, 288, 1000), Plan(6, 8, 100)


class Clicker:
    """Clicks nineteen times and answers."""

    name, look = "clicker", Look()

    def __init__(self) -> None:
        self._steps = 0

    async def decide(self, observation: Observation) -> Decision:
        self._steps += 1
        return Decision(action=Click(x=1, y=1) if self._steps < LONG else Answer(text="done"))

    async def close(self) -> None:
        pass


def different_sites(count: int, port: int) -> list[Task]:
    """Tasks of the offline web, each on another site."""
    found: dict[str, Task] = {}
    for task in generate(0, max(200, 4 * count), port=port, workers=1):
        found.setdefault(task.website, task)
        if len(found) == count:
            break
    return list(found.values())


async def schedules(
    plan: Plan, folder: Path, say: Console, wanted: tuple[Schedule, ...] = SCHEDULES
) -> dict[Schedule, Measured]:
    results: dict[Schedule, Measured] = {}
    async with module(CHILDREN, "web", str(plan.page_seconds)) as site, module(CHILDREN, "model") as model:
        port = urlsplit(site.url).port
        assert port is not None
        tasks = await asyncio.to_thread(different_sites, plan.episodes, port)
        settings = AgentSettings.model_validate({"policy": {"urls": [f"{model.url}/v1"]}})
        async with (
            server(site.url, plan.sessions) as serving,
            Client(serving.url, key=serving.key) as client,
            Policy(settings.policy) as policy,
        ):
            models = ModelAgents(policy, settings)
            say.print(f"{len(tasks)} episodes, {sum(map(length_of, tasks))} steps, {plan.sessions} sessions")
            for name in wanted:
                results[name] = await measure(name, folder, client, models, tasks, plan.sessions)
                say.print(f"{name}: {results[name].seconds:.1f} s")
    return results


async def memory(plan: Plan, folder: Path) -> list[float]:
    """Most megabytes in use in each quarter of the episodes."""
    tasks = [_task(n) for n in range(plan.held)]
    settings = EngineSettings.model_validate({"slots": 32, "stragglers": None, "breaker": None})
    process, peaks, began = psutil.Process(), [0.0] * 4, 0

    def new_agent(task: Task, episode: str) -> Clicker:
        nonlocal began
        began += 1
        return Clicker()

    async def watch() -> None:
        while True:
            quarter = min(3, 4 * began // plan.held)
            peaks[quarter] = max(peaks[quarter], process.memory_info().rss / 1e6)
            await asyncio.sleep(0.02)

    async with module(CHILDREN, "browsers") as browsers, Client(browsers.url) as client:
        watching = asyncio.create_task(watch())
        _, failed = await roll(folder / "memory", client, new_agent, tasks, settings)
        watching.cancel()
    if failed:
        raise RuntimeError(f"{failed} episodes failed: what was measured is no rollout")
    return peaks


def _task(n: int) -> Task:
    fields: dict[str, Any] = {
        "id": f"held-{n}", "source": "bench", "instruction": "Look around.", "website": f"http://h{n % HOSTS}.localhost",
        "domain": "Misc.", "subdomain": "News", "groups": [{"id": 1, "description": "all", "facts": ["seen"]}],
    }  # fmt: skip
    return Task.model_validate(fields)


def table(results: dict[Schedule, Measured]) -> Table:
    shown = Table(title="Rollouts")
    for column in ("schedule", "episodes/h", "steps/s", "seconds", "failed", "CPU ms/step"):
        shown.add_column(column, justify="left" if column == "schedule" else "right")
    for one in results.values():
        rate = f"{one.steps / one.seconds:.2f}"
        row = (f"{one.per_hour:.0f}", rate, f"{one.seconds:.1f}", str(one.failed), f"{one.ms_per_step:.2f}")
        shown.add_row(one.schedule, *row)
    return shown


async def main(plan: Plan, say: Console, *, memory_only: bool = False, engine_only: bool = False) -> dict[str, float]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="webgym-bench-") as folder:
        quarters = await memory(plan, Path(folder))
        peak, growth = max(quarters), max(quarters[2:]) - max(quarters[:2])
        say.print(f"memory by quarters: {', '.join(f'{one:.0f} MB' for one in quarters)}")
        if memory_only:
            return {"peak_mb": round(peak, 1), "growth_mb": round(growth, 1)}
        results = await schedules(plan, Path(folder), say, SCHEDULES[:1] if engine_only else SCHEDULES)
    say.print(table(results))
    if lost := sum(one.failed for one in results.values()):
        raise RuntimeError(f"{lost} episodes failed: the schedules did not do the same work")
    ours = results["async"]
    ratios = {
        f"async_vs_{name}_sync": round(ours.per_hour / results[name].per_hour, 2) for name in RIVALS if name in results
    }
    return {
        **ratios,
        "engine_ms_per_step": round(ours.ms_per_step, 2),
        "peak_mb": round(peak, 1),
        "growth_mb": round(growth, 1),
        "sessions": plan.sessions,
        "episodes_per_hour": round(ours.per_hour),
        "seconds": round(time.monotonic() - began),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few sessions and episodes: it works, and measures little")
    parser.add_argument("--sessions", type=int, help="how many at a time")
    parser.add_argument("--episodes", type=int, help="how many in all")
    parser.add_argument("--held", type=int, help="how many in the measurement of memory")
    parser.add_argument("--page-seconds", type=float, default=PAGE_MEAN, help="mean time until a page's first byte")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument("--memory", action="store_true", help="measure memory alone")
    alone.add_argument("--engine", action="store_true", help="measure memory and the engine's own cost alone")
    given = parser.parse_args()
    chosen = QUICK if given.quick else FULL
    sizes = given.sessions or chosen.sessions, given.episodes or chosen.episodes, given.held or chosen.held
    chosen = Plan(*sizes, page_seconds=given.page_seconds)
    try:
        measuring = main(chosen, Console(stderr=True), memory_only=given.memory, engine_only=given.engine)
        found = uvloop.run(measuring)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(STOPPED)
    print(json.dumps(found))
