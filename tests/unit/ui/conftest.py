"""A run with a few episodes, and its monitor on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import raw
from tests.unit.ui.playing import JPEG, Page, Play, make_task
from webgym.store import Run
from webgym.watching import watching

Ask = Callable[..., Coroutine[Any, Any, raw.Answer]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run") as made:
        yield made


@pytest.fixture
def play(run: Run) -> Play:
    shot = run.images.put(JPEG + b"a page", "jpeg")
    return Play(run, [make_task(n) for n in range(12)], pages=[Page("http://shop.localhost/", "Shop", shot)])


@pytest.fixture
async def address(play: Play) -> AsyncIterator[str]:
    async with watching(play.events, play.run, agent="stand-in", task=play.tasks.get) as address:
        yield address


@pytest.fixture
def ask(address: str) -> Ask:
    """Send bytes as they are: `await ask("GET", "/images/..%2f")`."""

    async def send(method: str, path: str, *headers: str, host: str = "127.0.0.1", within: float = 5.0) -> raw.Answer:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "Connection: close", "", ""]
        return await asyncio.to_thread(raw.send, address, "\r\n".join(lines).encode("latin-1"), within=within)

    return send
