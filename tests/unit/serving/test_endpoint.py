"""Model servers as the loop uses them: started, reloaded, restarted when a reload fails, and never half there."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from aiohttp import web
from pydantic import ValidationError

from tests.processes import command_line
from webgym.errors import ConfigError, EndpointDown
from webgym.train.serving.child import Embedded
from webgym.train.serving.endpoint import MOST_HEARD, ask, check_checkpoint, model_server, serving
from webgym.train.serving.external import External
from webgym.train.serving.settings import EmbeddedSettings, ExternalSettings, VllmSettings, key_for
from webgym.train.serving.vllm import Vllm

pytestmark = pytest.mark.timeout(300)  # loading torch on a busy machine takes its time


def servers_of_ours() -> list[int]:
    """Children of this process that serve a model."""
    return [child.pid for child in psutil.Process().children(recursive=True) if "serving" in " ".join(command_line(child))]


async def test_a_start_that_fails_says_why_and_leaves_nothing(tmp_path: Path, checkpoints: tuple[Path, Path]):
    broken = tmp_path / "broken"
    shutil.copytree(checkpoints[0], broken)
    (broken / "model.safetensors").write_bytes(b"not weights")
    server = Embedded(EmbeddedSettings(log=tmp_path / "log"))
    with pytest.raises((ConfigError, EndpointDown), match="did not start"):
        await server.start(broken)
    assert not await server.healthy()
    assert servers_of_ours() == []


async def test_a_port_that_is_taken_is_said(tmp_path: Path, checkpoints: tuple[Path, Path]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}"):
            await Embedded(EmbeddedSettings(port=port, log=tmp_path / "log")).start(checkpoints[0])


async def test_a_reload_of_a_dead_server_starts_a_new_one(tmp_path: Path, checkpoints: tuple[Path, Path]):
    server = Embedded(EmbeddedSettings(log=tmp_path / "log"))
    await server.start(checkpoints[0])
    try:
        assert server.process is not None
        for process in server.process.tree():
            if process.pid != server.process.pid:  # the guard lives
                process.send_signal(signal.SIGKILL)
        await server.process.ended()
        assert not await server.healthy()
        await server.reload(checkpoints[1])
        assert await server.healthy()
    finally:
        await server.stop()
    assert server.freed is not None
    assert server.freed.before > 50 << 20
    assert server.freed.after == 0
    await server.stop()


async def test_a_reload_of_another_tokenizer_starts_a_new_server(tmp_path: Path, checkpoints: tuple[Path, Path]):
    other = tmp_path / "other"
    shutil.copytree(checkpoints[1], other)
    with (other / "chat_template.jinja").open("a") as file:
        file.write("{# another #}")
    async with serving(EmbeddedSettings(log=tmp_path / "log"), checkpoints[0]) as server:
        first = server.url
        await server.reload(checkpoints[1])
        assert server.url == first  # live
        await server.reload(other)
        assert server.url != first
        assert await server.healthy()
    assert servers_of_ours() == []


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path, checkpoints: tuple[Path, Path], missing: str):
    folder = tmp_path / "model"
    shutil.copytree(checkpoints[0], folder)
    (folder / missing).unlink()
    with pytest.raises(ConfigError, match=r"checkpoint|weights"):
        check_checkpoint(folder)


async def test_vllm_without_its_environment_says_how_to_make_it(tmp_path: Path, checkpoints: tuple[Path, Path]):
    server = model_server(VllmSettings(python=tmp_path / "python"))
    assert isinstance(server, Vllm)
    with pytest.raises(ConfigError, match="webgym env make serve"):
        await server.start(checkpoints[0])


async def test_a_vllm_that_dies_at_once_says_its_last_words(tmp_path: Path, checkpoints: tuple[Path, Path]):
    """Our own python has no vLLM."""
    server = Vllm(VllmSettings(python=Path(sys.executable), log=tmp_path / "log"))
    with pytest.raises(EndpointDown, match="No module named 'vllm'"):
        await server.start(checkpoints[0])
    assert server.process is None


class Theirs:
    """A server that others run, with a hook for new weights."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.status = 200
        self.key: str | None = None
        self.broken = 0

    async def __aenter__(self) -> Theirs:
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/hook", self._hook)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.root = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.Response(status=401)
        return web.Response(status=self.broken, text="weights are gone") if self.broken else web.json_response({"data": []})

    async def _hook(self, request: web.Request) -> web.Response:
        self.told.append((await request.json())["checkpoint"])
        return web.Response(status=self.status)


