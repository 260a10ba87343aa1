"""Why a page's connection failed, kept for a while, because Chromium shows every failure as the same SOCKS
error.

Invariant: the map is bounded, and an entry is gone once its host and port have been reached again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from webgym.server.egress.destinations import Host, canonical_host

Kind = Literal["blocked", "dns", "refused", "timeout", "unreachable", "upstream", "overloaded"]
"""All but the last are the site's, the policy's or the session's proxy's doing; `overloaded` is this
machine's."""

_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """No connection, and why."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Failure(Refusal):
    """A refusal, and when."""

    at: float


class Failures:
    """The latest failure of each host and port."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[str, int], Failure] = OrderedDict()

    def record(self, host: Host, port: int, refusal: Refusal) -> None:
        key = (str(host), port)
        self._kept[key] = Failure(refusal.kind, refusal.text, self._clock())
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def forget(self, host: Host, port: int) -> None:
        self._kept.pop((str(host), port), None)

    def get(self, host: str, port: int) -> Failure | None:
        try:
            return self._kept.get((str(canonical_host(host)), port))
        except ValueError:
            return self._kept.get((host, port))

    def __len__(self) -> int:
        return len(self._kept)
