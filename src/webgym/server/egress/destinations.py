"""Where pages may go: hosts in one spelling, address ranges by name, and the policy that decides.

Invariant: a decision is taken on a canonical host or on an address object, never on the text a page wrote, so
that `2130706433`, `0x7f.1`, `[::ffff:127.0.0.1]` and `localhost.` all meet the rule for loopback. Whatever is
not known to be globally reachable is refused. Nothing in this module does I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any, Final, Self
from urllib.parse import unquote_to_bytes

import idna
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from webgym.errors import BadRequest, Forbidden

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Host = str | IPv4Address | IPv6Address

LOCALHOST: Final[tuple[Address, ...]] = (IPv4Address("127.0.0.1"), IPv6Address("::1"))

# IANA special-purpose registries, written out because what `ipaddress` calls global differs between Python
# releases. The first match names the range.
_ZONES: Final[tuple[tuple[Network, str], ...]] = tuple(
    (ip_network(network), zone)
    for network, zone in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.100.100.200/32", "a cloud platform's address"),  # Alibaba's metadata service
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        (
            "168.63.129.16/32",
            "a cloud platform's address",
        ),  # Azure: public by number, the host's agent in fact
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("64:ff9b:1::/48", "a tunnel"),  # NAT64 of the local network's choosing
        ("2001::/32", "a tunnel"),  # Teredo
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a tunnel"),  # 6to4
        ("3fff::/20", "for documentation"),
        ("fd00:ec2::/32", "a cloud platform's address"),  # Amazon's metadata and credentials
        ("fd20:ce::254/128", "a cloud platform's address"),  # Google's metadata service
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")

_OWN: Final = "of this machine or its network"  # in no table: whoever connects says which these are

# What a rule for a name opens. The rest (metadata services, multicast, 0.0.0.0, tunnels) takes a rule for the
# address.
_OPENED_BY_NAME: Final = frozenset({"loopback", _OWN, "private", "carrier-grade NAT", "for documentation", "for benchmarks"})
_OPENED_AS_PRIVATE: Final = frozenset({"private", "carrier-grade NAT"})

_LABEL: Final = re.compile(r"[a-z0-9_-]{1,63}")  # with hyphens at its ends, too: browsers look such names up
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def zone(address: Address) -> str | None:
    """The kind of range an address lies in, or None if it is globally reachable."""
    if (inner := embedded(address)) is not None:
        return zone(inner)
    for network, name in _ZONES:
        if address in network:
            return name
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "reserved"
    return None


def embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address that packets to this IPv6 address end up at. 6to4 and Teredo are refused whole
    instead."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def canonical_host(text: str) -> Host:
    """One spelling per host; ValueError says what is wrong with it."""
    if not text or len(text) > 1024:
        raise ValueError("a host has 1 to 253 characters")
    if not text.isascii():
        try:
            text = idna.uts46_remap(text, std3_rules=False, transitional=False)
            text = text if text.isascii() else idna.encode(text).decode("ascii")
        except (idna.IDNAError, UnicodeError) as e:
            raise ValueError(f"{text!r} is not an international domain name: {e}") from e
    text = text.lower()
    if text.startswith("[") and text.endswith("]"):
        return _ipv6(text[1:-1])
    if ":" in text:
        return _ipv6(text)
    text = text.removesuffix(".")
    labels = text.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(text, labels)
    if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{text[:80]!r} is not a host name")
    return text


def _ipv6(text: str) -> Address:
    try:
        if "%" in text:
            raise ValueError("an address with a zone is of this machine only")
        address = IPv6Address(text)
    except ValueError as e:
        raise ValueError(f"{text[:80]!r} is not an IPv6 address: {e}") from e
    return address.ipv4_mapped or address


def _ipv4(text: str, labels: list[str]) -> IPv4Address:
    """Every form that inet_aton and browsers take: decimal, octal and hexadecimal, one to four parts."""
    wrong = ValueError(f"{text[:80]!r} is not an IPv4 address")
    if len(labels) > 4 or len(text) > 80 or not all(_NUMBER.fullmatch(label) for label in labels):
        raise wrong
    try:
        parts = [_part(label) for label in labels]
    except ValueError:
        raise wrong from None
    *leading, last = parts
    if any(part > 255 for part in leading) or last >= 256 ** (4 - len(leading)):
        raise wrong
    value = last
    for i, part in enumerate(leading):
        value += part << (8 * (3 - i))
    return IPv4Address(value)


def _part(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if len(label) > 1 and label.startswith("0") else int(label)


def is_localhost(host: Host) -> bool:
    return isinstance(host, str) and (host == "localhost" or host.endswith(".localhost"))


def at(host: Host, port: int) -> str:
    """host:port as people write it."""
    return f"[{host}]:{port}" if isinstance(host, IPv6Address) else f"{host}:{port}"


class Rules:
    """A parsed list of rules: a name, `*.name` (its subdomains, not itself), `*`, an address or a CIDR, each
    with an optional `:port`. IPv6 takes brackets when a port follows: `[fd00::/8]:443`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._names: dict[str, set[int | None]] = {}
        self._networks: list[tuple[Network, int | None]] = []
        for text in texts:
            try:
                self._add(text)
            except ValueError as e:
                raise ValueError(f"rule {text!r}: {e}") from e

    def _add(self, text: str) -> None:
        pattern, port = split_port(text)
        bare = pattern[1:-1] if pattern.startswith("[") and pattern.endswith("]") else pattern
        if "/" in bare:
            self._networks.append((ip_network(bare), port))
        elif pattern == "*":
            self._names.setdefault("*", set()).add(port)
        else:
            stars = "*." if pattern.startswith("*.") else ""
            host = canonical_host(pattern.removeprefix("*."))
            if isinstance(host, str):
                self._names.setdefault(stars + host, set()).add(port)
            elif stars:
                raise ValueError("an address has no subdomains; write a CIDR such as 10.0.0.0/8")
            else:
                self._networks.append((ip_network(host), port))

    def has_name(self, name: str, port: int) -> bool:
        patterns = ["*", name]
        rest = name
        while "." in rest:
            rest = rest.partition(".")[2]
            patterns.append(f"*.{rest}")
        return any(self._holds(pattern, port) for pattern in patterns)

    def has_address(self, address: Address, port: int) -> bool:
        if self._holds("*", port):
            return True
        return any(address in network and wanted in (None, port) for network, wanted in self._networks)

    def _holds(self, pattern: str, port: int) -> bool:
        ports = self._names.get(pattern)
        return ports is not None and (None in ports or port in ports)


