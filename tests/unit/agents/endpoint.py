"""A local policy server that does what it is told, once per request, and can die and come back at the same address."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

WAIT = '<tool_call>\n{"name": "computer_use", "arguments": {"action": "wait"}}\n</tool_call>'


@dataclass
class PolicyServer:
    """`async with PolicyServer() as server: server.url`. `plan` holds what the next requests get; then it is `reply`."""

    reply: str = WAIT
    plan: list[Any] = field(default_factory=list)  # texts, responses, or "slow", "half_open", "dead"
    more: dict[str, Any] = field(default_factory=dict)  # put into the choice
    above: dict[str, Any] = field(default_factory=dict)  # put beside the choices
    latency: float = 0.0
    key: str | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    port: int = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(json.loads(await request.read()))
        self.times.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency)
            return await self._answer(request)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.Response(status=401, text=f"bad key {request.headers.get('Authorization')}")
        next_one = self.plan.pop(0) if self.plan else self.reply
        match next_one:
            case web.Response():
                return next_one
            case "slow":
                await asyncio.sleep(60)
                return web.Response(status=504)
            case "half_open":
                response = web.StreamResponse(headers={"Content-Length": "5000"})
                await response.prepare(request)
                await response.write(b'{"choices": [{"mess')
                assert request.transport is not None
                request.transport.abort()
                return response
            case _:
                return self.completion(next_one)

    def completion(self, text: str | None, **message: Any) -> web.Response:
        spoken = {"role": "assistant", "content": text, **message}
        choice = {"index": 0, "message": spoken, "finish_reason": "stop", **self.more}
        usage = {"prompt_tokens": 100, "completion_tokens": 7}
        return web.json_response({"model": "served", "choices": [choice], "usage": usage, **self.above})
