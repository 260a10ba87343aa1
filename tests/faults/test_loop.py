"""Row 30 for the whole loop: killed at any moment, the same command goes on, and nothing is done twice or left out.

Browsers, the offline web, verdicts, replay, training and checkpoints are real. The policy is a server of its own that knows
its way about, so that there are successes to learn from; a tiny model is what learns.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import KEY
from tests.faults.injection import until
from tests.served import Served, serving
from tests.site.canary import free_port
from tests.standin.menu_reader import MenuReader
from webgym.loop import metrics
from webgym.loop.running import order
from webgym.loop.settings import Evaluation, LoopSettings
from webgym.loop.state import PHASES, JudgeDone, LoopFolder, PublishDone, TrainDone
from webgym.store import Run
from webgym.store.audit import audit
from webgym.store.files import Disk
from webgym.tasks.files import write_tasks
from webgym.train.checkpoint import is_complete
from webgym.train.tiny import make_tiny
from webgym.types import Task
from webgym.worlds.families import opening

PORT = free_port()
ITERATIONS = 2
MENU = ("--model.dialect=qwen3_vl_marks", "--no-model.memory", "--model.compact")
SMALL = ("--train.device=cpu", "--train.threads=1", "--no-train.bf16", "--no-train.gradient-checkpointing")
FEW = ("--train.updates=2", "--train.batch=2", "--train.accumulation=1", "--train.lr=1e-4", "--train.warmup=0")


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("serve"), sessions=4, browsers=1, egress__allow=f"*.localhost:{PORT}") as running:
        yield running


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("model") / "tiny")


def caps(steps: int) -> list[str]:
    return [f"--engine.caps.{split}.{band}={steps}" for split in ("train", "test") for band in ("easy", "medium", "hard")]


def pages() -> list[Task]:
    """Pages to open on three websites to train on, and on two others to test on."""
    train = opening(0, "train", 1, ("bank", "clinic", "shop"), each=3, port=PORT)
    return [*train, *opening(0, "test", 1, ("bank", "shop"), port=PORT)]


class Loop:
    """`webgym train`, started as often as it takes."""

    def __init__(self, folder: Path, server: Served, *more: str) -> None:
        self.run, self._server = folder / "run", server
        self.log = folder / "log"
        tasks = folder / "tasks.parquet"
        write_tasks(tasks, pages())
        self._command = [
            sys.executable, "-m", "webgym.cli", "train", f"--run={self.run}", f"--tasks={tasks}", f"--worlds.port={PORT}",
            f"--iterations={ITERATIONS}", "--count=5", "--evaluation.every=1", f"--server={server.url}", "--engine.slots=2",
            "--engine.session.width=224", "--engine.session.height=160", *more,
        ]  # fmt: skip
        self.folder = LoopFolder(self.run, Disk(self.run))

    async def start(self) -> asyncio.subprocess.Process:
        environment = {**os.environ, "WEBGYM_API_KEY": self._server.key or KEY}
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(*self._command, env=environment, stdout=log, stderr=log)

    async def finish(self, *, within: float = 400) -> int:
        process = await self.start()
        async with asyncio.timeout(within):
            return await process.wait()

    def said(self) -> str:
        return self.log.read_text()

    def phases(self) -> list[tuple[int, str]]:
        """What was done, in the order it ended."""
        found = [
            (done.ended, iteration, phase)
            for iteration in self.folder.iterations()
            for phase in PHASES
            if (done := self.folder.done(iteration, phase)) is not None
        ]
        return [(iteration, phase) for _, iteration, phase in sorted(found)]

    def wanted(self) -> list[tuple[int, str]]:
        """What a loop that nobody disturbs does."""
        settings = LoopSettings(
            run=self.run, tasks=self.run, agent="random", iterations=ITERATIONS, evaluation=Evaluation(every=1)
        )
        nowhere = self.run / "nowhere"
        return list(order(settings, LoopFolder(nowhere, Disk(nowhere))))

    def check_whole(self) -> None:
        assert self.phases() == self.wanted(), self.said()
        for folder, planned in ((self.run, 5 * ITERATIONS), (self.run / "test", 2 * (ITERATIONS + 1))):
            report = audit(folder, finished=True)
            assert report.clean, report.findings
            assert (report.planned, report.committed, report.judgements) == (planned, planned, planned)
        assert [one.iteration for one in metrics.read(self.run / "metrics.jsonl")] == list(range(ITERATIONS + 1))
        assert not list(self.folder.checkpoints.glob(".*")), "what a crash left is gone"


async def gone(text: str, within: float = 20.0) -> None:
    """Until no process has this text in its command."""
    await until(lambda: not any(text in " ".join(one.info["cmdline"] or ()) for one in _processes()), within=within)


def _processes() -> Iterator[psutil.Process]:
    return psutil.process_iter(["cmdline"])


async def kill_now(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()


@pytest.mark.timeout(400)
async def test_a_loop_without_a_model_killed_again_and_again_does_every_phase_once(tmp_path: Path, browsers: Served):
    loop = Loop(tmp_path, browsers, "--agent=random", *caps(3))
    killed = 0
    for attempt in range(20):
        process = await loop.start()
        try:
            async with asyncio.timeout(random.uniform(2.0, 3.0 + 2 * attempt)):
                assert await process.wait() == 0, loop.said()
            break
        except TimeoutError:
            killed += 1
            await kill_now(process)
            if loop.run.exists():
                assert audit(loop.run).clean
    else:
        raise AssertionError(f"it never came to its end:\n{loop.said()}")
    assert killed, "it was too quick to be killed"
    loop.check_whole()
    trained = loop.folder.read(0, TrainDone)
    assert trained is not None
    assert trained.result is None, "a script's steps are nothing to learn from"
    assert await loop.finish() == 0, "nothing is left to do"
    loop.check_whole()


async def test_two_loops_cannot_work_on_one_run(tmp_path: Path, browsers: Served):
    loop = Loop(tmp_path, browsers, "--agent=random", *caps(10))
    first = await loop.start()
    try:
        async with asyncio.timeout(60):
            while not list(loop.run.glob("episodes/*/*.parquet")):
                assert first.returncode is None, loop.said()
                await asyncio.sleep(0.1)
        assert await loop.finish(within=60) == 2
        assert "another rollout is at work on" in loop.said()
    finally:
        await kill_now(first)


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_killed_at_random_moments_while_it_learns_it_learns_all_the_same(tmp_path: Path, browsers: Served, tiny: Path):
    async with MenuReader(pages()) as policy:
        reached = ("--serving.kind=external", f"--serving.url={policy.url}", f"--serving.reload-url={policy.reload_url}")
        loop = Loop(tmp_path, browsers, f"--checkpoint={tiny}", *MENU, *SMALL, *FEW, *reached)
        await _kill_in_training(loop)
        for longest in (8, 16, 32, 64):
            process = await loop.start()
            try:
                async with asyncio.timeout(random.uniform(1, longest)):
                    assert await process.wait() == 0, loop.said()
                break
            except TimeoutError:
                await kill_now(process)
        assert await loop.finish() == 0, loop.said()
    loop.check_whole()
    await gone(str(tmp_path))
    judged = loop.folder.read(0, JudgeDone)
    assert judged is not None
    assert judged.figures.success.passed > 0
    for iteration in range(ITERATIONS):
        trained, published = loop.folder.read(iteration, TrainDone), loop.folder.read(iteration, PublishDone)
        assert trained is not None
        assert published is not None
        assert trained.result is not None
        assert loop.run / published.checkpoint == trained.result.checkpoint
        assert is_complete(trained.result.checkpoint)
    versions = list(dict.fromkeys(policy.reloads))
    assert versions == [str(tiny), *(str(loop.folder.checkpoint(n + 1)) for n in range(ITERATIONS))]


async def _kill_in_training(loop: Loop) -> None:
    """The training job must not outlive the loop that was killed, nor leave anything that counts as a checkpoint."""
    process = await loop.start()
    job = loop.folder.checkpoints / "000001.job.json"
    async with asyncio.timeout(300):
        while not job.exists():
            assert process.returncode is None, loop.said()
            await asyncio.sleep(0.05)
    await asyncio.sleep(random.random() * 8)
    await kill_now(process)
    await gone(str(job))
    made = loop.folder.checkpoint(1)
    assert is_complete(made) or not made.exists(), "half a checkpoint has the name of a whole one"
    with Run.open(loop.run, read_only=True) as run:
        assert len(list(run.planned(0))) == 5


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_sigterm_stops_it_and_kill_9_takes_its_model_server_along(tmp_path: Path, browsers: Served, tiny: Path):
    own = ("--serving.kind=embedded", "--serving.engine.threads=1", "--model.policy.sampling.max-tokens=24")
    loop = Loop(tmp_path, browsers, f"--checkpoint={tiny}", *MENU, *SMALL, *FEW, *own, *caps(3))
    process = await loop.start()
    async with asyncio.timeout(300):
        while not list(loop.run.glob("episodes/*/*.parquet")):
            assert process.returncode is None, loop.said()
            await asyncio.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(120):
        assert await process.wait() == 3, loop.said()
    assert "The same command goes on from here." in loop.said()
    await gone(str(tiny))

    process = await loop.start()
    async with asyncio.timeout(300):
        while loop.folder.done(0, "rollout") is None:
            assert process.returncode is None, loop.said()
            await asyncio.sleep(0.05)
    await kill_now(process)
    await gone(str(tiny))
    assert await loop.finish() == 0, loop.said()
    loop.check_whole()


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_model_server_that_dies_in_a_rollout_is_started_again_and_its_episodes_go_on(
    tmp_path: Path, browsers: Served, tiny: Path
):
    own = ("--serving.kind=embedded", "--serving.engine.threads=1", "--model.policy.sampling.max-tokens=24")
    loop = Loop(tmp_path, browsers, f"--checkpoint={tiny}", *MENU, *SMALL, *FEW, *own, *caps(3))
    process = await loop.start()
    try:
        async with asyncio.timeout(300):
            while not list(loop.run.glob("episodes/*/*.parquet")):
                assert process.returncode is None, loop.said()
                await asyncio.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        serving = [one for one in children if any("webgym.train.serving" in word for word in one.cmdline())]
        assert serving, [one.cmdline() for one in children]
        for one in serving:
            one.kill()
        async with asyncio.timeout(500):
            assert await process.wait() == 0, loop.said()
    finally:
        if process.returncode is None:
            await kill_now(process)
    assert "the model server died: it is started again" in loop.said()
    loop.check_whole()