def split_port(text: str) -> tuple[str, int | None]:
    """A colon starts a port unless the text is a bare IPv6 address, which has at least two."""
    host, colon, digits = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")) or text.endswith("]"):
        return text, None
    return host, _port(digits)


def _port(digits: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and 1 <= int(digits) <= 65535):
        raise ValueError(f"{digits[:20]!r} is not a port between 1 and 65535")
    return int(digits)


class EgressPolicy(BaseModel):
    """What pages may reach. By default: every globally reachable address that is not this machine's own, and nothing else.

    - `deny` wins over everything.
    - `allow` admits what is refused by default. A rule for a name opens loopback, this machine's own and private
      addresses to that name alone; a rule for an address or range opens it to every name. Link-local, the metadata services
      of cloud platforms wherever they are, multicast, 0.0.0.0 and tunnels are opened by a rule for the address
      only.
    - `allow_private` opens RFC 1918, unique local and carrier-grade NAT ranges; loopback, link-local and
      metadata services stay shut.
    - `only_allowed` refuses what neither `allow` nor `sites` lists. A name has to be listed by name, so that
      nothing else is even looked up.
    - `sites` lists public sites for `only_allowed`. Unlike `allow` it opens no private address, so the owner
      of a listed site gains nothing by pointing its name at one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: tuple[str, ...] = Field(
        (), description="what is shut by default: names (*.localhost:8080), addresses or ranges, each with a port or for all"
    )
    deny: tuple[str, ...] = Field((), description="what is shut whatever else is said")
    allow_private: bool = Field(False, description="open private ranges; loopback, link-local and this machine stay shut")
    only_allowed: bool = Field(False, description="nothing but what allow and sites list")
    sites: tuple[str, ...] = Field((), description="public sites for only_allowed")

    _allow: Rules = PrivateAttr()
    _deny: Rules = PrivateAttr()
    _sites: Rules = PrivateAttr()

    @model_validator(mode="after")
    def _parsed(self) -> Self:
        for rule in self.allow:
            if rule == "*" or rule.startswith("*:"):
                raise ValueError(f"allow: rule {rule!r} would open every private address; name hosts or ranges")
        if self.sites and not self.only_allowed:
            raise ValueError(f"sites is {self.sites!r} but only_allowed is False: set it, or drop sites")
        return self

    def model_post_init(self, context: Any, /) -> None:
        for field in ("allow", "deny", "sites"):
            try:
                setattr(self, f"_{field}", Rules(getattr(self, field)))
            except ValueError as e:
                raise ValueError(f"{field}: {e}") from e

    def refuses(self, host: Host, port: int) -> str | None:
        """Why a host may not be reached, as far as that can be said without resolving it."""
        if not isinstance(host, str):
            return self.refuses_address(host, host, port)
        if self._deny.has_name(host, port):
            return f"{at(host, port)} is on the deny list"
        if self.only_allowed and not (self._allow.has_name(host, port) or self._sites.has_name(host, port)):
            return f"{at(host, port)} is not on the allow list"
        if is_localhost(host):
            reasons = [self.refuses_address(host, address, port) for address in LOCALHOST]
            return reasons[0] if all(reasons) else None
        return None

    def refuses_address(self, host: Host, address: Address, port: int, own: Iterable[Network] = ()) -> str | None:
        """Why an address that `host` is or resolves to may not be connected to. `refuses(host)` was asked
        before. `own` are the networks of this machine, which count as loopback does."""
        subject = str(address) if host == address else f"{host} is {address}, which"
        meant = [one for one in (address, embedded(address)) if one is not None]
        if any(self._deny.has_address(one, port) for one in meant):
            return f"{subject} is on the deny list"
        if self._allow.has_address(address, port):
            return None
        kind = zone(address)
        ours = [network for network in own if any(one in network for one in meant)]
        if kind in _OPENED_AS_PRIVATE:  # the neighbours in a private network are what opening it is for
            ours = [network for network in ours if network.num_addresses == 1]
        if ours and (kind is None or kind in _OPENED_AS_PRIVATE):
            kind = _OWN
        if kind in _OPENED_BY_NAME and isinstance(host, str) and self._allow.has_name(host, port):
            return None
        if kind is None or (kind in _OPENED_AS_PRIVATE and self.allow_private):
            if self.only_allowed and host == address and not self._sites.has_address(address, port):
                return f"{at(address, port)} is not on the allow list"
            return None
        return f"{subject} is {kind}"

    def check_url(self, url: str) -> None:
        """Refuse what `navigate` must not be given. Authorities are cut as browsers cut them (WHATWG), so
        `http:\\\\h` and `http://a@h` do not hide a host. The proxy checks again, with DNS: this check gives
        the better message."""
        url = url.strip("".join(map(chr, range(33))))
        if url == "about:blank":
            return
        if any(c < " " or c == "\x7f" for c in url):
            raise BadRequest("url: it has a control character inside")
        scheme = _SCHEME.match(url)
        if scheme is None:
            raise BadRequest(f"url: {url[:200]!r} has no scheme; write https://{url[:200].lstrip('/')}")
        name = scheme[1].lower()
        if name not in _DEFAULT_PORTS:
            raise Forbidden(f"url: {name}: is not allowed; only http, https and about:blank are")
        authority = re.split(r"[/\\?#]", url[scheme.end() :].lstrip("/\\"), maxsplit=1)[0]
        if "@" in authority:
            raise Forbidden("url: a user name or password before the host is not allowed; leave it out")
        try:
            text, port = split_port(authority.removesuffix(":"))
            host = canonical_host(unquote_to_bytes(text).decode())
        except ValueError as e:
            raise BadRequest(f"url: {e}") from e
        if reason := self.refuses(host, port or _DEFAULT_PORTS[name]):
            raise Forbidden(f"url: blocked by the egress policy: {reason}")
