"""The offline web as a whole: a sample of all kinds is solvable and its checks can fail, and nothing leaves it.

`python -m benchmarks.oracle` plays a larger sample, and `tests/unit/worlds/test_worlds_outside.py` reads more pages.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from benchmarks.offline import Address, pages
from benchmarks.oracle import Played, prove, sample
from tests.conftest import settings_for
from tests.site.server import Site
from webgym.server.protocol import NewSession
from webgym.server.settings import WorkerSettings
from webgym.server.worker import Worker, running_worker
from webgym.types import Look
from webgym.worlds.server import WorldServer
from webgym.worlds.sites import KINDS

TASKS = 60
SESSIONS = 6
VISITED = 200
LEAKY = "leaky.localhost"


@pytest.mark.timeout(300)  # 60 to 75 s on two cores of its own
async def test_the_oracle_solves_sixty_tasks_of_all_kinds_and_who_must_fail_does():
    results: list[Played] = []
    await prove(sample(TASKS, 1), SESSIONS, results.append)
    assert {played.kind for played in results} == set(KINDS)
    assert Counter(played.agent for played in results) == dict.fromkeys(("oracle", "do_nothing", "wrong_answer"), TASKS)
    assert not [played for played in results if not played.right]
    assert all(played.problems for played in results if played.agent != "oracle")


def refused(worker: Worker) -> float:
    """Connections of pages that did not lead to the offline web."""
    line = next(line for line in worker.metrics.text().decode().splitlines() if line.startswith("webgym_egress_refused "))
    return float(line.split()[1])


async def leaky(scope: Any, receive: Any, send: Any) -> None:
    """A site that asks for a picture elsewhere, to show that it would be counted."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b'<img src="http://pictures.example/a.png">'})


@pytest.mark.timeout(400)
async def test_no_request_of_a_browser_leaves_the_offline_web():
    found = iter(list(pages(VISITED, random.Random("visited"))))
    async with WorldServer(0, guests={LEAKY: leaky}) as server, Site() as site:
        only = {"allow": [f"*.localhost:{server.port}"], "only_allowed": True}
        serve = settings_for(site, egress=only)
        async with running_worker(WorkerSettings(serve=serve, sessions=4, browsers=1)) as worker:

            async def open_page(address: Address) -> None:
                before = server.world.requests
                request = NewSession(url=address.url(server.port), look=Look(image="none"))
                started = await worker.sessions.create(request, None)
                await worker.sessions.release(started.id, started.lease.token)
                assert started.observation.navigation_error is None, address
                assert server.world.requests > before

            async def work() -> None:
                for address in found:
                    await open_page(address)

            async with asyncio.TaskGroup() as group:
                for _ in range(4):
                    group.create_task(work())
            assert server.world.unserved == 0
            assert refused(worker) == 0
            leaving = await worker.sessions.create(NewSession(url=server.url(LEAKY)), None)
            await worker.sessions.release(leaving.id, leaving.lease.token)
            assert refused(worker) > 0, "a request that leaves would not have been counted"
