"""How often a judge agrees with the truth, and how sure one can be of that.

Only episodes that the judge scored can agree or not; the share it could not score is a figure of its own and never hidden
in the others. Success is the positive class: precision falls when a judge rewards what failed, recall when it refuses what
succeeded.

Intervals are of 95 %. A share has Wilson's, which stays honest near 0 and 1. Kappa has the percentiles of a bootstrap over
episodes, drawn from a fixed seed; a bootstrap cannot see a kind of error it has not met, so with few episodes trust the
shares more. Facts of one episode share its evidence and fall together: their shares are counted over facts, but their
intervals are as wide as the number of episodes warrants.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from pydantic import Field

from webgym.types import Scored, Verdict, Wire

Z: Final = 1.959963984540054  # of 95 %
RESAMPLES: Final = 1_000
LEAST_RESAMPLES: Final = 0.9  # of the resamples must have a kappa for its interval to mean anything
VERSION: Final = 1


@dataclass(frozen=True)
class Case:
    """One episode: what is true of it, what a judge said, and what that took."""

    episode: str
    kind: str
    truth: Scored
    said: Verdict
    seconds: float = 0.0
    dollars: float = 0.0
    tokens: int = 0


@dataclass(frozen=True)
class Counts:
    """Agreement and the two ways to err: passed though false, failed though true."""

    true_pass: int = 0
    false_pass: int = 0
    true_fail: int = 0
    false_fail: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Counts:
        """Pairs of (true, said)."""
        told = Counter(pairs)
        return cls(told[True, True], told[False, True], told[False, False], told[True, False])

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.true_pass + other.true_pass,
            self.false_pass + other.false_pass,
            self.true_fail + other.true_fail,
            self.false_fail + other.false_fail,
        )

    @property
    def all(self) -> int:
        return self.true_pass + self.false_pass + self.true_fail + self.false_fail

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where all cases are truly the same and there is nothing to tell apart."""
        true, said = self.true_pass + self.false_fail, self.true_pass + self.false_pass
        if true in (0, self.all):
            return None
        chance = (true * said + (self.all - true) * (self.all - said)) / self.all**2
        return ((self.true_pass + self.true_fail) / self.all - chance) / (1 - chance)


class Estimate(Wire):
    """A figure with its interval. `value` is None where there is nothing to count; `of` says how much there was."""

    value: float | None
    low: float | None
    high: float | None
    of: int


class Agreement(Wire):
    """How a judge and the truth go together over some episodes, or over their facts."""

    cases: int = Field(description="Episodes with a truth; for facts, facts.")
    true_pass: int
    false_pass: int
    true_fail: int
    false_fail: int
    successes: Estimate = Field(description="The share that truly succeeded.")
    unscorable: Estimate = Field(description="The share that the judge said nothing about.")
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    kappa: Estimate


class Spending(Wire):
    """What judging took."""

    dollars: float
    dollars_per_episode: float
    tokens: int
    tokens_per_episode: float
    seconds: float = Field(description="Of all episodes, one after the other.")
    seconds_median: float
    seconds_p90: float


class Kind(Wire):
    """The episodes of one kind of agent."""

    name: str
    agreement: Agreement


class Figures(Wire):
    """Everything a bench found out about a judge. This is the JSON file."""

    version: int = VERSION
    judge: str
    truth: str
    run: str
    made: float = Field(description="Seconds since the epoch.")
    overall: Agreement
    kinds: tuple[Kind, ...]
    facts: Agreement | None = Field(description="Over single facts; None if the truth tells none.")
    spent: Spending
    reasons: dict[str, int] = Field({}, description="Why episodes were unscorable, the most frequent first.")


def figures(cases: Sequence[Case], *, judge: str, truth: str, run: str, made: float) -> Figures:
    """The figures of a judge's cases."""
    kinds = sorted({case.kind for case in cases})
    return Figures(
        judge=judge,
        truth=truth,
        run=run,
        made=made,
        overall=over_episodes(cases),
        kinds=tuple(Kind(name=kind, agreement=over_episodes([c for c in cases if c.kind == kind])) for kind in kinds),
        facts=over_facts(cases),
        spent=_spending(cases),
        reasons=dict(Counter(case.said.reason for case in cases if case.said.kind == "unscorable").most_common(20)),
    )


def over_episodes(cases: Sequence[Case]) -> Agreement:
    clusters = [Counts.of([(case.truth.reward == 1, case.said.reward == 1)]) for case in cases if case.said.kind == "scored"]
    return _agreement(clusters, sum(case.truth.reward for case in cases), len(cases), len(cases))


