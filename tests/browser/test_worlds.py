"""The oracle on real pages: through the rollout server, by pixels, judged by the verifier from the episode alone."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.conftest import settings_for
from tests.site.server import Site
from webgym.server.protocol import NewSession, SessionStarted, StepRequest, Viewport
from webgym.server.settings import WorkerSettings
from webgym.server.worker import Worker, running_worker
from webgym.types import Action, Episode, Look, Observation, Scored
from webgym.worlds import oracle, state, tasks, verify
from webgym.worlds.names import host_of, site_of
from webgym.worlds.oracle import Agent
from webgym.worlds.server import WorldServer
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import TaskId, WorldTask


@dataclass
class Hands:
    """A session of an in-process worker, as the oracle holds it."""

    worker: Worker
    started: SessionStarted

    async def step(self, action: Action, look: Look | None = None) -> Observation:
        request = StepRequest(action=action, look=look or Look())
        return (await self.worker.sessions.step(self.started.id, self.started.lease.token, request)).observation

    async def observe(self, look: Look | None = None) -> Observation:
        return await self.worker.sessions.observe(self.started.id, self.started.lease.token, look or Look())

    async def state(self) -> dict[str, str]:
        kept = await self.worker.sessions.storage(self.started.id, self.started.lease.token)
        return state.by_host((cookie.domain, cookie.name, cookie.value) for cookie in kept.cookies)


@dataclass
class Web:
    server: WorldServer
    worker: Worker

    async def play(self, task: WorldTask, agent: Agent = "oracle", width: int = 1280, height: int = 768) -> Episode:
        request = NewSession(url=self.server.url(task.id.hosts[0]), viewport=Viewport(width=width, height=height))
        hands = Hands(self.worker, await self.worker.sessions.create(request, None))
        began = time.time()
        try:
            played = await oracle.play(hands, task, self.server.port, agent)
            kept = await hands.state()
        finally:
            await self.worker.sessions.release(hands.started.id, hands.started.lease.token)
        plain = task.task(port=self.server.port)
        return oracle.as_episode(played, plain, kept, agent=agent, started=began, ended=time.time())


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def web() -> AsyncIterator[Web]:
    async with WorldServer(0) as server, Site() as site:
        serve = settings_for(site, egress={"allow": [f"*.localhost:{server.port}"]})
        async with running_worker(WorkerSettings(serve=serve, sessions=4, browsers=1)) as worker:
            yield Web(server, worker)


def first(kind: str, generator: str, shape: tuple[int, ...], site: int) -> WorldTask:
    """The first task of its sort that the site can have."""
    host = host_of(0, KINDS[kind], site)
    for number in range(100):
        try:
            return tasks.make(TaskId(0, (host,), generator, shape, number))
        except tasks.CannotMake:
            continue
    raise AssertionError(f"no {generator} at {host}")


CASES = [
    ("shop", "lookup", (3, 1), 20),
    ("shop", "narrow", (3,), 21),
    ("shop", "order", (2, 2), 22),
    ("bank", "balance", (1, 2), 20),
    ("bank", "transfer", (4,), 21),
    ("bank", "loan", (6,), 22),
    ("papers", "advanced", (3,), 20),
    ("software", "settings", (2,), 21),
    ("courses", "quiz", (4,), 20),
    ("jobs", "apply", (6,), 21),
    ("travel", "book", (6,), 22),
    ("trails", "profile", (2,), 20),
    ("museums", "tickets", (6,), 22),
    ("recipes", "filter", (3,), 20),
    ("league", "most", (3,), 21),
    ("clinic", "book", (5,), 22),
    ("adoption", "apply", (7,), 20),
    ("fashion", "fitting", (5,), 21),
    ("workshop", "paint", (1,), 22),
    ("films", "collect", (4,), 20),
    ("games", "order", (2, 2), 21),
]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("kind", "generator", "shape", "site"), CASES)
async def test_the_oracle_solves_it_and_the_verifier_agrees(
    web: Web, kind: str, generator: str, shape: tuple[int, ...], site: int
):
    verdict = verify.verify(await web.play(first(kind, generator, shape, site)))
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1, [fact.reason for fact in verdict.facts if not fact.met]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("width", "height"), [(390, 844), (224, 160)])
async def test_small_screens_are_enough(web: Web, width: int, height: int):
    verdict = verify.verify(await web.play(first("shop", "lookup", (2,), 23), width=width, height=height))
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1, [fact.reason for fact in verdict.facts if not fact.met]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("agent", ["do_nothing", "wrong_answer"])
@pytest.mark.parametrize(("generator", "shape"), [("lookup", (2,)), ("order", (1,))])
async def test_those_who_must_fail_do(web: Web, agent: Agent, generator: str, shape: tuple[int, ...]):
    verdict = verify.verify(await web.play(first("shop", generator, shape, 24), agent))
    assert isinstance(verdict, Scored)
    assert verdict.reward == 0
    assert not any(fact.met for fact in verdict.facts)
    assert all(fact.reason for fact in verdict.facts)


@pytest.mark.asyncio(loop_scope="session")
async def test_a_task_over_two_sites_is_solved(web: Web):
    hosts = (host_of(0, KINDS["shop"], 25), host_of(0, KINDS["bank"], 25))
    verdict = verify.verify(await web.play(tasks.make(TaskId(0, hosts, tasks.ACROSS, (1, 1), 0))))
    assert isinstance(verdict, Scored)
    assert verdict.reward == 1, [fact.reason for fact in verdict.facts if not fact.met]


@pytest.mark.asyncio(loop_scope="session")
async def test_no_page_asks_for_anything_outside(web: Web):
    """Every request of these pages reaches the offline web; a foreign host would show in the egress policy's refusals."""
    for kind in KINDS:
        host = host_of(0, KINDS[kind], 30)
        entry = KINDS[kind].entries(KINDS[kind].content(site_of(0, host)))[0]
        before = web.server.world.requests
        started = await web.worker.sessions.create(NewSession(url=web.server.url(host, entry.href)), None)
        await web.worker.sessions.release(started.id, started.lease.token)
        assert web.server.world.requests - before >= 3
        assert web.server.world.unserved == 0
        assert started.observation.notes == ()
