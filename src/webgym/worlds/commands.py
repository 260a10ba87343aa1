"""`webgym worlds serve | tasks | show | add`. Writing task files is another stage's business and is handed in."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Annotated, Final, Protocol

from pydantic import Field
from rich.console import Console
from rich.progress import track

from webgym.config import Settings, load
from webgym.errors import ConfigError
from webgym.types import Task
from webgym.worlds import catalogue, tasks
from webgym.worlds.guests import guest
from webgym.worlds.names import host_of, is_host, site_of
from webgym.worlds.server import Guest, WorldServer
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import PORT

Seed = Annotated[int, Field(ge=0, le=999_999_999)]
HOW_TO: Final = """\
A site of your own, beside the generated ones:

    webgym worlds add my-site ./folder                     # files; index.html is the start page
    webgym worlds add my-site http://127.0.0.1:3000        # a development server

Both serve http://my-site.localhost:8090/ with the rest of the offline web. Let the browsers reach it:

    webgym serve --egress.allow '*.localhost:8090'

Tasks for it are lines of a jsonl file whose `website` is that address (docs/worlds.md, "Your own site"). A kind of site that
renders from a seed, with tasks that verify themselves, is one Python file: docs/worlds.md shows a whole one.
"""


class Sink(Protocol):
    def add(self, task: Task) -> None: ...


class WorldSettings(Settings):
    """Serve the offline web."""

    seed: Seed = Field(0, description="Every site follows from it.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = PORT


class SetSettings(Settings):
    """Write the full set of tasks, procedurally generated."""

    out: Path = Field(description="Folder for tasks.parquet, train.jsonl and test.jsonl.")
    seed: Seed = 0
    tasks: Annotated[int, Field(ge=200, le=1_000_000)] = Field(
        catalogue.TRAIN, description="Train tasks, about; the test split scales with them."
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(PORT, description="Where the offline web will be served.")
    workers: Annotated[int, Field(ge=1, le=64)] = Field(os.cpu_count() or 1, description="Processes.")


class ShowSettings(Settings):
    """Show sites or a task."""

    seed: Seed = 0
    task: str = Field("", description="An id: its instruction, rubric, answer and route.")
    sites: Annotated[int, Field(ge=1, le=200)] = Field(2, description="Sites of each kind.")
    port: Annotated[int, Field(ge=1, le=65535)] = PORT


def run_serve(arguments: list[str], guests: dict[str, Guest] | None = None) -> int:
    settings = load(WorldSettings, arguments, command="webgym worlds serve")
    import uvloop

    with suppress(KeyboardInterrupt):
        uvloop.run(_serve(settings, guests or {}))
    return 0


async def _serve(settings: WorldSettings, guests: dict[str, Guest]) -> None:
    async with WorldServer(settings.seed, host=settings.host, port=settings.port, guests=guests) as server:
        example = host_of(settings.seed, KINDS["shop"], 0)
        known = "".join(f"  {server.url(host)}\n" for host in guests)
        sys.stderr.write(f"The offline web of seed {settings.seed} is served, such as\n  {server.url(example)}\n{known}")
        stop = asyncio.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        await stop.wait()


def run_tasks(arguments: list[str], writer: Callable[[Path], AbstractContextManager[Sink]]) -> int:
    """Write the set. `writer` makes a writer of task files by their names."""
    settings = load(SetSettings, arguments, command="webgym worlds tasks")
    began, count = time.monotonic(), 0
    with ExitStack() as stack:
        whole = stack.enter_context(writer(settings.out / "tasks.parquet"))
        lines = {split: stack.enter_context(writer(settings.out / f"{split}.jsonl")) for split in ("train", "test")}
        made = catalogue.generate(settings.seed, settings.tasks, port=settings.port, workers=settings.workers)
        total = settings.tasks + sum(catalogue.TEST.values())
        shown = track(made, "tasks", total, console=Console(stderr=True), transient=True)
        for count, task in enumerate(shown, 1):  # noqa: B007 - the last number is the count
            whole.add(task)
            lines[task.split].add(task)
    seconds = time.monotonic() - began
    sys.stdout.write(f"{count} tasks in {seconds:.0f} s ({count / seconds:.0f} a second) in {settings.out}\n")
    return 0


def run_show(arguments: list[str]) -> int:
    settings = load(ShowSettings, arguments, command="webgym worlds show")
    if settings.task:
        sys.stdout.write(_described(tasks.find(settings.task), settings.port))
        return 0
    for name, kind in KINDS.items():
        sys.stdout.write(f"{name}: {kind.domain} / {kind.subdomain}; tasks: {', '.join(kind.generators)}\n")
        for number in range(settings.sites):
            host = host_of(settings.seed, kind, number)
            site = site_of(settings.seed, host)
            sys.stdout.write(f"  http://{host}:{settings.port}/  {site.brand}, layout {site.style.layout}\n")
    return 0


def _described(task: tasks.WorldTask, port: int) -> str:
    plain = task.task(port=port)
    lines = [plain.instruction, f"  at {plain.website}; {plain.difficulty} facts ({plain.band})"]
    for group in plain.groups:
        lines += [f"  {group.id}. {group.description}", *(f"     - {fact}" for fact in group.facts)]
    return "\n".join([*lines, f"  answer: {task.answer}", *(f"  way: {move}" for move in task.route)]) + "\n"


def run_add(arguments: list[str]) -> int:
    match arguments:
        case [] | ["-h" | "--help"]:
            sys.stdout.write(HOW_TO)
            return 0
        case [name, where, *rest]:
            host = f"{name.removesuffix('.localhost')}.localhost"
            if not is_host(host):
                raise ConfigError(f"{name!r} cannot be a host name: use small letters, digits and -")
            return run_serve(rest, {host: guest(where)})
        case _:
            raise ConfigError("use `webgym worlds add NAME FOLDER` or `webgym worlds add NAME http://…`")
