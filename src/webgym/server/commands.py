"""Running another program to its end or to its deadline, and killing all of it then."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

Say = Callable[[str], None]

CANNOT_START = 126  # a shell's exit status for a program that is there but does not start
STILL_SECONDS = 15.0  # a person is told at least this often that a long command still runs


@dataclass(frozen=True)
class Done:
    code: int | None  # None: it was killed at its deadline
    output: str

    @property
    def last_line(self) -> str:
        lines = [line.strip() for line in self.output.splitlines()]
        told = [line for line in lines if line and not line.startswith("at ")]  # below the stack of a Node program
        return told[-1][:200] if told else "no output"

    @property
    def ending(self) -> str:
        return "out of time" if self.code is None else f"exit status {self.code} ({self.last_line})"


def run(argv: Sequence[str], *, within: float, env: Mapping[str, str] | None = None, say: Say | None = None) -> Done:
    """Run to the end or to the deadline."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a launcher's children die with it
        )
    except OSError as e:
        return Done(CANNOT_START, e.strerror or type(e).__name__)
    try:
        while (left := within - (time.monotonic() - began)) > 0:
            try:
                output, _ = process.communicate(timeout=min(left, STILL_SECONDS))
                return Done(process.returncode, output)
            except subprocess.TimeoutExpired:
                if say is not None:
                    say(f"  still running, {time.monotonic() - began:.0f} s")
        return Done(None, "")
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # PermissionError: it runs as root, through sudo
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
    if process.stdout is not None:
        process.stdout.close()
