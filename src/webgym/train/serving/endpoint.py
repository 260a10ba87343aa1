"""One interface for every model server: start, ask how it is, give it new weights, stop.

    server = model_server(settings)
    await server.start(checkpoint)         # ready when this returns
    …                                      # rollouts ask server.url for server.model
    await server.revive(checkpoint)        # if its process died: again, at the same address
    await server.reload(newer)             # every later reply is of the new weights, none mixes both
    await server.stop()                    # its processes and their memory are gone

Invariants. `start`, `revive`, `reload` and `stop` either do what they say or raise (`ConfigError` for what a person must
repair, `EndpointDown` for what may work again); a `start` that fails leaves no process. After a `reload` that returned,
nothing made by the old weights is used. After one that raised, the server answers with the old weights or not at all, and
`start` works. `stop` may be called at any time, any number of times.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final, Protocol

import aiohttp
import psutil
from pydantic import JsonValue

from webgym.errors import ConfigError, EndpointDown, blame
from webgym.train.serving.process import ServerProcess
from webgym.train.serving.settings import EmbeddedSettings, ExternalSettings, ModelServerSettings, VllmSettings

HEALTH_SECONDS: Final = 5.0
POLL_SECONDS: Final = 0.2
MOST_HEARD: Final = 1 << 16  # bytes of an answer

Headers = Mapping[str, str]
Body = Mapping[str, JsonValue]


class ModelServer(Protocol):
    """A model behind an OpenAI-compatible address."""

    @property
    def url(self) -> str:
        """The base address, ending in /v1; known once started."""
        ...

    @property
    def model(self) -> str:
        """The name that requests must give."""
        ...

    @property
    def running(self) -> bool:
        """Whether its process is there. One that others run is theirs to look after: it always is."""
        ...

    async def start(self, checkpoint: Path) -> None: ...

    async def revive(self, checkpoint: Path) -> None:
        """Start one that died at the address it had, where its clients still ask."""
        ...

    async def reload(self, checkpoint: Path) -> None: ...

    async def stop(self) -> None: ...

    async def healthy(self) -> bool:
        """Whether it would answer now."""
        ...

    def tree(self) -> list[psutil.Process]:
        """Its processes, as far as they are ours. Blocks."""
        ...


def model_server(settings: ModelServerSettings) -> ModelServer:
    """The server that these settings choose, not yet started."""
    from webgym.train.serving.child import Embedded
    from webgym.train.serving.external import External
    from webgym.train.serving.vllm import Vllm

    match settings:
        case EmbeddedSettings():
            return Embedded(settings)
        case VllmSettings():
            return Vllm(settings)
        case ExternalSettings():
            return External(settings)


@contextlib.asynccontextmanager
async def serving(settings: ModelServerSettings, checkpoint: Path) -> AsyncIterator[ModelServer]:
    """A started server; stopped when the block ends, also by cancellation."""
    server = model_server(settings)
    await server.start(checkpoint)
    try:
        yield server
    finally:
        await asyncio.shield(server.stop())


def check_checkpoint(checkpoint: Path) -> Path:
    """The folder by its full name, if it looks like a model."""
    folder = checkpoint.resolve()
    if not (folder / "config.json").is_file():
        raise ConfigError(f"{checkpoint} is no checkpoint: it has no config.json")
    if not any(folder.glob("*.safetensors")):
        raise ConfigError(f"{checkpoint} has no weights (*.safetensors)")
    return folder


def key_headers(variable: str | None) -> dict[str, str]:
    key = os.environ.get(variable) if variable else None
    return {"Authorization": f"Bearer {key}"} if key else {}


async def ask(
    method: str,
    url: str,
    *,
    within: float,
    headers: Headers | None = None,
    body: Mapping[str, JsonValue] | None = None,
) -> tuple[int, str]:
    """Status and text of one request to a server, up to a cap. Raises EndpointDown if there is no answer in time."""
    async with (
        blame(EndpointDown, f"{method} {url}", within=within),
        aiohttp.ClientSession() as http,
        http.request(method, url, json=body, headers=headers or {}, allow_redirects=False) as response,
    ):
        heard = bytearray()
        while len(heard) < MOST_HEARD and (piece := await response.content.read(MOST_HEARD - len(heard))):
            heard += piece  # one read gives what has arrived, which may be less than there is
        return response.status, heard.decode(errors="replace")


async def command(url: str, *, within: float, headers: Headers | None = None, body: Body | None = None) -> str:
    """POST that must succeed."""
    status, text = await ask("POST", url, within=within, headers=headers, body=body)
    if not 200 <= status < 300:
        raise EndpointDown(f"POST {url}: status {status}: {text[:300]}")
    return text


async def answers(url: str, *, headers: Headers | None = None, within: float = HEALTH_SECONDS) -> bool:
    try:
        status, _ = await ask("GET", url, within=within, headers=headers)
    except EndpointDown:
        return False
    return status == 200


async def await_health(process: ServerProcess, url: str, *, name: str, within: float) -> None:
    """Until the server answers; raises EndpointDown with its last words if it ends or is late."""
    try:
        async with asyncio.timeout(within):
            while process.running:
                if await answers(url):
                    return
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise EndpointDown(f"{name} was not ready in {within:g} s; it wrote:\n{process.last_words}") from None
    raise EndpointDown(f"{name} did not start; it wrote:\n{process.last_words}")


def free_port() -> int:
    """A port that is free now; another program may take it before its user does, which then fails to start."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
