"""Is every task solvable, and can every check fail? `python -m benchmarks.oracle --sample 600`.

A random sample over all kinds and difficulties, children and tasks over several sites among them, is played through a real
`webgym serve`, by pixels, and judged by the verifier from the episodes alone:

oracle        goes the task's route and must succeed
do_nothing    answers nothing and must fail
wrong_answer  gives other values and must fail: after the oracle's own way where the task asks to find something, without
              having done anything where it asks to do something

A failure is told with the fact it failed for. Exit status 1 if the oracle solves less than 99.5 % or another agent anything.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks.children import server
from benchmarks.offline import SEED, SITES, offline_web
from webgym.errors import WebGymError
from webgym.rollout.client import Client
from webgym.types import Episode, Look, Scored
from webgym.worlds import oracle, state, tasks, verify
from webgym.worlds.checks import Reached
from webgym.worlds.making import CannotMake
from webgym.worlds.names import host_of, kind_of
from webgym.worlds.oracle import Agent
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import TaskId, WorldTask

# From one fact to ten; each kind meets them in turn, starting at another one.
SHAPES = ((1,), (2,), (3,), (1, 1), (2, 1), (4,), (3, 1), (2, 2), (3, 2), (5,), (3, 3), (6,), (4, 3), (3, 3, 2), (4, 3, 3))
LEAST = 0.995
ACROSS_EVERY = 25
TRIES = 200
EPISODE_SECONDS = 300.0
STOPPED = 130
WIDTH = 160
BLIND = Look(image="none")


@dataclass(frozen=True)
class Played:
    """How an agent fared: `problems` are the facts it failed for, or what went wrong."""

    kind: str
    task: str
    facts: int
    agent: Agent
    reward: int
    problems: tuple[str, ...]
    steps: int

    @property
    def right(self) -> bool:
        """The oracle must succeed, the others must fail."""
        return self.reward == (self.agent == "oracle")


def sample(count: int, seed: int) -> list[WorldTask]:
    """So many tasks: kinds in turn, difficulties in turn, sites, generators and numbers at random."""
    return [_drawn(number, random.Random(f"sample {seed} {number}")) for number in range(count)]


def _drawn(number: int, chance: random.Random) -> WorldTask:
    kinds = sorted(KINDS)
    kind = KINDS[kinds[number % len(kinds)]]
    shape = SHAPES[(number // len(kinds) + 7 * (number % len(kinds))) % len(SHAPES)]
    across = number % ACROSS_EVERY == ACROSS_EVERY - 1
    for _ in range(TRIES):
        hosts = [host_of(SEED, kind, chance.randrange(SITES))]
        if across:
            shape, name = (1, 2), tasks.ACROSS
            hosts.append(host_of(SEED, KINDS[chance.choice(kinds)], chance.randrange(SITES)))
        else:
            fitting = [name for name, generator in kind.generators.items() if generator.can(shape)]
            if not fitting:
                shape = chance.choice(SHAPES)
                continue
            name = chance.choice(fitting)
        try:
            task = tasks.make(TaskId(SEED, tuple(hosts), name, shape, chance.randrange(50)))
        except CannotMake:
            continue
        children = list(tasks.children(task))
        return chance.choice([task, *children])
    raise RuntimeError(f"{kind.name} has no task of any shape")


async def prove(wanted: list[WorldTask], parallel: int, told: Callable[[Played], None]) -> None:
    """Let every agent play every task, several at a time, and tell of each play."""
    waiting = iter(wanted)
    async with offline_web() as site, server(site.url, parallel) as served, Client(served.url, key=served.key) as client:
        port = int(site.url.rpartition(":")[2])

        async def work() -> None:
            for task in waiting:
                for played in await _all_agents(client, task, port):
                    told(played)

        async with asyncio.TaskGroup() as group:
            for _ in range(parallel):
                group.create_task(work())


async def _all_agents(client: Client, task: WorldTask, port: int) -> list[Played]:
    best = await _play(client, task, port, "oracle")
    nothing = await _play(client, task, port, "do_nothing")
    does = any(isinstance(check, Reached) for group in task.groups for fact in group.facts for check in fact.checks)
    if does or isinstance(best, str):
        wrong = await _play(client, task, port, "wrong_answer")
    else:
        wrong = best.model_copy(update={"answer": oracle.wrong(task)})
    return [_judged(task, "oracle", best), _judged(task, "do_nothing", nothing), _judged(task, "wrong_answer", wrong)]


async def _play(client: Client, task: WorldTask, port: int, agent: Agent) -> Episode | str:
    """The episode, or why there is none."""
    began = time.time()
    plain = task.task(port=port)
    try:
        async with asyncio.timeout(EPISODE_SECONDS), client.open(url=f"{plain.website}/", look=BLIND) as session:
            played = await oracle.play(session, task, port, agent, pictures=False)
            cookies = (await session.storage()).cookies
    except (WebGymError, TimeoutError) as e:
        return f"{type(e).__name__}: {e}"
    kept = state.by_host((cookie.domain, cookie.name, cookie.value) for cookie in cookies)
    return oracle.as_episode(played, plain, kept, agent=agent, started=began, ended=time.time())


def _judged(task: WorldTask, agent: Agent, episode: Episode | str) -> Played:
    about = (kind_name(task), str(task.id), sum(task.sizes), agent)
    if isinstance(episode, str):
        return Played(*about, 0, (episode,), 0)
    verdict = verify.verify(episode)
    if not isinstance(verdict, Scored):
        return Played(*about, 0, (verdict.reason,), len(episode.steps))
    problems = tuple(f"{fact.fact} {fact.reason}" for fact in verdict.facts if not fact.met)
    return Played(*about, verdict.reward, problems, len(episode.steps))


def table(results: list[Played]) -> Table:
    made = Table(title="Solved", pad_edge=False)
    made.add_column("kind")
    for head in ("tasks", "oracle", "do_nothing", "wrong_answer", "facts", "steps of the oracle"):
        made.add_column(head, justify="right")
    for kind in (*sorted({played.kind for played in results}), "all"):
        rows = [played for played in results if kind in (played.kind, "all")]
        mine = [played for played in rows if played.agent == "oracle"]
        solved = Counter(played.agent for played in rows if played.reward)
        counts = (str(solved[agent]) for agent in ("oracle", "do_nothing", "wrong_answer"))
        facts, steps = (f"{sum(numbers) / len(mine):.1f}" for numbers in ((p.facts for p in mine), (p.steps for p in mine)))
        made.add_row(kind, str(len(mine)), *counts, facts, steps)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.oracle", description="Play a sample of the offline web's tasks.")
    parser.add_argument("--sample", type=int, default=600, help="tasks")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another sample")
    parser.add_argument("--parallel", type=int, default=8, help="sessions at once")
    parser.add_argument("--kind", choices=sorted(KINDS), help="this kind only")
    options = parser.parse_args()
    wanted = [task for task in sample(options.sample, options.seed) if options.kind in (None, kind_name(task))]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    results: list[Played] = []
    with Progress(*columns, console=Console(stderr=True, width=WIDTH)) as progress:
        bar = progress.add_task("playing", total=3 * len(wanted))

        def told(played: Played) -> None:
            results.append(played)
            progress.advance(bar)
            if not played.right:
                text = "\n    ".join((f"{played.agent} {played.task}", *played.problems))
                progress.console.print(text, markup=False, highlight=False)

        with suppress(KeyboardInterrupt, asyncio.CancelledError):  # what was played until then is told
            uvloop.run(prove(wanted, options.parallel, told))
    if not results:
        return STOPPED
    Console(width=WIDTH).print(table(results))
    mine = [played.right for played in results if played.agent == "oracle"]
    share = sum(mine) / len(mine)
    print(f"The oracle solves {share:.1%} of {len(mine)} tasks{', then it was stopped' * (len(mine) < len(wanted))}.")
    if len(mine) < len(wanted):
        return STOPPED
    return int(share < LEAST or not all(played.right for played in results if played.agent != "oracle"))


def kind_name(task: WorldTask) -> str:
    return kind_of(SEED, task.id.hosts[0]).name


if __name__ == "__main__":
    sys.exit(main())
