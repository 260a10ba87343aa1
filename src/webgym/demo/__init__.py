"""`webgym demo`: a tiny Qwen3-VL practises finding its way on websites, with nothing from outside.

    demonstrations ─▶ warm-up ─▶ [ rollout ─▶ verdicts ─▶ replay ─▶ training ─▶ reload ] × 3 ─▶ before and after

Real browsers, real screenshots, the offline web's own verdicts and the loop that trains large models, in a few minutes on
two cores. The model has a million weights, and what it learns is small: opening the right page by a menu. docs/proof.md is
the same in earnest, and says how far it has come. All parts are kept, so a demo that was stopped goes on where it was.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from importlib import resources, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import Field
from rich.console import Console
from rich.table import Table

from webgym import logs
from webgym.config import Settings
from webgym.errors import ConfigError

if TYPE_CHECKING:
    from webgym.demonstrating.settings import WarmUpSettings
    from webgym.loop.running import LoopReport
    from webgym.loop.settings import LoopSettings


def in_a_terminal() -> bool:
    """Whether somebody is there; `--help` shows the name."""
    return sys.stdout.isatty() and sys.stdin.isatty()


class DemoSettings(Settings):
    """The whole training loop with a tiny model on the offline web, before your eyes."""

    folder: Path = Field(Path("runs/demo"), description="keeps everything; a demo that was stopped goes on from it")
    iterations: int | None = Field(None, ge=1, description="rounds of practice; three if unset")
    stay: bool = Field(
        default_factory=in_a_terminal,
        description="at the end, keep the viewer open until Ctrl-C",
    )


def run(settings: DemoSettings) -> int:
    if util.find_spec("torch") is None:
        raise ConfigError("the demo trains a model, which needs the train extra: pip install 'open-webgym[train]'")
    import uvloop

    from webgym.demonstrating.warming import prepare
    from webgym.loop.commands import draw_curve
    from webgym.loop.running import run as run_loop

    logs.start("ERROR")
    console = Console()
    port = _port_of(settings.folder)
    console.print("[bold]1. Demonstrations[/]: a guide opens pages by their menus on websites of twelve kinds.")
    warm = uvloop.run(prepare(_warm_up(settings, port), console))
    console.print("[bold]2. Practice[/]: the model plays on websites of twelve other kinds and learns from what succeeds.")
    report = run_loop(_loop(settings, port, warm.checkpoint), console)
    if not report.finished:
        console.print("Stopped. The same command goes on from here.")
        return 3
    console.print(_before_and_after(report))
    console.print(f"Learning curve  {draw_curve(report.run)[1]}", highlight=False)
    console.print(f"Every episode   webgym monitor {report.run / 'test'}", highlight=False)
    if settings.stay:
        asyncio.run(_viewer(report.run / "test"))
    return 0


def _settings_of(name: str) -> dict[str, Any]:
    """One of the demo's files. Its fields are checked where they are used."""
    read: dict[str, Any] = yaml.safe_load(resources.files("webgym.demo").joinpath(name).read_text())
    return read


def _warm_up(settings: DemoSettings, port: int) -> WarmUpSettings:
    from webgym.demonstrating.settings import WarmUpSettings

    given = _settings_of("warm-up.yaml") | {
        "folder": settings.folder,
        "worlds": {"seed": 0, "port": port},
        "log_level": "ERROR",
    }
    return WarmUpSettings.model_validate(given)


def _loop(settings: DemoSettings, port: int, model: Path) -> LoopSettings:
    from webgym.loop.settings import LoopSettings

    given = _settings_of("train.yaml") | {
        "run": settings.folder / "loop",
        "tasks": settings.folder / "tasks.parquet",
        "checkpoint": model,
        "worlds": {"seed": 0, "port": port},
        "log_level": "ERROR",
    }
    if settings.iterations is not None:
        given["iterations"] = settings.iterations
    return LoopSettings.model_validate(given)


def _port_of(folder: Path) -> int:
    """A port for the offline web. Addresses of tasks name it, so a demo that goes on keeps the one it began with."""
    from webgym.tasks.files import Staged

    file = folder / "port"
    if file.exists():
        return _read_port(file)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with Staged(file) as staged:
        staged.write(f"{port}\n".encode())
    return port


def _read_port(file: Path) -> int:
    try:
        port = int(file.read_text())
        if not 0 < port < 1 << 16:
            raise ValueError(port)
    except (OSError, ValueError) as e:
        raise ConfigError(f"{file} holds no port: remove {file.parent}, and the demo begins anew") from e
    return port


def _before_and_after(report: LoopReport) -> Table:
    table = Table(title="Success on websites that were never trained on", title_justify="left")
    for name in ("", "success", "95 % interval", "episodes"):
        table.add_column(name, justify="left" if not name else "right")
    for name, rate in (("before practice", report.before), (f"after {report.iterations} rounds", report.after)):
        if rate is not None and rate.share is not None:
            low, high = rate.interval
            table.add_row(name, f"{rate.share:.1%}", f"{low:.1%} to {high:.1%}", str(rate.of))
    return table


async def _viewer(folder: Path) -> None:
    from webgym.store import Run
    from webgym.ui.commands import show

    with Run.open(folder, read_only=True) as stored:
        await show(stored, 0)
