"""`webgym demo`: the rollout server and a scripted agent on a bundled page, with nothing from outside.

The agent is scripted, but everything else is what a model would meet: it asks for a leased browser, sees screenshots with
numbered marks, acts by mark or by pixel, and answers. The answer is checked against the page's own price list.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from aiohttp import web
from pydantic import Field
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from webgym import logs
from webgym import types as t
from webgym.config import Settings
from webgym.errors import WebGymError
from webgym.rollout.client import Client, Session
from webgym.server.egress import EgressPolicy
from webgym.server.fleet.local import running_fleet
from webgym.server.settings import ServeSettings

TASK = "Find the cheapest tent in the shop, put it in the cart, and say what the cart costs."
CHEAPEST_TENT = "€ 189"
LOOK = t.Look(marks=True, text=True)


class DemoSettings(Settings):
    """The rollout server and a scripted agent on a bundled page."""

    keep: Path = Field(Path("demo"), description="folder for the screenshots")
    sandbox: bool = ServeSettings.model_fields["sandbox"]  # type: ignore[assignment]


@dataclass(frozen=True)
class Move:
    """One step of the script: why, and how to choose the action from what is on screen."""

    why: str
    choose: Callable[[t.Observation], t.Action]


def marked(seen: t.Observation, role: str, name: str) -> int:
    """The number on the element a person would call by that name."""
    for mark in seen.marks or ():
        if mark.role == role and name in mark.name:
            return mark.id
    raise WebGymError(f"the demo's page shows no {role} called {name!r}")


def centre(seen: t.Observation, role: str, name: str) -> tuple[float, float]:
    """Its pixel, for agents that answer in coordinates."""
    box = next(mark.box for mark in seen.marks or () if mark.id == marked(seen, role, name))
    return box.x + box.width / 2, box.y + box.height / 2


def _click_pixel(role: str, name: str) -> Callable[[t.Observation], t.Action]:
    def choose(seen: t.Observation) -> t.Action:
        x, y = centre(seen, role, name)
        return t.Click(x=x, y=y)

    return choose


SCRIPT = (
    Move(
        "search for tents",
        lambda seen: t.Type(element=marked(seen, "textbox", "Search"), text="tent", enter=True),
    ),
    Move(
        "cheapest first",
        lambda seen: t.Select(element=marked(seen, "combobox", "Sort"), options=("Price: low to high",)),
    ),
    Move("open the first one", _click_pixel("link", "€ 189")),
    Move("put it in the cart", lambda seen: t.Click(element=marked(seen, "button", "Add to cart"))),
    Move("look at the cart", _click_pixel("link", "Cart (1)")),
    Move("answer", lambda seen: t.Answer(text=f"The cart costs {seen.title.removeprefix('Cart: ')}.")),
)


@asynccontextmanager
async def bundled_shop() -> AsyncIterator[int]:
    """The shop on a free port of loopback, as `shop.localhost`."""
    page = resources.files("webgym.demo").joinpath("shop.html").read_bytes()

    async def serve(_: web.Request) -> web.Response:
        return web.Response(body=page, content_type="text/html", charset="utf-8")

    app = web.Application()
    app.router.add_get("/", serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _episode(session: Session, keep: Path, table: Table, say: Callable[[str], None]) -> str:
    seen, answer = session.observation, ""
    _save(seen, keep / "0-start.jpg")
    for n, move in enumerate(SCRIPT, 1):
        say(move.why)
        action = move.choose(seen)
        began = time.monotonic()
        seen = await session.step(action, LOOK)
        took = f"{(time.monotonic() - began) * 1000:.0f} ms"
        _save(seen, keep / f"{n}-{action.kind}.jpg")
        changed = "no" if seen.unchanged else "yes"
        table.add_row(str(n), move.why, _in_words(action), seen.title, changed, took)
        if isinstance(action, t.Answer):
            answer = action.text
    return answer


def _in_words(action: t.Action) -> str:
    fields = action.model_dump(exclude={"kind"}, exclude_defaults=True)
    said = ", ".join(
        f"{name}={value:.0f}" if isinstance(value, float) else f"{name}={value}" for name, value in fields.items()
    )
    return f"{action.kind}({said})"


def _save(seen: t.Observation, path: Path) -> None:
    if seen.screenshot is not None:
        path.write_bytes(seen.screenshot.data)


async def _demo(settings: DemoSettings) -> int:
    console = Console()
    settings.keep.mkdir(parents=True, exist_ok=True)
    table = Table(title=f"Task: {TASK}", title_justify="left")
    for column in ("#", "why", "action", "page", "changed", "time"):
        table.add_column(column, no_wrap=column in ("#", "changed", "time"), overflow="fold")
    key = secrets.token_urlsafe(24)
    spinner = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
    )
    with spinner as progress:
        shown = progress.add_task("starting the rollout server")
        async with bundled_shop() as port:
            serve = ServeSettings(
                port=0,
                sessions=2,
                browsers=1,
                sandbox=settings.sandbox,
                egress=EgressPolicy(allow=(f"shop.localhost:{port}",)),
            )
            async with running_fleet(serve, key) as fleet, Client(fleet.url, key=key) as client:
                progress.update(shown, description="opening the shop")
                session = await client.session(url=f"http://shop.localhost:{port}/", look=LOOK)
                async with session:
                    answer = await _episode(
                        session, settings.keep, table, lambda why: progress.update(shown, description=why)
                    )
    console.print(table)
    right = CHEAPEST_TENT in answer
    console.print(f"Answer: {answer}  [bold]{'correct' if right else 'WRONG'}[/]")
    console.print(f"Screenshots, as the agent saw them: {settings.keep}/")
    return 0 if right else 1


def run(settings: DemoSettings) -> int:
    logs.start("ERROR")
    return asyncio.run(_demo(settings))
