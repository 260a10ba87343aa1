"""What a person sees of the loop: one line that moves, the phases that are over above it, nothing else.

On a terminal the line is a bar; elsewhere it is printed every few seconds, so that a log file tells the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from webgym.loop.state import Phase
from webgym.rollout.events import ENDED, Events

REFRESH: Final = 0.5
LINES: Final = 15.0  # seconds between lines where there is no terminal


@dataclass(frozen=True)
class Glance:
    """How far a phase is."""

    done: int = 0
    total: int | None = None
    text: str = ""


Look = Callable[[], Glance]


class Display:
    """The loop on a console. `iterations` is how many there are to be."""

    def __init__(self, console: Console, iterations: int, *, lines: float = LINES) -> None:
        self.console, self._iterations, self._pause = console, iterations, lines
        self._look: Look = Glance

    def say(self, text: str) -> None:
        self.console.print(escape(text), highlight=False, soft_wrap=True)

    def follow(self, look: Look) -> None:
        """Whom to ask how far the phase under way is."""
        self._look = look

    def finished(self, iteration: int, phase: Phase, seconds: float, text: str) -> None:
        name = f"iteration {iteration}/{self._iterations}"
        line = f"{name:<18} [bold]{phase:<9}[/] {escape(text)}  [dim]{_time(seconds)}[/]"
        self.console.print(line, highlight=False, soft_wrap=True)

    @asynccontextmanager
    async def phase(self, iteration: int, phase: Phase) -> AsyncIterator[None]:
        """Show a phase for as long as the block lasts."""
        self._look = Glance
        name = f"iteration {iteration}/{self._iterations} {phase}"
        showing = asyncio.create_task(self._bar(name) if self.console.is_terminal else self._lines(name))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.wait({showing})
            if not showing.cancelled():
                showing.result()

    async def _bar(self, name: str) -> None:
        columns = (
            TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[text]}"),
        )  # fmt: skip
        with Progress(*columns, console=self.console, transient=True) as shown:
            bar = shown.add_task(name, total=None, text="")
            while True:
                glance = self._look()
                shown.update(bar, total=glance.total, completed=glance.done, text=escape(glance.text[:100]))
                await asyncio.sleep(REFRESH)

    async def _lines(self, name: str) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(self._pause)
            glance = self._look()
            of = f"{glance.done} of {glance.total}" if glance.total is not None else ""
            self.say(f"{name}: {of} {glance.text} ({_time(time.monotonic() - began)})")


def of_rollout(events: Events) -> Look:
    """How far a rollout is, with its success so far."""

    def look() -> Glance:
        counts, rates = events.counts(), events.rates()
        parts = [f"{rates.steps_per_second:.1f} steps/s"]
        if counts.judged:
            parts.insert(0, f"success {counts.rewarded / counts.judged:.0%} of {counts.judged}")
        if counts.doing["failed"]:
            parts.append(f"{counts.doing['failed']} failed")
        if events.notice:
            parts.append(events.notice)
        return Glance(sum(counts.doing[one] for one in ENDED), counts.total, ", ".join(parts))

    return look


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"
