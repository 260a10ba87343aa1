"""The whole pipeline as a real process against a model that misbehaves: nothing lost, doubled, leaked or paid for twice."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.standin.server import MISBEHAVING, Faults, StandIn
from webgym.errors import ConfigError, LeakageError
from webgym.tasks.build import finish, run_build
from webgym.tasks.files import TaskFile, write_tasks
from webgym.tasks.filters import SeedRules
from webgym.tasks.prepare import SourceFile, prepare, seeds_in
from webgym.tasks.split import Entry, SplitSettings
from webgym.types import FactGroup, Task
from webgym.worlds import catalogue as worlds
from webgym.worlds.tasks import find

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "tasks"
SECRET = "sk-canary-fedcba9876543210"
RUN = "import sys; from webgym.tasks.build import run_build; sys.exit(run_build(sys.argv[1:]))"
CONCURRENCY = 24
TRIES = 6  # the default: what one run may spend on one question

THINGS = [
    "a tent",
    "a red kettle",
    "the opening hours",
    "a job in Leeds",
    "a train to Basel",
    "the newest album",
    "a bread recipe",
]
ENDS = [
    "and its price",
    "under 40 pounds",
    "with the best rating",
    "that ships today",
    "and the year it began",
    "for two people",
]


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:
    """A command starts logging for its process; here that is the tests' own."""
    yield
    logging.basicConfig(handlers=[], force=True)


def made_up(path: Path, count: int = 200) -> Path:
    """Seeds in the record of WebVoyager, on 70 websites."""
    rows = [
        {"web_name": f"Site {n % 70}", "id": f"s--{n}", "web": f"https://www.site{n % 70}.com/",
         "ques": f"Find {THINGS[n % 7]} {ENDS[n % 6]} in part {n} of the catalogue."}
        for n in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def config(folder: Path, server: StandIn, sources: list[dict[str, Any]], name: str = "a", **changes: Any) -> Path:
    endpoint = {
        "url": server.url,
        "model": "m",
        "concurrency": CONCURRENCY,
        "timeout": 1.5,
        "backoff": 0.01,
        "max_backoff": 0.05,
    }
    endpoint |= {"prices": {"m": {"input": 1.0, "output": 4.0}}, "sampling": {"max_tokens": 800}}
    endpoint |= changes.pop("endpoint", {})
    values = {"sources": sources, "out": str(folder / f"{name}.parquet"), "work": str(folder / name), "endpoint": endpoint}
    values |= {"split": {"test": 12, "force": sorted({source["name"] for source in sources})}} | changes
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


async def start(path: Path, *options: str, key: str = "") -> Process:
    environment = {"CANARY_KEY": key, "PATH": "/usr/bin:/bin"}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", RUN, "--config", str(path), *options, stdout=PIPE, stderr=PIPE, env=environment
    )


async def run(path: Path, *options: str, key: str = "", code: int = 0) -> str:
    process = await start(path, *options, key=key)
    out, err = await asyncio.wait_for(process.communicate(), 100)
    said = (out + err).decode()
    assert process.returncode == code, said
    return said


async def stop_after(path: Path, server: StandIn, requests: int, how: signal.Signals) -> int:
    """Run until so many requests have come, then send a signal; the exit status."""
    process = await start(path)
    goal = len(server.arrivals) + requests
    while len(server.arrivals) < goal and process.returncode is None:  # noqa: ASYNC110 - the process must be watched too
        await asyncio.sleep(0.005)
    if process.returncode is None:
        process.send_signal(how)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert b"Traceback" not in err, (out + err).decode()
    return process.returncode or 0


def tasks_in(path: Path) -> list[Task]:
    with TaskFile.open(path) as file:
        return list(file)


def accounted(folder: Path, name: str = "a") -> tuple[int, int, int]:
    """Seeds, tasks of their own, quarantined seeds; fails if any seed ended in no way, or in two."""
    seeds = [seed.id for seed in seeds_in(folder / name / "seeds.jsonl")]
    tasks = tasks_in(folder / f"{name}.parquet")
    lines = [json.loads(line) for line in (folder / name / "quarantine.jsonl").read_text().splitlines()]
    originals = [task.id for task in tasks if task.parent_id is None]
    held = [line["id"] for line in lines if line["stage"] != "child"]
    assert max(Counter(task.id for task in tasks).values()) == 1
    assert not set(originals) & set(held)
    assert all(line["reason"] for line in lines)
    ids = set(originals)
    assert all(task.parent_id in ids for task in tasks if task.parent_id is not None and task.split == "test")
    return len(seeds), len(originals), len(held)


