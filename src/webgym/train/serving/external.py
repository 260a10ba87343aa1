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

from webgym.endpoint.transport import read_key
from webgym.errors import ConfigError, EndpointDown
from webgym.train.serving.endpoint import ask, check_checkpoint, command
from webgym.train.serving.settings import ExternalSettings

log = logging.getLogger(__name__)

QUOTED = 2_000


def key_of(settings: ExternalSettings) -> dict[str, str]:
    """What shows its key. Raises ConfigError if one is wanted and is not there."""
    key = read_key(settings.key_variable)
    return {"Authorization": f"Bearer {key}"} if key else {}


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
        await self._check()
        await self.reload(checkpoint)

    @property
    def running(self) -> bool:
        return True

    async def revive(self, checkpoint: Path) -> None:
        await self.start(checkpoint)

    async def reload(self, checkpoint: Path) -> None:
        folder, settings = check_checkpoint(checkpoint), self.settings
        if settings.reload_url is not None:
            await command(
                settings.reload_url,
                within=settings.reload_seconds,
                headers=key_of(settings),
                body={"checkpoint": str(folder)},
            )
        else:
            await self._run([*settings.reload_command, str(folder)])
        await self._check(" after its reload")

    async def stop(self) -> None:
        return

    def tree(self) -> list[psutil.Process]:
        return []

    async def healthy(self) -> bool:
        try:
            status, _ = await self._asked()
        except EndpointDown:
            return False
        return status == 200

    async def _asked(self) -> tuple[int, str]:
        settings = self.settings
        return await ask("GET", f"{settings.url}/models", within=settings.health_seconds, headers=key_of(settings))

    async def _check(self, when: str = "") -> None:
        """Raise if it would not answer now."""
        url, variable = self.settings.url, self.settings.key_variable
        try:
            status, text = await self._asked()
        except EndpointDown as e:
            raise EndpointDown(f"the model server at {url} does not answer{when}: {e}") from e
        if status in (401, 403):
            mend = f"does {variable} hold its key?" if variable else "name the variable that holds its key in key_variable"
            raise ConfigError(f"the model server at {url} refuses us{when}, with status {status}: {mend}")
        if status != 200:
            raise EndpointDown(f"the model server at {url} answers{when} with status {status}: {text[:300]}")

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
