"""A model server as a process group: started, heard, ended whole.

Invariants. Nothing of it outlives this process, whatever ends this process (`guard`). When `stop` returns, every process of
its tree is gone and its memory with it; anything else is an error that names the processes. The last lines it wrote are kept
for error messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import psutil

from webgym.errors import EndpointDown
from webgym.train.serving import guard
from webgym.train.tiles import without_tiles

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 3 * guard.GRACE
POLL_SECONDS: Final = 0.05
LINES_KEPT: Final = 40
MARK: Final = "WEBGYM_MODEL_SERVER"  # in the environment of all its processes
LONGEST_LINE: Final = 1 << 16


@dataclass(frozen=True)
class Freed:
    """What a stop gave back: resident bytes of the tree before and after."""

    before: int
    after: int


class ServerProcess:
    """`await ServerProcess.start([...])`, then `stop()`, once each."""

    def __init__(self, process: asyncio.subprocess.Process, name: str, mark: str) -> None:
        self._process, self._name, self._mark = process, name, mark
        self._words: deque[str] = deque(maxlen=LINES_KEPT)
        self._heard: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._awaited = ""
        self._hearing: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        arguments: Sequence[str],
        *,
        name: str,
        environment: Mapping[str, str] | None = None,
        write_to: Path | None = None,
    ) -> Self:
        """The process, not yet ready. What it writes goes to `write_to`, or to our own stderr."""
        mark = secrets.token_hex(12)
        try:
            if write_to is not None:  # now: a log that cannot be written is a reason not to start
                await asyncio.to_thread(_make, write_to)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                guard.__file__,
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=without_tiles(os.environ) | dict(environment or {}) | {MARK: mark},
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as e:
            raise EndpointDown(f"{name} cannot be started: {e}") from e
        self = cls(process, name, mark)
        self._hearing = asyncio.create_task(self._hear(write_to), name=f"output of {name}")
        return self

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_words(self) -> str:
        return "\n".join(self._words)

    def tree(self) -> list[psutil.Process]:
        """Every process of the server: by descent, and by the mark it inherited, which finds what has lost its parents.

        The mark alone would miss those that overwrite their environment with a title of their own, as vLLM's do.
        """
        found: dict[int, psutil.Process] = {}
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self._process.pid)
            found |= {process.pid: process for process in (root, *root.children(recursive=True))}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) == self._mark:
                    found[process.pid] = process
        return [process for process in found.values() if alive(process)]

    async def hears(self, opening: str) -> str | None:
        """The first line that begins so, from now on or among the last ones; None if the process ends without it."""
        self._awaited = opening
        if (said := next((line for line in self._words if line.startswith(opening)), None)) is not None:
            return said
        return await self._heard

    async def ended(self) -> int:
        """The status it ended with. Not `wait`, which also waits for whoever else holds the end of its output."""
        while (status := self._process.returncode) is None:  # noqa: ASYNC110 - nothing tells of it but `wait`
            await asyncio.sleep(POLL_SECONDS)
        return status

    async def stop(self) -> Freed:
        """End it and everything it started; raises EndpointDown if something is left."""
        tree = await asyncio.to_thread(self.tree)
        before = resident(tree)
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self.ended()
        except TimeoutError:
            log.error("%s did not end in %g s: killing it", self._name, STOP_SECONDS)
        after = await self._sweep(tree)
        if self._hearing is not None:
            await asyncio.wait({self._hearing}, timeout=guard.GRACE)
            self._hearing.cancel()
        log.info("%s ended; %d MiB are free again", self._name, before >> 20)
        return Freed(before, after)

    async def _sweep(self, known: Sequence[psutil.Process]) -> int:
        """Kill what the guard could not, which is nothing unless it was killed itself; the memory that is left: none."""
        for _ in range(int(guard.GRACE / POLL_SECONDS)):
            left = [*filter(alive, known), *await asyncio.to_thread(self.tree)]
            if not left:
                return 0
            log.error("%s left processes behind: killing %s", self._name, [process.pid for process in left])
            for process in left:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            await asyncio.sleep(POLL_SECONDS)
        raise EndpointDown(f"{self._name} left {resident(left) >> 20} MiB behind, in processes that cannot be killed")

    async def _hear(self, write_to: Path | None) -> None:
        assert self._process.stdout is not None
        try:
            with write_to.open("ab") if write_to is not None else contextlib.nullcontext(sys.stderr.buffer) as out:
                while line := await _line(self._process.stdout):
                    self._note(line.decode(errors="replace").rstrip())
                    with contextlib.suppress(OSError):  # no room for its log is no reason to stop a server
                        out.write(line)
                        out.flush()
        finally:
            if not self._heard.done():
                self._heard.set_result(None)

    def _note(self, line: str) -> None:
        self._words.append(line)
        if self._awaited and line.startswith(self._awaited) and not self._heard.done():
            self._heard.set_result(line)


def _make(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


async def _line(output: asyncio.StreamReader) -> bytes:
    """One line, empty at the end; what is longer than the limit is cut out."""
    while True:
        try:
            return await output.readline()
        except ValueError:
            continue


def alive(process: psutil.Process) -> bool:
    """Whether it runs; one that has ended and that nobody has waited for does not."""
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def resident(processes: Iterable[psutil.Process]) -> int:
    """Bytes that they hold together. Shared pages count once for each, so it is an upper bound."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total
