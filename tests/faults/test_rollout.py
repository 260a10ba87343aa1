"""Rows 16, 17, 20, 27, 29 and G9 for rollouts: real processes, browsers on the offline web, an audit at the end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import KEY
from tests.faults.injection import until
from tests.faults.test_store import fill
from tests.served import Served, serving
from tests.site.canary import free_port
from tests.standin.browsers import Browsers
from tests.unit.agents.endpoint import WAIT, PolicyServer
from tests.unit.rollout.rolled import Rolled, rolled, task_at
from webgym.agents.model import ModelAgents
from webgym.agents.policy import Policy
from webgym.agents.settings import AgentSettings
from webgym.errors import RolloutStopped, StoreError
from webgym.rollout.engine import sole
from webgym.store import Run
from webgym.store.audit import audit
from webgym.tasks.files import write_tasks
from webgym.worlds import tasks as worlds
from webgym.worlds.names import host_of
from webgym.worlds.sites import KINDS
from webgym.worlds.tasks import TaskId

PORT = free_port()
CAPS = {"easy": 100, "medium": 200, "hard": 300}
ANSWER = '<tool_call>\n{"name": "computer_use", "arguments": {"action": "answer", "text": "42"}}\n</tool_call>'


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(
        tmp_path_factory.mktemp("serve"), sessions=8, workers=2, browsers=2, egress__allow=f"*.localhost:{PORT}"
    ) as running:
        yield running


class Command:
    """`webgym rollout` on the offline web with its oracle."""

    def __init__(self, folder: Path, server: Served, *, count: int, slots: int = 3) -> None:
        self.folder, self._server = folder, server
        caps = [f"--engine.caps.train.{band}={cap}" for band, cap in CAPS.items()]
        self._command = [
            sys.executable, "-m", "webgym.cli", "rollout", f"--run={folder}", "--agent=oracle", f"--server={server.url}",
            f"--worlds.port={PORT}", f"--tasks={_task_file(folder.parent, count)}", f"--count={count}",
            f"--engine.slots={slots}", *caps,
        ]  # fmt: skip

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        self.log = self.folder.parent / f"{self.folder.name}.log"
        with self.log.open("ab") as log:
            environment = {**os.environ, "WEBGYM_API_KEY": self._server.key or KEY}
            return subprocess.Popen([*self._command, *more], env=environment, stdout=log, stderr=log)

    def run(self, *more: str, within: float = 110) -> int:
        return self.start(*more).wait(within)

    def kept(self) -> int:
        return len(list((self.folder / "episodes").rglob("*.parquet")))

    def wait_for(self, condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
        ends = time.monotonic() + 60
        while not condition():
            assert process.poll() is None, self.log.read_text()
            assert time.monotonic() < ends, self.log.read_text()
            time.sleep(0.05)

    def outcomes(self) -> dict[str, str]:
        with Run.open(self.folder, read_only=True) as run:
            found = run.outcomes()
            return {one.id: found[one.id].outcome.kind if one.id in found else "unfinished" for one in run.planned(0)}

    def whole(self) -> bool:
        return audit(self.folder, finished=True).clean


def _task_file(folder: Path, count: int) -> Path:
    """Short tasks, each on a site of its own."""
    path, made = folder / "tasks.parquet", []
    for number in range(count):
        kind = ("shop", "bank")[number % 2]
        generator, shape = ("lookup", (2,)) if kind == "shop" else ("balance", (1,))
        host = host_of(0, KINDS[kind], 20 + number)
        for attempt in range(100):
            try:
                task = worlds.make(TaskId(0, (host,), generator, shape, attempt))
            except worlds.CannotMake:
                continue
            made.append(task.task(port=PORT))
            break
    write_tasks(path, made)
    return path


@pytest.mark.parametrize("kept", [0, 1])
def test_kill_9_at_a_random_moment_then_resume_finishes_the_plan_and_a_second_resume_is_refused(
    tmp_path: Path, browsers: Served, kept: int
):
    command = Command(tmp_path / "run", browsers, count=9)
    process = command.start()
    command.wait_for(lambda: (command.folder / "run.json").exists() and command.kept() >= kept, process)
    time.sleep(random.random() * 1.5)
    process.kill()
    process.wait()
    before = {path: path.stat().st_ino for path in (command.folder / "episodes").rglob("*.parquet")}
    assert audit(command.folder).clean
    resumed = command.start("--resume")
    command.wait_for(lambda: command.kept() > len(before), resumed)
    with pytest.raises(StoreError, match="another rollout"), sole(command.folder):
        raise AssertionError("two rollouts could work on this run")
    assert resumed.wait(110) == 0, command.log.read_text()
    assert set(command.outcomes().values()) == {"answered"}
    assert all(path.stat().st_ino == inode for path, inode in before.items()), "an episode was done twice"
    assert command.whole()
    with Run.open(command.folder, read_only=True) as run:
        assert [judgement.verdict.kind for judgement in run.judgements("worlds-verify")] == ["scored"] * 9
    assert command.run("--resume") == 0  # nothing left to do


def test_sigterm_lets_episodes_finish_a_second_one_cancels_them_and_resume_does_the_rest(tmp_path: Path, browsers: Served):
    command = Command(tmp_path / "run", browsers, count=8, slots=2)
    process = command.start()
    command.wait_for(lambda: command.kept() >= 1, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3, command.log.read_text()
    first = command.outcomes()
    assert set(first.values()) == {"answered", "unfinished"}
    assert audit(command.folder).clean

    process = command.start("--resume")
    before = command.kept()
    command.wait_for(lambda: command.kept() > before, process)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 3, command.log.read_text()
    assert time.monotonic() - began < 10
    assert audit(command.folder).clean

    assert command.run("--resume") == 0, command.log.read_text()
    assert set(command.outcomes().values()) == {"answered"}
    assert command.whole()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_same_hundred_tasks_twice_give_the_same_outcomes(tmp_path: Path, browsers: Served):
    told = []
    for name in ("first", "second"):
        command = Command(tmp_path / name / "run", browsers, count=100, slots=6)
        assert command.run(within=700) == 0, command.log.read_text()
        assert command.whole()
        with Run.open(command.folder, read_only=True) as run:
            verdicts = {
                one.episode: (one.verdict.kind, getattr(one.verdict, "reward", None))
                for one in run.judgements("worlds-verify")
            }
            told.append(
                {one.task.id: (one.outcome.kind, one.answer, len(one.steps), verdicts[one.id]) for one in run.episodes()}
            )
    assert len(told[0]) == 100
    assert told[0] == told[1]


def test_episodes_of_a_killed_worker_are_retried_elsewhere(tmp_path: Path, browsers: Served):
    command = Command(tmp_path / "run", browsers, count=6, slots=6)
    process = command.start()
    command.wait_for(lambda: len(list((command.folder / "images").rglob("*.jpg"))) >= 8, process)
    _, worker, *_ = browsers.children()
    worker.kill()
    assert process.wait(110) == 0, command.log.read_text()
    assert set(command.outcomes().values()) == {"answered"}
    with Run.open(command.folder, read_only=True) as run:
        assert any(episode.attempt > 0 for episode in run.episodes())
    assert command.whole()
    assert psutil.pid_exists(browsers.process.pid)


def test_a_killed_master_costs_a_rollout_no_episode_and_no_retry(tmp_path: Path, browsers: Served):
    """After the test above: `children` lists the first master first, and a new one last."""
    command = Command(tmp_path / "run", browsers, count=6, slots=3)
    process = command.start()
    command.wait_for(lambda: len(list((command.folder / "images").rglob("*.jpg"))) >= 6, process)
    browsers.children()[0].kill()
    assert process.wait(110) == 0, command.log.read_text()
    assert set(command.outcomes().values()) == {"answered"}
    with Run.open(command.folder, read_only=True) as run:
        assert [episode.attempt for episode in run.episodes()] == [0] * 6, command.log.read_text()
    assert command.whole()


def model_at(server: PolicyServer, **policy: object) -> AgentSettings:
    return AgentSettings.model_validate(
        {"policy": {"urls": [server.url], "backoff": 0.1, "max_backoff": 0.3, "avoid": 0, **policy}}
    )


async def under_way(one: Rolled, server: PolicyServer, replies: int) -> None:
    await until(lambda: len(server.bodies) >= replies and bool(one.browsers.open), 20)


async def test_a_policy_that_comes_back_in_time_is_waited_for_with_the_lease_kept(tmp_path: Path):
    async with PolicyServer(reply=WAIT, latency=0.05) as server, Policy(model_at(server, patience=60).policy) as policy:
        agents = ModelAgents(policy, model_at(server))
        task = task_at("shop.localhost")
        async with rolled(tmp_path / "run", [task], agent=lambda: agents(task, "e")) as one:
            rolling = asyncio.create_task(one.engine.run())
            await under_way(one, server, 2)
            await server.stop()
            await asyncio.sleep(5)  # longer than an idle session goes without a word
            assert len(one.browsers.open) == 1
            assert one.browsers.renewed > 0
            server.reply = ANSWER
            await server.start()
            await rolling
            assert one.kinds() == ["answered"]
            assert one.browsers.opened == 1
    assert audit(tmp_path / "run", finished=True).clean


async def test_a_policy_that_stays_away_cancels_the_episode_which_is_no_reward_and_is_redone(tmp_path: Path):
    async with PolicyServer(reply=WAIT, latency=0.05) as server, Policy(model_at(server, patience=1).policy) as policy:
        agents = ModelAgents(policy, model_at(server))
        task = task_at("shop.localhost")
        async with rolled(tmp_path / "run", [task], agent=lambda: agents(task, "e")) as one:
            rolling = asyncio.create_task(one.engine.run())
            await under_way(one, server, 2)
            await server.stop()
            with pytest.raises(RolloutStopped, match="failed for reasons of ours"):
                await rolling
            assert one.kinds() == ["policy_unavailable"]
            assert one.browsers.open == {}
            assert not list(one.run.episodes())
        server.reply = ANSWER
        await server.start()
        async with rolled(tmp_path / "run", [task], agent=lambda: agents(task, "e")) as again:
            await again.engine.run()
            assert again.kinds() == ["answered"]
    assert audit(tmp_path / "run", finished=True).clean


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if (done := subprocess.run(mount, capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"cannot mount a small tmpfs: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


async def test_a_full_disk_pauses_admissions_and_the_rollout_goes_on_when_there_is_room(small_disk: Path):
    serving_slowly = Browsers(image_bytes=20_000, latency=0.02)
    disk = {"reserve": 2, "poll": 0.05, "patience": 60}
    plan = [task_at(f"s{n}.localhost") for n in range(16)]
    async with rolled(small_disk / "run", plan, browsers=serving_slowly, slots=2, disk=disk) as one:
        rolling = asyncio.create_task(one.engine.run())
        await until(lambda: one.kinds().count("answered") >= 2, 20)
        ballast = fill(small_disk)
        await until(lambda: "room on the disk" in one.events.notice, 10)
        await asyncio.sleep(0.5)
        admitted = one.browsers.opened
        assert admitted < 16
        await asyncio.sleep(0.5)
        assert one.browsers.opened == admitted, "episodes were admitted to a full disk"
        assert not rolling.done()
        ballast.unlink()
        async with asyncio.timeout(30):
            await rolling
        assert one.kinds() == ["answered"] * 16
    assert audit(small_disk / "run", finished=True).clean
