"""A model that knows the truth and says the opposite at a set rate, behind a real server; and a judge that asks it."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

from aiohttp import web

from webgym.endpoint import Endpoint, Message
from webgym.types import Episode, FactResult, Judgement, Scored, Wire

INPUT, OUTPUT = 90, 10  # tokens it charges for an episode
DOLLARS = 0.01


class Said(Wire):
    """What the model answers."""

    reward: Literal[0, 1]
    met: list[bool]


class FlippingModel:
    """Answers for the episode that a question names. What it says follows from a seed: asked twice, it says the same.

    The reward is wrong at one rate, each fact at another, independently: it is a model, and need not be consistent."""

    def __init__(self, truths: Mapping[str, Scored], wrong: float, wrong_facts: float = 0.0, *, seed: int = 0) -> None:
        self._truths, self._wrong, self._wrong_facts, self._seed = truths, wrong, wrong_facts, seed
        self.requests = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.requests += 1
        body: dict[str, Any] = await request.json()
        found = re.search(r"[0-9a-f]{32}", json.dumps(body["messages"]))
        assert found is not None
        truth, chance = self._truths[found.group()], random.Random(f"flip {self._seed} {found.group()}")
        said = Said(
            reward=1 if (truth.reward == 1) != (chance.random() < self._wrong) else 0,
            met=[fact.met != (chance.random() < self._wrong_facts) for fact in truth.facts],
        )
        message = {"role": "assistant", "content": said.model_dump_json()}
        return web.json_response(
            {
                "model": "flipping",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": INPUT, "completion_tokens": OUTPUT},
            }
        )


class ModelJudge:
    """Asks the model and takes its word."""

    def __init__(self, model: Endpoint, name: str = "stand-in") -> None:
        self.name, self._model = name, model

    async def judge(self, episode: Episode) -> Judgement:
        answer = await self._model.ask([Message("user", f"Judge episode {episode.id}.")], Said, version="flipping.1")
        asked = [(group.id, fact) for group in episode.task.groups for fact in group.facts]
        told = zip(asked, answer.value.met, strict=True)
        facts = tuple(FactResult(group=group, fact=fact, met=met) for (group, fact), met in told)
        reward = answer.value.reward
        # A verdict cannot reward what it holds unmet, so facts are told only where they do not contradict it.
        verdict = Scored(reward=reward, facts=facts if not reward or all(fact.met for fact in facts) else ())
        return Judgement(
            episode=episode.id,
            judge=self.name,
            verdict=verdict,
            tokens=answer.usage.total,
            dollars=DOLLARS,
            judged=time.time(),
        )
