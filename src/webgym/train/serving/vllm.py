"""vLLM as a child process in its own environment.

New weights go into the live server: pause until requests under way have ended, reload, pack a head that shares weights again
(`vllm_extension`), reset every cache that old weights filled (prefix, processed images, encoder), resume. If any of it
fails, the server is started anew, because a half-done swap would answer with stale image features. The end points that do
this (vLLM's development mode) obey whoever reaches them, so the server listens on loopback alone.
"""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from pydantic import BaseModel, JsonValue, ValidationError

from webgym.errors import ConfigError, EndpointDown
from webgym.train.serving.endpoint import answers, await_health, check_checkpoint, command, free_port, key_headers
from webgym.train.serving.process import Freed, ServerProcess
from webgym.train.serving.settings import LOOPBACK, VllmSettings, key_for

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
EXTENSION = "webgym_vllm_extension.WeightSwap"
EXTENSION_FOLDER = Path(__file__).parent / "vllm_extension"
RESET_SECONDS = 10.0
RESET_PAUSE = 0.1
CACHES = ("reset_prefix_cache", "reset_mm_cache", "reset_encoder_cache")
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_SERVER_DEV_MODE": "1",
}


def require_vllm(settings: VllmSettings) -> None:
    """Raise ConfigError if its environment is not there."""
    if not settings.python.is_file():
        raise ConfigError(f"vLLM's environment is not there ({settings.python}): make it with `webgym env make serve`")


class _Reset(BaseModel):
    success: bool = True


class Vllm:
    """`python -m vllm.entrypoints.openai.api_server` under a guard; `vllm serve` does not start in the CPU build."""

    def __init__(self, settings: VllmSettings) -> None:
        self.settings = settings
        self.freed: Freed | None = None
        self.swapped_live = 0
        self._process: ServerProcess | None = None
        self._root = ""

    @property
    def url(self) -> str:
        return f"{self._root}/v1"

    @property
    def model(self) -> str:
        return self.settings.model

    @property
    def process(self) -> ServerProcess | None:
        return self._process

    def tree(self) -> list[psutil.Process]:
        return self._process.tree() if self._process is not None else []

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    async def start(self, checkpoint: Path) -> None:
        await self._start(checkpoint, self.settings.port or free_port())

    async def revive(self, checkpoint: Path) -> None:
        await self._start(checkpoint, urlsplit(self._root).port or free_port())

    async def _start(self, checkpoint: Path, port: int) -> None:
        await self.stop()
        folder, settings = check_checkpoint(checkpoint), self.settings
        require_vllm(settings)
        paths = [str(EXTENSION_FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(paths)} | settings.environment
        if (key := key_for(HOST, settings.key_variable)) is not None:
            environment["VLLM_API_KEY"] = key  # not an argument, which other users of the machine could read
        self._root = f"http://{HOST}:{port}"
        self._process = process = await ServerProcess.start(
            self._arguments(folder, port), name="vLLM", environment=environment, write_to=settings.log
        )
        try:
            await await_health(process, f"{self._root}/health", name="vLLM", within=settings.start_seconds)
        except BaseException:
            await asyncio.shield(self._end())
            raise

    async def reload(self, checkpoint: Path) -> None:
        folder = check_checkpoint(checkpoint)
        try:
            await self._swap(folder)
            self.swapped_live += 1
        except (EndpointDown, ValidationError) as e:
            log.warning("vLLM did not take %s (%s): starting it anew", folder, e)
            await self.start(folder)

    async def stop(self) -> None:
        await self._end()

    async def healthy(self) -> bool:
        return self.running and await answers(f"{self._root}/health")

    async def _swap(self, folder: Path) -> None:
        settings, headers = self.settings, key_headers(self.settings.key_variable)
        within = settings.swap_seconds
        body: dict[str, JsonValue] = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
        await command(f"{self._root}/pause?mode=wait", within=settings.drain_seconds, headers=headers)
        await command(f"{self._root}/collective_rpc", within=within, headers=headers, body=body)
        await command(f"{self._root}/collective_rpc", within=within, headers=headers, body={"method": "refresh_head"})
        for cache in CACHES:
            await self._reset(cache)
        await command(f"{self._root}/resume", within=within, headers=headers)

    async def _reset(self, cache: str) -> None:
        """Empty a cache. vLLM says 200 and `success: false` while blocks are held, as just after clients have left."""
        ends = asyncio.get_running_loop().time() + RESET_SECONDS
        headers = key_headers(self.settings.key_variable)
        while True:
            text = await command(f"{self._root}/{cache}", within=self.settings.swap_seconds, headers=headers)
            if not text.strip() or _Reset.model_validate_json(text).success:
                return
            if asyncio.get_running_loop().time() >= ends:
                raise EndpointDown(f"vLLM did not empty its cache in {RESET_SECONDS:g} s ({cache})")
            await asyncio.sleep(RESET_PAUSE)

    async def _end(self) -> None:
        process = self._process
        if process is not None:
            self.freed = await process.stop()  # may be cancelled, and is then to be done again
            self._process = None

    def _arguments(self, folder: Path, port: int) -> list[str]:
        settings = self.settings
        assert HOST in LOOPBACK, "the end points that swap weights have no key of their own"
        return [
            str(settings.python.absolute()),
            "-m",
            "vllm.entrypoints.openai.api_server",
            *("--model", str(folder)),
            *("--served-model-name", settings.model),
            *("--host", HOST, "--port", str(port)),
            *("--dtype", settings.dtype),
            *("--limit-mm-per-prompt", f'{{"image":{settings.images},"video":0}}'),
            *(["--max-model-len", str(settings.max_model_len)] if settings.max_model_len else []),
            *(["--enforce-eager"] if settings.enforce_eager else []),
            *("--worker-extension-cls", EXTENSION),
            *settings.arguments,
        ]
