"""The parts of a rollout, running: offline web, server, client, agent, engine; all gone when it ends.

The first SIGTERM or Ctrl-C stops admitting and lets episodes under way finish, the second ends them. Exit status 0: every
planned episode has its outcome, and its verdict if a judge is at work; 1: the engine stopped itself; 3: stopped by a person,
`--resume` finishes the plan and judges what is left.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from rich.console import Console
from rich.markup import escape

from webgym import logs
from webgym.agents.model import ModelAgents
from webgym.agents.policy import Policy
from webgym.agents.scripted import RandomAgents
from webgym.errors import RolloutStopped
from webgym.judge.models import Meters
from webgym.judging.assembly import rubric_judge
from webgym.judging.programmatic import WorldsJudge, has_verifier
from webgym.rolling.oracle import oracle_agent
from webgym.rolling.plan import jobs_of, open_run
from webgym.rolling.replaying import Recordings
from webgym.rolling.settings import RolloutParts, RolloutSettings
from webgym.rolling.show import progress, summary
from webgym.rollout.agent import NewAgent
from webgym.rollout.blocking import BlockList
from webgym.rollout.client import Client
from webgym.rollout.engine import Engine, Judge, sole, unjudged
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events, State
from webgym.rollout.gates import Gates
from webgym.rollout.keeper import Keeper
from webgym.server.egress import EgressPolicy
from webgym.server.fleet.local import running_fleet
from webgym.server.settings import ServeSettings
from webgym.store import Run
from webgym.types import Task
from webgym.worlds.server import WorldServer
from webgym.worlds.state import by_host

EXIT_STOPPED: Final = 1
EXIT_UNFINISHED: Final = 3


def run(settings: RolloutSettings) -> int:
    """The command."""
    import uvloop

    logs.start(settings.log_level)
    return uvloop.run(_roll(settings))


@dataclass(frozen=True)
class Rolling:
    """A rollout about to begin, for whoever watches or stops it."""

    store: Run
    events: Events
    stop: Callable[[], None]
    tasks: Mapping[str, Task]


@dataclass(frozen=True)
class Played:
    """What a rollout came to. Without a state there was nothing to do."""

    planned: int
    unfinished: int = 0
    state: State | None = None
    failure: RolloutStopped | None = None
    judge: str | None = None
    unjudged: int = 0


Surroundings = Callable[[], Awaitable[tuple[Client, NewAgent]]]
Watched = Callable[[Rolling], AbstractAsyncContextManager[None]]


async def _roll(settings: RolloutSettings) -> int:
    console = Console(stderr=True)
    agents: NewAgent | None = None
    async with AsyncExitStack() as stack:
        store = stack.enter_context(await asyncio.to_thread(open_run, settings))

        async def surroundings() -> tuple[Client, NewAgent]:
            nonlocal agents
            client = await stack.enter_async_context(browsing(settings))
            agents = await stack.enter_async_context(acting(settings))
            return client, agents

        @asynccontextmanager
        async def watched(rolling: Rolling) -> AsyncIterator[None]:
            address = await _monitor(stack, settings, rolling)
            with signals(rolling.stop):
                async with progress(console, rolling.events, address, asked=asked_at_once(settings)):
                    yield

        played = await play(settings, store, surroundings, watched)
    if played.state is None:
        console.print(f"Nothing to do: all {played.planned} episodes of iteration {settings.iteration} have ended.")
        return 0
    replicas = agents.policy.totals if isinstance(agents, ModelAgents) else ()
    console.print(summary(played.state, played.unfinished, replicas))
    return _said(console, played)


async def play(
    settings: RolloutSettings,
    store: Run,
    surroundings: Surroundings,
    watched: Watched,
    *,
    meters: Meters | None = None,
) -> Played:
    """One iteration of an open run, planned if it is not yet, to the outcomes and verdicts of its episodes.

    `surroundings` is called only if there is an episode to play: browsers and a model cost seconds to start, and judging
    needs neither. `meters` hold what the judge's budget is measured by, for whoever judges elsewhere in the process, too."""
    async with AsyncExitStack() as stack:
        stack.enter_context(sole(store.path))
        blocklist = BlockList(settings.blocklist or store.path.parent / "blocked.jsonl", hours=settings.engine.block_hours)
        planned, jobs = await asyncio.to_thread(jobs_of, settings, store, blocklist)
        verified = any(has_verifier(one.task) for one in planned)
        judge = await _judge(stack, settings, store, (one.task for one in planned), blocklist, meters)
        name = judge.name if judge is not None else None
        waiting = await asyncio.to_thread(unjudged, store, settings.iteration, judge.name) if judge is not None else []
        if not jobs and not waiting:
            return Played(len(planned), judge=name)
        events = _events(settings, store, {one.id for one in planned} - {job.id for job in jobs})
        around = await surroundings() if jobs else None
        gates = Gates(settings.engine.gates, settings.engine.slots)
        engine = _engine(settings, store, around, gates, events, jobs, len(planned), blocklist, judge, verified)
        async with watched(Rolling(store, events, engine.stop, {job.task.id: job.task for job in jobs})):
            failure = await _finished(engine, waiting)
        return Played(len(planned), engine.unfinished, events.state(), failure, name, engine.unjudged)


def judge_of(settings: RolloutParts, tasks: Iterable[str]) -> Literal["worlds", "rubric"] | None:
    """Who judges these tasks as their episodes end; None: nobody does."""
    match settings.judge:
        case "worlds" | "rubric":
            return settings.judge
        case "auto":
            return "worlds" if all(map(has_verifier, tasks)) else None
        case "none":
            return None


