"""Holds a server on a leash: run by path, standard library only.

    python guard.py COMMAND [ARGUMENT…]

The command gets a process group of its own. It and whatever it started end when our stdin closes (the parent wished it, or
died by any cause), when we are asked to end, or when the command itself ends; then so do we, with its status. Asked politely
first (SIGTERM, then `GRACE` seconds), then killed. On Linux, what left the group is ours too (subreaper), and the command
dies even if we are killed (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE = 10.0
POLL = 0.05
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINUX = sys.platform == "linux"


def _prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _children() -> list[int]:
    """Whoever is our child now; empty where the system does not tell."""
    found = []
    for task in Path("/proc/self/task").glob("*/children") if LINUX else ():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in task.read_text().split()]
    return found


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_all(group: int) -> None:
    """Kill the group and, as they become ours, the children of its dead; returns when all are reaped."""
    _signal(group, signal.SIGKILL)
    ends = time.monotonic() + GRACE
    while time.monotonic() < ends:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(POLL)


def _wait(child: subprocess.Popen[bytes], asked: list[int]) -> None:
    """Until the child has ended, or it shall."""
    while child.poll() is None and not asked:
        readable, _, _ = select.select([sys.stdin], [], [], POLL * 4)
        if readable and not os.read(sys.stdin.fileno(), 4096):
            return


def main() -> int:
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: asked.append(got))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = subprocess.Popen(
        sys.argv[1:], stdin=subprocess.DEVNULL, process_group=0, preexec_fn=lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    )
    _wait(child, asked)
    if child.poll() is None:
        _signal(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
    status = child.poll()
    _end_all(child.pid)
    return 128 + signal.SIGKILL if status is None else status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
