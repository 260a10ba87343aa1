"""What every model server promises the rollouts, checked against the embedded server and against real vLLM.

vLLM runs when its environment is there (`webgym env make serve`), as a slow test: it takes half a minute to start.
Log-probabilities are compared with transformers, which reckons them from the ids the server says it read and wrote.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
import pytest_asyncio
from PIL import Image, ImageDraw

from webgym.agents.completion import read_completion
from webgym.train.serving.child import Embedded
from webgym.train.serving.endpoint import ModelServer, serving
from webgym.train.serving.settings import EmbeddedSettings, EngineSettings, ModelServerSettings, VllmSettings

VLLM_PYTHON = Path(__file__).parents[2] / ".venv-serve" / "bin" / "python"
TOLERANCE = 2e-3  # of a log-probability: two programs, two orders of summation
SERVERS = [
    pytest.param("embedded", id="embedded"),
    pytest.param(
        "vllm",
        id="vllm",
        marks=[
            pytest.mark.slow,
            pytest.mark.timeout(900),
            pytest.mark.skipif(not VLLM_PYTHON.exists(), reason="no .venv-serve: run `webgym env make serve`"),
        ],
    ),
]

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("torch") is None, reason="the train extra is not installed"),
]


@dataclass(frozen=True)
class Checkpoints:
    first: Path
    second: Path


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    from webgym.train.tiny import make_tiny

    folder = tmp_path_factory.mktemp("models")
    return Checkpoints(make_tiny(folder / "first", 0), make_tiny(folder / "second", 1))


def settings_of(kind: str, log: Path) -> ModelServerSettings:
    if kind == "vllm":
        return VllmSettings.on_cpu(python=VLLM_PYTHON, max_model_len=4096, log=log)
    return EmbeddedSettings(engine=EngineSettings(threads=1, context=4096), log=log)


@dataclass(frozen=True)
class Client:
    """What a rollout would send, with every part changeable."""

    server: ModelServer
    http: aiohttp.ClientSession

    async def post(self, **changes: Any) -> tuple[int, dict[str, Any], str]:
        body = {"model": self.server.model, "messages": ask("What is it?", picture()), "max_tokens": 12, "temperature": 0}
        given = {name: value for name, value in (body | changes).items() if value is not ...}
        async with self.http.post(f"{self.server.url}/chat/completions", json=given) as response:
            text = await response.text()
            return response.status, await response.json(content_type=None), text

    async def reply(self, **changes: Any) -> dict[str, Any]:
        status, body, text = await self.post(**({"logprobs": True, "return_token_ids": True} | changes))
        assert status == 200, text
        return body

    async def busy(self) -> int:
        """Requests that hold a row, by each server's own count."""
        root = self.server.url.removesuffix("/v1")
        if isinstance(self.server, Embedded):
            async with self.http.get(f"{root}/health") as response:
                active: int = (await response.json())["active"]
                return active
        async with self.http.get(f"{root}/metrics") as response:
            lines = (await response.text()).splitlines()
        return sum(int(float(line.split()[-1])) for line in lines if line.startswith("vllm:num_requests_running"))


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SERVERS)
async def client(
    request: pytest.FixtureRequest, checkpoints: Checkpoints, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    log = tmp_path_factory.mktemp("logs") / f"{request.param}.log"
    async with (
        serving(settings_of(request.param, log), checkpoints.first) as server,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as http,
    ):
        yield Client(server, http)


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def picture(colour: str = "red", size: tuple[int, int] = (224, 160)) -> bytes:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((20, 20, 150, 100), fill=colour)
    return png(image)


def ask(*parts: str | bytes) -> list[dict[str, Any]]:
    content = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(part).decode()}"}}
        for part in parts
    ]
    return [{"role": "system", "content": "You look at pictures."}, {"role": "user", "content": content}]


def ids(body: dict[str, Any]) -> list[int]:
    found: list[int] = body["choices"][0]["token_ids"]
    return found


