"""Starting and ending what is run as a browser."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import uvloop

from webgym.server.process import ChromiumProcess


def test_what_a_process_says_is_heard_through_a_socket_and_its_folder_goes_with_it(tmp_path: Path):
    """No pipe: uvloop closes the descriptor of one twice, and the second time its number may be another thread's."""

    async def run() -> None:
        process = await ChromiumProcess._spawn(["/bin/sh", "-c", "echo said >&2; exec sleep 60"], tmp_path)
        await asyncio.sleep(0.2)
        assert process.last_words == "said"
        assert process._words is not None
        assert stat.S_ISSOCK(os.fstat(process._words.get_extra_info("socket").fileno()).st_mode)
        await process.close()
        assert process.gone.is_set()

    uvloop.run(run())
    assert not tmp_path.exists()
