"""What the loop and its children hold of memory, and whether a part that was stopped has given its own back.

A model server or a training job that survives its end holds the memory that the next phase needs, and nobody sees it until
that phase dies of it. So whoever stops a part looks: its processes must be gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Final

import psutil

from webgym.errors import TrainError
from webgym.train.serving.process import alive, resident

MB: Final = 1 << 20
_LOOK: Final = 0.1


def held() -> int:
    """Bytes resident in this process and all below it, an upper bound."""
    me = psutil.Process()
    return resident((me, *me.children(recursive=True)))


async def gone(processes: Iterable[psutil.Process], what: str, *, within: float) -> None:
    """Wait until none of these runs; what is still there then is an error, with how much it holds."""
    left, until = list(processes), time.monotonic() + within
    while left := [one for one in left if alive(one)]:
        if time.monotonic() > until:
            names = ", ".join(f"{one.pid} ({resident([one]) // MB} MB)" for one in left[:5])
            raise TrainError(f"{what} was stopped and still holds memory, in processes {names}")
        await asyncio.sleep(_LOOK)
