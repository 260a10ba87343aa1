"""Episodes of the offline web whose truth is known, played by the bench's cast in real browsers.

Each task is played once by every agent of the cast; which of the five an episode is for follows from its replica. The run is
an ordinary one: its truth is the programmatic judge's word, fact by fact, and a folder that is there is finished or used
again. Tasks follow from a seed, so two people with the same seed and number measure on the same episodes.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from webgym.errors import ConfigError
from webgym.judge.bench.labelled import TRUTH
from webgym.judging.agents import ROLES, Actor, Role, does, suits
from webgym.judging.programmatic import WorldsJudge
from webgym.rollout.client import Client
from webgym.rollout.engine import Engine, sole, take_back, unjudged
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events
from webgym.rollout.gates import Gates
from webgym.rollout.keeper import Keeper
from webgym.rollout.settings import EngineSettings
from webgym.server.egress import EgressPolicy
from webgym.server.fleet.local import running_fleet
from webgym.server.settings import ServeSettings, on_unless_no_sandbox
from webgym.store import Planned, Run
from webgym.types import Scored, Task
from webgym.worlds import tasks
from webgym.worlds.making import CannotMake
from webgym.worlds.names import host_of
from webgym.worlds.server import WorldServer
from webgym.worlds.sites import KINDS
from webgym.worlds.state import by_host
from webgym.worlds.tasks import TaskId, WorldTask

SHAPES: Final = ((2,), (1, 1), (3,), (2, 1), (4,), (2, 2), (3, 1))
WEB: Final = 0  # the seed of the offline web; the bench's own seed draws tasks from it
SITES: Final = 10_000  # of each kind, from which tasks are drawn
NUMBERS: Final = 50
TRIES: Final = 400
DEEDS: Final = 3  # every third task asks to do something, where its kind of site has such
DEED_TRIES: Final = 30
LIMIT: Final = 120  # steps: an oracle scrolls as long as it must
WORD = "bench"  # where a run's settings say what it was made of


@dataclass(frozen=True)
class Cast:
    """What to make: so many tasks, each played by every agent of the cast."""

    tasks: int
    seed: int = 0

    @classmethod
    def of(cls, episodes: int, seed: int = 0) -> Cast:
        """At least so many episodes."""
        return cls(-(-episodes // len(ROLES)), seed)

    @property
    def episodes(self) -> int:
        return self.tasks * len(ROLES)

    @property
    def folder(self) -> str:
        return f"judge-bench-{self.seed}-{self.tasks}"

    @property
    def settings(self) -> dict[str, JsonValue]:
        """What the run's folder says of itself."""
        return {TRUTH: WorldsJudge.name, WORD: {"tasks": self.tasks, "seed": self.seed}}


@dataclass(frozen=True)
class Stage:
    """The browsers that the cast plays in."""

    sessions: int = 4
    chromium: Path | None = None
    sandbox: bool = True

    @classmethod
    def here(cls, sessions: int = 4) -> Stage:
        return cls(sessions, sandbox=on_unless_no_sandbox())


