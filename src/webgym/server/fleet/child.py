"""A master or a worker as a child process.

The parent writes one line of JSON (a `Job`) to our stdin and keeps it open; we answer with one line of JSON (a `Ready`) on
stdout. When stdin closes, by the parent's wish or by its death, we drain and end. Secrets travel this way and not by
command line or environment, where others could read them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Literal

import uvloop
from pydantic import BaseModel, Field

from webgym import logs
from webgym.errors import WebGymError
from webgym.server.master import MasterSettings, run_master
from webgym.server.process import adopt_orphans
from webgym.server.settings import WorkerSettings
from webgym.server.worker import run_worker

EXPECTED_FAILURE = 2
MORE = 4096  # bytes after the job, which nobody sends


class MasterJob(BaseModel):
    role: Literal["master"] = "master"
    settings: MasterSettings
    port: int


class WorkerJob(BaseModel):
    role: Literal["worker"] = "worker"
    settings: WorkerSettings
    port: int = 0


class Job(BaseModel):
    job: Annotated[MasterJob | WorkerJob, Field(discriminator="role")]


class Ready(BaseModel):
    url: str | None = None
    error: str | None = None


async def run(job: MasterJob | WorkerJob) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Ctrl-C reaches the whole group: the parent decides, and tells us by closing stdin.
        loop.add_signal_handler(number, stop.set if number == signal.SIGTERM else lambda: None)
    _when_closed(sys.stdin.fileno(), stop.set)
    ready: asyncio.Future[str] = loop.create_future()
    ready.add_done_callback(lambda future: _say(Ready(url=future.result())))
    if isinstance(job, MasterJob):
        await run_master(job.settings, stop, job.port, ready)
    else:
        await run_worker(job.settings, stop, job.port, ready)


def _when_closed(handle: int, call: Callable[[], None]) -> None:
    """Call it once, when the other end of a pipe is closed. Watched and not connected: uvloop closes a connected pipe twice,
    and the second time it may be what another thread has opened since."""
    loop = asyncio.get_running_loop()
    os.set_blocking(handle, False)

    def look() -> None:
        with contextlib.suppress(BlockingIOError):
            if not os.read(handle, MORE):
                loop.remove_reader(handle)
                call()

    loop.add_reader(handle, look)


def _say(message: Ready) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.write(message.model_dump_json() + "\n")
        sys.stdout.flush()


def main() -> int:
    job = Job.model_validate_json(sys.stdin.readline()).job
    logs.start(job.settings.serve.log_level)
    logs.hide(job.settings.key)
    logs.hide(job.settings.fleet_key)
    if isinstance(job, WorkerJob):
        adopt_orphans()
    try:
        uvloop.run(run(job))
    except WebGymError as e:
        _say(Ready(error=str(e)))
        return EXPECTED_FAILURE
    return 0


if __name__ == "__main__":
    sys.exit(main())
