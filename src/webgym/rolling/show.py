"""What a person sees of a rollout in the terminal: the monitor's board while it runs (lines in a log), then a table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from webgym.agents.policy import ReplicaTotals
from webgym.rollout.events import ENDED, Events, State
from webgym.rollout.gates import GateStats
from webgym.ui.terminal import TerminalBoard
from webgym.watching import EventsBoard

REFRESH: Final = 0.5
LINES: Final = 10.0  # seconds between lines where there is no terminal


@asynccontextmanager
async def progress(console: Console, events: Events, address: str = "", *, asked: int | None = None) -> AsyncIterator[None]:
    """Show what goes on for as long as the block lasts. `asked` is how many requests the model gets at a time."""
    if address:
        console.print(f"Monitor: {address}")
    board = EventsBoard(events, asked=asked)
    showing = asyncio.create_task(_board(console, board, address) if console.is_terminal else _lines(console, events))
    try:
        yield
    finally:
        showing.cancel()
        await asyncio.wait({showing})
        if not showing.cancelled():
            showing.result()


async def _board(console: Console, watched: EventsBoard, address: str) -> None:
    """The monitor's board. It is drawn from here, not from a thread of rich's: the engine changes what it shows."""
    board = TerminalBoard(watched, address=address)
    with Live(board, console=console, auto_refresh=False, transient=True) as shown:
        while True:
            shown.update(board, refresh=True)
            await asyncio.sleep(REFRESH)


async def _lines(console: Console, events: Events) -> None:
    while True:
        await asyncio.sleep(LINES)
        total, ended, rates = _figures(events)
        console.print(f"{ended} of {total} episodes, {rates} {escape(events.notice[:200])}", highlight=False)


def _figures(events: Events) -> tuple[int, int, str]:
    counts, rates = events.counts(), events.rates()
    ended = sum(counts.doing[one] for one in ENDED)
    failed = counts.doing["failed"]
    told = f"{rates.steps_per_second:.1f} steps/s, {rates.episodes_per_hour:.0f} episodes/h"
    return counts.total, ended, f"{told}, {failed} failed" if failed else told


def summary(state: State, unfinished: int, replicas: Sequence[ReplicaTotals] = ()) -> Table:
    """What a rollout came to. Of the model's replicas only those that failed are told."""
    counts, seconds = state.counts, max(1e-9, state.now - state.started)
    ended = sum(counts.doing[one] for one in ENDED)
    table = Table(title=f"{state.run}, iteration {state.iteration}", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column()
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(counts.outcomes.items())) or "none"
    table.add_row("episodes", f"{counts.total} planned, {ended} ended, {unfinished} unfinished")
    table.add_row("outcomes", outcomes)
    if counts.judged:
        share = counts.rewarded / counts.judged
        table.add_row("rewards", f"{counts.rewarded} of {counts.judged} judged ({share:.0%})")
    table.add_row("steps", f"{counts.steps}, {counts.steps / seconds:.2f} a second; {counts.retries} retries")
    if state.finished:
        table.add_row("speed", f"{counts.played / seconds * 3600:.0f} episodes an hour, {seconds:.0f} s in all")
    if counts.completion_tokens:
        told = f"{counts.prompt_tokens:,} read, {counts.completion_tokens:,} written"
        table.add_row("tokens", f"{told} ({counts.completion_tokens / seconds:.0f} a second)")
    for replica in replicas:
        if replica.failures or replica.down:
            down = ", down at the end" if replica.down else ""
            table.add_row("replica", escape(f"{replica.url}: {replica.replies} replies, {replica.failures} failures{down}"))
    for gate in state.gates:
        if gate.service.count:
            table.add_row(f"gate {gate.name}", _gate(gate, seconds))
    return table


def _gate(gate: GateStats, seconds: float) -> str:
    wait, service = gate.wait, gate.service
    use = gate.busy / (gate.size * seconds)
    return (
        f"{service.count} served, {gate.size} at a time ({use:.0%} used); waited {wait.mean:.3f} s (95 %: {wait.p95:.3f}), "
        f"took {service.mean:.3f} s (95 %: {service.p95:.3f})"
    )