def everything_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def paid_twice(server: StandIn) -> int:
    return server.answered.total() - len(server.answered)


def webvoyager(folder: Path, count: int = 200) -> list[dict[str, Any]]:
    return [{"name": "webvoyager", "path": str(made_up(folder / "seeds.jsonl", count))}]


async def test_a_misbehaving_model_loses_and_doubles_nothing_and_kills_change_no_byte(tmp_path: Path) -> None:
    sources = webvoyager(tmp_path)
    async with StandIn(faults=MISBEHAVING, slow_seconds=3, latency=0.002, retry_after="0.02") as server:
        await run(config(tmp_path, server, sources, split={"test": 0, "force": ["WebVoyager"]}))
        seeds, originals, held = accounted(tmp_path)
        assert seeds == originals + held == 200
        assert held > 0
        assert paid_twice(server) == 0
        assert max(server.tries.values()) <= TRIES
        assert server.most_in_flight <= CONCURRENCY
        assert any(task.parent_id for task in tasks_in(tmp_path / "a.parquet"))
    async with StandIn(faults=MISBEHAVING, slow_seconds=3, latency=0.002, retry_after="0.02") as server:
        second = config(tmp_path, server, sources, "b", split={"test": 0, "force": ["WebVoyager"]})
        for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            status = await stop_after(second, server, random.randint(20, 50), how)  # three times: something is left
            assert status == (-9 if how == signal.SIGKILL else 130)
            assert not (tmp_path / "b.parquet").exists()
        await run(second)
        assert paid_twice(server) <= 3 * CONCURRENCY
    assert (tmp_path / "b.parquet").read_bytes() == (tmp_path / "a.parquet").read_bytes()
    assert (tmp_path / "b" / "quarantine.jsonl").read_bytes() == (tmp_path / "a" / "quarantine.jsonl").read_bytes()
    assert [path.name for path in everything_in(tmp_path) if path.name.startswith(".")] == []
    assert len(everything_in(tmp_path / "b" / "replies" / ".staging")) <= 1  # of the one kill; swept when it is old


@pytest.mark.skipif(not REAL.is_dir(), reason="the real task files are not here")
async def test_two_thousand_real_tasks_survive_a_kill_byte_for_byte(tmp_path: Path) -> None:
    files = {
        "mind2web": "Mind2Web/mind2web_raw.json",
        "webvoyager": "WebVoyager/WebVoyager_data.jsonl",
        "online-mind2web": "Online-Mind2Web/Online_Mind2Web_06042025.json",
        "nnetnav": "NNetNav/NNetNav_OW_Dec24_configs.json",
    }
    limits = {"nnetnav": 60}
    sources = [{"name": name, "path": str(REAL / file), "limit": limits.get(name)} for name, file in files.items()]
    written = []
    for name, kills in (("a", 0), ("b", 1)):
        async with StandIn(faults=MISBEHAVING, slow_seconds=3, retry_after="0.01") as server:
            path = config(tmp_path, server, sources, name, endpoint={"concurrency": 64})
            for _ in range(kills):
                assert await stop_after(path, server, random.randint(200, 1500), signal.SIGKILL) == -9
            said = await run(path)
            assert max(server.tries.values()) <= TRIES * (1 + kills)
            assert paid_twice(server) <= 64 * kills
            assert server.most_in_flight <= 64
        seeds, originals, held = accounted(tmp_path, name)
        assert seeds >= 2_000
        dropped = int(said.rsplit(" dropped", 1)[0].split()[-1].replace(",", ""))
        assert seeds - held - originals <= dropped
        written.append((tmp_path / f"{name}.parquet").read_bytes())
    assert written[0] == written[1]
    split = Counter(task.split for task in tasks_in(tmp_path / "a.parquet"))
    assert split["test"] == 12