def logprobs(body: dict[str, Any]) -> list[float]:
    return [token["logprob"] for token in body["choices"][0]["logprobs"]["content"]]


def reckon(checkpoint: Path, prompt: list[int], reply: list[int], pictures: list[bytes]) -> list[float]:
    """The log-probability of every token of a reply, by transformers in one pass."""
    from webgym.train.shim import activate

    activate()
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model = AutoModelForImageTextToText.from_pretrained(checkpoint, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(checkpoint)
    tokens = torch.tensor([prompt + reply])
    extra: dict[str, Any] = {"mm_token_type_ids": (tokens == model.config.image_token_id).long()}
    if pictures:
        shown = [Image.open(io.BytesIO(data)).convert("RGB") for data in pictures]
        extra |= dict(processor.image_processor(images=shown, return_tensors="pt"))
    with torch.no_grad():
        told = model(input_ids=tokens, **extra).logits[0].log_softmax(-1)
    return [told[len(prompt) + n - 1, token].item() for n, token in enumerate(reply)]


async def test_it_is_healthy_and_names_its_model(client: Client):
    assert await client.server.healthy()
    async with client.http.get(f"{client.server.url}/models") as response:
        assert [model["id"] for model in (await response.json())["data"]] == [client.server.model]


async def test_a_reply_is_what_the_rollouts_read(client: Client):
    _, _, text = await client.post(logprobs=True, return_token_ids=True, temperature=1.0, top_p=0.99, top_k=2)
    reply = read_completion(text, asked="policy", seconds=1.0)
    assert reply is not None
    assert reply.token_ids
    assert reply.logprobs
    assert reply.prompt_token_ids
    assert reply.completion_tokens == len(reply.token_ids) == len(reply.logprobs)
    assert reply.prompt_tokens == len(reply.prompt_token_ids)
    assert reply.finish in ("stop", "length")


async def test_ids_and_logprobs_are_those_of_the_model(client: Client, checkpoints: Checkpoints):
    shots = [picture("red"), picture("blue")]
    for sampling in ({"temperature": 0}, {"temperature": 1.0, "top_k": 5}):
        body = await client.reply(messages=ask("First", shots[0], "then", shots[1], "now?"), **sampling)
        own = await asyncio.to_thread(reckon, checkpoints.first, body["prompt_token_ids"], ids(body), shots)
        assert logprobs(body) == pytest.approx(own, abs=TOLERANCE)
        assert sum(logprobs(body)) == pytest.approx(sum(own), abs=TOLERANCE * len(own))


async def test_token_ids_lead_back_to_the_text(client: Client, checkpoints: Checkpoints):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoints.first)
    body = await client.reply(max_tokens=24, temperature=1.0)
    assert tokenizer.decode(ids(body), skip_special_tokens=True) == body["choices"][0]["message"]["content"]
    prompt = tokenizer.decode(body["prompt_token_ids"])
    assert "What is it?" in prompt
    assert prompt.count("<|image_pad|>") == 7 * 5  # one for 32 × 32 pixels


async def test_another_picture_changes_the_logprobs(client: Client):
    red, blue = [
        await client.reply(messages=ask("What is it?", picture(colour)), max_tokens=1) for colour in ("red", "blue")
    ]
    assert red["prompt_token_ids"] == blue["prompt_token_ids"]
    assert logprobs(red) != pytest.approx(logprobs(blue), abs=TOLERANCE)


async def test_the_order_of_pictures_matters(client: Client, checkpoints: Checkpoints):
    shots = [picture("red"), picture("blue")]
    forth = await client.reply(messages=ask(shots[0], shots[1]), max_tokens=1)
    back = await client.reply(messages=ask(shots[1], shots[0]), max_tokens=1)
    assert logprobs(forth) != pytest.approx(logprobs(back), abs=1e-6)


