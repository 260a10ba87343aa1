"""The judge's prompts as files. Their version is the hash of their words: whoever changes a word makes another judge."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, Literal

DIGITS: Final = 8
Name = Literal["rules", "look", "orders", "blocking", "claims", "reference", "facts"]
ALL: Final[tuple[Name, ...]] = ("rules", "look", "orders", "blocking", "claims", "reference", "facts")


@cache
def text(name: Name) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()


@cache
def compose(*names: Name) -> str:
    """The rules and these prompts, one after another."""
    return "\n\n".join(map(text, ("rules", *names)))


@cache
def version(*names: Name) -> str:
    return hashlib.sha256(compose(*names).encode()).hexdigest()[:DIGITS]
