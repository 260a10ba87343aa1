"""Exact and near duplicates. The first of its kind stays: the same seeds in the same order give the same result.

Two seeds can be duplicates only on the same website (`websites.site`): "find the opening hours" is a different task on
each. Exact means the same words, whatever the case and punctuation, or the same id. Near means that the words and word
pairs of two instructions overlap by at least the threshold (Jaccard) while their figures agree: "for 2 guests" and "for 3
guests" are two tasks. MinHash only proposes candidates; the overlap itself is computed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

from rensa import RMinHash, RMinHashLSH

from webgym.tasks.seed import Seed
from webgym.tasks.websites import site

DEFAULT_THRESHOLD = 0.9
_BATCH = 4_096
# 12 bands of 4 rows propose a pair of overlap 0.8 with probability 0.998, and one of 0.9 practically always.
_PERMUTATIONS, _BANDS, _SEED = 48, 12, 20_260_102
_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"\w*\d\w*")


@dataclass
class DuplicateCounts:
    kept: int = 0
    same_id: int = 0
    exact: int = 0
    near: int = 0


@dataclass
class Deduplicator:
    """Remembers what it has kept: a hash and the words of each seed, some 400 bytes."""

    threshold: float = DEFAULT_THRESHOLD
    counts: DuplicateCounts = field(default_factory=DuplicateCounts)

    def __post_init__(self) -> None:
        if not 0.5 <= self.threshold <= 1:
            raise ValueError(f"threshold must lie between 0.5 and 1, not {self.threshold}")
        self._ids: set[str] = set()
        self._exact: set[str] = set()
        self._kept: list[tuple[str, tuple[str, ...]]] = []
        self._index = RMinHashLSH(threshold=self.threshold, num_perm=_PERMUTATIONS, num_bands=_BANDS)

    def unique(self, seeds: Iterable[Seed]) -> Iterator[Seed]:
        """The seeds that are not duplicates of earlier ones, in order."""
        stream = iter(seeds)
        while batch := list(islice(stream, _BATCH)):
            fresh = [pair for seed in batch if (pair := self._not_exact(seed)) is not None]
            if self.threshold == 1:
                self.counts.kept += len(fresh)
                yield from (seed for seed, _ in fresh)
                continue
            sketches = RMinHash.from_token_sets([_tokens(words) for _, words in fresh], num_perm=_PERMUTATIONS, seed=_SEED)
            for (seed, words), sketch in zip(fresh, sketches, strict=True):
                figures = _figures(words)
                if any(self._near(words, figures, *self._kept[other]) for other in self._index.query(sketch)):
                    self.counts.near += 1
                    continue
                self._index.insert(len(self._kept), sketch)
                self._kept.append((words, figures))
                self.counts.kept += 1
                yield seed

    def _not_exact(self, seed: Seed) -> tuple[Seed, str] | None:
        if seed.id in self._ids:
            self.counts.same_id += 1
            return None
        self._ids.add(seed.id)
        words = words_of(seed)
        if words in self._exact:
            self.counts.exact += 1
            return None
        self._exact.add(words)
        return seed, words

    def _near(self, words: str, figures: tuple[str, ...], other: str, other_figures: tuple[str, ...]) -> bool:
        # Most candidates differ in a figure, and finding figures is dear: they are found once a seed.
        if figures != other_figures:
            return False
        ours, theirs = set(_tokens(words)), set(_tokens(other))
        return len(ours & theirs) >= self.threshold * len(ours | theirs)


def words_of(seed: Seed) -> str:
    """The site, then the words of the instruction, in one normal form."""
    text = seed.instruction if seed.instruction.isascii() else unicodedata.normalize("NFKC", seed.instruction)
    return f"{site(seed.website)} {' '.join(_WORD.findall(text.casefold()))}"


def _tokens(words: str) -> list[str]:
    """Words and word pairs, each marked with the site so that no two sites share one."""
    place, *rest = words.split(" ")
    return [f"{place} {word}" for word in rest] + [f"{place} {one} {two}" for one, two in pairwise(rest)]


def _figures(words: str) -> tuple[str, ...]:
    return tuple(sorted(_FIGURE.findall(words.partition(" ")[2])))
