"""This machine's own addresses. Those of a public network are in no list of private ranges, yet a connection to them never
leaves the machine, so no firewall sees it: whatever listens here on all interfaces would be open to every page.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Final

import psutil

from webgym.server.egress.destinations import Network

_SECONDS: Final = 60.0
_NEIGHBOURS: Final = 64  # bits that the machines of one IPv6 network share

Own = Callable[[], Sequence[Network]]
"""The networks that count as this machine; OSError if they cannot be told."""


class OwnNetworks:
    """What the system says, remembered for a minute: a laptop changes its networks, a server never. When it says nothing
    (OSError, for want of a descriptor), what it said last holds; that is never taken for a machine without addresses."""

    def __init__(self, ask: Own, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._known: Sequence[Network] | None = None
        self._until = float("-inf")

    def __call__(self) -> Sequence[Network]:
        if self._known is None or self._clock() >= self._until:
            try:
                self._known, self._until = self._ask(), self._clock() + _SECONDS
            except OSError:
                if self._known is None:
                    raise
        return self._known


def _networks() -> list[Network]:
    """Every address of ours alone, and in IPv6 its neighbours with it: they are public by number only, as a rule."""
    found: list[Network] = []
    for address in (one for addresses in psutil.net_if_addrs().values() for one in addresses):
        if address.family == socket.AF_INET:
            found.append(ip_network(IPv4Address(address.address)))
        elif address.family == socket.AF_INET6:
            own = IPv6Address(address.address.partition("%")[0])
            found.append(ip_network(own))
            found.append(ip_network((own, max(_NEIGHBOURS, _prefix(address.netmask))), strict=False))
    return found


def _prefix(netmask: str | None) -> int:
    try:
        return int(IPv6Address(netmask or "")).bit_count()
    except ValueError:  # not told: the address alone
        return 128


own_networks: Own = OwnNetworks(_networks)
