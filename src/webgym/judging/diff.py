"""Two judges' verdicts side by side: where they agree, where they do not, and on which facts.

Only episodes that both have scored are compared; what one of them could not score is counted apart, never as a
disagreement. Agreement beyond chance is Cohen's κ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pydantic import ValidationError

from webgym.errors import ConfigError
from webgym.types import Judgement, Scored, Verdict

FILE: Final = "judgements.jsonl"


@dataclass(frozen=True)
class Judged:
    """All that a judge said: of each episode what it said last, and what all of it has cost."""

    judge: str
    latest: Mapping[str, Judgement]
    dollars: float = 0.0
    tokens: int = 0

    @classmethod
    def of(cls, judgements: Iterable[Judgement]) -> Self:
        listed = tuple(judgements)
        return cls(
            judge=listed[-1].judge,
            latest={one.episode: one for one in listed},
            dollars=sum(one.dollars for one in listed),
            tokens=sum(one.tokens for one in listed),
        )

    @property
    def unscorable(self) -> int:
        return sum(one.verdict.kind == "unscorable" for one in self.latest.values())


@dataclass(frozen=True)
class Disagreement:
    """An episode that two judges see differently."""

    episode: str
    rewards: tuple[int, int]
    reasons: tuple[str, str]


@dataclass(frozen=True)
class Diff:
    """`table` counts episodes by the two rewards, `facts` counts facts by whether each judge found them met."""

    judges: tuple[str, str]
    table: Mapping[tuple[int, int], int]
    facts: Mapping[tuple[bool, bool], int]
    disagreements: tuple[Disagreement, ...]
    only: tuple[int, int]
    unscorable: tuple[int, int]
    dollars: tuple[float, float]
    tokens: tuple[int, int]

    @property
    def compared(self) -> int:
        return sum(self.table.values())

    @property
    def agreement(self) -> float | None:
        same = self.table.get((0, 0), 0) + self.table.get((1, 1), 0)
        return same / self.compared if self.compared else None

    @property
    def fact_agreement(self) -> float | None:
        total = sum(self.facts.values())
        same = self.facts.get((True, True), 0) + self.facts.get((False, False), 0)
        return same / total if total else None

    @property
    def kappa(self) -> float | None:
        """None if nothing was compared, or if both judges say one and the same thing of everything."""
        if self.agreement is None:
            return None
        first = sum(count for (one, _), count in self.table.items() if one) / self.compared
        second = sum(count for (_, other), count in self.table.items() if other) / self.compared
        by_chance = first * second + (1 - first) * (1 - second)
        return (self.agreement - by_chance) / (1 - by_chance) if by_chance < 1 else None


def read_verdicts(place: Path) -> Judged:
    """What a judge said: of a folder of verdicts, its file, or a run with a single judge. Blocks."""
    file = _file(place)
    found: list[Judgement] = []
    try:
        lines = file.read_bytes().splitlines()
    except OSError as e:
        raise ConfigError(f"cannot read {file}: {e.strerror}") from e
    for line in filter(None, lines):
        try:
            found.append(Judgement.model_validate_json(line))
        except ValidationError:  # a line that a crash has torn; the run's next writer removes it
            continue
    if not found:
        raise ConfigError(f"{file} has no judgement")
    return Judged.of(found)


def compare(a: Judged, b: Judged) -> Diff:
    table: Counter[tuple[int, int]] = Counter()
    facts: Counter[tuple[bool, bool]] = Counter()
    differing: list[Disagreement] = []
    for episode in sorted(a.latest.keys() & b.latest.keys()):
        one, other = a.latest[episode].verdict, b.latest[episode].verdict
        if not isinstance(one, Scored) or not isinstance(other, Scored):
            continue
        rewards = (one.reward, other.reward)
        table[rewards] += 1
        seen = {(fact.group, fact.fact): fact.met for fact in one.facts}
        facts.update((seen[key], fact.met) for fact in other.facts if (key := (fact.group, fact.fact)) in seen)
        if one.reward != other.reward:
            differing.append(Disagreement(episode, rewards, (why(one), why(other))))
    return Diff(
        judges=(a.judge, b.judge),
        table=table,
        facts=facts,
        disagreements=tuple(differing),
        only=(len(a.latest.keys() - b.latest.keys()), len(b.latest.keys() - a.latest.keys())),
        unscorable=(a.unscorable, b.unscorable),
        dollars=(a.dollars, b.dollars),
        tokens=(a.tokens, b.tokens),
    )


def why(verdict: Verdict) -> str:
    """The reason for a verdict in a line: what failed, or the word for success."""
    if not isinstance(verdict, Scored):
        return verdict.reason
    failed = [f"{fact.fact}: {fact.reason}" for fact in verdict.facts if not fact.met]
    return verdict.reason or (failed[0] if failed else "every fact is met")


def _file(place: Path) -> Path:
    if place.is_file():
        return place
    if (place / FILE).is_file():
        return place / FILE
    found = sorted(path.parent for path in (place / "verdicts").glob(f"*/{FILE}"))
    if len(found) == 1:
        return found[0] / FILE
    if found:
        listed = "\n".join(f"  {path}" for path in found)
        raise ConfigError(f"{place} has verdicts of {len(found)} judges; name one of them:\n{listed}")
    raise ConfigError(f"{place} has no verdicts: name RUN/verdicts/JUDGE, or a run that was judged")
