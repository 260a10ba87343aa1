"""The models of a judge, open for asking: one endpoint for each that the settings name, shared by all stages without one.

A judge may be opened many times in a process. Its budget is one for all of them if they are opened with the same `Meters`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from webgym.endpoint import Endpoint, EndpointSettings, Meter
from webgym.endpoint.cost import Usage
from webgym.endpoint.settings import Price
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
        """What their meters have counted: also before these were opened, if the meters were used before."""
        total = Spent()
        for meter in {id(one.meter): one.meter for one in self.distinct()}.values():
            read = meter.totals
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


class Meters:
    """One meter for each model at its address, price and budget, however often and for whatever stages it is opened."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, Price | None, float | None], Meter] = {}

    def of(self, endpoint: EndpointSettings) -> Meter:
        # Where replies are stored and how hard a model is asked differ between the runs of a process; the bill does not.
        key = (endpoint.url, endpoint.model, endpoint.price, endpoint.budget)
        if key not in self._found:
            self._found[key] = Meter(endpoint.price, endpoint.budget)
        return self._found[key]


@asynccontextmanager
async def opened(settings: JudgeSettings, *, meters: Meters | None = None) -> AsyncIterator[Models]:
    """The models of these settings, until the block ends. Without meters that outlive it, the budget ends with it, too."""
    shared = meters if meters is not None else Meters()
    async with AsyncExitStack() as stack:

        async def enter(endpoint: EndpointSettings) -> Endpoint:
            return await stack.enter_async_context(Endpoint(endpoint, meter=shared.of(endpoint)))

        main = await enter(settings.endpoint)
        small = await enter(settings.cascade.endpoint) if settings.cascade is not None else None
        yield Models(
            look=await enter(settings.look) if settings.look is not None else small or main,
            claims=await enter(settings.claims) if settings.claims is not None else main,
            facts=await enter(settings.facts) if settings.facts is not None else main,
            small=small,
        )
