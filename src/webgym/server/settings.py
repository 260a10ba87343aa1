"""Everything `webgym serve` can be told. Defaults are the safe ones; secrets have none and never come by command line."""

from __future__ import annotations

import os
import re
import secrets
from ipaddress import AddressValueError, IPv6Address
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from webgym.config import Settings
from webgym.errors import ConfigError
from webgym.server.egress import EgressPolicy
from webgym.server.settle import SettleLimits

KEY_VARIABLE = "WEBGYM_API_KEY"
SHORTEST_KEY = 16
NO_SANDBOX_VARIABLE = "WEBGYM_NO_SANDBOX"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,238}[A-Za-z0-9_.])?")  # an IPv4 address is one, too


def on_unless_no_sandbox() -> bool:
    """Whether Chromium's sandbox is used if nothing is said: unless the environment says otherwise."""
    return os.environ.get(NO_SANDBOX_VARIABLE) != "1"


def _is_ipv6(given: str) -> bool:
    try:
        return IPv6Address(given).scope_id is None  # a zone has no meaning for others
    except AddressValueError:
        return False


class BrowserLimits(BaseModel):
    """When a browser process is replaced (its running sessions end in peace) and what a session may take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_age: float = Field(3600.0, gt=0, description="seconds")
    max_sessions: int = Field(400, ge=1, description="sessions served")
    max_memory: int = Field(4096, ge=256, description="MB of the whole process group, shared pages not counted")
    max_download: int = Field(50, ge=0, description="MB of downloads a session may keep")
    warm: int = Field(1, ge=0, le=16, description="contexts kept ready in each process")


class HttpLimits(BaseModel):
    """What a client may take of the server before and while it is served."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_body: int = Field(64, ge=1, le=1024, description="MB of a file sent to a session; other bodies have 8 at most")
    header_seconds: float = Field(10.0, gt=0, le=300, description="time to send a request's headers")
    body_seconds: float = Field(30.0, gt=0, le=3600, description="time to send a request's body")
    answer_seconds: float = Field(30.0, gt=0, le=3600, description="time without taking a byte of a waiting answer")
    connections: int = Field(2048, ge=16, le=100_000, description="connections held at a time; the next is told 503")


class ServeSettings(Settings):
    """The rollout server: leased browsers behind one HTTP call a step."""

    host: str = Field("127.0.0.1", description="address to listen on; anything but loopback needs WEBGYM_API_KEY")
    port: int = Field(7860, ge=0, le=65535, description="0 picks a free one")
    advertise: str | None = Field(None, description="name or address by which clients reach this machine; the host if unset")
    sessions: int = Field(16, ge=1, le=4096, description="browser sessions held at a time")
    workers: int = Field(0, ge=0, le=64, description="worker processes; 0 means one for every eight cores")
    browsers: int = Field(0, ge=0, le=256, description="Chromium processes; 0 means one a core")
    relay: bool = Field(False, description="all traffic through the master's address, for clients that reach only that")
    queue: int = Field(256, ge=0, le=100_000, description="clients that may wait for a session; the next is told 429")
    chromium: Path | None = Field(None, description="which Chromium to use; `webgym browser` shows the choice")
    sandbox: bool = Field(
        default_factory=on_unless_no_sandbox,
        description="Chromium's sandbox; off with WEBGYM_NO_SANDBOX=1 where it cannot run: as root, in a container",
    )
    low_memory: bool = Field(False, description="fewer processes, less memory; one fault then takes more with it")
    draw_on_command: bool = Field(
        True, description="a headless shell draws only when told to, which is less CPU a step; a full Chromium cannot"
    )
    egress: EgressPolicy = Field(EgressPolicy(), description="where pages may connect to")
    settle: SettleLimits = Field(SettleLimits(), description="how long to wait for pages to come to rest")
    limits: BrowserLimits = Field(BrowserLimits(), description="when browsers are replaced")
    http: HttpLimits = Field(HttpLimits(), description="what clients may send")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="how much is written to stderr")

    @field_validator("advertise")
    @classmethod
    def _bare(cls, given: str | None) -> str | None:
        if given is None or HOST_NAME.fullmatch(given) or _is_ipv6(given):
            return given
        raise ValueError(
            "write a bare host name or address, such as gym.example, 10.0.0.5 or 2001:db8::1: no http://, no port"
        )

    @model_validator(mode="after")
    def _enough_sessions(self) -> Self:
        if self.workers > self.sessions:
            raise ValueError(f"{self.workers} workers cannot share {self.sessions} sessions: each needs at least one")
        return self

    @property
    def worker_count(self) -> int:
        return self.workers or min(self.sessions, max(1, (os.cpu_count() or 1) // 8))

    @property
    def browser_count(self) -> int:
        return max(self.worker_count, self.browsers or min(self.sessions, os.cpu_count() or 1))


class Keyed(BaseModel):
    """What a master and a worker are told. Neither listens to the world without a key, whoever starts it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    serve: ServeSettings
    key: str | None = Field(None, repr=False)
    fleet_key: str = Field("", repr=False)

    @model_validator(mode="after")
    def _closed_by_default(self) -> Self:
        check_key(self.serve.host, self.key)
        return self


class WorkerSettings(Keyed):
    """One worker's share of the above; handed to it by the process that starts it."""

    sessions: int
    browsers: int
    master: str | None = None
    beside_master: bool = False  # on its machine and with its `host`, so that either reaches the other there


def check_key(host: str, key: str | None) -> None:
    """A server without a key listens on loopback alone, and a key is long enough to be one."""
    if key is None:
        if host not in LOOPBACK:
            raise ConfigError(
                f"listening on {host} needs a key of your own: set {KEY_VARIABLE} to at least {SHORTEST_KEY} characters"
            )
    elif len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{KEY_VARIABLE} must be at least {SHORTEST_KEY} printable ASCII characters without blanks")


def api_key(host: str) -> tuple[str, bool]:
    """The key clients must show, and whether it was made up just now."""
    given = os.environ.get(KEY_VARIABLE)
    check_key(host, given)
    return (secrets.token_urlsafe(24), True) if given is None else (given, False)