def over_facts(cases: Sequence[Case]) -> Agreement | None:
    """Fact by fact, matched by group and text. A fact the judge did not speak of is unscorable."""
    known = [case for case in cases if case.truth.facts]
    if not known:
        return None
    clusters, met, total = [], 0, 0
    for case in known:
        said = {(fact.group, fact.fact): fact.met for fact in case.said.facts} if case.said.kind == "scored" else {}
        true = {(fact.group, fact.fact): fact.met for fact in case.truth.facts}
        met, total = met + sum(true.values()), total + len(true)
        clusters.append(Counts.of((holds, said[name]) for name, holds in true.items() if name in said))
    return _agreement(clusters, met, total, len(known))


def wilson(hits: float, of: float, independent: float | None = None) -> Estimate:
    """A share and Wilson's interval, as wide as `independent` cases warrant (all of them unless told)."""
    if of <= 0:
        return Estimate(value=None, low=None, high=None, of=0)
    share = hits / of
    low, high = wilson_interval(share, min(of, of if independent is None else max(1.0, independent)))
    return Estimate(value=share, low=low, high=high, of=round(of))


def wilson_interval(share: float, of: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many, at least one; the share is always in it, rounding or not."""
    middle = (share + Z * Z / (2 * of)) / (1 + Z * Z / of)
    half = Z / (1 + Z * Z / of) * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def kappa(clusters: Sequence[Counts], *, seed: int = 0) -> Estimate:
    """Kappa over all clusters, and the middle 95 % of what it is on clusters drawn with replacement."""
    whole = sum(clusters, Counts())
    if whole.kappa is None:
        return Estimate(value=None, low=None, high=None, of=whole.all)
    kinds, chance = Counter(clusters), random.Random(seed)  # noqa: S311
    forms, weights = list(kinds), list(kinds.values())
    drawn = []
    for _ in range(RESAMPLES):
        again = Counter(chance.choices(range(len(forms)), weights, k=len(clusters)))
        value = _summed(forms, again).kappa
        if value is not None:
            drawn.append(value)
    if len(drawn) < LEAST_RESAMPLES * RESAMPLES:
        return Estimate(value=whole.kappa, low=None, high=None, of=whole.all)
    drawn.sort()
    return Estimate(value=whole.kappa, low=quantile(drawn, 0.025), high=quantile(drawn, 0.975), of=whole.all)


def quantile(ordered: Sequence[float], share: float) -> float:
    """A quantile of sorted numbers, between the two nearest."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _summed(forms: Sequence[Counts], times: Counter[int]) -> Counts:
    return Counts(
        sum(forms[place].true_pass * n for place, n in times.items()),
        sum(forms[place].false_pass * n for place, n in times.items()),
        sum(forms[place].true_fail * n for place, n in times.items()),
        sum(forms[place].false_fail * n for place, n in times.items()),
    )


def _agreement(clusters: Sequence[Counts], successes: int, cases: int, episodes: int) -> Agreement:
    whole = sum(clusters, Counts())
    said_pass, true = whole.true_pass + whole.false_pass, whole.true_pass + whole.false_fail
    both = 0 < true < whole.all  # where all succeeded or none did, precision says nothing about the judge
    return Agreement(
        cases=cases,
        true_pass=whole.true_pass,
        false_pass=whole.false_pass,
        true_fail=whole.true_fail,
        false_fail=whole.false_fail,
        successes=wilson(successes, cases, episodes),
        unscorable=wilson(cases - whole.all, cases, episodes),
        accuracy=wilson(whole.true_pass + whole.true_fail, whole.all, sum(one.all > 0 for one in clusters)),
        precision=wilson(whole.true_pass, said_pass * both, sum(one.true_pass + one.false_pass > 0 for one in clusters)),
        recall=wilson(whole.true_pass, true, sum(one.true_pass + one.false_fail > 0 for one in clusters)),
        kappa=kappa(clusters),
    )


def _spending(cases: Sequence[Case]) -> Spending:
    seconds = sorted(case.seconds for case in cases) or [0.0]
    dollars, tokens, count = sum(case.dollars for case in cases), sum(case.tokens for case in cases), max(1, len(cases))
    return Spending(
        dollars=dollars,
        dollars_per_episode=dollars / count,
        tokens=tokens,
        tokens_per_episode=tokens / count,
        seconds=sum(seconds),
        seconds_median=median(seconds),
        seconds_p90=quantile(seconds, 0.9),
    )
