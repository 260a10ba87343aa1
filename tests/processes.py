"""What the tests ask of other processes, which may end while they are asked."""

from __future__ import annotations

import psutil


def running(pid: int) -> bool:
    """Whether a process is there and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command_line(process: psutil.Process) -> list[str]:
    """Its words; none once it has ended, as renderers do at any time."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie too
        return []


def environment(process: psutil.Process) -> dict[str, str]:
    """Its variables; none once it has ended."""
    try:
        return process.environ()
    except psutil.NoSuchProcess:
        return {}
