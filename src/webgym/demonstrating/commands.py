"""`webgym warm-up`."""

from __future__ import annotations

from rich.console import Console

from webgym import logs
from webgym.demonstrating.settings import WarmUpSettings
from webgym.demonstrating.warming import prepare


def run_warm_up(settings: WarmUpSettings) -> int:
    """The command."""
    import uvloop

    logs.start(settings.log_level)
    console = Console(stderr=True)
    result = uvloop.run(prepare(settings, console))
    console.print(f"tasks  {settings.tasks_file}\nmodel  {result.checkpoint}", highlight=False)
    return 0
