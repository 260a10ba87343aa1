"""The monitor as a part of another program: it listens on loopback while the block runs.

    async with monitoring(board, archive) as address:
        ...

From another machine: `ssh -L 8080:127.0.0.1:PORT host`. There is no way to listen elsewhere, so there is no key to lose.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from typing import Final

import uvicorn

from webgym.errors import ConfigError, StoreError
from webgym.ui.app import Monitor
from webgym.ui.archive import Archive
from webgym.ui.deltas import SAMPLE_EVERY
from webgym.ui.view import Board

log = logging.getLogger(__name__)

START_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2
READ_SECONDS: Final = 0.2  # of every second, for the files of a folder that is watched


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
        yield


@contextlib.asynccontextmanager
async def monitoring(board: Board, archive: Archive, *, port: int = 0, read: bool = False) -> AsyncIterator[str]:
    """Serve the monitor; yields its address. `read` keeps the archive's index up to date, for a board made of it."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as e:
        listening.close()
        raise ConfigError(f"the monitor cannot listen on port {port}: {e.strerror}; choose another") from e
    monitor = Monitor(board, archive)
    config = uvicorn.Config(
        monitor.app,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=256,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]), name="monitor")
    keeping = [asyncio.create_task(_sampling(monitor), name="monitor samples")]
    if read:
        keeping.append(asyncio.create_task(_reading(archive), name="monitor index"))
    try:
        async with asyncio.timeout(START_SECONDS):
            while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has nothing to wait for
                await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        # Not a task group: what goes wrong while somebody watches must not end, or rename, what goes wrong in the run.
        monitor.closing = server.should_exit = True
        for one in keeping:
            one.cancel()
        await asyncio.wait({serving, *keeping}, timeout=CLOSE_SECONDS + 1)
        listening.close()


async def _sampling(monitor: Monitor) -> None:
    while True:
        monitor.deltas.sample()
        await asyncio.sleep(SAMPLE_EVERY)


async def _reading(archive: Archive) -> None:
    while True:
        try:
            await asyncio.to_thread(archive.refresh, READ_SECONDS)
        except StoreError as e:
            log.warning("the run's folder cannot be read just now: %s", e)
        await asyncio.sleep(1.0 - READ_SECONDS)
