"""The kinds of site: every module here that makes a `kind` is one, found by its file, so that a new one is a new file.

A long kind keeps its task generators in a file beside it (`shop.py`, `shop_tasks.py`).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from webgym.worlds.kind import Kind


def _found() -> dict[str, Kind[Any]]:
    kinds: dict[str, Kind[Any]] = {}
    owner: dict[str, str] = {}
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        kind: Kind[Any] | None = getattr(import_module(f"{__name__}.{module.name}"), "kind", None)
        if kind is None:
            continue
        kinds[kind.name] = kind
        for word in kind.words:
            if owner.setdefault(word, kind.name) != kind.name:
                raise ValueError(f"the host word {word!r} belongs to both {owner[word]} and {kind.name}")
    return kinds


KINDS = _found()
