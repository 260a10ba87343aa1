"""What is kept so that it need not be reckoned again: images that were read, and the keys and values of earlier prompts.

Both are bounded in bytes and forget what was used longest ago. What depends on weights belongs to their runner and goes with
it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

T = TypeVar("T")


class ByteCache(Generic[T]):
    """Values by name, up to a number of bytes. Any thread may use it."""

    def __init__(self, capacity: int) -> None:
        self._capacity, self._used = capacity, 0
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> T | None:
        with self._lock:
            if name not in self._values:
                return None
            self._values.move_to_end(name)
            return self._values[name][0]

    def put(self, name: str, value: T, size: int) -> None:
        with self._lock:
            if name in self._values or size > self._capacity:
                return
            self._values[name] = value, size
            self._used += size
            while self._used > self._capacity:
                _, (_, dropped) = self._values.popitem(last=False)
                self._used -= dropped


@dataclass(frozen=True)
class _Kept:
    tokens: NDArray[np.int64]
    data: torch.Tensor

    @property
    def size(self) -> int:
        return int(self.data.nbytes) + self.tokens.nbytes


class Prefixes:
    """Keys and values of whole sequences; whoever begins like one of them starts from there. For one thread.

    A sequence is told apart by its token ids, in which the ids of image tokens have been replaced by a number that is the
    image's own: two prompts that show different pictures do not begin alike.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity, self._used = capacity, 0
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._next = 0

    def longest(self, tokens: NDArray[np.int64]) -> tuple[int, torch.Tensor | None]:
        """How many of these tokens some kept sequence begins with, and its keys and values."""
        best, found = 0, -1
        for number, kept in self._kept.items():
            if (alike := shared(kept.tokens, tokens)) > best:
                best, found = alike, number
        if found < 0:
            return 0, None
        self._kept.move_to_end(found)
        return best, self._kept[found].data

    def keep(self, tokens: NDArray[np.int64], data: torch.Tensor) -> None:
        """A sequence that is over. Those it continues are dropped: it serves in their place."""
        new = _Kept(tokens, data)
        if new.size > self._capacity:
            return
        for number in [n for n, kept in self._kept.items() if shared(kept.tokens, tokens) == len(kept.tokens)]:
            self._used -= self._kept.pop(number).size
        self._kept[self._next] = new
        self._next += 1
        self._used += new.size
        while self._used > self._capacity:
            _, dropped = self._kept.popitem(last=False)
            self._used -= dropped.size


def shared(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """How many tokens two sequences have in common from their beginning."""
    count = min(len(one), len(other))
    differs: Any = one[:count] != other[:count]
    first = int(differs.argmax()) if count else 0
    return first if count and differs[first] else count
