"""The embedded server's door: keys, bounds, deadlines. One small server with a key, over real sockets."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from webgym.train.serving.child import Embedded
from webgym.train.serving.endpoint import serving
from webgym.train.serving.settings import EmbeddedSettings, EngineSettings, HttpSettings

KEY = "a-key-for-these-tests-only"
HEADERS = {"Authorization": f"Bearer {KEY}"}
VARIABLE = "WEBGYM_TEST_MODEL_KEY"
LONG = {"max_tokens": 12_000, "ignore_eos": True}

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(checkpoints: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedded]:
    settings = EmbeddedSettings(
        key_variable=VARIABLE,
        engine=EngineSettings(threads=1, rows=1, waiting=2),
        http=HttpSettings(body_mib=1, body_seconds=1, reply_seconds=3),
        log=tmp_path_factory.mktemp("logs") / "server.log",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, KEY)
        async with serving(settings, checkpoints[0]) as running:
            assert isinstance(running, Embedded)
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        yield session


def body(**changes: Any) -> dict[str, Any]:
    return {"model": "policy", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4} | changes


async def post(
    http: aiohttp.ClientSession, server: Embedded, sent: dict[str, Any], headers: dict[str, str] = HEADERS
) -> tuple[int, dict[str, Any], Any]:
    async with http.post(f"{server.url}/chat/completions", json=sent, headers=headers) as response:
        return response.status, await response.json(), response.headers


async def test_a_key_is_needed_for_everything_but_health(http: aiohttp.ClientSession, server: Embedded):
    for headers in ({}, {"Authorization": "Bearer another-key-than-theirs"}, {"Authorization": KEY}):
        status, told, _ = await post(http, server, body(), headers)
        assert status == 401
        assert told["error"]["code"] == 401
        root = server.url.removesuffix("/v1")
        async with http.post(f"{root}/reload", json={"checkpoint": "/"}, headers=headers) as response:
            assert response.status == 401
        async with http.get(f"{server.url}/models", headers=headers) as response:
            assert response.status == 401
    assert await server.healthy()
    assert (await post(http, server, body()))[0] == 200


async def test_one_request_too_many_is_told_when_to_come_back(http: aiohttp.ClientSession, server: Embedded):
    sent = [asyncio.create_task(post(http, server, body(**LONG))) for _ in range(8)]
    answers = [await one for one in sent]
    turned_away = [(told, headers) for status, told, headers in answers if status == 429]
    assert len(turned_away) == 5  # one row, two waiting
    assert all(int(headers["Retry-After"]) >= 1 for _, headers in turned_away)
    assert {status for status, _, _ in answers} == {429, 503}  # the others ran into their deadline
    assert (await post(http, server, body()))[0] == 200


async def test_a_reply_that_takes_too_long_is_an_error_and_frees_its_row(http: aiohttp.ClientSession, server: Embedded):
    status, told, _ = await post(http, server, body(**LONG))
    assert status == 503
    assert "3 s" in told["error"]["message"]
    assert (await post(http, server, body()))[0] == 200


async def test_a_body_over_the_cap_is_refused(http: aiohttp.ClientSession, server: Embedded):
    large = io.BytesIO(json.dumps(body(user="x" * (2 << 20))).encode())
    async with http.post(f"{server.url}/chat/completions", data=large, headers=HEADERS) as response:
        assert response.status == 413
        assert (await response.json())["error"]["type"] == "body_too_large"


async def test_a_body_that_does_not_come_is_not_waited_for(server: Embedded):
    host, port = server.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = ("POST /v1/chat/completions HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}", "Content-Length: 100")
    writer.write("\r\n".join([*lines, "", '{"model"']).encode())
    async with asyncio.timeout(20):
        assert b" 408 " in await reader.readline()
    writer.close()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"n": 2}, "n"),
        ({"stream": True}, "stream"),
        ({"tools": []}, "tools"),
        ({"repetition_penalty": 1.1}, "repetition_penalty"),
        ({"top_logprobs": 5}, "top_logprobs"),
        ({"stop": [""]}, "stop"),
        ({"seed": "one"}, "seed"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content"),
    ],
)
async def test_what_is_not_understood_is_refused_by_name(
    http: aiohttp.ClientSession, server: Embedded, wrong: dict[str, Any], field: str
):
    status, told, _ = await post(http, server, body(**wrong))
    assert status == 400
    assert field in told["error"]["message"]
    assert told["error"]["param"].startswith(field)


async def test_a_seed_repeats_a_reply(http: aiohttp.ClientSession, server: Embedded):
    hot = body(temperature=1.0, max_tokens=20, ignore_eos=True, seed=7)
    one, other = [(await post(http, server, hot))[1]["choices"][0]["message"] for _ in range(2)]
    assert one == other


async def test_a_reload_of_something_else_is_refused_and_the_old_weights_stay(
    http: aiohttp.ClientSession, server: Embedded, tmp_path: Path
):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
    root = server.url.removesuffix("/v1")
    for folder in (tmp_path, tmp_path / "absent"):
        async with http.post(f"{root}/reload", json={"checkpoint": str(folder)}, headers=HEADERS) as response:
            assert response.status == 400
            assert "checkpoint" in (await response.json())["error"]["message"]
    async with http.get(f"{root}/health") as response:
        assert (await response.json())["generation"] == 0
    assert (await post(http, server, body()))[0] == 200


async def test_an_unknown_place_is_an_error_object_too(http: aiohttp.ClientSession, server: Embedded):
    async with http.get(f"{server.url}/nothing") as response:
        assert response.status == 404
        assert (await response.json())["error"]["code"] == 404


async def test_without_a_key_web_pages_are_refused(
    http: aiohttp.ClientSession, checkpoints: tuple[Path, Path], tmp_path: Path
):
    settings = EmbeddedSettings(key_variable="WEBGYM_NO_SUCH_KEY", log=tmp_path / "log")
    async with serving(settings, checkpoints[0]) as running:
        assert isinstance(running, Embedded)
        assert (await post(http, running, body(), {}))[0] == 200
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            status, told, _ = await post(http, running, body(), headers)
            assert status == 403
            assert told["error"]["type"] == "forbidden"
