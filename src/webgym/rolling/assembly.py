"""The parts of a rollout, running: offline web, server, client, agent, engine; all gone when it ends.

The first SIGTERM or Ctrl-C stops admitting and lets episodes under way finish, the second ends them. Exit status 0: every
planned episode has its outcome; 1: the engine stopped itself; 3: stopped by a person, `--resume` finishes the plan.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final

from rich.console import Console
from rich.markup import escape

from webgym import logs
from webgym.agents.model import ModelAgents
from webgym.agents.policy import Policy
from webgym.agents.scripted import RandomAgents
from webgym.errors import RolloutStopped
from webgym.rolling.oracle import WorldsJudge, oracle_agent
from webgym.rolling.plan import jobs_of, open_run
from webgym.rolling.settings import RolloutSettings
from webgym.rolling.show import progress, summary
from webgym.rollout.agent import NewAgent
from webgym.rollout.blocking import BlockList
from webgym.rollout.client import Client
from webgym.rollout.engine import Engine, Judge, Keeper, sole, unjudged
from webgym.rollout.episode import Job, Player
from webgym.rollout.events import Events
from webgym.rollout.gates import Gates
from webgym.server.egress import EgressPolicy
from webgym.server.fleet.local import running_fleet
from webgym.server.settings import ServeSettings
from webgym.store import Run
from webgym.worlds.server import WorldServer
from webgym.worlds.state import by_host
from webgym.worlds.tasks import SOURCE

EXIT_STOPPED: Final = 1
EXIT_UNFINISHED: Final = 3


def run(settings: RolloutSettings) -> int:
    """The command."""
    import uvloop

    logs.start(settings.log_level)
    return uvloop.run(_roll(settings))


async def _roll(settings: RolloutSettings) -> int:
    console = Console(stderr=True)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(await asyncio.to_thread(open_run, settings))
        stack.enter_context(sole(store.path))
        blocklist = BlockList(settings.blocklist or store.path.parent / "blocked.jsonl", hours=settings.engine.block_hours)
        planned, jobs = await asyncio.to_thread(jobs_of, settings, store, blocklist)
        offline = all(one.task.startswith(f"{SOURCE}-") for one in planned)
        judge = WorldsJudge() if settings.judge == "worlds" or (settings.judge == "auto" and offline) else None
        waiting = await asyncio.to_thread(unjudged, store, settings.iteration, judge.name) if judge is not None else []
        if not jobs and not waiting:
            console.print(f"Nothing to do: all {len(planned)} episodes of iteration {settings.iteration} have ended.")
            return 0
        events = _events(settings, store, {one.id for one in planned} - {job.id for job in jobs})
        client, new_agent = await _surroundings(stack, settings)
        gates = Gates(settings.engine.gates, settings.engine.slots)
        engine = _engine(settings, store, client, new_agent, gates, events, jobs, len(planned), blocklist, judge, offline)
        address = await _monitor(stack, settings, events, store, jobs)
        with _signals(engine.stop):
            async with progress(console, events, address):
                failure = await _finished(engine, waiting)
        console.print(summary(events.state(), engine.unfinished))
        return _said(console, failure, engine.unfinished)


async def _monitor(stack: AsyncExitStack, settings: RolloutSettings, events: Events, store: Run, jobs: list[Job]) -> str:
    """The address where people can watch; empty if nobody wants to."""
    if settings.monitor is None:
        return ""
    from webgym.watching import watching

    agent = settings.agent if settings.agent != "model" else f"{settings.model.dialect}/{settings.model.policy.model}"
    tasks = {job.task.id: job.task for job in jobs}
    return await stack.enter_async_context(watching(events, store, agent=agent, task=tasks.get, port=settings.monitor))


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
    client: Client,
    new_agent: NewAgent,
    gates: Gates,
    events: Events,
    jobs: list[Job],
    total: int,
    blocklist: BlockList,
    judge: Judge | None,
    offline: bool,
) -> Engine:
    options = settings.engine.model_copy(update={"stragglers": settings.engine.stragglers_of(settings.split)})
    keeper = Keeper(store, options, events)
    player = Player(
        store.info.name,
        client,
        new_agent,
        gates,
        events,
        options,
        keep=keeper.image,
        outlines=offline,
        state_of=by_host if offline else None,
    )
    return Engine(keeper, player, jobs, gates, events, options, total=total, blocklist=blocklist, judge=judge)


async def _surroundings(stack: AsyncExitStack, settings: RolloutSettings) -> tuple[Client, NewAgent]:
    """The web, the server and the model, as far as they are ours to start."""
    if settings.worlds is not None:
        await stack.enter_async_context(WorldServer(settings.worlds.seed, port=settings.worlds.port))
    new_agent: NewAgent
    match settings.agent:
        case "oracle":
            new_agent = oracle_agent
        case "random":
            new_agent = RandomAgents(settings.seed)
        case "model":
            policy = await stack.enter_async_context(Policy(settings.model.policy))
            new_agent = ModelAgents(policy, settings.model)
    if settings.server is not None:
        return await stack.enter_async_context(Client(settings.server)), new_agent
    url, key = await stack.enter_async_context(_own_server(settings))
    return await stack.enter_async_context(Client(url, key=key)), new_agent


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


def _said(console: Console, failure: RolloutStopped | None, unfinished: int) -> int:
    if failure is not None:
        console.print(f"[bold red]{escape(str(failure))}[/]")
        return EXIT_STOPPED
    if unfinished:
        console.print(f"{unfinished} episodes are unfinished: the same command with --resume does them.")
        return EXIT_UNFINISHED
    return 0


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