async def _judge(
    stack: AsyncExitStack,
    settings: RolloutSettings,
    store: Run,
    tasks: Iterable[str],
    blocklist: BlockList,
    meters: Meters | None,
) -> Judge | None:
    """The judge at work beside the rollout; it needs no browser."""
    match judge_of(settings, tasks):
        case "worlds":
            return WorldsJudge()
        case "rubric":
            opened = rubric_judge(settings.rubric, store, blocklist=blocklist, meters=meters)
            return await stack.enter_async_context(opened)
        case None:
            return None


async def _monitor(stack: AsyncExitStack, settings: RolloutSettings, rolling: Rolling) -> str:
    """The address where people can watch; empty if nobody wants to."""
    if settings.monitor is None:
        return ""
    return await stack.enter_async_context(monitor(settings, rolling))


def monitor(settings: RolloutSettings, rolling: Rolling, port: int | None = None) -> AbstractAsyncContextManager[str]:
    """The monitor of a rollout, at the port that the settings name unless told another; yields its address."""
    from webgym.watching import watching

    agent = settings.agent if settings.agent != "model" else f"{settings.model.dialect}/{settings.model.policy.model}"
    session = settings.engine.session
    return watching(
        rolling.events,
        rolling.store,
        agent=agent,
        task=rolling.tasks.get,
        size=(session.width, session.height),
        asked=asked_at_once(settings),
        port=port or settings.monitor or 0,
    )


def asked_at_once(settings: RolloutParts) -> int | None:
    """How many requests the model may have under way; None if no model acts."""
    policy = settings.model.policy
    return policy.concurrency * len(policy.urls) if settings.agent == "model" else None


def _events(settings: RolloutSettings, store: Run, ended: set[str]) -> Events:
    """With what an earlier process has done counted in."""
    events = Events(store.info.name, settings.iteration)
    outcomes = store.outcomes()
    for one in ended:
        events.restore(outcomes[one].outcome)
    return events


def _engine(
    settings: RolloutSettings,
    store: Run,
    around: tuple[Client, NewAgent] | None,
    gates: Gates,
    events: Events,
    jobs: list[Job],
    total: int,
    blocklist: BlockList,
    judge: Judge | None,
    verified: bool,
) -> Engine:
    options = settings.engine.model_copy(update={"stragglers": settings.engine.stragglers_of(settings.split)})
    keeper = Keeper(store, options, events)
    player = around and Player(
        store.info.name,
        *around,
        gates,
        events,
        options,
        keep=keeper.image,
        outlines=verified,  # verifiers look at what was on screen and at what the websites kept
        state_of=by_host if verified else None,
    )
    return Engine(keeper, player, jobs, gates, events, options, total=total, blocklist=blocklist, judge=judge)


@asynccontextmanager
async def browsing(settings: RolloutSettings) -> AsyncIterator[Client]:
    """The web and the browsers, as far as they are ours to start. They may outlive a rollout."""
    async with AsyncExitStack() as stack:
        if settings.worlds is not None:
            await stack.enter_async_context(WorldServer(settings.worlds.seed, port=settings.worlds.port))
        if settings.server is not None:
            yield await stack.enter_async_context(Client(settings.server))
        else:
            url, key = await stack.enter_async_context(_own_server(settings))
            yield await stack.enter_async_context(Client(url, key=key))


@asynccontextmanager
async def acting(settings: RolloutSettings) -> AsyncIterator[NewAgent]:
    """Who acts."""
    match settings.agent:
        case "oracle":
            yield oracle_agent
        case "random":
            yield RandomAgents(settings.seed)
        case "replay":
            assert settings.recording is not None
            yield await asyncio.to_thread(Recordings, settings.recording, settings.engine.session)
        case "model":
            async with Policy(settings.model.policy) as policy:
                yield ModelAgents(policy, settings.model)


@asynccontextmanager
async def _own_server(settings: RolloutSettings) -> AsyncIterator[tuple[str, str]]:
    own, egress = settings.serve, settings.serve.egress
    if settings.worlds is not None:
        allow = (*egress.allow, f"*.localhost:{settings.worlds.port}")
        egress = EgressPolicy(**{**egress.model_dump(), "allow": allow})
    serve = ServeSettings(
        port=0,
        sessions=own.sessions or settings.engine.slots,
        workers=own.workers,
        browsers=own.browsers,
        chromium=own.chromium,
        sandbox=own.sandbox,
        egress=egress,
        settle=own.settle,
        log_level=settings.log_level,
    )
    key = secrets.token_urlsafe(24)
    async with running_fleet(serve, key) as fleet:
        yield fleet.url, key


async def _finished(engine: Engine, waiting: list[str]) -> RolloutStopped | None:
    try:
        await engine.run(waiting)
    except RolloutStopped as e:
        return e
    return None


def _said(console: Console, played: Played) -> int:
    if played.failure is not None:
        console.print(f"[bold red]{escape(str(played.failure))}[/]")
        return EXIT_STOPPED
    if played.unfinished or played.unjudged:
        left = f"{played.unfinished} episodes are unfinished, {played.unjudged} of those that have ended are not judged"
        console.print(f"{left}: the same command with --resume sees to them.")
        return EXIT_UNFINISHED
    return 0


@contextmanager
def signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
