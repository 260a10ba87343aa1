"""Host names: which kind of site stands behind one, what it is called, and the hosts of a whole catalogue.

A host such as `oakfield-market.localhost` is brand words and a word of a kind. Any other name under `.localhost` is a site
too; its kind follows from a hash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from webgym.worlds.chance import stable
from webgym.worlds.kind import Kind, Site
from webgym.worlds.sites import KINDS
from webgym.worlds.words import FIRST, SECOND

SUFFIX: Final = ".localhost"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@lru_cache(maxsize=1)
def _by_word() -> Mapping[str, str]:
    return {word: name for name, kind in sorted(KINDS.items()) for word in kind.words}


def is_host(host: str) -> bool:
    """Whether a name can be one of our sites: one label under .localhost."""
    return host.endswith(SUFFIX) and _LABEL.fullmatch(host.removesuffix(SUFFIX)) is not None


def kind_of(seed: int, host: str) -> Kind[Any]:
    """The kind of site behind a host name."""
    last = host.removesuffix(SUFFIX).rpartition("-")[2]
    name = _by_word().get(last)
    if name is None:
        names = sorted(KINDS)
        name = names[stable(seed, host, "kind") % len(names)]
    return KINDS[name]


@lru_cache(maxsize=4_096)
def site_of(seed: int, host: str) -> Site:
    """The site of a host name."""
    kind = kind_of(seed, host)
    front, _, last = host.removesuffix(SUFFIX).rpartition("-")
    words = (front or last).replace("-", " ").title()
    plain = stable(seed, host, "brand") % 3 == 0 and front
    brand = words if plain or not front else f"{words} {last.title()}"
    return Site(seed, host, kind.name, brand)


def count(kind: Kind[Any]) -> int:
    """How many hosts the catalogue has of a kind."""
    return len(FIRST) * len(SECOND) * len(kind.words)


def host_of(seed: int, kind: Kind[Any], number: int) -> str:
    """The catalogue's host of a kind by number: distinct for every number below `count`, in a mixed order."""
    size = count(kind)
    prime = 1_000_003  # has no factor in common with any catalogue, so stepping by it visits every host once
    place = (number * prime + stable(seed, kind.name, "hosts")) % size
    place, word = divmod(place, len(kind.words))
    first, second = divmod(place, len(SECOND))
    return f"{FIRST[first]}{SECOND[second]}-{kind.words[word]}{SUFFIX}"
