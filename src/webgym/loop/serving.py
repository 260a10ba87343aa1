"""The model server over the iterations: it serves the checkpoint that a rollout asks for, and makes room for training.

Invariant: whoever gets an address from `serve` is answered by that checkpoint and no other. A server that was stopped has
given its memory back before `rest` returns; one that did not is an error, because training would die of it later. One that
dies while it is needed (`kept_up`) is started again at its address, a few times: whoever asks waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self

from webgym.errors import EndpointDown, WebGymError
from webgym.loop import memory
from webgym.train.serving.endpoint import ModelServer

log = logging.getLogger(__name__)

FREE_SECONDS: Final = 30.0
REVIVALS: Final = 3  # in one phase: a server that dies more often will die again
LOOK_SECONDS: Final = 0.5


class ModelHost:
    """A model server, started when it is first needed. Use it in an `async with`: nothing of it is left behind."""

    def __init__(self, server: ModelServer, *, stay: bool, free_within: float = FREE_SECONDS) -> None:
        """`stay`: it is left up while the model is trained."""
        self._server, self._stay, self._free_within = server, stay, free_within
        self._serving: Path | None = None
        self._died = False  # since it was last asked to serve

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self._stop())

    async def serve(self, checkpoint: Path) -> tuple[str, str]:
        """The address and the model's name, once it serves these weights."""
        if self._serving is not None and not await self._server.healthy():
            log.warning("the model server does not answer any more: it is started again")
            await self._stop()
        if self._serving is None:
            await self._server.start(checkpoint)
        elif self._serving != checkpoint:
            try:
                await self._server.reload(checkpoint)
            except EndpointDown as e:  # what is left of it may serve the old weights: begin anew
                log.warning("new weights could not be loaded, the model server is started again: %s", e)
                await self._stop()
                return await self.serve(checkpoint)
        self._serving, self._died = checkpoint, False
        return self._server.url, self._server.model

    async def steady(self) -> bool:
        """Whether it answers, and has not died since `serve`: what failed meanwhile did not fail because of it."""
        return self._serving is not None and not self._died and await self._server.healthy()

    @asynccontextmanager
    async def kept_up(self) -> AsyncIterator[None]:
        """While the block lasts, a server whose process dies is started again."""
        watching = asyncio.create_task(self._watch(), name="model server")
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})
            if not watching.cancelled():
                watching.result()

    async def _watch(self) -> None:
        for _ in range(REVIVALS):
            while self._serving is None or self._server.running:  # noqa: ASYNC110 - a process that dies tells nobody
                await asyncio.sleep(LOOK_SECONDS)
            self._died = True
            log.warning("the model server died: it is started again")
            try:
                await self._server.revive(self._serving)
            except WebGymError as e:
                log.warning("the model server could not be started again: %s", e)

    async def rest(self) -> None:
        """Before training: give the memory back, unless it is to stay."""
        if not self._stay:
            await self._stop()

    async def _stop(self) -> None:
        processes = await asyncio.to_thread(self._server.tree)
        self._serving = None
        await self._server.stop()
        await memory.gone(processes, "the model server", within=self._free_within)
