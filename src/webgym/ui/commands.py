"""`webgym monitor RUN`: a run's folder in the browser, while it grows or when it is done."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from pydantic_settings import CliPositionalArg

from webgym.config import Settings, load

if TYPE_CHECKING:
    from webgym.store import Run


class MonitorSettings(Settings):
    """Show a run's folder in the browser. It is only read, and served to this machine alone."""

    run: CliPositionalArg[Path] = Field(description="The run's folder.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(0, description="Port on 127.0.0.1; 0 takes a free one.")


def run_monitor(arguments: list[str]) -> int:
    settings = load(MonitorSettings, arguments, command="webgym monitor")
    from webgym.store import Run

    with Run.open(settings.run, read_only=True) as run:
        asyncio.run(show(run, settings.port))
    return 0


async def show(run: Run, port: int) -> None:
    """Serve a run's viewer until Ctrl-C."""
    from webgym.ui.archive import Archive
    from webgym.ui.folder import FolderBoard
    from webgym.ui.serving import monitoring

    archive = Archive(run)
    async with monitoring(FolderBoard(archive), archive, port=port, read=True) as address:
        sys.stderr.write(f"{run.info.name} is shown at {address}\nStop with Ctrl-C.\n")
        stop = asyncio.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        await stop.wait()
