"""The wire API, version 1: what crosses between client, master and worker. Unknown fields are refused (422).

    POST   /v1/sessions                 NewSession  → SessionStarted    a leased browser and its first observation
    POST   /v1/sessions/{id}/step       StepRequest → StepResult        one action, then the page at rest
    POST   /v1/sessions/{id}/observe    Look        → Observation       look without acting
    POST   /v1/sessions/{id}/renew      Renew       → Lease             keep the lease
    GET    /v1/sessions/{id}/storage                → StorageState      cookies and local storage, to start from later
    PUT    /v1/sessions/{id}/files/{name}  bytes    → StoredFile        a file for `upload`
    GET    /v1/sessions/{id}/files/{name}           → bytes             a file the session downloaded
    DELETE /v1/sessions/{id}                        → 204               release: the browser context is disposed
    GET    /v1/fleet                                → Fleet             workers, capacity, load
    GET    /v1/health                               → Health            no key needed, as for /docs and /openapi.json
    GET    /metrics                                 → Prometheus text
    POST   /v1/workers                  Heartbeat   → HeartbeatTaken    a worker tells the master that it lives

Every call but `health` carries the API key (`Authorization: Bearer …` or `X-API-Key: …`); every call on a session carries
its lease (`Lease: …`). Requests are JSON. Answers are JSON, with images in base64, or MessagePack (`Accept:
application/msgpack`) with images as bytes. A refusal is an `ErrorBody` whose `code` is one of `webgym.errors`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, StringConstraints

from webgym.types import Action, Look, Observation, Url, Wire

SESSIONS = "/v1/sessions"
FLEET = "/v1/fleet"
HEALTH = "/v1/health"
WORKERS = "/v1/workers"
METRICS = "/metrics"
LEASE_HEADER = "Lease"
RELAY_HEADER = "X-WebGym-Relay"  # from a master that stands between: name no address of your own
SESSION_HEADER = "X-WebGym-Session"  # a new session's id, for the master that asked
FLEET_KEY_HEADER = "X-WebGym-Fleet-Key"  # shared by a master and its workers, unknown to clients
BESIDE_HEADER = "X-WebGym-Beside"  # from a worker on its master's machine: ask me there, not by the name for clients
MSGPACK = "application/msgpack"

SessionId = Annotated[str, StringConstraints(pattern=r"^s-[0-9a-f]{24}$")]
Token = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,128}$")]
HeaderValue = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]{0,4096}$")]

# Chromium loads no page at all with one of these, and the website would get the blame.
_NOT_TO_BE_SET = re.compile(
    r"connection|content-length|cookie2|host|keep-alive|referer|set-cookie|te|trailer|transfer-encoding|upgrade|proxy-.*",
    re.IGNORECASE,
)


def _settable(name: str) -> str:
    if _NOT_TO_BE_SET.fullmatch(name):
        raise ValueError(f"{name!r} is the browser's own to set; leave it out")
    return name


HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$"), AfterValidator(_settable)]


def _known_zone(name: str) -> str:
    """Chromium would ignore a zone it does not know, and the page would be shown in another."""
    for zone in (name, "Europe/London"):
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
        if zone == name:
            return name
        raise ValueError("there is no such time zone")
    return name  # this machine has no list of them


TimeZone = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_+/-]{1,64}$"), AfterValidator(_known_zone)]


class Viewport(Wire):
    width: Annotated[int, Field(ge=64, le=4096)] = 1280
    height: Annotated[int, Field(ge=64, le=4096)] = 768


def _absent(value: object) -> bool:
    return value is None


class Cookie(Wire):
    """As Playwright's storage state spells it. What a cookie does not have is left out: Playwright takes no null."""

    model_config = ConfigDict(serialize_by_alias=True)

    name: str
    value: str
    domain: str
    path: str = "/"
    expires: float = -1
    httpOnly: bool = False
    secure: bool = False
    sameSite: Literal["Strict", "Lax", "None"] = "Lax"
    partitionKey: str | None = Field(None, exclude_if=_absent, description="The website in whose pages a frame set it.")
    crossSiteAncestor: bool | None = Field(
        None, alias="_crHasCrossSiteAncestor", exclude_if=_absent, description="With a partition key; true if not said."
    )


