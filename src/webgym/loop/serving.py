"""The model server over the iterations: it serves the checkpoint that a rollout asks for, and makes room for training.

Invariant: whoever gets an address from `serve` is answered by that checkpoint and no other. A server that was stopped has
given its memory back before `rest` returns; one that did not is an error, because training would die of it later.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final, Self

from webgym.errors import EndpointDown
from webgym.loop import memory
from webgym.train.serving.endpoint import ModelServer

log = logging.getLogger(__name__)

FREE_SECONDS: Final = 30.0


class ModelHost:
    """A model server, started when it is first needed. Use it in an `async with`: nothing of it is left behind."""

    def __init__(self, server: ModelServer, *, stay: bool, free_within: float = FREE_SECONDS) -> None:
        """`stay`: it is left up while the model is trained."""
        self._server, self._stay, self._free_within = server, stay, free_within
        self._serving: Path | None = None

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
        self._serving = checkpoint
        return self._server.url, self._server.model

    async def rest(self) -> None:
        """Before training: give the memory back, unless it is to stay."""
        if not self._stay:
            await self._stop()

    async def _stop(self) -> None:
        processes = await asyncio.to_thread(self._server.tree)
        self._serving = None
        await self._server.stop()
        await memory.gone(processes, "the model server", within=self._free_within)