async def test_temperature_0_always_says_the_same(client: Client):
    one, other = await client.reply(), await client.reply()
    assert ids(one) == ids(other)
    assert logprobs(one) == pytest.approx(logprobs(other), abs=TOLERANCE)


async def test_temperature_1_does_not(client: Client):
    said = {tuple(ids(await client.reply(temperature=1.0, top_p=1.0, top_k=-1))) for _ in range(4)}
    assert len(said) > 1


async def test_top_k_1_is_greedy(client: Client):
    assert ids(await client.reply(temperature=1.0, top_k=1)) == ids(await client.reply())


async def test_a_tiny_top_p_is_greedy(client: Client):
    assert ids(await client.reply(temperature=1.0, top_p=1e-6)) == ids(await client.reply())


async def test_max_tokens_cuts_and_says_so(client: Client):
    body = await client.reply(max_tokens=3, ignore_eos=True)
    assert body["choices"][0]["finish_reason"] == "length"
    assert len(ids(body)) == body["usage"]["completion_tokens"] == 3


async def test_a_stop_text_ends_the_reply_before_it(client: Client):
    whole = (await client.reply(max_tokens=24, ignore_eos=True))["choices"][0]["message"]["content"]
    stop = next(whole[n : n + 2] for n in range(4, len(whole)) if whole[n : n + 2].isascii())
    body = await client.reply(max_tokens=24, ignore_eos=True, stop=[stop])
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["choices"][0]["stop_reason"] == stop
    assert body["choices"][0]["message"]["content"] == whole[: whole.index(stop)]


async def test_concurrent_replies_are_those_given_alone(client: Client):
    colours = ("red", "green", "blue", "black", "orange", "purple", "grey", "pink")
    asked = [ask(f"Number {n}", picture(colour)) for n, colour in enumerate(colours)]
    together = await asyncio.gather(*(client.reply(messages=m, max_tokens=4 + n) for n, m in enumerate(asked)))
    for n, (messages, body) in enumerate(zip(asked, together, strict=True)):
        alone = await client.reply(messages=messages, max_tokens=4 + n)
        assert ids(body) == ids(alone)
        assert logprobs(body) == pytest.approx(logprobs(alone), abs=TOLERANCE)


async def test_an_episode_that_goes_on_is_read_as_one_that_begins(client: Client, checkpoints: Checkpoints):
    """What the server remembers of earlier prompts must not change what it says."""
    shots = [picture("red"), picture("green"), picture("blue")]
    messages, told = ask("Step 1", shots[0]), ""
    for n, shot in enumerate(shots[1:], start=2):
        told = (await client.reply(messages=messages))["choices"][0]["message"]["content"]
        messages = [*messages, {"role": "assistant", "content": told or "-"}, ask(f"Step {n}", shot)[1]]
    body = await client.reply(messages=messages)
    own = await asyncio.to_thread(reckon, checkpoints.first, body["prompt_token_ids"], ids(body), shots)
    assert logprobs(body) == pytest.approx(own, abs=TOLERANCE)


BROKEN = base64.b64encode(b"no image").decode()
WRONG = {
    "messages": [{"messages": []}, {"messages": "hello"}, {"messages": ...}],
    "temperature": [{"temperature": -1}, {"temperature": "hot"}],
    "top_p": [{"top_p": 0}, {"top_p": 2}],
    "top_k": [{"top_k": -2}],
    "max_tokens": [{"max_tokens": 0}, {"max_tokens": 1_000_000}],
    "image": [{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}
              for url in ("nonsense", f"data:image/png;base64,{BROKEN}", "data:image/png;base64,!!!")],
    "model": [{"model": "another"}],
}  # fmt: skip


NAMED = {"messages": ("message", "conversation"), "image": ("image", "url", "base64")}  # vLLM's own words for them


