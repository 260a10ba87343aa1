"""Two ways to speak to Chromium, side by side: `python -m benchmarks.transports`.

The server's own (`webgym.server.cdp`, over an inherited socket) and `cdp-use`, a kept typed client (over a WebSocket), in
turns, with one page of one browser: small questions and answers as large as a screenshot, eight at a time. What is told is
the processor time of this process and of Chromium for each, in microseconds, and answers a second. The last line of stdout
is JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop
from cdp_use.client import CDPClient
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Meter
from benchmarks.raw import SECONDS, open_session
from webgym.errors import BrowserError
from webgym.server import chromium
from webgym.server.process import ChromiumProcess

REPETITIONS: Final = 6
AT_A_TIME: Final = 8
OURS, CDP_USE = "webgym.server.cdp", "cdp-use"
SMALL, LARGE = "small", "as large as a screenshot"
QUESTIONS: Final = {SMALL: ("1", 2_000), LARGE: ("'x'.repeat(200_000)", 200)}

Ask = Callable[[str], Awaitable[object]]


@dataclass(frozen=True)
class Cost:
    """Of one answer, in microseconds; and how many came a second."""

    python: float
    chromium: float
    a_second: float


async def measure() -> dict[tuple[str, str], list[Cost]]:
    costs: dict[tuple[str, str], list[Cost]] = {}
    async with _browser() as (process, address), CDPClient(address) as client:
        meter = Meter(chromium.find().path.resolve(), apart=-1)
        channel = (await open_session(process)).channel
        target = await client.send.Target.createTarget({"url": "about:blank"})
        attached = await client.send.Target.attachToTarget({"targetId": target["targetId"], "flatten": True})

        async def ours(expression: str) -> object:
            return await channel.call("Runtime.evaluate", {"expression": expression}, within=SECONDS)

        async def cdp_use(expression: str) -> object:
            async with asyncio.timeout(SECONDS):
                return await client.send.Runtime.evaluate({"expression": expression}, session_id=attached["sessionId"])

        for repetition in range(REPETITIONS + 1):
            turns: list[tuple[str, Ask]] = [(OURS, ours), (CDP_USE, cdp_use)]
            for name, ask in turns if repetition % 2 else turns[::-1]:
                for size, (expression, number) in QUESTIONS.items():
                    cost = await _ask_all(ask, expression, number, meter)
                    if repetition:  # the first warms up
                        costs.setdefault((name, size), []).append(cost)
    return costs


async def _ask_all(ask: Ask, expression: str, number: int, meter: Meter) -> Cost:
    async def some() -> None:
        for _ in range(number // AT_A_TIME):
            await ask(expression)

    before, began = meter.cpu(), time.perf_counter()
    await asyncio.gather(*(some() for _ in range(AT_A_TIME)))
    seconds, used = time.perf_counter() - began, meter.cpu() - before
    return Cost(used.here * 1e6 / number, used.chromium * 1e6 / number, number / seconds)


@asynccontextmanager
async def _browser() -> AsyncIterator[tuple[ChromiumProcess, str]]:
    folder = Path(tempfile.mkdtemp(prefix="webgym-bench-"))
    switches = ("--remote-debugging-port=0",)
    process = await ChromiumProcess.start(chromium.find(), folder, sandbox=os.geteuid() != 0, switches=switches)
    try:
        yield process, _address(process)
    finally:
        await process.close()


def _address(process: ChromiumProcess) -> str:
    """Where the browser listens, which it says before it answers anything."""
    found = re.search(r"ws://\S+", process.last_words)
    if found is None:
        raise BrowserError(f"Chromium does not say where it listens: {process.last_words or 'it wrote nothing'}")
    return found[0]


def main() -> int:
    logging.getLogger("websockets").setLevel(logging.WARNING)
    costs = uvloop.run(measure())
    table = Table("answer", "client", "Python, µs", "Chromium, µs", "answers a second")
    medians: dict[tuple[str, str], Cost] = {}
    for (name, size), found in costs.items():
        columns = ([getattr(cost, field) for cost in found] for field in ("python", "chromium", "a_second"))
        median = medians[name, size] = Cost(*map(statistics.median, columns))
        table.add_row(size, name, *(f"{value:,.0f}" for value in (median.python, median.chromium, median.a_second)))
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    summary = {}
    for key, size in (("small", SMALL), ("large", LARGE)):
        summary[f"cdp_use_python_{key}"] = round(medians[CDP_USE, size].python / medians[OURS, size].python, 2)
        summary[f"cdp_use_speed_{key}"] = round(medians[CDP_USE, size].a_second / medians[OURS, size].a_second, 2)
    print(json.dumps(summary), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
