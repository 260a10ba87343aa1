"""Prompts as files: `<name>.md`, whose first line is `version: N`. The version is part of every cache key."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

FENCE_DIGITS: Final = 16


@dataclass(frozen=True)
class Prompt:
    name: str
    number: int
    text: str

    @property
    def version(self) -> str:
        return f"{self.name}.{self.number}"


@cache
def prompt(name: str) -> Prompt:
    """The prompt of that name."""
    head, _, text = files(__package__).joinpath(f"{name}.md").read_text("utf-8").partition("\n")
    found = re.fullmatch(r"version: (\d+)", head)
    if found is None:
        raise ValueError(f"prompt {name} must begin with a line such as `version: 1`")
    return Prompt(name, int(found[1]), text.strip())


def fenced(text: str, cap: int) -> str:
    """Foreign text between two marks it cannot contain: they are made from a hash of it, so equal text stays equal."""
    text = text[:cap]
    mark = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:FENCE_DIGITS]
    return f"<data-{mark}>\n{text}\n</data-{mark}>"
