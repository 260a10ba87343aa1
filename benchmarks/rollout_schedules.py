"""Three ways to schedule the same episodes, all played by the same engine, agent, browsers and model.

step-synchronous      a batch of episodes moves in lockstep: all ask the model, wait for the last reply, all act, wait for
                      the last page. A batch lasts as long as its longest episode.
episode-synchronous   each episode of a batch goes at its own pace; the next batch begins when all have ended.
asynchronous          no barrier: a free slot begins the next episode at once.

The agent asks the endpoint as a model's agent does, with its whole prompt, and then does what is written for its episode and
step: so the three do the same work, and only the waiting differs.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from webgym.agents.agent import Decision
from webgym.agents.model import ModelAgent, ModelAgents
from webgym.rollout.agent import Agent
from webgym.rollout.client import Client
from webgym.rollout.engine import Engine, Keeper
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events
from webgym.rollout.gates import Gates
from webgym.rollout.settings import EngineSettings
from webgym.store import Run
from webgym.types import Action, Answer, Click, Navigate, Observation, Scroll, Task
from webgym.worlds.names import kind_of, site_of

Schedule = Literal["step", "episode", "async"]
MEAN_STEPS, SIGMA, LEAST, MOST = 9.0, 0.6, 3, 30


def length_of(task: Task) -> int:
    """How many steps an episode of a task takes: most are short, some long."""
    return round(min(MOST, max(LEAST, MEAN_STEPS * random.Random(task.id).lognormvariate(-(SIGMA**2) / 2, SIGMA))))


@cache
def script_of(task: Task) -> tuple[Action, ...]:
    """What is done: half of the time another page, else a scroll or a click somewhere."""
    chance, host = random.Random(task.id), urlsplit(task.website).hostname or ""
    kind = kind_of(0, host)
    entries = list(kind.entries(kind.content(site_of(0, host))))
    actions: list[Action] = []
    for _ in range(length_of(task) - 1):
        draw = chance.random()
        if draw < 0.5:
            actions.append(Navigate(url=f"{task.website}{chance.choice(entries).href}"))
        elif draw < 0.8:
            actions.append(Scroll(dy=400))
        else:
            actions.append(Click(x=chance.randrange(100, 1200), y=chance.randrange(100, 700)))
    return (*actions, Answer(text="done"))


class Lockstep:
    """Where a batch waits for its last. Whoever has ended is waited for no more."""

    def __init__(self) -> None:
        self._members = self._waiting = 0
        self._go = asyncio.Event()

    def join(self, members: int) -> None:
        self._members += members

    def leave(self) -> None:
        self._members -= 1
        self._open_if_all()

    async def wait(self) -> None:
        self._waiting += 1
        go = self._go
        self._open_if_all()
        await go.wait()

    def _open_if_all(self) -> None:
        if self._waiting and self._waiting >= self._members:
            self._waiting = 0
            self._go.set()
            self._go = asyncio.Event()


class Scripted:
    """Asks the model, waits where the schedule says, and does what is written."""

    def __init__(self, model: ModelAgent, task: Task, lockstep: Lockstep | None) -> None:
        self._model, self._script, self._lockstep = model, iter(script_of(task)), lockstep
        self.name, self.look = model.name, model.look

    async def decide(self, observation: Observation) -> Decision:
        if self._lockstep is not None:
            await self._lockstep.wait()
        asked = await self._model.decide(observation)
        if self._lockstep is not None:
            await self._lockstep.wait()
        return replace(asked, action=next(self._script), invalid=None)

    async def close(self) -> None:
        await self._model.close()
        if self._lockstep is not None:
            self._lockstep.leave()


@dataclass(frozen=True)
class Measured:
    """What a schedule came to."""

    schedule: Schedule
    episodes: int
    steps: int
    seconds: float
    cpu_seconds: float  # of this process: engine, client, agent, store
    failed: int

    @property
    def per_hour(self) -> float:
        return self.episodes / self.seconds * 3600

    @property
    def ms_per_step(self) -> float:
        return self.cpu_seconds / max(1, self.steps) * 1000


async def roll(
    folder: Path, client: Client, new_agent: Callable[[Task, str], Agent], tasks: list[Task], settings: EngineSettings
) -> tuple[int, int]:
    """Play a batch; how many steps there were, and how many episodes failed."""
    with Run.create(folder) as run:
        planned = run.plan(0, [task.id for task in tasks])
        jobs = [Job(one, task, MOST + 1) for one, task in zip(planned, tasks, strict=True)]
        events, gates = Events(run.info.name), Gates(settings.gates, settings.slots)
        keeper = Keeper(run, settings, events)
        # Every site has a page that refuses robots; a click that finds it is to cost what any other costs.
        player = Player(run.info.name, client, new_agent, gates, events, settings, keep=keeper.image, blocked=lambda _: None)
        await Engine(keeper, player, jobs, gates, events, settings).run()
        counts = events.counts()
        return counts.steps, counts.doing["failed"] + counts.doing["cancelled"]


async def measure(
    schedule: Schedule, folder: Path, client: Client, models: ModelAgents, tasks: list[Task], sessions: int
) -> Measured:
    settings = EngineSettings.model_validate(
        {"slots": sessions, "stragglers": None, "breaker": None, "gates": {"allocate": sessions, "navigate": sessions}}
    )
    lockstep = Lockstep() if schedule == "step" else None

    def new_agent(task: Task, episode: str) -> Agent:
        return Scripted(models(task, episode), task, lockstep)

    for task in tasks:
        script_of(task)  # now, for it is no part of what is measured
    size = len(tasks) if schedule == "async" else sessions
    batches = [tasks[n : n + size] for n in range(0, len(tasks), size)]
    began, cpu, steps, failed = time.monotonic(), time.process_time(), 0, 0
    for number, batch in enumerate(batches):
        if lockstep is not None:
            lockstep.join(len(batch))
        more, lost = await roll(folder / f"{schedule}-{number}", client, new_agent, batch, settings)
        steps, failed = steps + more, failed + lost
    seconds = time.monotonic() - began
    return Measured(schedule, len(tasks), steps, seconds, time.process_time() - cpu, failed)
