"""What a rollout is measured against, each in a process of its own: `python -m benchmarks.rollout_children NAME`.

web       the offline web, whose pages take their time: a lognormal delay with a heavy tail before each document, of a mean
          of so many seconds
model     an OpenAI-compatible endpoint: lognormal latency of a given mean, so many requests at a time, the others in line
browsers  a rollout server without browsers, for counting what an engine holds over thousands of steps
"""

from __future__ import annotations

import asyncio
import math
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop
from aiohttp import web

from tests.standin.browsers import Browsers
from webgym.worlds.server import World, WorldServer

MODEL_MEAN, MODEL_SIGMA = 1.0, 0.7  # seconds; one reply in twenty takes longer than 2.5
# Three pages in four begin to come within 1.2 s, one in a hundred takes longer than 6.2. A website that the Chrome UX Report
# calls average has three in four within 0.8 to 1.8.
PAGE_MEAN, PAGE_SIGMA = 1.0, 1.0
PAGE_LONGEST = 8.0
AT_A_TIME = 32
IMAGE_BYTES = 100_000
CALL = '<tool_call>\n{"name": "computer_use", "arguments": {"action": "wait"}}\n</tool_call>'
SAID = f"Memory: []\nProgress: []\nIntention: look further\nAction: I wait.\n{CALL}"


def lognormal(chance: random.Random, mean: float, sigma: float) -> float:
    """A draw whose mean is `mean`, however heavy its tail."""
    return chance.lognormvariate(math.log(mean) - sigma**2 / 2, sigma)


class SlowWorld(World):
    """The offline web behind a network with a tail."""

    def __init__(self, seed: int, mean: float) -> None:
        super().__init__(seed)
        self._chance, self._mean = random.Random(seed), mean

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and "/static/" not in scope["path"] and "." not in scope["path"].rpartition("/")[2]:
            await asyncio.sleep(min(PAGE_LONGEST, lognormal(self._chance, self._mean, PAGE_SIGMA)))
        await super().__call__(scope, receive, send)


async def serve_web(stop: Callable[[], Awaitable[object]], mean: str = str(PAGE_MEAN)) -> None:
    server = WorldServer(0)
    server.world = SlowWorld(0, float(mean))
    async with server:
        print(f"http://127.0.0.1:{server.port}", flush=True)
        await stop()


async def serve_model(stop: Callable[[], Awaitable[object]]) -> None:
    chance, places = random.Random(0), asyncio.Semaphore(AT_A_TIME)

    async def complete(request: web.Request) -> web.Response:
        await request.read()
        async with places:
            await asyncio.sleep(lognormal(chance, MODEL_MEAN, MODEL_SIGMA))
        choice = {"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 6000, "completion_tokens": 60}})

    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await stop()
    await runner.cleanup()


async def serve_browsers(stop: Callable[[], Awaitable[object]]) -> None:
    async with Browsers(image_bytes=IMAGE_BYTES) as browsers:
        print(browsers.url, flush=True)
        await stop()


async def main(what: str, *more: str) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    serve: dict[str, Callable[..., Awaitable[None]]] = {"web": serve_web, "model": serve_model, "browsers": serve_browsers}
    await serve[what](stopped.wait, *more)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
