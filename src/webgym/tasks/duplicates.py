"""Exact and near duplicates. The first of its kind stays: the same seeds in the same order give the same result.

Two seeds can be duplicates only on the same website (`websites.site`): "find the opening hours" is a different task on
each. Exact means the same words, whatever the case and punctuation, or the same id. Near means that the words and word
pairs of two instructions overlap by at least the threshold (Jaccard) while their figures agree: "for 2 guests" and "for 3
guests" are two tasks. MinHash only proposes candidates; the overlap itself is computed.

Invariant: whatever the order, a seed with an evaluation-only twin is told of in `held`, once all seeds have been seen. To
drop a twin must not set free the task that it holds back, so an evaluation-only seed is remembered even when it goes.
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


@dataclass(frozen=True, slots=True)
class _Known:
    """A seed that later ones are compared with. One that was not kept holds back, and drops nobody."""

    id: str
    source: str
    words: str
    figures: tuple[str, ...]
    kept: bool


@dataclass
class Deduplicator:
    """Remembers what it has kept: a hash and the words of each seed, some 500 bytes. `held` has the sources of the
    evaluation-only twins of seeds that were kept, by the seed's id."""

    threshold: float = DEFAULT_THRESHOLD
    counts: DuplicateCounts = field(default_factory=DuplicateCounts)
    held: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.5 <= self.threshold <= 1:
            raise ValueError(f"threshold must lie between 0.5 and 1, not {self.threshold}")
        self._ids: set[str] = set()
        self._exact: dict[str, str] = {}  # the first with these words
        self._known: list[_Known] = []
        self._index = RMinHashLSH(threshold=self.threshold, num_perm=_PERMUTATIONS, num_bands=_BANDS)

    def unique(self, seeds: Iterable[Seed]) -> Iterator[Seed]:
        """The seeds that are not duplicates of earlier ones, in order."""
        stream = iter(seeds)
        while batch := list(islice(stream, _BATCH)):
            looked = [(seed, words_of(seed)) for seed in batch]
            fresh = [self._not_exact(seed, words) for seed, words in looked]
            if self.threshold == 1:
                self.counts.kept += sum(fresh)
                yield from (seed for seed, new in zip(batch, fresh, strict=True) if new)
                continue
            compared = [(*one, new) for one, new in zip(looked, fresh, strict=True) if new or one[0].evaluation_only]
            sketches = RMinHash.from_token_sets(
                [_tokens(words) for _, words, _ in compared], num_perm=_PERMUTATIONS, seed=_SEED
            )
            for (seed, words, new), sketch in zip(compared, sketches, strict=True):
                if self._compare(seed, words, sketch, new=new):
                    yield seed

    def _not_exact(self, seed: Seed, words: str) -> bool:
        known, twin = seed.id in self._ids, self._exact.get(words)
        if seed.evaluation_only:
            for other in ((seed.id,) if known else ()) + ((twin,) if twin is not None else ()):
                self._hold(other, seed.source)
        self._ids.add(seed.id)
        if known:
            self.counts.same_id += 1
        elif twin is not None:
            self.counts.exact += 1
        if not known or seed.evaluation_only:
            self._exact.setdefault(words, seed.id)
        return not known and twin is None

    def _compare(self, seed: Seed, words: str, sketch: RMinHash, *, new: bool) -> bool:
        """Whether a seed is kept; `new` says that it is no exact duplicate."""
        figures = _figures(words)
        near = [one for n in self._index.query(sketch) if self._near(words, figures, one := self._known[n])]
        kept = new and not any(one.kept for one in near)
        for one in near:
            if one.kept and seed.evaluation_only:
                self._hold(one.id, seed.source)
            elif kept:
                self._hold(seed.id, one.source)
        self.counts.near += new and not kept
        self.counts.kept += kept
        if kept or seed.evaluation_only:
            self._index.insert(len(self._known), sketch)
            self._known.append(_Known(seed.id, seed.source, words, figures, kept))
        return kept

    def _hold(self, kept: str, source: str) -> None:
        self.held.setdefault(kept, set()).add(source)

    def _near(self, words: str, figures: tuple[str, ...], other: _Known) -> bool:
        # Most candidates differ in a figure, and finding figures is dear: they are found once a seed.
        if figures != other.figures:
            return False
        ours, theirs = set(_tokens(words)), set(_tokens(other.words))
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