@asynccontextmanager
async def answering(*pieces: bytes) -> AsyncIterator[str]:
    """The root of a server that says these pieces to whoever asks, one after the other."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):  # who has heard enough leaves
            for piece in pieces:
                await response.write(piece)
                await asyncio.sleep(0.05)
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_an_answer_in_several_pieces_is_heard_to_its_end_and_no_further_than_the_cap():
    async with answering(b'{"took": ', b"1.5, ", b'"weights": "new"}') as root:
        assert await ask("GET", root, within=10) == (200, '{"took": 1.5, "weights": "new"}')
    async with answering(*[b"x" * (MOST_HEARD // 2 + 1)] * 3) as root:
        assert await ask("GET", root, within=10) == (200, "x" * MOST_HEARD)


async def test_a_reload_that_was_done_is_done_whatever_the_server_says_of_it(checkpoints: tuple[Path, Path]):
    server = Embedded(EmbeddedSettings())
    async with answering(b"done, ", b"not in JSON") as root:
        server._root = root
        await server.reload(checkpoints[1])
    assert server.process is None  # none was started anew


async def test_an_external_server_is_told_by_its_hook(checkpoints: tuple[Path, Path]):
    async with Theirs() as theirs:
        server = External(ExternalSettings(url=f"{theirs.root}/v1/", reload_url=f"{theirs.root}/hook"))
        await server.start(checkpoints[0])
        await server.reload(checkpoints[1])
        assert theirs.told == [str(path.resolve()) for path in checkpoints]
        theirs.status = 500
        with pytest.raises(EndpointDown, match="500"):
            await server.reload(checkpoints[0])
        await server.stop()
        assert await server.healthy()  # it is not ours to stop


async def test_an_external_server_is_told_by_a_command(tmp_path: Path, checkpoints: tuple[Path, Path]):
    async with Theirs() as theirs:
        note = tmp_path / "note"
        command = (sys.executable, "-c", "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])", str(note))
        server = External(ExternalSettings(url=f"{theirs.root}/v1", reload_command=command))
        await server.reload(checkpoints[1])
        assert note.read_text() == str(checkpoints[1].resolve())


async def test_a_hook_that_fails_or_hangs_is_an_error_and_leaves_no_process(checkpoints: tuple[Path, Path]):
    async with Theirs() as theirs:
        fails = (sys.executable, "-c", "import sys; print('no room'); sys.exit(3)")
        with pytest.raises(EndpointDown, match="ended with 3: no room"):
            await External(ExternalSettings(url=f"{theirs.root}/v1", reload_command=fails)).reload(checkpoints[0])
        hangs = (sys.executable, "-c", "import time; time.sleep(600)  # serving")
        settings = ExternalSettings(url=f"{theirs.root}/v1", reload_command=hangs, reload_seconds=0.5)
        with pytest.raises(EndpointDown, match="did not end"):
            await External(settings).reload(checkpoints[0])
    assert servers_of_ours() == []


async def test_an_external_server_that_is_down_does_not_start(checkpoints: tuple[Path, Path]):
    settings = ExternalSettings(url="http://127.0.0.1:9/v1", reload_url="http://127.0.0.1:9/hook")
    with pytest.raises(EndpointDown, match="does not answer"):
        await External(settings).start(checkpoints[0])


async def test_an_external_server_that_wants_a_key_is_not_said_to_be_down(
    checkpoints: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    async with Theirs() as theirs:
        theirs.key = "the-key-of-their-server"
        given = {"url": f"{theirs.root}/v1", "reload_url": f"{theirs.root}/hook"}
        named = External(ExternalSettings.model_validate(given | {"key_variable": "THEIR_KEY"}))
        with pytest.raises(ConfigError, match="status 401: name the variable that holds its key in key_variable"):
            await External(ExternalSettings.model_validate(given)).start(checkpoints[0])
        monkeypatch.delenv("THEIR_KEY", raising=False)
        with pytest.raises(ConfigError, match="environment variable THEIR_KEY must hold the API key"):
            await named.start(checkpoints[0])
        monkeypatch.setenv("THEIR_KEY", "the-key-of-somebody-else")
        with pytest.raises(ConfigError, match="status 401: does THEIR_KEY hold its key"):
            await named.start(checkpoints[0])
        assert not await named.healthy()
        assert theirs.told == [], "nobody was told of weights"
        monkeypatch.setenv("THEIR_KEY", theirs.key)
        await named.start(checkpoints[0])
        theirs.broken = 500
        with pytest.raises(EndpointDown, match="answers after its reload with status 500: weights are gone"):
            await named.reload(checkpoints[1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "host:8000", "reload_url": "http://host/hook"},
        {"url": "http://user:secret@host/v1", "reload_url": "http://host/hook"},
        {"url": "http://host/v1"},
        {"url": "http://host/v1", "reload_url": "http://host/hook", "reload_command": ("a",)},
    ],
)
def test_an_external_server_needs_an_address_and_one_hook(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        ExternalSettings.model_validate(wrong)


def test_off_loopback_a_key_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("A_KEY", raising=False)
    assert key_for("127.0.0.1", "A_KEY") is None
    with pytest.raises(ConfigError, match="A_KEY"):
        key_for("0.0.0.0", "A_KEY")
    monkeypatch.setenv("A_KEY", "short")
    with pytest.raises(ConfigError, match="16"):
        key_for("0.0.0.0", "A_KEY")
    monkeypatch.setenv("A_KEY", "long-enough-to-be-a-key")
    assert key_for("0.0.0.0", "A_KEY") == "long-enough-to-be-a-key"


async def test_cancelling_a_start_leaves_nothing(tmp_path: Path, checkpoints: tuple[Path, Path]):
    server = Embedded(EmbeddedSettings(log=tmp_path / "log"))
    starting = asyncio.create_task(server.start(checkpoints[0]))
    while not servers_of_ours():  # noqa: ASYNC110 - a process is looked for
        await asyncio.sleep(0.02)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert servers_of_ours() == []
