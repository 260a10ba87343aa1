"""The embedded model server: many clients at once against one, and against transformers' generate.

    python -m benchmarks.serving [--clients 16] [--episodes 16] [--steps 4]

A tiny Qwen3-VL; every client plays episodes as rollouts do: a system prompt that all share, a screenshot of 224 × 160 each
step, those before it and the replies to them sent again. Nothing of one measurement is known to the next: each starts with
fresh weights. The last line is JSON: requests_per_second, sequential_per_second, generate_per_second and the two ratios,
vs_sequential and vs_generate.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
from PIL import Image, ImageDraw

from webgym.train.serving.child import Embedded
from webgym.train.serving.settings import EmbeddedSettings, EngineSettings

SYSTEM = "You work in a web browser for a person who gave you a task. At every step you see a screenshot of the page. " * 4
MARKS = "\n".join(f'[{n}] link "Section {n} of the shop"' for n in range(1, 16))
TOKENS = 24
GENERATED = 8  # requests that transformers' generate is given; it is slow, and steady


def screenshot(episode: int, step: int) -> bytes:
    draws = random.Random(f"{episode} {step}")
    image = Image.new("RGB", (224, 160), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(8):
        x, y = draws.randrange(200), draws.randrange(140)
        colour = (draws.randrange(256), draws.randrange(256), draws.randrange(256))
        pen.rectangle((x, y, x + 40, y + 24), fill=colour)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    return out.getvalue()


def messages(episode: int, replies: list[str]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    for step in range(len(replies) + 1):
        task = f"Task: open section {episode} of the shop" if step == 0 else "The action was done."
        elements = MARKS if step == len(replies) else ""
        text = f"{task}\n\nPage: Shop, part {step}\nAddress: http://shop-{episode}.localhost/{step}\n{elements}"
        url = f"data:image/jpeg;base64,{base64.b64encode(screenshot(episode, step)).decode()}"
        picture = {"type": "image_url", "image_url": {"url": url}}
        said.append({"role": "user", "content": [{"type": "text", "text": text}, picture]})
        if step < len(replies):
            said.append({"role": "assistant", "content": replies[step]})
    return said


async def play(http: aiohttp.ClientSession, server: Embedded, episode: int, steps: int) -> None:
    replies: list[str] = []
    for _ in range(steps):
        body = {
            "model": server.model,
            "messages": messages(episode, replies),
            "max_tokens": TOKENS,
            "ignore_eos": True,
            "logprobs": True,
            "return_token_ids": True,
        }
        async with http.post(f"{server.url}/chat/completions", json=body) as response:
            told = await response.json()
            assert response.status == 200, told
        replies.append(told["choices"][0]["message"]["content"])


async def measure(server: Embedded, clients: int, episodes: int, steps: int) -> float:
    """Requests a second."""
    waiting = iter(range(episodes))

    async def client(http: aiohttp.ClientSession) -> None:
        for episode in waiting:
            await play(http, server, episode, steps)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=clients)) as http:
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(client(http))
        return episodes * steps / (time.perf_counter() - began)


def generate(folder: Path, threads: int) -> float:
    """Requests a second of transformers' own generate, one after another."""
    from webgym.train.shim import activate

    activate()
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    torch.set_num_threads(threads)
    model, processor = AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    began = 0.0
    for n in range(-2, GENERATED):  # two to warm up
        if n == 0:
            began = time.perf_counter()
        replies = ["Action: I click the link."] * (n % 4)
        said = [
            message | {"content": [part if part["type"] == "text" else {"type": "image"} for part in message["content"]]}
            if isinstance(message["content"], list)
            else message
            for message in messages(n, replies)
        ]
        shots = [Image.open(io.BytesIO(screenshot(n, step))) for step in range(len(replies) + 1)]
        text = processor.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        inputs = processor(text=[text], images=shots, return_tensors="pt")
        model.generate(**inputs, do_sample=True, min_new_tokens=TOKENS, max_new_tokens=TOKENS)
    return GENERATED / (time.perf_counter() - began)


async def run(options: argparse.Namespace) -> dict[str, float]:
    from webgym.train.tiny import make_tiny

    with tempfile.TemporaryDirectory() as scratch:
        folder = make_tiny(Path(scratch) / "model")
        server = Embedded(EmbeddedSettings(engine=EngineSettings(threads=options.threads)))
        await server.start(folder)
        try:
            await measure(server, options.clients, options.clients, 1)
            rates: dict[int, list[float]] = {1: [], options.clients: []}
            for clients in (1, options.clients) * 2:  # in turns: what disturbs the machine disturbs both
                await server.reload(folder)
                episodes = options.episodes if clients > 1 else max(2, options.episodes // 4)
                rates[clients].append(await measure(server, clients, episodes, options.steps))
                print(f"{clients:3} clients: {rates[clients][-1]:7.1f} requests/s")
        finally:
            await server.stop()
        plain = await asyncio.to_thread(generate, folder, options.threads)
        print(f"transformers' generate: {plain:.1f} requests/s")
    many, one = max(rates[options.clients]), max(rates[1])
    return {
        "requests_per_second": round(many, 1),
        "sequential_per_second": round(one, 1),
        "generate_per_second": round(plain, 1),
        "vs_sequential": round(many / one, 2),
        "vs_generate": round(many / plain, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    print(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
