"""How `webgym tasks probe` visits a website: in a leased browser of a rollout server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from webgym.rollout.client import Client
from webgym.tasks.probe import ProbeSettings, Visit
from webgym.types import Observation


@asynccontextmanager
async def visiting(settings: ProbeSettings) -> AsyncIterator[Visit]:
    async with Client(settings.server) as client:

        async def visit(url: str) -> Observation:
            async with client.open(url=url, wait=settings.timeout) as session:
                return session.observation

        yield visit
