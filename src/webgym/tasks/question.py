"""A question to the model with everything that makes it that question: words, form of the reply, and what a good one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from webgym.endpoint import Endpoint, Message
from webgym.tasks.prompts import Prompt

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Question(Generic[M]):
    prompt: Prompt
    messages: tuple[Message, ...]
    kind: type[M]
    problem: Callable[[M], str | None]

    async def ask(self, model: Endpoint) -> M:
        """The model's answer, which passed every check; raises what the endpoint raises."""
        answer = await model.ask(self.messages, self.kind, version=self.prompt.version, check=self.problem)
        return answer.value

    def known(self, model: Endpoint) -> M | None:
        """The answer, if it is stored."""
        return model.known(self.messages, self.kind, version=self.prompt.version, check=self.problem)
