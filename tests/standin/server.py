"""A local OpenAI-compatible server that answers from a hash of the question, and misbehaves at set rates.

What it says depends on the question alone: asked twice, it answers twice the same, and a bad answer stays bad. Whether a
try is turned away depends on the question and the number of the try, and a question is turned away `max_faults` times at
most. It counts what reaches it, so that limits are measured where they matter.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from webgym.tasks.taxonomy import DOMAINS

SUBJECTS = [(domain, subdomain) for domain, inside in DOMAINS.items() for subdomain in inside]


@dataclass(frozen=True)
class Faults:
    """Shares of tries that fail on the way, and of questions whose answers are no good."""

    busy: float = 0.0  # 429 with Retry-After
    broken: float = 0.0  # 500, 502, 503
    slow: float = 0.0  # longer than the client waits
    half_open: float = 0.0  # half a body, then the connection is gone
    garbage: float = 0.0  # 200 and no chat completion
    malformed: float = 0.0
    schema: float = 0.0
    content: float = 0.0  # fits the schema and breaks a rule
    refusal: float = 0.0
    cut: float = 0.0
    empty: float = 0.0


TRANSPORT = ("busy", "broken", "slow", "half_open", "garbage")
ANSWERS = ("malformed", "schema", "content", "refusal", "cut", "empty")
MISBEHAVING = Faults(
    busy=0.04, broken=0.04, slow=0.004, half_open=0.02, garbage=0.02,
    malformed=0.04, schema=0.04, content=0.04, refusal=0.02, cut=0.02, empty=0.02,
)  # fmt: skip


@dataclass
class StandIn:
    """`async with StandIn(faults=...) as model: model.url`"""

    faults: Faults = field(default_factory=Faults)
    max_faults: int = 3
    latency: float = 0.0
    slow_seconds: float = 30.0
    retry_after: str = "0.05"
    refuse: int = 0  # a status for everyone
    key: str | None = None
    echo_key: bool = False
    script: list[web.Response | str] = field(default_factory=list)  # served first, one a request

    tries: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    arrivals: list[tuple[float, int]] = field(default_factory=list)  # when, and tokens charged
    statuses: Counter[int] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keep_bodies: bool = False
    in_flight: int = 0
    most_in_flight: int = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def most_in(self, seconds: float) -> tuple[int, int]:
        """The most requests and tokens that arrived in any such time."""
        requests = tokens = start = held = 0
        for end, (when, weight) in enumerate(self.arrivals):
            held += weight
            while self.arrivals[start][0] <= when - seconds:
                held -= self.arrivals[start][1]
                start += 1
            requests, tokens = max(requests, end - start + 1), max(tokens, held)
        return requests, tokens

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            response = await self._answer(request, raw)
        finally:
            self.in_flight -= 1
        self.statuses[response.status] += 1
        return response

    async def _answer(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        body = json.loads(raw)
        if self.keep_bodies:
            self.bodies.append(body)
        name = hashlib.sha256(raw).hexdigest()
        self.tries[name] += 1
        self.arrivals.append((time.monotonic(), 0))
        at = len(self.arrivals) - 1
        if self.refuse:
            return web.json_response({"error": {"message": "unknown parameter"}}, status=self.refuse)
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            told = request.headers.get("Authorization", "none")
            return web.json_response({"error": {"message": f"Incorrect API key provided: {told}"}}, status=401)
        if self.latency:
            await asyncio.sleep(self.latency)
        if self.script:
            scripted = self.script.pop(0)
            return scripted if isinstance(scripted, web.Response) else completion(raw, scripted)
        fault = self._drawn(TRANSPORT, f"{name} {self.tries[name]}") if self.tries[name] <= self.max_faults else None
        if fault is not None:
            return await self._fail(fault, request, raw)
        answer = self._said(body, name)
        self.answered[name] += 1
        self.arrivals[at] = (self.arrivals[at][0], sum(json.loads(answer.body)["usage"].values()))  # type: ignore[arg-type]
        return answer

    async def _fail(self, fault: str, request: web.Request, raw: bytes) -> web.StreamResponse:
        match fault:
            case "busy":
                return web.json_response(
                    {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": self.retry_after}
                )
            case "broken":
                return web.Response(status=(500, 502, 503)[zlib.crc32(raw) % 3], text="<html>Bad gateway</html>")
            case "slow":
                await asyncio.sleep(self.slow_seconds)
                return web.Response(status=504)
            case "half_open":
                response = web.StreamResponse(headers={"Content-Length": "5000"})
                await response.prepare(request)
                await response.write(b'{"choices": [{"mess')
                assert request.transport is not None
                request.transport.abort()
                return response
            case _:
                return web.Response(text='{"choices": [{"message": {"content": "cut off in the mid')

    def _said(self, body: dict[str, Any], name: str) -> web.Response:
        fault = self._drawn(ANSWERS, f"answer {name}")
        raw = json.dumps(body).encode()
        good = good_answer(body, name)
        echoed = f" {self.key}" if self.echo_key else ""
        match fault:
            case "malformed":
                return completion(raw, f"Sure! Here it is:{echoed}\n{json.dumps(good)}")
            case "schema":
                return completion(raw, json.dumps({"result": good, "note": echoed}))
            case "content":
                return completion(raw, json.dumps(broken_rule(good)))
            case "refusal":
                return completion(raw, "", refusal=f"I cannot help with that.{echoed}")
            case "cut":
                return completion(raw, json.dumps(good)[:-10], finish="length")
            case "empty":
                return completion(raw, " ")
            case _:
                return completion(raw, json.dumps(good))

    def _drawn(self, kinds: tuple[str, ...], what: str) -> str | None:
        draw = chance(what)
        for kind in kinds:
            draw -= getattr(self.faults, kind)
            if draw < 0:
                return kind
        return None


def chance(what: str) -> float:
    """A number in [0, 1) that belongs to a text."""
    return int.from_bytes(hashlib.blake2b(what.encode(), digest_size=6).digest()) / 2**48


def good_answer(body: dict[str, Any], name: str) -> dict[str, Any]:
    """What a diligent model would say."""
    domain, subdomain = SUBJECTS[int(chance(f"subject {name}") * len(SUBJECTS))]
    match body["response_format"]["json_schema"]["name"]:
        case "WrittenSubject":
            return {"domain": domain, "subdomain": subdomain}
        case "WrittenChild":
            return {"instruction": f"Do only the part of this task that {name[:12]} names."}
        case _:
            groups, facts = 1 + int(chance(f"groups {name}") ** 4 * 4), 0
            listed = []
            for number in range(groups):
                count = 1 + int(chance(f"facts {name} {number}") ** 3 * 5)
                stated = [f"Fact {facts + n} of {name[:8]} holds." for n in range(count)]
                listed.append({"description": f"Part {number + 1}", "facts": stated})
                facts += count
            return {"groups": listed, "domain": domain, "subdomain": subdomain}


def broken_rule(good: dict[str, Any]) -> dict[str, Any]:
    """The same, breaking a rule that no schema states."""
    if "instruction" in good:
        return {"instruction": " \n"}
    if "groups" in good and good["groups"][0]["facts"][0][5] in "13579":
        return good | {"groups": good["groups"] + good["groups"]}
    return good | {"subdomain": "Astrology"}


def completion(raw: bytes, text: str | None, *, refusal: str | None = None, finish: str = "stop") -> web.Response:
    """A chat completion as providers send it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, "refusal": refusal}, "finish_reason": finish}
    usage = {"prompt_tokens": len(raw) // 5, "completion_tokens": len(text or "") // 4}
    return web.json_response({"id": "x", "model": "stand-in-2", "choices": [choice], "usage": usage})
