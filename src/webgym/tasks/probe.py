"""`webgym tasks probe`: visit every website of a task file in a real browser and write down how it was found.

How a page is visited is not known here: the command line hands in a `Visit`, made from the rollout server's client.

Invariants. Only what the website did is recorded: a browser or a server of ours that failed says nothing about the site,
which is then visited again next time. Each visit is written down as it ends, so a killed probe goes on where it was; a site
seen within `max_age` days is not visited again. A website is called dead only after every try.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Annotated, Final

from pydantic import Field

from webgym import logs
from webgym.config import Settings, load
from webgym.errors import Unreachable, WebGymError, blame
from webgym.refusals import Page, find_refusal
from webgym.tasks.files import TaskFile
from webgym.tasks.flow import in_order
from webgym.tasks.health import State, Visited, now, read_health, write_health
from webgym.tasks.progress import Bar
from webgym.tasks.websites import canonical_origin, site
from webgym.types import Observation

log = logging.getLogger(__name__)

Visit = Callable[[str], Awaitable[Observation]]

INCOMPLETE: Final = 1
STOPPED: Final = 130
# Of a website's front page these say enough alone: it is there, and not for us. A 503 needs another sign to be a refusal.
TURNED_AWAY: Final = frozenset({401, 403, 407, 429, 451})


class ProbeSettings(Settings):
    """Settings of `webgym tasks probe`."""

    tasks: Path = Field(description="The task file whose websites are visited.")
    out: Path = Field(description="The health file, .jsonl; an existing one is continued.")
    server: str = Field("http://127.0.0.1:7860", description="The rollout server that visits.")
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    timeout: Annotated[float, Field(gt=0)] = Field(90.0, description="Seconds for one visit.")
    tries: Annotated[int, Field(ge=1, le=10)] = Field(2, description="Visits before a website is called dead.")
    max_age: Annotated[float, Field(ge=0)] = Field(7.0, description="Days after which a website is visited again.")
    limit: Annotated[int, Field(ge=1)] | None = Field(None, description="Visit so many websites at most.")
    give_up: Annotated[int, Field(ge=1)] = Field(20, description="Failures of the server in a row that end the run.")


@dataclass(frozen=True)
class Failed:
    """Our side failed; the website is not to blame."""

    website: str
    error: WebGymError


def judge(website: str, seen: Observation, at: datetime) -> Visited:
    """How a website was found, from what a browser shows."""

    def found(state: State, detail: str) -> Visited:
        return Visited(website=website, state=state, at=at, status=seen.status, url=seen.url[:2_000], detail=detail[:300])

    arrived = canonical_origin(seen.url)
    if seen.navigation_error is not None:
        return found("dead", seen.navigation_error)
    # What is only suspected counts too: a block is forgotten after some hours, and no episode ends by it.
    if (refusal := find_refusal(Page(seen.url, seen.title, seen.status, seen.text or seen.accessibility))) is not None:
        return found("blocked", refusal.reason)
    if seen.status in TURNED_AWAY:
        return found("blocked", f"status {seen.status}")
    if seen.status is not None and seen.status >= 400:
        return found("dead", f"status {seen.status}")
    if not arrived:
        return found("dead", "nothing was loaded")
    if site(arrived) != site(website):
        return found("redirected", arrived)
    return found("reachable", "")


@dataclass
class Probe:
    """Visits with a journal."""

    settings: ProbeSettings
    visit: Visit
    journal: IO[bytes]
    clock: Callable[[], datetime] = now
    states: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    failed_in_a_row: int = 0

    async def one(self, website: str) -> Visited | Failed:
        try:
            for _ in range(self.settings.tries):
                async with blame(Unreachable, f"visit of {website}", within=self.settings.timeout):
                    seen = await self.visit(website)
                visited = judge(website, seen, self.clock())
                if visited.state != "dead":
                    break
        except WebGymError as e:
            return Failed(website, e)
        self.journal.write(visited.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self.journal.flush()
        return visited

    def take(self, result: Visited | Failed) -> bool:
        if isinstance(result, Visited):
            self.states[result.state] += 1
            self.failed_in_a_row = 0
            return True
        log.warning("%s was not visited: %s", result.website, result.error)
        self.failed += 1
        self.failed_in_a_row += 1
        return self.failed_in_a_row < self.settings.give_up


async def probe(
    websites: Iterable[str], settings: ProbeSettings, visit: Visit, clock: Callable[[], datetime] = now
) -> Probe:
    """Visit what is due, then write the health file anew."""
    known = read_health(settings.out)
    fresh = clock() - timedelta(days=settings.max_age)
    due = [one for one in websites if (seen := known.get(site(one))) is None or seen.at < fresh][: settings.limit]
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    with settings.out.open("ab") as journal:
        journal.write(b"\n")  # a line that a kill has torn ends here
        done = Probe(settings, visit, journal, clock)
        with Bar("websites", len(due), lambda _: ", ".join(f"{n:,} {state}" for state, n in done.states.items())) as bar:

            def take(result: Visited | Failed) -> bool:
                bar.advance()
                return done.take(result)

            gate = asyncio.Semaphore(settings.concurrency)

            async def one(website: str) -> Visited | Failed:
                async with gate:
                    return await done.one(website)

            await in_order(due, one, take, width=4 * settings.concurrency)
    write_health(settings.out, read_health(settings.out).values())
    return done


def websites_of(path: Path) -> list[str]:
    """One origin for each site of a task file, in order."""
    found: dict[str, str] = {}
    with TaskFile.open(path) as file:
        for table in file.read_columns("website"):
            for website in table.column("website").unique().to_pylist():
                if website:
                    found.setdefault(site(website), website)
    return [found[name] for name in sorted(found)]


Visiting = Callable[[ProbeSettings], AbstractAsyncContextManager[Visit]]


def run_probe(arguments: list[str], visiting: Visiting) -> int:
    """The command; `visiting` opens the way to the browsers. 0 when every website was visited, 1 when some are left."""
    logs.start()
    settings = load(ProbeSettings, arguments, command="webgym tasks probe")
    websites = websites_of(settings.tasks)
    try:
        done = asyncio.run(_run(settings, websites, visiting))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.stdout.write("stopped: run the same command to go on\n")
        return STOPPED
    none = "none was visited" if done.failed else "none was due"
    visited = ", ".join(f"{count:,} {state}" for state, count in sorted(done.states.items())) or none
    sys.stdout.write(f"{settings.out}: {visited}; {done.failed:,} could not be visited\n")
    if done.failed_in_a_row >= settings.give_up:
        sys.stdout.write(f"gave up after {done.failed_in_a_row:,} failures in a row: is a server at {settings.server}?\n")
    return INCOMPLETE if done.failed else 0


async def _run(settings: ProbeSettings, websites: list[str], visiting: Visiting) -> Probe:
    main = asyncio.current_task()
    assert main is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
    async with visiting(settings) as visit:
        return await probe(websites, settings, visit)
