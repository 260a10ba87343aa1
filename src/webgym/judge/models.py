"""The models of a judge, open for asking: one endpoint for each that the settings name, shared by all stages without one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from webgym.endpoint import Endpoint, EndpointSettings
from webgym.endpoint.cost import Usage
from webgym.judge.settings import JudgeSettings


@dataclass(frozen=True)
class Models:
    """Who is asked what. `small` goes first wherever there is one."""

    look: Endpoint
    claims: Endpoint
    facts: Endpoint
    small: Endpoint | None = None

    def distinct(self) -> Iterator[Endpoint]:
        every = (self.claims, self.facts, self.look, *((self.small,) if self.small is not None else ()))
        yield from {id(one): one for one in every}.values()

    def spent(self) -> Spent:
        """What all of them have cost since they were opened."""
        total = Spent()
        for one in self.distinct():
            read = one.meter.totals
            total.calls += read.calls
            total.reused += read.reused
            total.tokens += read.usage.total
            total.dollars += read.dollars
        return total

    def priced(self) -> bool:
        """Whether the dollars are the whole of it."""
        return all(one.settings.price is not None for one in self.distinct())


@dataclass
class Spent:
    """Tokens and dollars. A reply from the cache costs nothing."""

    calls: int = 0
    reused: int = 0
    tokens: int = 0
    dollars: float = 0.0

    def add(self, usage: Usage, endpoint: Endpoint) -> None:
        self.tokens += usage.total
        self.dollars += usage.dollars(endpoint.settings.price)


@asynccontextmanager
async def opened(settings: JudgeSettings) -> AsyncIterator[Models]:
    """The models of these settings, until the block ends."""
    async with AsyncExitStack() as stack:

        async def enter(endpoint: EndpointSettings) -> Endpoint:
            return await stack.enter_async_context(Endpoint(endpoint))

        main = await enter(settings.endpoint)
        small = await enter(settings.cascade.endpoint) if settings.cascade is not None else None
        yield Models(
            look=await enter(settings.look) if settings.look is not None else small or main,
            claims=await enter(settings.claims) if settings.claims is not None else main,
            facts=await enter(settings.facts) if settings.facts is not None else main,
            small=small,
        )