async def test_limits_hold_as_the_server_sees_them(tmp_path: Path) -> None:
    async with StandIn() as server:
        limits = {"requests_per_minute": 600, "tokens_per_minute": 2_000_000, "concurrency": 5}
        await run(config(tmp_path, server, webvoyager(tmp_path, 70), endpoint=limits))
        took = server.arrivals[-1][0] - server.arrivals[0][0]
        requests, tokens = server.most_in(1.0)
        assert requests <= 60 + 9 + 10  # the bucket, a second of its rate, and some slack for a busy machine
        assert tokens <= 200_000 + 30_000
        assert took >= (len(server.arrivals) - 60 - 5) / 9
        assert server.most_in_flight <= 5


async def test_a_dry_run_prices_the_job_without_a_call(tmp_path: Path) -> None:
    async with StandIn() as server:
        path = config(tmp_path, server, webvoyager(tmp_path, 40), endpoint={"key_variable": "NOT_SET"})
        said = await run(path, "--dry-run")
        assert server.arrivals == []
        assert "calls        about 46" in said
        assert "about $0.0" in said
        assert not (tmp_path / "a.parquet").exists()
        path = config(tmp_path, server, webvoyager(tmp_path, 40))
        await run(path)
        assert "calls        about 0" in await run(path, "--dry-run")
        calls = len(server.arrivals)
        whole = (tmp_path / "a.parquet").read_bytes()
        await run(path)
        assert len(server.arrivals) == calls
        assert (tmp_path / "a.parquet").read_bytes() == whole


async def test_a_spent_budget_stops_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    async with StandIn() as server:
        sources = webvoyager(tmp_path, 60)
        assert "budget" in await run(config(tmp_path, server, sources, endpoint={"budget": 0.05}), code=1)
        assert not (tmp_path / "a.parquet").exists()
        first = sum(tokens for _, tokens in server.arrivals)
        calls = len(server.arrivals)
        await run(config(tmp_path, server, sources, endpoint={"budget": 0.05}), code=1)
        spent = sum(json.loads(line)["dollars"] for line in (tmp_path / "a" / "spent.jsonl").read_text().split("\n") if line)
        assert spent <= 0.05
        assert calls > 10
        assert first > 0
        await run(config(tmp_path, server, sources, endpoint={"budget": 5}))
        assert accounted(tmp_path)[0] == 60
        assert paid_twice(server) == 0


async def test_an_endpoint_that_is_down_or_refuses_everyone_writes_no_file(tmp_path: Path) -> None:
    sources = webvoyager(tmp_path, 60)
    async with StandIn(faults=Faults(broken=1), max_faults=10**6) as server:
        path = config(tmp_path, server, sources, endpoint={"tries": 2})
        started = time.monotonic()
        assert "run the same command to go on" in await run(path, code=1)
        assert time.monotonic() - started < 15
        server.faults = Faults()
        server.key = "another"
        assert "status 401" in await run(path, code=1)
        server.key, server.refuse = None, 400
        assert "requests were all refused (status 400)" in await run(path, code=1)
        server.refuse = 0
        assert not (tmp_path / "a.parquet").exists()
        await run(path)
        assert accounted(tmp_path)[0] == 60


async def test_the_key_is_in_no_file_and_no_output(tmp_path: Path) -> None:
    faults = Faults(malformed=0.3, schema=0.3, refusal=0.3)
    async with StandIn(faults=faults, key=SECRET, echo_key=True) as server:
        path = config(tmp_path, server, webvoyager(tmp_path, 40), endpoint={"key_variable": "CANARY_KEY"})
        path.write_text(path.read_text().replace("test: 12", "test: 0"))
        said = [await run(path, key=SECRET), await run(path, key="sk-wrong", code=0)]
        path = config(tmp_path, server, webvoyager(tmp_path, 41), "b", endpoint={"key_variable": "CANARY_KEY"})
        server.key = SECRET + "0"
        said.append(await run(path, key=SECRET, code=1))
        assert "[hidden]" in said[-1]
    files = [path.read_bytes() for path in everything_in(tmp_path)]
    assert any(b"[hidden]" in data for data in files)
    assert not any(SECRET.encode() in data for data in files)
    assert not any(SECRET in text for text in said)


