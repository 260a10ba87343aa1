"""Programs that a measurement runs beside itself: the website, and the rollout server.

Invariant: when a block ends, its program has ended too. What it wrote to stderr is shown only if it did not start.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

START_SECONDS = 60.0
STOP_SECONDS = 30.0
REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Child:
    pid: int
    url: str
    key: str = ""


@asynccontextmanager
async def website() -> AsyncIterator[Child]:
    """The test site in its own process, so that its processor time is nobody's."""
    async with _child([sys.executable, "-m", "tests.site"], {}) as child:
        yield child


@asynccontextmanager
async def module(name: str, *arguments: str) -> AsyncIterator[Child]:
    """A module of this repository that prints its address when it is ready."""
    async with _child([sys.executable, "-m", name, *arguments], {}) as child:
        yield child


@asynccontextmanager
async def server(site: str, sessions: int, *, low_memory: bool = False) -> AsyncIterator[Child]:
    """`webgym serve` as a user starts it, allowed to reach the website and nothing else."""
    key = secrets.token_urlsafe(24)
    allowed = f'["*.localhost:{urlsplit(site).port}"]'
    command = [str(Path(sys.executable).with_name("webgym")), "serve", "--port", "0", "--sessions", str(sessions)]
    command += ["--egress.allow", allowed]
    if os.geteuid() == 0:
        command.append("--no-sandbox")
    if low_memory:
        command.append("--low-memory")
    async with _child(command, {"WEBGYM_API_KEY": key}) as child:
        yield Child(child.pid, child.url, key)


@asynccontextmanager
async def _child(command: Sequence[str], environment: dict[str, str]) -> AsyncIterator[Child]:
    """Run a program that prints its address; stop it as Ctrl-C would, and kill its group if it will not."""
    if (running := asyncio.current_task()) is not None:  # a measurement that is told to end must end its programs too
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=log,
            env={**os.environ, **environment},
            cwd=REPOSITORY,
            start_new_session=True,
        )
        try:
            url = await _address(process)
            if url is None:
                log.seek(0)
                raise RuntimeError(f"{' '.join(command)} printed no address, but this:\n{log.read().decode()}")
            assert process.stdout is not None
            drain = asyncio.create_task(process.stdout.read())
            yield Child(process.pid, url)
            drain.cancel()
        finally:
            await _stop(process)


async def _address(process: Process) -> str | None:
    assert process.stdout is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            async for line in process.stdout:
                if found := re.search(r"http://[A-Za-z0-9.-]+:\d+", line.decode()):
                    return found.group()
    return None


async def _stop(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
