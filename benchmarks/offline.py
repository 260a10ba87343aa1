"""The offline web as measurements and tests need it: a process that serves it, and random pages of all kinds.

`python -m benchmarks.offline` serves it on a free port and prints the address, until it is told to end.
"""

from __future__ import annotations

import asyncio
import random
import re
import signal
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from html import unescape
from urllib.parse import parse_qsl, quote, urlsplit

import uvloop

from benchmarks.children import Child, module
from webgym.worlds.answers import Answer, Asked, answer
from webgym.worlds.names import host_of
from webgym.worlds.server import WorldServer
from webgym.worlds.sites import KINDS

SEED = 0
SITES = 10_000  # of each kind, from which pages are drawn
WALK = 4  # pages of one site
_LINK = re.compile(r'<a [^>]*href="(/[^"#]*)"')


@dataclass(frozen=True)
class Address:
    kind: str
    host: str
    path: str  # with its query

    def ask(self) -> Answer:
        """What the site answers to somebody new."""
        parts = urlsplit(self.path)
        return answer(Asked(SEED, self.host, parts.path, dict(parse_qsl(parts.query)), None, {}))

    def url(self, port: int) -> str:
        return f"http://{self.host}:{port}{quote(self.path, safe='/?=&%+')}"


def links(page: Answer) -> list[str]:
    """Where a page leads on its own site, but for what changes something."""
    found = {unescape(link) for link in _LINK.findall(page.body.decode())}
    return sorted(link for link in found if not link.startswith(("//", "/_/", "/cart/", "/logout")))


def pages(count: int, chance: random.Random) -> Iterator[Address]:
    """Random pages: kinds in turn, and on each random site a short walk along its links."""
    kinds = list(KINDS.values())
    made = 0
    while made < count:
        kind = kinds[made // WALK % len(kinds)]
        host, path = host_of(SEED, kind, chance.randrange(SITES)), "/"
        for _ in range(min(WALK, count - made)):
            address = Address(kind.name, host, path)
            yield address
            made += 1
            path = chance.choice(links(address.ask()) or ["/"])


def offline_web() -> AbstractAsyncContextManager[Child]:
    """The offline web in its own process, so that its processor time can be told apart."""
    return module("benchmarks.offline")


async def _serve() -> None:
    async with WorldServer(SEED) as server:
        print(f"http://127.0.0.1:{server.port}", flush=True)
        stop = asyncio.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        await stop.wait()


if __name__ == "__main__":
    uvloop.run(_serve())