def test_settings_that_do_not_fit_are_said_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"out must end in \.parquet"):
        run_build(["--out", "x.jsonl", "--work", str(tmp_path), "--sources", '[{"name": "webvoyager", "path": "x"}]'])
    with pytest.raises(ConfigError, match="sources"):
        run_build(["--out", "x.parquet", "--work", str(tmp_path)])


@pytest.mark.parametrize("first", ["mind2web-live", "online-mind2web"])
def test_the_order_of_sources_does_not_set_an_evaluation_only_task_free(tmp_path: Path, first: str) -> None:
    task, page = "Find a quiet hotel near the harbour with parking", "https://stay.example"
    rows: dict[str, list[dict[str, Any]]] = {
        "mind2web-live": [
            {"index": n, "task": said, "evaluation": [{"content": {"url": f"{page}/rooms"}}]}
            for n, said in enumerate((task, "Find the opening hours of the reception desk"))
        ],
        "online-mind2web": [{"task_id": "ab", "confirmed_task": f"{task}.", "website": page}],
    }
    for name, held in rows.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(held))
    sources = [
        SourceFile(name=name, path=str(tmp_path / f"{name}.json")) for name in sorted(rows, key=lambda one: one != first)
    ]
    found = prepare(sources, SeedRules(), tmp_path / "work" / "seeds.jsonl")
    seeds = list(seeds_in(found.path))
    assert {seed.instruction.rstrip("."): seed.evaluation_only for seed in seeds} == {
        task: True,
        "Find the opening hours of the reception desk": False,
    }
    assert {who for seed in seeds if seed.evaluation_only for who in seed.held_by or (seed.source,)} == {"Online-Mind2Web"}
    assert [path.name for path in found.path.parent.iterdir()] == ["seeds.jsonl"]


async def test_a_forced_name_that_no_source_has_is_refused_before_a_call(tmp_path: Path) -> None:
    async with StandIn() as server:
        path = config(tmp_path, server, webvoyager(tmp_path, 5), split={"test": 0, "force": ["webvoyajer"]})
        with pytest.raises(ConfigError, match="webvoyajer; choose from webvoyager"):
            await asyncio.to_thread(run_build, ["--config", str(path)])
        assert not server.tries


def test_a_leak_fails_the_build_and_leaves_no_file(tmp_path: Path) -> None:
    group = FactGroup(id=1, description="x", facts=("It is.",))
    told = {"source": "s", "instruction": "Do it.", "website": "https://same.com", "domain": "Misc.", "subdomain": "News"}
    tasks = [Task(id=str(n), groups=(group,), **told) for n in range(2)]
    stage = tmp_path / "tasks.jsonl"
    stage.write_text("".join(task.model_dump_json() + "\n" for task in tasks))
    entries = [Entry(str(n), f"https://site{n}.com", "easy") for n in range(2)]
    with pytest.raises(LeakageError, match=r"same\.com is in train and test"):
        finish(stage, tmp_path / "out.parquet", entries, SplitSettings(test=1))
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.jsonl"]


async def test_tasks_of_the_offline_web_pass_through_whole_and_without_a_call(tmp_path: Path):
    made = list(worlds.generate(3, 400, port=8090, workers=1))
    assert any(task.parent_id for task in made), "children are among them"
    write_tasks(tmp_path / "worlds.parquet", made)
    async with StandIn() as server:
        sources = [{"name": "offline-web", "path": str(tmp_path / "worlds.parquet")}]
        told = await run(config(tmp_path, server, sources, duplicate_threshold=1, split={"test": 8}))
        assert not server.arrivals, told
    with TaskFile.open(tmp_path / "a.parquet") as file:
        built = {task.id: task for task in file}
    before = {task.id: task for task in made}
    assert len(built) > 0.9 * len(before), "only what shares a site with a held-out task is left out"
    for name, task in built.items():
        assert (task.instruction, task.groups, task.parent_id) == (
            before[name].instruction, before[name].groups, before[name].parent_id,
        )  # fmt: skip
        assert find(name).answer, "the verifier knows it by its id"
    assert {task.split for task in built.values()} == {"train", "test"}
    assert all(task.split == "test" for name, task in built.items() if before[name].split == "test"), "held out for ever"
