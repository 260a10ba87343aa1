"""Work side by side, taken in order; and what a build takes in."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from webgym.errors import ConfigError
from webgym.tasks.filters import SeedRules
from webgym.tasks.flow import in_order
from webgym.tasks.prepare import SourceFile, prepare, seeds_in


async def test_results_come_in_order_and_few_are_under_way() -> None:
    under_way = most = 0
    taken: list[int] = []

    async def work(n: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(random.random() / 200)
        under_way -= 1
        return n

    def take(n: int) -> bool:
        taken.append(n)
        return True

    await in_order(range(200), work, take, width=7)
    assert taken == list(range(200))
    assert 1 < most <= 7


async def test_whoever_takes_may_stop_and_what_is_under_way_is_cancelled() -> None:
    started: list[int] = []
    cancelled: list[int] = []

    async def work(n: int) -> int:
        started.append(n)
        try:
            await asyncio.sleep(0 if n < 3 else 60)
        except asyncio.CancelledError:
            cancelled.append(n)
            raise
        return n

    await asyncio.wait_for(in_order(range(100), work, lambda n: n < 2, width=5), 5)
    assert max(started) <= 7
    assert set(cancelled) == set(started) - {0, 1, 2}


async def test_a_bug_is_loud_and_cancels_the_rest() -> None:
    async def work(n: int) -> int:
        if n == 3:
            raise ZeroDivisionError
        await asyncio.sleep(60 if n > 3 else 0)
        return n

    with pytest.RaisesGroup(ZeroDivisionError):
        await asyncio.wait_for(in_order(range(100), work, lambda _: True, width=5), 5)


def test_sources_are_screened_and_freed_of_duplicates_in_their_order(tmp_path: Path) -> None:
    rows = [
        {"web_name": "x", "id": str(n), "web": "https://x.com", "ques": f"Find the price of item {n}."} for n in range(9)
    ]
    rows += [rows[0] | {"id": "again"}, rows[0] | {"ques": "Short"}, {"web": "https://x.com"}]
    file = tmp_path / "w.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    sources = [SourceFile(name="webvoyager", path=str(file))]
    found = prepare(sources, SeedRules(), tmp_path / "seeds.jsonl")
    assert (found.count, found.intake.broken, found.refused["too short"]) == (9, 2, 1)
    assert [seed.line for seed in seeds_in(found.path)] == list(range(1, 10))
    limited = prepare([SourceFile(name="webvoyager", path=str(file), limit=4)], SeedRules(), tmp_path / "few.jsonl")
    assert limited.count == 4
    with pytest.raises(ConfigError, match="no source"):
        prepare([SourceFile(name="nowhere", path=str(file))], SeedRules(), tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_confidential_sources_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    row = {
        "task_id": "g1",
        "Level": 1,
        "Final answer": "x",
        "id": "GAIA--1",
        "web": "https://x.com",
        "ques": "A gated question?",
    }
    file = tmp_path / "g.jsonl"
    file.write_text(json.dumps(row) + "\n")
    sources = [SourceFile(name="gaia-web", path=str(file))]
    found = prepare(sources, SeedRules(), tmp_path / "seeds.jsonl")
    assert (found.count, found.confidential) == (0, 1)
    assert "gated" not in (tmp_path / "seeds.jsonl").read_text()
    assert prepare(sources, SeedRules(), tmp_path / "seeds.jsonl", confidential=True).count == 1
