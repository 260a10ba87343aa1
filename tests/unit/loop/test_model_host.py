"""The model server over the iterations, with real processes in the place of a model."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from webgym.errors import EndpointDown, RolloutStopped, TrainError
from webgym.loop.phases import persistent
from webgym.loop.serving import LOOK_SECONDS, REVIVALS, ModelHost
from webgym.rolling.assembly import Played

NAP = "import time; time.sleep(600)"
FAMILY = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {NAP!r}]); time.sleep(600)"


class Sleeping:
    """A server that is a process of its own with a child of its own, and serves nothing."""

    url, model = "http://127.0.0.1:1/v1", "policy"

    def __init__(self, *, stops: bool = True, reloads: bool = True, revives: bool = True) -> None:
        self._stops, self._reloads, self._revives = stops, reloads, revives
        self.told: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self, checkpoint: Path) -> None:
        self.told.append(f"start {checkpoint}")
        self.process = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", FAMILY], start_new_session=True)
        await asyncio.sleep(0.3)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    async def revive(self, checkpoint: Path) -> None:
        self.told.append(f"revive {checkpoint}")
        if not self._revives:
            raise EndpointDown("it will not")
        await self.stop()
        await self.start(checkpoint)

    async def reload(self, checkpoint: Path) -> None:
        self.told.append(f"reload {checkpoint}")
        if not self._reloads:
            raise EndpointDown("it will not")

    async def stop(self) -> None:
        if self.process is not None and self._stops:
            self.told.append("stop")
            self.end()

    def end(self) -> None:
        assert self.process is not None
        subprocess.run(["/bin/kill", "-9", "--", f"-{self.process.pid}"], check=False)
        self.process.wait(10)
        self.process = None

    async def healthy(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def tree(self) -> list[psutil.Process]:
        if self.process is None or self.process.poll() is not None:
            return []
        root = psutil.Process(self.process.pid)
        return [root, *root.children(recursive=True)]


A, B = Path("a"), Path("b")


async def test_it_is_started_once_reloaded_for_new_weights_and_gone_in_the_end():
    server = Sleeping()
    async with ModelHost(server, stay=True) as host:
        assert await host.serve(A) == (server.url, server.model)
        await host.serve(A)
        await host.rest()
        await host.serve(B)
        assert server.process is not None
    assert server.told == ["start a", "reload b", "stop"]
    assert server.process is None


async def test_it_makes_room_for_training_unless_it_is_to_stay():
    server = Sleeping()
    async with ModelHost(server, stay=False) as host:
        await host.serve(A)
        await host.rest()
        assert server.process is None
        await host.serve(B)
    assert server.told == ["start a", "stop", "start b", "stop"]


async def test_a_server_that_died_is_started_again():
    server = Sleeping()
    async with ModelHost(server, stay=True) as host:
        await host.serve(A)
        assert server.process is not None
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
        await host.serve(A)
    assert server.told == ["start a", "stop", "start a", "stop"]


async def die(server: Sleeping) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(server.process.wait, 10)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.05)


async def test_a_server_that_dies_while_it_is_needed_is_started_again_where_it_was():
    server = Sleeping()
    async with ModelHost(server, stay=True) as host:
        await host.serve(A)
        async with host.kept_up():
            await die(server)
            await until(lambda: server.running)
            assert not await host.steady(), "what failed meanwhile may have failed by it"
            assert await host.serve(A) == (server.url, server.model)
            assert await host.steady()
        await die(server)
        await asyncio.sleep(2 * LOOK_SECONDS)
        assert not server.running, "nobody needs it now"
    assert server.told == ["start a", "revive a", "stop", "start a", "stop"]


async def test_a_server_that_cannot_be_started_again_is_given_up_and_ends_nothing_else():
    server = Sleeping(revives=False)
    async with ModelHost(server, stay=True) as host:
        await host.serve(A)
        async with host.kept_up():
            await die(server)
            await until(lambda: server.told.count("revive a") == REVIVALS)
            await asyncio.sleep(2 * LOOK_SECONDS)
    assert server.told.count("revive a") == REVIVALS


async def test_a_rollout_survives_one_death_of_its_model_server():
    server, attempts = Sleeping(), 0

    async def none() -> Counter[str]:
        return Counter()

    async with ModelHost(server, stay=True) as host:

        async def attempt() -> Played:
            nonlocal attempts
            attempts += 1
            await host.serve(A)
            if attempts > 1:
                return Played(20)
            await die(server)
            return Played(20, failure=RolloutStopped("20 of the last 20 episodes failed"))

        played = await persistent(attempt, none, most=0.1, steady=host.steady, stopped=lambda: False, say=lambda _: None)
        assert played.failure is None
        assert await host.steady()
    assert server.told == ["start a", "stop", "start a", "stop"]


async def test_weights_that_cannot_be_swapped_cost_a_restart_and_never_serve_the_old_ones():
    server = Sleeping(reloads=False)
    async with ModelHost(server, stay=True) as host:
        await host.serve(A)
        await host.serve(B)
    assert server.told == ["start a", "reload b", "stop", "start b", "stop"]


async def test_a_server_that_keeps_its_memory_is_an_error():
    server = Sleeping(stops=False)
    host = ModelHost(server, stay=False, free_within=0.5)
    await host.serve(A)
    try:
        with pytest.raises(TrainError, match="the model server was stopped and still holds memory, in processes"):
            await host.rest()
    finally:
        server.end()
