"""A policy behind HTTP that knows the way to the pages of the offline web's menus, and takes it for some of the tasks.

It reads the task and the address out of the prompt it is sent, as a model would, so it needs no memory of its own and may be
asked again after any crash. Which tasks it does right depends on their instruction and on how many weights it has been
given: it gets better with every reload, so that a loop around it has something to measure.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from webgym.agents.dialects import DialectName, Screen, dialect
from webgym.types import Action, Answer, Navigate, Task
from webgym.worlds.checks import Shown
from webgym.worlds.tasks import find

SCREEN = Screen(224, 160)


@dataclass
class MenuReader:
    """`async with MenuReader(tasks) as policy: policy.url`. `share` of the tasks go well, more after each reload."""

    tasks: list[Task]
    share: float = 0.5
    growth: float = 0.1
    dialect: DialectName = "qwen3_vl_marks"
    port: int = 0
    asked: int = 0
    reloads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._speaker = dialect(self.dialect, memory=False, compact=True)
        self._pages = {(task.website, task.instruction): _page(task) for task in self.tasks}

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/reload", self._reload)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def reload_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/reload"

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "policy", "object": "model"}]})

    async def _reload(self, request: web.Request) -> web.Response:
        self.reloads.append((await request.json())["checkpoint"])
        return web.json_response({})

    async def _complete(self, request: web.Request) -> web.Response:
        self.asked += 1
        body: dict[str, Any] = json.loads(await request.read())
        text = self._speaker.write(self._decide(_words(body)), SCREEN)
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 0, "completion_tokens": 20, "total_tokens": 20}  # it reads words and counts no tokens
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response(
            {"id": "1", "object": "chat.completion", "model": "policy", "choices": [choice], "usage": usage}
        )

    def _decide(self, words: str) -> Action:
        instruction = re.search(r"^Task: (.*)$", words, re.M)
        website = re.search(r"^Website: (.*)$", words, re.M)
        address = re.findall(r"^Address: (.*)$", words, re.M)
        assert instruction is not None
        assert website is not None
        page = self._pages[website[1], instruction[1]]
        wanted = f"{website[1]}{page}"
        luck = zlib.crc32(instruction[0].encode() + website[0].encode()) % 1000 / 1000
        versions = len(dict.fromkeys(self.reloads))
        knows = luck < self.share + self.growth * max(0, versions - 1)
        return Answer(text="Done") if address[-1] == wanted or not knows else Navigate(url=wanted)


def _page(task: Task) -> str:
    check = find(task.id).groups[0].facts[0].checks[0]
    assert isinstance(check, Shown)
    return check.page


def _words(body: dict[str, Any]) -> str:
    """All text of a request."""
    said = []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said += [part["text"] for part in parts if part["type"] == "text"]
    return "\n".join(said)
