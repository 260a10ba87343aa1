"""Processor time and memory of process trees, read from /proc.

Processor time is user and system time of every process of a tree, with that of the children it has already reaped, so
that a renderer which came and went between two readings is counted. Memory is the proportional set size: pages shared by
several processes are divided among them, so the sum over a tree is what the tree really takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def tree(roots: Iterable[int]) -> set[int]:
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


def cpu_seconds(pids: Iterable[int], *, reaped: bool) -> float:
    """Processor time spent so far; with that of reaped children if asked."""
    total = 0
    for pid in pids:
        if fields := _stat(pid):
            total += sum(int(field) for field in fields[11 : 15 if reaped else 13])
    return total / TICKS


def pss_bytes(pids: Iterable[int]) -> int:
    total = 0
    for pid in pids:
        try:
            rollup = (PROC / str(pid) / "smaps_rollup").read_text()
        except OSError:
            continue  # it ended while we looked
        for line in rollup.splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/pid/stat from the third (state) on: the second may contain spaces."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
