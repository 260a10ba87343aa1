"""Which model server is used and what it may take. No torch here: a command checks these before anything heavy is imported.

The three kinds meet one interface (`endpoint.ModelServer`); `kind` chooses. Nothing listens off loopback without a key; keys
are named by the environment variables that hold them, never written down.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from webgym.errors import ConfigError
from webgym.logs import hide
from webgym.types import Wire

KEY_VARIABLE: Final = "WEBGYM_MODEL_KEY"
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
SHORTEST_KEY: Final = 16

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]{1,200}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Port = Annotated[int, Field(ge=0, le=65535)]
Deadline = Annotated[float, Field(gt=0, le=3600)]


class EngineSettings(Wire):
    """What the embedded server's engine may use. The defaults suit a model of a few million parameters on two cores."""

    threads: Annotated[int, Field(ge=0, le=256)] = Field(0, description="Of torch; 0: half the cores, browsers need some.")
    rows: Annotated[int, Field(ge=1, le=512)] = Field(32, description="Sequences that are continued together.")
    waiting: Annotated[int, Field(ge=1, le=65536)] = Field(256, description="Requests in the queue; one more gets 429.")
    context: Annotated[int, Field(ge=16, le=1 << 20)] = Field(16_384, description="Tokens of prompt and reply together.")
    kv_mib: Annotated[int, Field(ge=1)] = Field(1024, description="Memory for the keys and values of active sequences.")
    prefix_mib: Annotated[int, Field(ge=0)] = Field(512, description="Memory for those of earlier prompts; 0: keep none.")
    image_mib: Annotated[int, Field(ge=1)] = Field(256, description="Memory for images that have been read.")
    image_pixels: Annotated[int, Field(ge=1024)] = Field(4096 * 4096, description="Of one image; a larger one is refused.")
    images: Annotated[int, Field(ge=0, le=256)] = Field(16, description="In one prompt.")


class HttpSettings(Wire):
    """What clients of the embedded server may send, and how long they wait."""

    body_mib: Annotated[int, Field(ge=1, le=1024)] = 32
    body_seconds: Deadline = Field(30.0, description="For a body to arrive.")
    reply_seconds: Deadline = Field(300.0, description="For one completion, waiting included; then 503.")
    drain_seconds: Deadline = Field(60.0, description="For active sequences to end before weights are swapped.")
    load_seconds: Deadline = Field(300.0, description="For a checkpoint to be read.")


class EmbeddedSettings(Wire):
    """Our own server of Qwen3-VL on plain transformers, for small models. Needs the train extra."""

    kind: Literal["embedded"] = "embedded"
    model: Name = Field("policy", description="The name that requests give.")
    host: str = "127.0.0.1"
    port: Port = Field(0, description="0: any free one.")
    key_variable: Variable = Field(KEY_VARIABLE, description="Holds the key that clients must show, if set.")
    engine: EngineSettings = EngineSettings()
    http: HttpSettings = HttpSettings()
    start_seconds: Deadline = 180.0
    log: Path | None = Field(None, description="What the server writes; None: beside this process's own errors.")


class VllmSettings(Wire):
    """vLLM in its own environment, made by `webgym env make serve`."""

    kind: Literal["vllm"] = "vllm"
    model: Name = Field("policy", description="The name that requests give.")
    python: Path = Field(Path(".venv-serve/bin/python"), description="Of the environment that has vLLM.")
    port: Port = Field(0, description="0: any free one.")
    key_variable: Variable = Field(KEY_VARIABLE, description="Holds the key that clients must show, if set.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    images: Annotated[int, Field(ge=0, le=256)] = Field(
        5, description="In one prompt: a window of 4 rounds and the page now."
    )
    max_model_len: Annotated[int, Field(ge=16)] | None = None
    enforce_eager: bool = False
    arguments: tuple[str, ...] = Field((), description="More of vLLM's own, as on its command line.")
    environment: dict[Variable, str] = Field({}, description="Set for the server, over what we set.")
    start_seconds: Deadline = 600.0
    drain_seconds: Deadline = Field(120.0, description="For requests under way to end before weights are swapped.")
    swap_seconds: Deadline = Field(300.0, description="For each other part of a swap.")
    log: Path | None = Field(None, description="What the server writes; None: beside this process's own errors.")

    @classmethod
    def on_cpu(cls, **changes: object) -> Self:
        """What runs on a CPU: whole precision, no compilation, a gibibyte for keys and values."""
        given = {"dtype": "float32", "enforce_eager": True, "environment": {"VLLM_CPU_KVCACHE_SPACE": "1"}}
        return cls.model_validate(given | changes)


class ExternalSettings(Wire):
    """A server that others run. It is told of new weights by a hook: a command, or an address that gets a POST."""

    kind: Literal["external"] = "external"
    url: str = Field(description="Base address, such as http://gpu-host:8000/v1.")
    model: Name = Field("policy", description="The name that requests give.")
    key_variable: Variable | None = Field(None, description="The environment variable that holds its key, if it wants one.")
    reload_command: tuple[str, ...] = Field((), description="Run with the checkpoint's folder as its last argument.")
    reload_url: str | None = Field(None, description='Gets POST {"checkpoint": folder}; any 2xx is success.')
    reload_seconds: Deadline = 600.0
    health_seconds: Deadline = Field(30.0, description="For it to answer.")

    @field_validator("url", "reload_url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must look like http://host:port/v1")
        if parts.username or parts.password:
            raise ValueError("must not hold credentials: name the key's variable in key_variable")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _one_hook(self) -> Self:
        if bool(self.reload_command) == (self.reload_url is not None):
            raise ValueError("needs exactly one of reload_command and reload_url")
        return self


ModelServerSettings = Annotated[EmbeddedSettings | VllmSettings | ExternalSettings, Field(discriminator="kind")]


def key_for(host: str, variable: str) -> str | None:
    """The key that clients must show; a server off loopback does not start without one."""
    key = os.environ.get(variable) or None
    if key is None:
        if host not in LOOPBACK:
            raise ConfigError(f"listening on {host} needs a key: set {variable} to at least {SHORTEST_KEY} characters")
        return None
    if not re.fullmatch(rf"[\x21-\x7e]{{{SHORTEST_KEY},}}", key):
        raise ConfigError(f"{variable} must be at least {SHORTEST_KEY} printable ASCII characters without blanks")
    hide(key)
    return key
