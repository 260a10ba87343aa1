"""Which model acts, in which dialect, and how much of the past it sees. The defaults are those of the WebGym paper."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from webgym.agents.dialects import COMPACT, DialectName
from webgym.logs import SHORTEST_SECRET


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PolicySampling(_Part):
    """How replies are drawn. None leaves a value to the server."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = 0.99
    top_k: Annotated[int, Field(ge=-1)] | None = Field(2, description="None for servers that do not know it.")
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = Field(3072, description="A reply is cut here.")


class PolicySettings(_Part):
    """A model behind one or several OpenAI-compatible endpoints that serve the same weights."""

    urls: tuple[str, ...] = Field(("http://127.0.0.1:8000/v1",), min_length=1, description="One base address a replica.")
    model: Annotated[str, Field(min_length=1)] = Field("default", description="The model's name at the endpoint.")
    key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = Field(
        None,
        description="The environment variable that holds the API key; none if the endpoint wants no key. "
        f"A key of under {SHORTEST_SECRET} characters is taken for no secret: it is not hidden in logs and replies.",
    )
    sampling: PolicySampling = PolicySampling()
    limit_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="What the endpoint calls the cap on a reply."
    )
    extra_body: dict[str, JsonValue] = Field({}, description="Sent along with every request; wins over what we would send.")
    token_ids: bool = Field(False, description="Ask for the token ids of prompt and reply (vLLM's return_token_ids).")
    logprobs: bool = Field(False, description="Ask for the log-probability of every token of the reply.")

    concurrency: Annotated[int, Field(ge=1, le=4096)] = Field(64, description="Requests under way at one replica.")
    connect_timeout: Annotated[float, Field(gt=0, le=600)] = 10.0
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(300.0, description="Seconds for one try, first byte to last.")
    patience: Annotated[float, Field(ge=0)] = Field(600.0, description="Seconds after a first failure to stop trying.")
    backoff: Annotated[float, Field(gt=0)] = Field(0.5, description="First pause; it doubles, jittered.")
    max_backoff: Annotated[float, Field(gt=0)] = Field(15.0, description="Longest pause of our own making.")
    avoid: Annotated[float, Field(ge=0)] = Field(
        20.0, description="Seconds a replica that failed is left alone; they double with each failure in a row, to 64 times."
    )
    max_reply_bytes: Annotated[int, Field(ge=1024)] = 16 << 20

    @field_validator("urls")
    @classmethod
    def _http(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError("each must look like https://host/v1")
            if parts.username or parts.password:
                raise ValueError("must not hold credentials: name the key's variable in key_variable")
        stripped = tuple(url.rstrip("/") for url in urls)
        if len(set(stripped)) != len(stripped):
            raise ValueError("a replica is named twice")
        return stripped


class ContextSettings(_Part):
    """What of the past a prompt holds."""

    window: Annotated[int, Field(ge=0, le=64)] = Field(4, description="Rounds kept in full: screenshot and reply.")
    token_budget: Annotated[int, Field(ge=512)] = Field(13_312, description="Tokens of a prompt: 16,384 less a reply.")
    addresses: bool = Field(True, description="Tell the addresses of website and page; small models learn them by heart.")
    image_tokens: Annotated[int, Field(ge=0)] | None = Field(
        None, description="What one screenshot weighs; None: one token for 28 × 28 pixels, which no family exceeds by much."
    )


class AgentSettings(_Part):
    """A model as an agent."""

    dialect: DialectName = "qwen3_vl"
    memory: bool = Field(True, description="Replies carry Memory, Progress, Intention and Action before the call.")
    thinking: bool = Field(False, description="The model thinks between <think> tags first; thoughts are not kept.")
    compact: bool = Field(False, description="A system prompt of five lines, for small models trained from scratch.")
    min_pixels: Annotated[int, Field(ge=28 * 28)] = Field(56 * 56, description="Of the processor that resizes images.")
    max_pixels: Annotated[int, Field(ge=28 * 28)] = Field(12_845_056, description="Of the processor that resizes images.")
    context: ContextSettings = ContextSettings()
    policy: PolicySettings = PolicySettings()

    @model_validator(mode="after")
    def _compact_is_known(self) -> AgentSettings:
        if self.compact and (self.dialect not in COMPACT or self.memory or self.thinking):
            names = " or ".join(COMPACT)
            raise ValueError(f"compact needs dialect {names} (it is {self.dialect}), memory: false and thinking: false")
        return self

    @model_validator(mode="after")
    def _pixels_in_order(self) -> AgentSettings:
        if self.min_pixels > self.max_pixels:
            raise ValueError(f"min_pixels is {self.min_pixels}, more than max_pixels, {self.max_pixels}")
        return self
