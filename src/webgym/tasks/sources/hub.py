"""Rows of a Hugging Face dataset by name: `hf:owner/name`, `hf:owner/name:split`, `hf:owner/name@config:split`.

The `datasets` package is imported when first needed, and the dataset is streamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from webgym.errors import ConfigError, Unreachable
from webgym.tasks.rows import BrokenRow, Row

PREFIX = "hf:"
_NAME = re.compile(r"hf:(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<config>[\w.-]+))?(?::(?P<split>[\w.-]+))?")


@dataclass(frozen=True)
class HubName:
    name: str
    config: str | None = None
    split: str = "train"

    @classmethod
    def parse(cls, text: str) -> HubName:
        found = _NAME.fullmatch(text)
        if found is None:
            raise ConfigError(f"{text!r} names no dataset; write hf:owner/name, or hf:owner/name@config:split")
        return cls(found["name"], found["config"], found["split"] or "train")

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}{f'@{self.config}' if self.config else ''}:{self.split}"


Load = Callable[[HubName], Iterable[object]]


def read_hub(name: HubName, load: Load | None = None) -> Iterator[Row | BrokenRow]:
    """Every row of a dataset. `load` stands in for the hub."""
    load = _load if load is None else load
    try:
        for number, values in enumerate(load(name), 1):
            if isinstance(values, dict):
                yield Row(str(name), number, values, ordinal=number)
            else:
                yield BrokenRow(str(name), number, f"a row must be an object, not {type(values).__name__}")
    except (OSError, EOFError) as e:
        # Connection errors of the hub's client are OSErrors, a missing dataset is FileNotFoundError.
        raise Unreachable(f"{name}: {type(e).__name__}: {e}. Offline? Give the path of a downloaded file instead") from e


def _load(name: HubName) -> Iterable[object]:
    try:
        from datasets import load_dataset
    except ImportError as e:
        raise ConfigError(f"{name}: reading from the hub needs the tasks extra: pip install 'open-webgym[tasks]'") from e
    try:
        found: Iterable[object] = load_dataset(name.name, name.config, split=name.split, streaming=True)
    except ValueError as e:
        raise ConfigError(f"{name}: {e}") from e
    return found
