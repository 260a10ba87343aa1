"""An engine on a stand-in server and a real store, put together in one line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.standin.browsers import Browsers
from webgym.agents.agent import Decision
from webgym.rollout.blocking import BlockList
from webgym.rollout.client import Client
from webgym.rollout.engine import Engine, Judge, take_back
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events
from webgym.rollout.gates import Gates
from webgym.rollout.keeper import Keeper
from webgym.rollout.settings import EngineSettings
from webgym.store import Run
from webgym.types import Answer, Click, Look, Observation, Task


def task_at(host: str, n: int = 0, split: str = "train", facts: int = 1) -> Task:
    return Task.model_validate(
        {
            "id": f"{host}-{n}", "source": "test", "instruction": "Look around.", "website": f"http://{host}",
            "domain": "Misc.", "subdomain": "News", "split": split,
            "groups": [{"id": 1, "description": "all", "facts": [f"fact {f}" for f in range(facts)]}],
        }
    )  # fmt: skip


class Walker:
    """Clicks some times, then answers."""

    name, look = "walker", Look()

    def __init__(self, clicks: int, pause: float = 0.0) -> None:
        self._clicks, self._pause = clicks, pause
        self.closed = False

    async def decide(self, observation: Observation) -> Decision:
        await asyncio.sleep(self._pause)
        self._clicks -= 1
        return Decision(action=Click(x=1, y=1) if self._clicks >= 0 else Answer(text="done"))

    async def close(self) -> None:
        self.closed = True


@dataclass
class Rolled:
    """One rollout and all that can be seen of it."""

    run: Run
    browsers: Browsers
    engine: Engine
    events: Events
    gates: Gates
    jobs: list[Job]
    agents: list[Any] = field(default_factory=list)

    def kinds(self) -> list[str]:
        """The outcomes, in the order of the plan."""
        outcomes = self.run.outcomes()
        told = (outcomes[one.id].outcome if one.id in outcomes else None for one in self.run.planned(0))
        return ["unfinished" if one is None else getattr(one, "reason", one.kind) if one.kind == "cancelled" else one.kind
                for one in told]  # fmt: skip


@asynccontextmanager
async def rolled(
    folder: Path,
    tasks: Sequence[Task],
    *,
    agent: Callable[[], Any] = lambda: Walker(2),
    replicas: int = 1,
    judge: Judge | None = None,
    blocklist: BlockList | None = None,
    browsers: Browsers | None = None,
    client_patience: float = 60.0,
    **settings: Any,
) -> AsyncIterator[Rolled]:
    """A rollout of these tasks, ready to `engine.run()`. In a folder that is a run already, what is left of it."""
    options = EngineSettings.model_validate({"backoff": 0.01, "disk": {"reserve": 0, "poll": 0.05}, **settings})
    run = Run.open(folder) if (folder / "run.json").exists() else Run.create(folder)
    planned = list(run.planned(0)) or run.plan(0, [task.id for task in tasks], replicas=replicas)
    take_back(run, 0, options.redo)
    by_id = {task.id: task for task in tasks}
    jobs = [Job(one, by_id[one.task], options.caps.of(by_id[one.task])) for one in run.unfinished(0)]
    events, gates, agents = Events(run.info.name), Gates(options.gates, options.slots), []

    def new_agent(task: Task, episode: str) -> Any:
        agents.append(agent())
        return agents[-1]

    async with browsers or Browsers() as serving, Client(serving.url, patience=client_patience) as client:
        keeper = Keeper(run, options, events)
        player = Player(run.info.name, client, new_agent, gates, events, options, keep=keeper.image)
        engine = Engine(keeper, player, jobs, gates, events, options, total=len(planned), blocklist=blocklist, judge=judge)
        yield Rolled(run, serving, engine, events, gates, jobs, agents)
    run.close()
