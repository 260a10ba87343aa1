"""What crosses the wire: the part of OpenAI's chat completions that rollouts use, spelled as vLLM spells it.

A field we do not know is refused rather than ignored: a sampler that quietly drops a setting ruins an experiment.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from webgym.errors import BadRequest
from webgym.types import Wire

DATA_URI: Final = re.compile(r"data:image/[a-z+.-]{1,20};base64,")

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length"]
Stop = Annotated[str, Field(min_length=1, max_length=200)]


class ImageUrl(Wire):
    url: str
    detail: Literal["auto", "low", "high"] | None = Field(None, description="Taken and without effect, as with vLLM.")

    def decoded(self, where: str) -> bytes:
        """The image's bytes. Only data URIs: this server fetches nothing."""
        found = DATA_URI.match(self.url)
        if found is None:
            raise BadRequest(f"{where}.url: must be a data URI (data:image/jpeg;base64,…); this server fetches nothing")
        try:
            return base64.b64decode(self.url[found.end() :], validate=True)
        except binascii.Error as e:
            raise BadRequest(f"{where}.url: not base64: {e}") from e


class Part(Wire):
    """A piece of a message: text or an image."""

    type: Literal["text", "image_url"]
    text: str | None = None
    image_url: ImageUrl | None = None

    @model_validator(mode="after")
    def _what_it_says(self) -> Part:
        if (self.type == "text") != (self.text is not None) or (self.type == "image_url") != (self.image_url is not None):
            raise ValueError(f"a part of type {self.type!r} holds {self.type!r} and nothing else")
        return self


class ChatMessage(Wire):
    role: Role
    content: str | tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(type="text", text=self.content),) if isinstance(self.content, str) else self.content


class ChatRequest(Wire):
    """What a client may ask for. None leaves a value to the checkpoint's own generation config."""

    model: str
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1024)]
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: Stop | Annotated[tuple[Stop, ...], Field(max_length=16)] | None = None
    seed: int | None = None
    ignore_eos: bool = False
    logprobs: bool | None = None
    top_logprobs: Literal[0] | None = None
    return_token_ids: bool | None = None
    n: Literal[1] | None = None
    stream: Literal[False] | None = None
    user: str | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else self.stop or ()

    @property
    def limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens


class TokenLogprob(Wire):
    token: str
    logprob: float
    bytes: tuple[int, ...]
    top_logprobs: tuple[()] = ()


class Logprobs(Wire):
    content: tuple[TokenLogprob, ...]


class Spoken(Wire):
    role: Literal["assistant"] = "assistant"
    content: str


class Choice(Wire):
    index: Literal[0] = 0
    message: Spoken
    finish_reason: Finish
    stop_reason: str | int | None = Field(None, description="What stopped it; None: the end of its turn, or its limit.")
    logprobs: Logprobs | None = None
    token_ids: tuple[int, ...] | None = None


class Usage(Wire):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(Wire):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice]
    usage: Usage
    prompt_token_ids: tuple[int, ...] | None = None


class ModelCard(Wire):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["webgym"] = "webgym"
    root: str
    max_model_len: int


class ModelList(Wire):
    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


class ReloadRequest(Wire):
    checkpoint: Annotated[str, Field(min_length=1, max_length=4096)]


class Reloaded(Wire):
    """What a swap of weights took. `pause` is how long nothing was answered."""

    generation: int
    checkpoint: str
    load_seconds: float
    pause_seconds: float


class Health(Wire):
    status: Literal["ok", "broken"]
    generation: int
    active: int
    waiting: int


class Fault(Wire):
    message: str
    type: str
    param: str | None = None
    code: int


class ErrorBody(Wire):
    """OpenAI's error object."""

    error: Fault
