"""Websites as canonical origins.

An origin is what a browser can open: lower case, IDNA, no default port, no path, `https` unless the source says otherwise
(`http` for localhost and bare addresses). `www.` stays, because many sites answer on only one of the two names. Whether two
origins are the same website is a different question, and `site` answers it: scheme and `www.` do not count. Whoever splits,
counts or compares by website goes through `site`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import urlsplit

import idna

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_DEFAULT_PORT = {"http": 80, "https": 443}


@lru_cache(maxsize=65_536)
def canonical_origin(text: str) -> str:
    """The origin a website's name, address or link stands for; empty for what is none."""
    text = text.strip()
    has_scheme = _SCHEME.match(text) is not None
    if text.startswith("//"):
        text = "https:" + text
    elif not has_scheme:
        text = "https://" + text
    try:
        parts = urlsplit(text)
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError:
        return ""
    scheme = parts.scheme
    if not host or scheme not in _DEFAULT_PORT or port == 0 or (not has_scheme and "@" in parts.netloc):
        return ""
    if not has_scheme and _is_local(host):
        scheme = "http"
    if port is None or port == _DEFAULT_PORT[scheme]:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


def site(origin: str) -> str:
    """The website behind a canonical origin: its host (and port), without scheme and `www.`."""
    host = origin.partition("://")[2] or origin
    short = host.removeprefix("www.")
    return short if "." in short else host


def origins_of(website: str) -> tuple[str, ...]:
    """Every canonical origin that is the same site as `website`."""
    host = site(canonical_origin(website) or website.strip().lower())
    return tuple(f"{scheme}://{prefix}{host}" for scheme in _DEFAULT_PORT for prefix in ("", "www."))


def _host(name: str) -> str:
    """A host name in canonical form; empty if it cannot be one."""
    name = name.rstrip(".")
    if ":" in name:
        try:
            return f"[{IPv6Address(name).compressed}]"
        except AddressValueError:
            return ""
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except idna.IDNAError:
            return ""
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        return ""
    if name == "localhost" or name.endswith(".localhost"):
        return name
    if name.rpartition(".")[2].isdigit():
        try:
            return str(IPv4Address(name))
        except AddressValueError:
            return ""
    return name if "." in name else ""


def _is_local(host: str) -> bool:
    return host.startswith("[") or host.rpartition(".")[2] == "localhost" or host.rpartition(".")[2].isdigit()
