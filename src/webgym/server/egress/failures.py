"""Why a page's connection failed, kept for a while, because Chromium shows every failure as the same SOCKS
error.

Invariant: what is kept is bounded, and a failure is gone once its host and port have been reached again. One that was
ours is kept beyond that: a page may have got one thing from a host and not another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from webgym.server.egress.destinations import Host, canonical_host

Kind = Literal[
    "blocked", "dns", "refused", "timeout", "unreachable", "upstream", "overloaded", "resolver", "proxy", "shut"
]  # fmt: skip
"""All but the last four are the site's or the policy's doing, `upstream` what the session's proxy said of the site. This
machine was short of something (`overloaded`), the name server is silent, the session's proxy cannot be reached, or it does
not let us in and never will (`shut`)."""

_OURS: Final[frozenset[Kind]] = frozenset({"overloaded", "resolver", "proxy", "shut"})

_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """No connection, and why."""

    kind: Kind
    text: str

    @property
    def ours(self) -> bool:
        """No fault of the website, nor of whoever went there."""
        return self.kind in _OURS


@dataclass(frozen=True, slots=True)
class Failure(Refusal):
    """A refusal, and when."""

    at: float


_Table = OrderedDict[tuple[str, int], Failure]


class Failures:
    """The latest failure of each host and port."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: _Table = OrderedDict()
        self._short: _Table = OrderedDict()

    def record(self, host: Host, port: int, refusal: Refusal) -> None:
        failure = Failure(refusal.kind, refusal.text, self._clock())
        for table in (self._kept, self._short) if refusal.ours else (self._kept,):
            table[str(host), port] = failure
            table.move_to_end((str(host), port))
            if len(table) > _KEPT:
                table.popitem(last=False)

    def forget(self, host: Host, port: int) -> None:
        self._kept.pop((str(host), port), None)

    def get(self, host: str, port: int) -> Failure | None:
        return self._kept.get(_key(host, port))

    def short(self, host: str, port: int, since: float) -> Failure | None:
        """The latest refusal that was ours, if there was one since then."""
        failure = self._short.get(_key(host, port))
        return failure if failure is not None and failure.at >= since else None

    def __len__(self) -> int:
        return len(self._kept)


def _key(host: str, port: int) -> tuple[str, int]:
    try:
        return str(canonical_host(host)), port
    except ValueError:
        return host, port
