"""Where a model is, how hard it may be asked, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from webgym.logs import SHORTEST_SECRET


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Price(_Part):
    """Dollars for a million tokens, as the provider's price list has it."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


class Sampling(_Part):
    """Part of the cache key: another temperature is another question."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(0.0, description="None: the provider's own.")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = Field(2048, description="A reply is cut here.")


class EndpointSettings(_Part):
    """A model behind an OpenAI-compatible endpoint."""

    url: str = Field("http://127.0.0.1:8000/v1", description="Base address; /chat/completions is added.")
    model: Annotated[str, Field(min_length=1)] = Field("default", description="The model's name at the endpoint.")
    key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = Field(
        None,
        description="The environment variable that holds the API key; none if the endpoint wants no key. "
        f"A key of under {SHORTEST_SECRET} characters is taken for no secret: it is not hidden in logs and replies.",
    )
    sampling: Sampling = Sampling()
    structure: Literal["json_schema", "json_object", "prompt"] = Field(
        "json_schema", description="How the form of a reply is asked for; `prompt` suits servers that know neither."
    )
    limit_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="What the endpoint calls the cap on a reply."
    )
    extra_body: dict[str, str | int | float | bool] = Field({}, description="Sent along with every request.")

    concurrency: Annotated[int, Field(ge=1, le=4096)] = 16
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = None

    connect_timeout: Annotated[float, Field(gt=0, le=600)] = 10.0
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(120.0, description="Seconds for one try, first byte to last.")
    tries: Annotated[int, Field(ge=1, le=50)] = Field(6, description="Tries a request gets when the endpoint is at fault.")
    patience: Annotated[float, Field(ge=0)] = Field(600.0, description="Seconds after a first failure to stop trying.")
    backoff: Annotated[float, Field(ge=0)] = Field(0.5, description="First pause; it doubles, jittered.")
    max_backoff: Annotated[float, Field(ge=0)] = Field(30.0, description="Longest pause of our own making.")
    max_retry_after: Annotated[float, Field(ge=0)] = Field(120.0, description="A longer wish of the endpoint ends it.")
    max_reply_bytes: Annotated[int, Field(ge=1024)] = 2 << 20

    image_tokens: Annotated[int, Field(ge=0)] = Field(1200, description="What one image is reckoned to weigh.")
    prices: dict[str, Price] = Field({}, description="Dollars for a million tokens, by model.")
    budget: Annotated[float, Field(ge=0)] | None = Field(None, description="Dollars. Asking stops before it is exceeded.")

    cache: Path | None = Field(None, description="Folder of stored replies; may be shared by processes.")
    reuse: Literal["all", "usable"] = Field(
        "all", description="`usable` asks again where both the stored reply and its repair were no good."
    )

    @field_validator("url")
    @classmethod
    def _http(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must look like https://host/v1")
        if parts.username or parts.password:
            raise ValueError("must not hold credentials: name the key's variable in key_variable")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _budget_needs_a_price(self) -> Self:
        if self.budget is not None and self.model not in self.prices:
            raise ValueError(f"budget is {self.budget:g} dollars but prices has no entry for model {self.model!r}")
        return self

    @property
    def price(self) -> Price | None:
        return self.prices.get(self.model)
