"""Processor time and memory of the processes below this one, read from /proc.

Processes are told apart by their executable: Chromium, or whatever stands between it and us (a server, a driver). Chromium's
processor time is user and system time of all its processes with that of the children they have reaped, so that a renderer
which came and went between two readings is counted. Memory is the proportional set size: pages shared by several processes
are divided among them, so the sum is what Chromium really takes. Other Chromiums on the machine make it smaller, because
they share the pages of the binary: compare figures of one run only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


@dataclass(frozen=True)
class Cpu:
    """Seconds of processor time: of Chromium, of what stands between, of this process, of all others on the machine."""

    chromium: float
    between: float
    here: float
    others: float

    def __sub__(self, before: Cpu) -> Cpu:
        return Cpu(
            self.chromium - before.chromium,
            self.between - before.between,
            self.here - before.here,
            self.others - before.others,
        )


@dataclass(frozen=True)
class Meter:
    """Reads the processes below this one, but for those below `apart` (the website)."""

    chromium: Path
    apart: int

    def cpu(self) -> Cpu:
        browsers, between = self._processes()
        chromium = sum(_cpu_seconds(pid, reaped=True) for pid in browsers)
        driver = sum(_cpu_seconds(pid, reaped=False) for pid in between)
        site = sum(_cpu_seconds(pid, reaped=False) for pid in _tree([self.apart]))
        here = time.process_time()
        return Cpu(chromium, driver, here, _machine_seconds() - chromium - driver - site - here)

    def chromium_bytes(self) -> int:
        return sum(map(_pss_bytes, self._processes()[0]))

    def _processes(self) -> tuple[list[int], list[int]]:
        below = _tree([os.getpid()]) - _tree([self.apart]) - {os.getpid()}
        browsers = [pid for pid in below if _executable(pid) == self.chromium]
        return browsers, list(below.difference(browsers))


def _tree(roots: Iterable[int]) -> set[int]:
    """The given processes and all their descendants."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def _executable(pid: int) -> Path | None:
    try:
        return (PROC / str(pid) / "exe").readlink()
    except OSError:
        return None  # it ended while we looked


def _cpu_seconds(pid: int, *, reaped: bool) -> float:
    fields = _stat(pid)
    return sum(map(int, fields[11 : 15 if reaped else 13])) / TICKS if fields else 0.0


def _machine_seconds() -> float:
    """Processor time of the whole machine, but for idling and waiting for disks."""
    user, nice, system, _idle, _wait, *interrupts = map(int, (PROC / "stat").read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / TICKS


def _pss_bytes(pid: int) -> int:
    try:
        rollup = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/pid/stat from the third (state) on: the second may contain spaces."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
