"""The wire API as plain JSON, for tests that want to see statuses and refusals rather than exceptions."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from tests.conftest import KEY

BLIND = {"image": "none"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def refusal(self) -> tuple[int, str]:
        return self.status, self.error["code"]


@dataclass(frozen=True)
class Api:
    """One way in."""

    base: str
    way: str
    http: aiohttp.ClientSession

    async def ask(self, method: str, path: str, body: Any = None, *, base: str | None = None, **headers: str) -> Answer:
        sent = {"X-API-Key": KEY} | {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None and "Content-Type" not in sent:
            sent["Content-Type"] = "application/json"
        url = URL((base or self.base) + path, encoded=True)
        async with self.http.request(
            method, url, data=None if data is None else io.BytesIO(data), headers=sent, allow_redirects=False
        ) as answer:
            return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, await answer.read())

    async def create(self, **fields: Any) -> Answer:
        return await self.ask("POST", "/v1/sessions", {"look": BLIND} | fields)

    @asynccontextmanager
    async def session(self, **fields: Any) -> AsyncIterator[Session]:
        session = await self.open(**fields)
        try:
            yield session
        finally:
            await session.call("DELETE", "")

    async def open(self, **fields: Any) -> Session:
        answer = await self.create(**fields)
        assert answer.status == 200, answer.data
        return Session(self, answer.json)

    async def fleet(self) -> Any:
        return (await self.ask("GET", "/v1/fleet")).json

    async def available(self) -> int:
        return int((await self.ask("GET", "/v1/fleet")).json["available"])


@dataclass(frozen=True)
class Session:
    api: Api
    started: Any

    @property
    def first(self) -> Any:
        return self.started["observation"]

    async def call(self, method: str, call: str, body: Any = None, *, by: str | None = None, **headers: str) -> Answer:
        path = f"/v1/sessions/{self.started['id']}{call}"
        headers = {"Lease": self.started["lease"]["token"]} | headers
        return await self.api.ask(method, path, body, base=by or self.started["url"], **headers)

    async def step(
        self,
        kind: str,
        *,
        look: Any = BLIND,
        key: str | None = None,
        seq: int | None = None,
        by: str | None = None,
        **fields: Any,
    ) -> Answer:
        more = {name: value for name, value in (("key", key), ("seq", seq)) if value is not None}
        return await self.call("POST", "/step", {"action": {"kind": kind, **fields}, "look": look, **more}, by=by)

    async def seen(self, kind: str, **fields: Any) -> Any:
        answer = await self.step(kind, **fields)
        assert answer.status == 200, answer.data
        return answer.json["observation"]


@asynccontextmanager
async def connected(url: str, way: str = "master") -> AsyncIterator[Api]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
        yield Api(url, way, http)