class StorageItem(Wire):
    name: str
    value: str


class OriginStorage(Wire):
    origin: str
    localStorage: tuple[StorageItem, ...] = ()


class StorageState(Wire):
    """Cookies and local storage, in Playwright's format: files saved by either work with the other."""

    cookies: tuple[Cookie, ...] = ()
    origins: tuple[OriginStorage, ...] = ()


class NewSession(Wire):
    """What a session should be like. All of it is optional."""

    url: Url | None = Field(None, description="Where to start; a blank page otherwise.")
    viewport: Viewport = Viewport()
    locale: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$")] | None = None
    time_zone: TimeZone | None = None
    user_agent: HeaderValue | None = None
    headers: dict[HeaderName, HeaderValue] = Field(
        {}, max_length=64, description="Sent with every request of every page and its frames; workers send none of them."
    )
    proxy: SecretStr | None = Field(None, description="http://user:password@host:port or socks5://…, for this session only.")
    storage_state: StorageState | None = None
    ttl: Annotated[float, Field(gt=0, le=86400)] = Field(60.0, description="Seconds the lease lasts after each call.")
    lifetime: Annotated[float, Field(gt=0, le=86400)] = Field(7200.0, description="Seconds after which it ends regardless.")
    wait: Annotated[float, Field(ge=0, le=300)] = Field(0.0, description="Seconds to queue for a free session.")
    key: Token | None = Field(None, description="Idempotency key: the same key gets the same session.")
    look: Look = Look()


class Lease(Wire):
    token: str = Field(repr=False)
    ttl: float
    remaining: float


class SessionStarted(Wire):
    id: str
    lease: Lease
    url: str | None = Field(description="Base address for all further calls on this session; null: the one you asked.")
    observation: Observation


class StepRequest(Wire):
    """One action. `key` makes it repeatable (the stored result comes back, nothing is done twice); `seq` makes it ordered:
    1 for the first step, then one more each time; anything else is a 409."""

    action: Action
    look: Look = Look()
    key: Token | None = None
    seq: Annotated[int, Field(ge=1)] | None = None


class StepResult(Wire):
    seq: int
    observation: Observation
    repeated: bool = Field(False, description="This is the stored result of an earlier call with the same key.")


class Renew(Wire):
    ttl: Annotated[float, Field(gt=0, le=86400)] | None = None


class StoredFile(Wire):
    name: str
    size: int


class ErrorDetail(Wire):
    code: str
    message: str
    retry_after: float | None = None


class ErrorBody(Wire):
    error: ErrorDetail


class WorkerStatus(Wire):
    """What a worker says of itself, and all the master knows of it."""

    id: Annotated[str, StringConstraints(pattern=r"^w-[0-9a-f]{12}$")]
    url: Annotated[str, StringConstraints(pattern=r"^http://[A-Za-z0-9.:\[\]_-]{1,255}$")]
    capacity: Annotated[int, Field(ge=0)]
    sessions: tuple[SessionId, ...]
    keys: tuple[Token, ...] = Field((), description="Idempotency keys of those sessions.")
    ending: Annotated[int, Field(ge=0)] = Field(0, description="Places still taken by sessions that have ended.")
    browsers: int
    draining: bool = False
    version: str


class Heartbeat(Wire):
    worker: WorkerStatus


class HeartbeatTaken(Wire):
    period: float


class FleetWorker(Wire):
    id: str
    url: str
    capacity: int
    available: int
    sessions: int
    healthy: bool
    draining: bool
    last_seen: float = Field(description="Seconds since its last heartbeat.")


class Fleet(Wire):
    capacity: int
    available: int
    queued: int
    workers: tuple[FleetWorker, ...]


class Health(Wire):
    status: Literal["ok", "starting", "draining", "no_capacity"]
    version: str
