"""What is remembered: bounded, and never mistaken for something else."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from webgym.train.serving.caches import ByteCache, Prefixes, shared

Tokens = st.lists(st.integers(0, 3), max_size=12)


def array(tokens: list[int]) -> np.ndarray:
    return np.asarray(tokens, dtype=np.int64)


def kept(tokens: list[int], mark: float = 0.0) -> torch.Tensor:
    return torch.full((2, 1, 1, len(tokens), 4), mark)


def test_the_cache_forgets_what_was_used_longest_ago():
    cache: ByteCache[str] = ByteCache(100)
    cache.put("a", "A", 40)
    cache.put("b", "B", 40)
    assert cache.get("a") == "A"
    cache.put("c", "C", 40)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")


def test_the_cache_does_not_keep_what_is_larger_than_itself():
    cache: ByteCache[str] = ByteCache(100)
    cache.put("a", "A", 40)
    cache.put("huge", "H", 101)
    assert cache.get("huge") is None
    assert cache.get("a") == "A"


@given(Tokens, Tokens)
def test_shared_counts_equal_tokens_from_the_beginning(one: list[int], other: list[int]):
    count = shared(array(one), array(other))
    assert one[:count] == other[:count]
    assert count in (len(one), len(other)) or one[count] != other[count]


def test_the_longest_known_beginning_is_found():
    prefixes = Prefixes(1 << 20)
    prefixes.keep(array([1, 2, 9]), kept([1, 2, 9], 1.0))
    prefixes.keep(array([1, 2, 3, 4]), kept([1, 2, 3, 4], 2.0))
    count, data = prefixes.longest(array([1, 2, 3, 7]))
    assert count == 3
    assert data is not None
    assert float(data[0, 0, 0, 0, 0]) == 2.0
    assert prefixes.longest(array([5])) == (0, None)


def test_a_sequence_that_goes_on_takes_the_place_of_its_beginning():
    one = kept([1] * 8)
    prefixes = Prefixes(2 * one.nbytes + 200)
    prefixes.keep(array([1] * 7), kept([1] * 7))
    prefixes.keep(array([1] * 8), one)
    prefixes.keep(array([2] * 4), kept([2] * 4))  # there is room only because the first one went
    assert prefixes.longest(array([1] * 9))[0] == 8
    assert prefixes.longest(array([2] * 9))[0] == 4


def test_prefixes_stay_within_their_bytes():
    one = kept([1] * 8)
    prefixes = Prefixes(one.nbytes + 8 * 8)
    for n in range(5):
        prefixes.keep(array([n] * 8), kept([n] * 8))
    assert [prefixes.longest(array([n] * 8))[0] for n in range(5)] == [0, 0, 0, 0, 8]
