"""Run the test website by hand: `python -m tests.site --port 8000`."""

import argparse
import asyncio
import contextlib
import sys

from tests.site.server import Site


async def serve(host: str, port: int) -> None:
    async with Site(host=host, port=port) as site:
        sys.stdout.write(f"{site.url()}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.site", description="A local website of nasty and ordinary pages.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port")
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments.host, arguments.port))


if __name__ == "__main__":
    main()
