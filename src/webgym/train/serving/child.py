"""The embedded server as a child process."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from webgym.errors import ConfigError, EndpointDown
from webgym.train.serving.endpoint import answers, ask, check_checkpoint, key_headers
from webgym.train.serving.process import Freed, ServerProcess
from webgym.train.serving.settings import EmbeddedSettings, key_for

log = logging.getLogger(__name__)

ADDRESS = "webgym model server at "  # the line that says that it listens
EXPECTED_FAILURE = 2


class Embedded:
    """`python -m webgym.train.serving.embedded` under a guard."""

    def __init__(self, settings: EmbeddedSettings) -> None:
        self.settings = settings
        self.freed: Freed | None = None
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
        await self._start(checkpoint, self.settings)

    async def revive(self, checkpoint: Path) -> None:
        await self._start(checkpoint, self.settings.model_copy(update={"port": urlsplit(self._root).port}))

    async def _start(self, checkpoint: Path, settings: EmbeddedSettings) -> None:
        await self.stop()
        folder = check_checkpoint(checkpoint)
        key_for(settings.host, settings.key_variable)
        arguments = [sys.executable, "-m", "webgym.train.serving.embedded", str(folder), settings.model_dump_json()]
        self._process = process = await ServerProcess.start(arguments, name="the model server", write_to=settings.log)
        try:
            async with asyncio.timeout(settings.start_seconds):
                line = await process.hears(ADDRESS)
                status = await process.ended() if line is None else 0
        except TimeoutError:
            await self._failed()
            raise EndpointDown(
                f"the model server was not ready in {settings.start_seconds:g} s; it wrote:\n{process.last_words}"
            ) from None
        except BaseException:
            await asyncio.shield(self._failed())
            raise
        if line is None:
            await self._failed()
            kind = ConfigError if status == EXPECTED_FAILURE else EndpointDown
            raise kind(f"the model server did not start; it wrote:\n{process.last_words}")
        self._root = line.removeprefix(ADDRESS).strip()

    async def reload(self, checkpoint: Path) -> None:
        """New weights on the live server; if it cannot, a new server."""
        folder, settings = check_checkpoint(checkpoint), self.settings
        within = settings.http.drain_seconds + settings.http.load_seconds + 10
        headers = key_headers(settings.key_variable)
        try:
            status, text = await ask(
                "POST", f"{self._root}/reload", within=within, headers=headers, body={"checkpoint": str(folder)}
            )
            if status == 200:
                log.info("the model server has the weights of %s: %.300s", folder, text)
                return
            log.warning("the model server did not take %s (%d: %.300s): starting it anew", folder, status, text)
        except EndpointDown as e:
            log.warning("the model server did not take %s (%s): starting it anew", folder, e)
        await self.start(folder)

    async def stop(self) -> None:
        process = self._process
        if process is not None:
            self.freed = await process.stop()  # may be cancelled, and is then to be done again
            self._process = None

    async def healthy(self) -> bool:
        return self.running and await answers(f"{self._root}/health")

    async def _failed(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.stop()
