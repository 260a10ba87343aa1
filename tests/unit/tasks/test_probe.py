"""Probing websites: what the site did is recorded, what our side did is not, and samplers are told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from webgym.errors import BrowserGone, Unreachable
from webgym.tasks.files import write_tasks
from webgym.tasks.health import Health, Visited, read_health, write_health
from webgym.tasks.probe import ProbeSettings, judge, probe, run_probe
from webgym.types import FactGroup, Observation, ScrollPosition, Settled, Task

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SITES = [f"https://www.site{n}.com" for n in range(30)]


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:
    """A command starts logging for its process; here that is the tests' own."""
    yield
    logging.basicConfig(handlers=[], force=True)


def seen(url: str, **changes: Any) -> Observation:
    told = {"screenshot": None, "unchanged": False, "url": url, "title": "Home", "status": 200, "tabs": ()}
    told |= {"scroll": ScrollPosition(x=0, y=0, width=1, height=1), "settled": Settled(ms=1)}
    return Observation(**told | changes)


@pytest.mark.parametrize(
    ("observation", "state"),
    [
        (seen("https://shop.com/"), "reachable"),
        (seen("http://www.shop.com/start?x=1", status=304), "reachable"),
        (seen("https://parked.net/"), "redirected"),
        (seen("https://shop.com/", navigation_error="net::ERR_NAME_NOT_RESOLVED"), "dead"),
        (seen("https://shop.com/", status=404), "dead"),
        (seen("https://shop.com/", status=503), "dead"),
        (seen("about:blank", status=None), "dead"),
        (seen("https://shop.com/", status=403), "blocked"),
        (seen("https://shop.com/", status=429), "blocked"),
        (seen("https://shop.com/", status=503, title="Just a moment..."), "blocked"),
        (seen("https://challenge.net/", title="Are you a robot?"), "blocked"),
        (seen("https://shop.com/", status=451), "blocked"),
        (seen("https://shop.com/", status=503, title="Zugriff verweigert"), "blocked"),
        (seen("https://shop.com/", title="Один момент…"), "blocked"),
        (seen("https://shop.com/", title="Shop", text="Please verify that you are a human."), "blocked"),
        (seen("https://geo.captcha-delivery.com/captcha/", title="shop.com"), "blocked"),
        (seen("https://shop.com/", title="Captcha: what it is and how to solve it"), "reachable"),
        (seen("https://shop.com/", title="Airport security check queues today"), "reachable"),
        (seen("https://shop.com/", status=404, title="Access denied"), "dead"),
    ],
)
def test_how_a_website_was_found(observation: Observation, state: str) -> None:
    assert judge("https://www.shop.com", observation, NOON).state == state


async def test_a_probe_is_resumable_and_bounded_and_blames_no_site_for_us(tmp_path: Path) -> None:
    out = tmp_path / "health.jsonl"
    visits: list[str] = []
    inside = most = 0

    async def visit(url: str) -> Observation:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1
        visits.append(url)
        if url == SITES[3]:
            raise BrowserGone("the browser died")
        if url == SITES[4]:
            return seen(url, navigation_error="net::ERR_CONNECTION_REFUSED")
        return seen(url)

    settings = ProbeSettings(tasks=tmp_path / "none", out=out, concurrency=4)
    out.write_bytes(b'{"website": "https://site0.com", "state": "rea')
    first = await probe(SITES, settings, visit, lambda: NOON)
    assert most <= 4
    assert first.failed == 1
    assert visits.count(SITES[4]) == 2
    assert len(read_health(out)) == 29
    assert read_health(out)["site4.com"].state == "dead"
    visits.clear()
    await probe(SITES, settings, visit, lambda: NOON + timedelta(days=1))
    assert visits == [SITES[3]]
    visits.clear()
    await probe(SITES, settings, visit, lambda: NOON + timedelta(days=9))
    assert len(set(visits)) == 30
    lines = out.read_text().splitlines()
    assert len(lines) == 29
    assert lines == sorted(lines, key=lambda line: line.split("www.")[1])


async def test_a_cancelled_probe_keeps_what_it_saw(tmp_path: Path) -> None:
    count = 0

    async def visit(url: str) -> Observation:
        nonlocal count
        count += 1
        if count > 10:
            await asyncio.sleep(60)
        return seen(url)

    settings = ProbeSettings(tasks=tmp_path, out=tmp_path / "h.jsonl", concurrency=2)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(probe(SITES, settings, visit, lambda: NOON), 0.5)
    assert len(read_health(tmp_path / "h.jsonl")) == 10


async def test_a_dead_server_ends_the_probe_and_records_nothing(tmp_path: Path) -> None:
    async def visit(url: str) -> Observation:
        raise Unreachable("no server")

    settings = ProbeSettings(tasks=tmp_path, out=tmp_path / "h.jsonl", give_up=5)
    done = await probe(SITES, settings, visit)
    assert done.failed == 5
    assert read_health(tmp_path / "h.jsonl") == {}


def test_the_command_visits_each_website_of_a_file_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"source": "s", "instruction": "Do it.", "domain": "Misc.", "subdomain": "News"}
    group = FactGroup(id=1, description="x", facts=("It is.",))
    websites = ["https://a.com", "https://www.a.com", "http://b.com", ""]
    write_tasks(tmp_path / "t.parquet", [Task(id=f"t{w}", website=w, groups=(group,), **told) for w in websites])
    visits: list[str] = []

    @asynccontextmanager
    async def visiting(settings: ProbeSettings) -> Any:
        async def visit(url: str) -> Observation:
            visits.append(url)
            return seen(url)

        yield visit

    assert run_probe(["--tasks", str(tmp_path / "t.parquet"), "--out", str(tmp_path / "h.jsonl")], visiting) == 0
    assert sorted(visits) == ["http://b.com", "https://a.com"]
    assert "2 reachable" in capsys.readouterr().out


def test_a_probe_without_a_server_does_not_say_that_nothing_was_due(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = FactGroup(id=1, description="x", facts=("It is.",))
    told = {"source": "s", "instruction": "Do it.", "domain": "Misc.", "subdomain": "News"}
    write_tasks(tmp_path / "t.parquet", [Task(id=w, website=w, groups=(group,), **told) for w in SITES])

    @asynccontextmanager
    async def visiting(settings: ProbeSettings) -> Any:
        async def visit(url: str) -> Observation:
            raise Unreachable("no server")

        yield visit

    asked = ["--tasks", str(tmp_path / "t.parquet"), "--out", str(tmp_path / "h.jsonl"), "--give-up", "2"]
    assert run_probe(asked, visiting) == 1
    out = capsys.readouterr().out
    assert "none was visited" in out
    assert "is a server at http://127.0.0.1:7860?" in out


def test_samplers_are_told_what_to_leave_out(tmp_path: Path) -> None:
    states = {"up.com": "reachable", "gone.com": "dead", "wall.com": "blocked", "moved.com": "redirected"}
    write_health(tmp_path / "h", [Visited(website=f"https://{n}", state=s, at=NOON) for n, s in states.items()])  # type: ignore[arg-type]
    visits = read_health(tmp_path / "h")
    soon = Health(visits, clock=lambda: NOON + timedelta(hours=1))
    late = Health(visits, clock=lambda: NOON + timedelta(hours=13))
    assert [soon.usable(f"http://www.{name}") for name in (*states, "new.com")] == [True, False, False, True, True]
    assert late.usable("https://wall.com")
    assert not late.usable("https://gone.com")
    assert not Health(visits, refuse=["redirected"]).usable("https://moved.com")
