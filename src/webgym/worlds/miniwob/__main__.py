"""`python -m webgym.worlds.miniwob [PORT]`: serve MiniWoB++ until interrupted."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from webgym.errors import WebGymError
from webgym.worlds.miniwob.server import MiniWobServer, MiniWobSettings

PORT = 8127


async def serve(settings: MiniWobSettings) -> None:
    async with MiniWobServer(settings) as server:
        sys.stdout.write(f"MiniWoB++ at {server.url('click-test', 0)}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    given = sys.argv[1:]
    if len(given) > 1 or not all(port.isdecimal() and int(port) < 65536 for port in given):
        sys.exit("usage: python -m webgym.worlds.miniwob [PORT]")
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(MiniWobSettings(port=int(given[0]) if given else PORT)))
    except WebGymError as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main()