def draw_tasks(cast: Cast) -> list[WorldTask]:
    """Tasks at which all but the oracle fail: kinds of sites in turn, shapes in turn, the rest at random."""
    kinds, found = sorted(KINDS), dict[str, WorldTask]()
    for number in range(cast.tasks):
        chance = random.Random(f"judge bench {cast.seed} {number}")  # noqa: S311
        shape = SHAPES[(number + number // len(kinds)) % len(SHAPES)]
        for attempt in range(TRIES):
            task = _tried(kinds[number % len(kinds)], shape, chance)
            deed = number % DEEDS == DEEDS - 1 and attempt < DEED_TRIES
            if task is not None and str(task.id) not in found and (does(task) or not deed):
                found[str(task.id)] = task
                break
        else:
            raise ConfigError(f"the offline web has too few tasks for a bench of {cast.episodes:,} episodes: ask for fewer")
    return list(found.values())


def _tried(kind: str, shape: tuple[int, ...], chance: random.Random) -> WorldTask | None:
    generators = KINDS[kind].generators
    fitting = [name for name, generator in generators.items() if generator.can(shape)]
    if not fitting:
        shape = chance.choice(SHAPES)
        fitting = [name for name, generator in generators.items() if generator.can(shape)]
    if not fitting:
        return None
    host = host_of(WEB, KINDS[kind], chance.randrange(SITES))
    try:
        task = tasks.make(TaskId(WEB, (host,), chance.choice(fitting), shape, chance.randrange(NUMBERS)))
    except CannotMake:
        return None
    return task if suits(task) else None


def role_of(planned: Planned) -> Role:
    return ROLES[planned.replica]


async def make_truth(folder: Path, cast: Cast, stage: Stage, *, watch: Callable[[Events], None] | None = None) -> int:
    """Make a labelled run, or finish one; returns how many of its episodes have no outcome. `watch` hears of progress."""
    async with AsyncExitStack() as stack:
        run = stack.enter_context(await asyncio.to_thread(_opened, folder, cast))
        stack.enter_context(sole(run.path))
        drawn = {str(task.id): task for task in await asyncio.to_thread(draw_tasks, cast)}
        await asyncio.to_thread(run.plan, 0, list(drawn), replicas=len(ROLES))
        options = EngineSettings(slots=stage.sessions, stragglers=None)
        await asyncio.to_thread(take_back, run, 0, options.redo)
        judge = WorldsJudge()
        todo, waiting = list(run.unfinished(0)), await asyncio.to_thread(unjudged, run, 0, judge.name)
        if not todo and not waiting:
            return 0
        web = await stack.enter_async_context(WorldServer(WEB))
        client = await _client(stack, stage, web.port)
        roles = {one.id: role_of(one) for one in todo}
        jobs = [Job(one, drawn[one.task].task(port=web.port, split="test"), LIMIT) for one in todo]

        def new_agent(task: Task, episode: str) -> Actor:
            return Actor(roles[episode], task, cast.seed)

        events, gates = Events(run.info.name, 0), Gates(options.gates, options.slots)
        keeper = Keeper(run, options, events)
        player = Player(
            run.info.name, client, new_agent, gates, events, options, keep=keeper.image, outlines=True, state_of=by_host
        )
        engine = Engine(keeper, player, jobs, gates, events, options, total=cast.episodes, judge=judge)
        if watch is not None:
            watch(events)
        await engine.run(waiting)
        return engine.unfinished


async def _client(stack: AsyncExitStack, stage: Stage, port: int) -> Client:
    """A server of our own whose pages reach the offline web and nothing else."""
    serve = ServeSettings(
        port=0,
        sessions=stage.sessions,
        chromium=stage.chromium,
        sandbox=stage.sandbox,
        egress=EgressPolicy(allow=(f"*.localhost:{port}",), only_allowed=True),
        log_level="WARNING",
    )
    key = secrets.token_urlsafe(24)
    fleet = await stack.enter_async_context(running_fleet(serve, key))
    return await stack.enter_async_context(Client(fleet.url, key=key))


def unexpected(run: Run) -> list[str]:
    """Episodes whose truth is not what their agent was made for: an oracle that failed, another that succeeded. Blocks."""
    truths = run.latest_judgements(WorldsJudge.name)
    found = []
    for planned in run.planned(0):
        judgement = truths.get(planned.id)
        if judgement is not None and isinstance(judgement.verdict, Scored):
            role = role_of(planned)
            if judgement.verdict.reward != (role == "oracle"):
                found.append(f"{role} at {planned.task}")
    return found


def _opened(folder: Path, cast: Cast) -> Run:
    if not (folder / "run.json").exists():
        return Run.create(folder, settings=cast.settings)
    run = Run.open(folder)
    if run.info.settings != cast.settings:
        raise ConfigError(f"{folder} is a run of something else: choose another folder, or name it as the labelled run")
    return run
