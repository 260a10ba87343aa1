"""What a site keeps for one browser session: in the browser, signed, never in the server.

The state is a cookie `webgym_state` of the host (HttpOnly; a long one goes on in `webgym_state_2`, …): JSON, packed by zlib,
in base64 for URLs, after an HMAC by the seed's key. So the server is stateless, state ends with the browser context
and cannot leak into another, and a verifier can read it from the cookie alone. A value whose signature does not fit is no
state at all: a site starts fresh, a verifier refuses.

Everything an agent does on a site leaves a `Record`: a word for what happened and its fields as text.
"""

from __future__ import annotations

import hmac
import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from pydantic import Field, ValidationError

from webgym.errors import WebGymError
from webgym.types import Wire

COOKIE: Final = "webgym_state"
CHUNK: Final = 3_500
MAX_CHUNKS: Final = 6
MAX_RECORDS: Final = 60
MAX_PLAIN: Final = 200_000
_MAC: Final = 16


class BadState(WebGymError):
    """A state cookie that this seed did not sign for this host."""


class Record(Wire):
    """Something that was done: `Record(kind="order", fields={"item:oak-lamp": "2", "city": "Dover"})`."""

    kind: str
    fields: dict[str, str]


class State(Wire):
    user: str | None = None
    cart: dict[str, int] = Field({}, description="How many of each article.")
    records: tuple[Record, ...] = ()
    choices: dict[str, str] = Field({}, description="Consent, language and other settings.")
    draft: dict[str, str] = Field({}, description="What was entered into an unfinished form of several steps.")


@dataclass
class Memory:
    """The state during one request. Pages change it; the server writes it back if they did."""

    user: str | None = None
    cart: dict[str, int] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    choices: dict[str, str] = field(default_factory=dict)
    draft: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State) -> Memory:
        return cls(state.user, dict(state.cart), list(state.records), dict(state.choices), dict(state.draft))

    def frozen(self) -> State:
        return State(user=self.user, cart=self.cart, records=tuple(self.records), choices=self.choices, draft=self.draft)

    def record(self, kind: str, fields: Mapping[str, str]) -> None:
        """Note that something was done."""
        if len(self.records) < MAX_RECORDS:
            self.records.append(Record(kind=kind, fields=dict(fields)))

    def all(self, kind: str) -> list[Record]:
        return [record for record in self.records if record.kind == kind]


def write(seed: int, host: str, state: State) -> str:
    """The cookie's value."""
    plain = json.dumps(state.model_dump(exclude_defaults=True), separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    packed = zlib.compress(plain.encode(), 6)
    return urlsafe_b64encode(_mac(seed, host, packed) + packed).decode().rstrip("=")


def read(seed: int, host: str, cookie: str) -> State:
    """The state in a cookie's value; raises BadState for anything but what `write` gave this host."""
    if not cookie:
        return State()
    try:
        raw = urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4))
    except ValueError as e:
        raise BadState(f"the state of {host} is not base64") from e
    mac, packed = raw[:_MAC], raw[_MAC:]
    if not hmac.compare_digest(mac, _mac(seed, host, packed)):
        raise BadState(f"the state of {host} is not signed by seed {seed}")
    try:
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(packed, MAX_PLAIN)
        if unpacking.unconsumed_tail:
            raise BadState(f"the state of {host} is over {MAX_PLAIN} bytes")
        return State.model_validate_json(plain)
    except (zlib.error, ValidationError) as e:
        raise BadState(f"the state of {host} cannot be read") from e


def chunks(value: str) -> list[tuple[str, str]]:
    """The cookies that carry a value, by name."""
    parts = [value[n : n + CHUNK] for n in range(0, len(value), CHUNK)]
    return [(COOKIE if n == 1 else f"{COOKIE}_{n}", part) for n, part in enumerate(parts, 1)]


def joined(cookies: Mapping[str, str]) -> str:
    """A value from the cookies that carry it."""
    parts = [cookies.get(COOKIE, "")]
    while (name := f"{COOKIE}_{len(parts) + 1}") in cookies and len(parts) < MAX_CHUNKS:
        parts.append(cookies[name])
    return "".join(parts)


def by_host(cookies: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """`Episode.state` from a session's cookies, given as (domain, name, value)."""
    found: dict[str, dict[str, str]] = {}
    for domain, name, value in cookies:
        if name == COOKIE or name.startswith(f"{COOKIE}_"):
            found.setdefault(domain.lstrip("."), {})[name] = value
    return {host: joined(parts) for host, parts in sorted(found.items())}


def _mac(seed: int, host: str, packed: bytes) -> bytes:
    # The key keeps a page's own scripts from making up a state by accident; it is no secret from those who know the seed.
    key = blake2b(f"webgym worlds {seed}".encode(), digest_size=32).digest()
    return blake2b(packed, key=key, person=blake2b(host.encode(), digest_size=16).digest(), digest_size=_MAC).digest()
