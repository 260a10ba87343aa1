"""`webgym serve`: a local fleet, its address and key, until a signal says stop."""

from __future__ import annotations

import asyncio
import signal

import uvloop
from rich.console import Console
from rich.panel import Panel

from webgym import logs
from webgym.server.fleet.local import running_fleet
from webgym.server.settings import KEY_VARIABLE, ServeSettings, api_key


async def _serve(settings: ServeSettings) -> None:
    key, generated = api_key(settings.host)
    logs.hide(key)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
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
        await stop.wait()
        console.print("draining: no new sessions; those in use get ten seconds")


def run(settings: ServeSettings) -> int:
    logs.start()
    uvloop.run(_serve(settings))
    return 0
