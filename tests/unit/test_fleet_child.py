"""A child process ends when whoever started it lets go of its stdin."""

from __future__ import annotations

import asyncio
import os

import uvloop

from webgym.server.fleet.child import _when_closed


def test_the_end_of_a_pipe_is_told_once_and_the_pipe_is_left_open():
    async def run() -> None:
        ours, theirs = os.pipe()
        told: list[str] = []
        closed = asyncio.Event()

        def tell() -> None:
            told.append("closed")
            closed.set()

        _when_closed(ours, tell)
        os.write(theirs, b"what nobody asked for")
        await asyncio.sleep(0.05)
        assert not told, "more to read is no end"
        os.close(theirs)
        await asyncio.wait_for(closed.wait(), 5)
        await asyncio.sleep(0.05)
        assert told == ["closed"]
        os.fstat(ours)  # it is not closed behind the back of whoever else has it
        os.close(ours)

    uvloop.run(run())