@pytest.mark.parametrize("field", list(WRONG))
async def test_a_malformed_request_is_refused_and_the_field_named(client: Client, field: str):
    for wrong in WRONG[field]:
        status, body, text = await client.post(**wrong)
        assert 400 <= status < 500, (wrong, text)
        assert any(word in text.lower() for word in NAMED.get(field, (field,))), (wrong, text)
        assert body["error"]["message"]
    assert await client.server.healthy()


async def test_a_body_that_is_no_json_is_refused(client: Client):
    async with client.http.post(
        f"{client.server.url}/chat/completions", data=b'{"model": ', headers={"Content-Type": "application/json"}
    ) as response:
        assert 400 <= response.status < 500


async def test_clients_that_leave_give_their_rows_back(client: Client):
    """Thousands of tokens take far longer than the wait below."""

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await client.post(max_tokens=3500, ignore_eos=True)

    left = [asyncio.create_task(leave()) for _ in range(4)]
    async with asyncio.timeout(20):
        while not await client.busy():  # noqa: ASYNC110 - the server has nothing to wait for
            await asyncio.sleep(0.02)
    await asyncio.gather(*left)
    async with asyncio.timeout(10):
        while await client.busy():  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_a_reload_changes_what_is_said_and_nothing_old_leaks(client: Client, checkpoints: Checkpoints):
    shot = picture("orange")
    before = await client.reply(messages=ask("Look", shot))
    for checkpoint in (checkpoints.second, checkpoints.first, checkpoints.second):
        await client.server.reload(checkpoint)
        assert await client.server.healthy()
        after = await client.reply(messages=ask("Look", shot))
        own = await asyncio.to_thread(reckon, checkpoint, after["prompt_token_ids"], ids(after), [shot])
        assert logprobs(after) == pytest.approx(own, abs=TOLERANCE)
        assert all(map(math.isfinite, own))
        if checkpoint == checkpoints.first:
            assert ids(after) == ids(before)
            assert logprobs(after) == pytest.approx(logprobs(before), abs=TOLERANCE)
        else:
            assert logprobs(after) != pytest.approx(logprobs(before), abs=TOLERANCE)
    await client.server.reload(checkpoints.first)


async def test_a_reload_under_load_mixes_no_weights(client: Client, checkpoints: Checkpoints):
    """Each reply is of one checkpoint or the other, from its first token to its last, or an error that rollouts try again.

    vLLM may fail requests that wait during a swap: what it had read of their images is gone with its caches.
    """
    wanted: dict[str, Any] = {"max_tokens": 30, "ignore_eos": True, "logprobs": True, "return_token_ids": True}

    async def one(n: int) -> list[float] | None:
        await asyncio.sleep(0.05 * n)
        status, body, text = await client.post(**wanted)
        assert status == 200 or status >= 500, text
        return logprobs(body) if status == 200 else None

    old = logprobs(await client.reply(**wanted))
    under_way = [asyncio.create_task(one(n)) for n in range(12)]
    await asyncio.sleep(0.1)
    await client.server.reload(checkpoints.second)
    new = logprobs(await client.reply(**wanted))
    told = [reply for reply in await asyncio.gather(*under_way) if reply is not None]
    assert told
    assert len(told) == 12 or not isinstance(client.server, Embedded)
    for reply in told:
        assert reply in (pytest.approx(old, abs=TOLERANCE), pytest.approx(new, abs=TOLERANCE))
    await client.server.reload(checkpoints.first)


async def test_one_that_was_killed_is_revived_at_its_address(client: Client, checkpoints: Checkpoints):
    url, before = client.server.url, ids(await client.reply())
    for process in await asyncio.to_thread(client.server.tree):
        with contextlib.suppress(psutil.Error):
            process.kill()
    async with asyncio.timeout(30):
        while client.server.running:  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.05)
    assert not await client.server.healthy()
    await client.server.revive(checkpoints.first)
    assert client.server.running
    assert client.server.url == url
    assert ids(await client.reply()) == before
