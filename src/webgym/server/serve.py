"""`webgym serve`: a local fleet, its address and key, until a signal says stop.

The first SIGTERM or Ctrl-C drains: no new sessions, those in use get time to end, exit status 0. The second one ends the
children at once; their leftovers are swept, and the exit status says that something was cut short.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal

import psutil
import uvloop
from rich.console import Console
from rich.panel import Panel

from webgym import logs
from webgym.server.fleet.local import running_fleet
from webgym.server.folders import sweep
from webgym.server.settings import KEY_VARIABLE, ServeSettings, api_key
from webgym.server.worker import DRAIN_SECONDS

EXIT_CUT_SHORT = 1


class _Stop:
    """Set by the first signal; the second is the end of patience."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.cut_short = False

    def signalled(self) -> None:
        if not self.asked.is_set():
            self.asked.set()
            return
        self.cut_short = True
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                child.kill()


async def _serve(settings: ServeSettings) -> int:
    key, generated = api_key(settings.host)
    logs.hide(key)
    stop = _Stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.signalled)
    console = Console()
    async with running_fleet(settings, key) as fleet:
        shown_key = key if generated else f"as set in {KEY_VARIABLE}"
        size = f"{settings.sessions} in {settings.browser_count} browsers, {settings.worker_count} workers"
        console.print(
            Panel.fit(
                f"[bold]address[/]  {fleet.url}\n[bold]key[/]      {shown_key}\n"
                f"[bold]sessions[/] {size}\n[bold]docs[/]     {fleet.url}/docs",
                title="WebGym rollout server",
                subtitle="Ctrl-C drains and stops",
            ),
            soft_wrap=True,
        )
        await stop.asked.wait()
        console.print(f"draining: no new sessions; those in use get {DRAIN_SECONDS:g} seconds; once more stops at once")
    if stop.cut_short:
        await asyncio.to_thread(sweep)
        return EXIT_CUT_SHORT
    return 0


def run(settings: ServeSettings) -> int:
    logs.start(settings.log_level)
    return uvloop.run(_serve(settings))
