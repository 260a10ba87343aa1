"""What Set-of-Marks cost while documentation is read: `python -m benchmarks.marks`, or `make bench-marks`.

One `webgym serve` and its sessions on a long documentation page. Each scrolls, scrolls and follows a link to a section, over
and over: every picture is a new one. Rounds with and without marks take turns, there and back, in the same sessions. Of each
pair of rounds the ratio is taken, of the ratios the median.

`marks_time` is what marks add to the time between two steps of a session when all cores are busy (0.25: four fifths of the
steps a second), `marks_processor` what they add to the processor time of a step, of Chromium and the server together.
The last line of stdout is the summary as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.children import server, website
from benchmarks.episodes import QUALITY, SECTION_LINK
from benchmarks.measure import Meter
from benchmarks.served import open_session
from webgym import types as t
from webgym.rollout.client import Client, Session
from webgym.server import chromium

READING: tuple[t.Action, ...] = (t.Scroll(dy=600), t.Scroll(dy=600), t.Click(x=SECTION_LINK[0], y=SECTION_LINK[1]))
TARGET = 0.25
STOPPED = 130


@dataclass(frozen=True)
class Round:
    """Of one step: milliseconds between two of a session, and of the processor's time."""

    marks: bool
    waited: float
    chromium: float
    server: float

    @property
    def processor(self) -> float:
        return self.chromium + self.server


async def play(sessions: Sequence[Session], times: int, marks: bool, meter: Meter) -> Round:
    look = t.Look(image="jpeg", quality=QUALITY, marks=marks)

    async def read(session: Session) -> None:
        for action in READING * times:
            seen = await session.step(action, look)
            if seen.action_error or (marks and not seen.marks):
                raise RuntimeError(f"{action.kind}: {seen.action_error or 'nothing was marked'}")

    before, began = meter.cpu(), time.perf_counter()
    await asyncio.gather(*map(read, sessions))
    seconds, used = time.perf_counter() - began, meter.cpu() - before
    each = 1000 / (len(READING) * times)
    return Round(marks, each * seconds, each * used.chromium / len(sessions), each * used.between / len(sessions))


async def measure(count: int, pairs: int, times: int, say: Console) -> list[tuple[Round, Round]]:
    found, rounds = chromium.find(), []
    async with website() as site, server(site.url, count) as serving, Client(serving.url, key=serving.key) as client:
        meter = Meter(found.path.resolve(), site.pid)
        sessions = [await open_session(client, f"{site.url}/bench/docs") for _ in range(count)]
        for marks in (False, True):
            await play(sessions, 1, marks, meter)  # whoever comes first would pay for what is made once
        for number in track(range(pairs), "Reading with and without marks", console=say):
            order = (False, True) if number % 2 == 0 else (True, False)
            one, other = [await play(sessions, times, marks, meter) for marks in order]
            rounds.append((other, one) if one.marks else (one, other))
    return rounds


def summary(rounds: Sequence[tuple[Round, Round]]) -> dict[str, float]:
    return {
        "marks_time": round(statistics.median(marked.waited / plain.waited - 1 for plain, marked in rounds), 3),
        "marks_processor": round(statistics.median(marked.processor / plain.processor - 1 for plain, marked in rounds), 3),
    }


def table(rounds: Sequence[tuple[Round, Round]], sessions: int) -> Table:
    shown = Table(title=f"A step on a long documentation page, {sessions} sessions, medians in ms")
    for head in ("", "from step to step", "Chromium's CPU", "server's CPU"):
        shown.add_column(head, justify="right" if head else "left")
    for name, side in (("without marks", 0), ("with marks", 1)):
        cells = [(pair[side].waited, pair[side].chromium, pair[side].server) for pair in rounds]
        shown.add_row(name, *(f"{statistics.median(column):.1f}" for column in zip(*cells, strict=True)))
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.marks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=8, help="how many read at a time (8)")
    parser.add_argument("--pairs", type=int, default=16, help="how many rounds of each kind (16)")
    parser.add_argument("--times", type=int, default=4, help=f"how often a round repeats its {len(READING)} steps (4)")
    given = parser.parse_args()
    try:
        rounds = uvloop.run(measure(given.sessions, given.pairs, given.times, Console(stderr=True)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return STOPPED
    figures = summary(rounds)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table(rounds, given.sessions))
    for name, value in figures.items():
        console.print(f"{name}: {value:+.1%}, {'holds' if value <= TARGET else 'missed'} (at most {TARGET:+.0%})")
    print(json.dumps({**figures, "sessions": given.sessions}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
