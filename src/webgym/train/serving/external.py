"""A model server that others run: it is asked how it is, and told of new weights by a hook. It is never started
or stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from pathlib import Path

import psutil

from webgym.errors import ConfigError, EndpointDown
from webgym.train.serving.endpoint import answers, check_checkpoint, command, key_headers
from webgym.train.serving.settings import ExternalSettings

log = logging.getLogger(__name__)

QUOTED = 2_000


class External:
    def __init__(self, settings: ExternalSettings) -> None:
        self.settings = settings

    @property
    def url(self) -> str:
        return self.settings.url

    @property
    def model(self) -> str:
        return self.settings.model

    async def start(self, checkpoint: Path) -> None:
        """It must be up, and gets the checkpoint's weights as with `reload`."""
        if not await self.healthy():
            raise EndpointDown(f"the model server at {self.settings.url} does not answer")
        await self.reload(checkpoint)

    @property
    def running(self) -> bool:
        return True

    async def revive(self, checkpoint: Path) -> None:
        await self.start(checkpoint)

    async def reload(self, checkpoint: Path) -> None:
        folder, settings = check_checkpoint(checkpoint), self.settings
        if settings.reload_url is not None:
            headers = key_headers(settings.key_variable)
            await command(
                settings.reload_url, within=settings.reload_seconds, headers=headers, body={"checkpoint": str(folder)}
            )
        else:
            await self._run([*settings.reload_command, str(folder)])
        if not await self.healthy():
            raise EndpointDown(f"the model server at {settings.url} does not answer after its reload")

    async def stop(self) -> None:
        return

    def tree(self) -> list[psutil.Process]:
        return []

    async def healthy(self) -> bool:
        settings = self.settings
        return await answers(
            f"{settings.url}/models", headers=key_headers(settings.key_variable), within=settings.health_seconds
        )

    async def _run(self, arguments: list[str]) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as e:
            raise ConfigError(f"reload_command cannot be run: {e}") from e
        try:
            async with asyncio.timeout(self.settings.reload_seconds):
                written, _ = await process.communicate()
        except TimeoutError:
            raise EndpointDown(f"reload_command did not end in {self.settings.reload_seconds:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())
        if process.returncode != 0:
            said = written[-QUOTED:].decode(errors="replace")
            raise EndpointDown(f"reload_command ended with {process.returncode}: {said}")
