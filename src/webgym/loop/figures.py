"""What a set of episodes came to: success by difficulty, steps, faults and tokens, from the store alone.

A success rate counts scored episodes only. What was not scored (faults of ours, blocked websites, a judge that failed) is
counted beside it and never as a failure of the agent, so a rate says how much it leaves out. How far a rate can be trusted
goes by its different tasks: another repeat of one says more of this task and nothing of those that were not tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

from pydantic import Field, model_validator

from webgym.judge.bench.figures import wilson_interval
from webgym.store import Run
from webgym.types import DifficultyBand, Episode, Scored, Verdict, Wire

BANDS: Final[tuple[DifficultyBand, ...]] = ("easy", "medium", "hard")


class Rate(Wire):
    """So many of so many episodes."""

    passed: int = Field(0, ge=0)
    of: int = Field(0, ge=0)
    tasks: int = Field(
        default_factory=lambda given: given.get("of", 0), ge=0, description="Different ones; unless told, one an episode."
    )

    @model_validator(mode="after")
    def _as_many_tasks_as_there_can_be(self) -> Self:
        if not min(1, self.of) <= self.tasks <= self.of:
            raise ValueError(f"{self.of} episodes cannot be of {self.tasks} tasks")
        return self

    @property
    def share(self) -> float | None:
        return self.passed / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson, which is honest for few tasks and for shares near 0 and 1.

        Repeats of a task do not narrow it: in the worst case they all end alike."""
        return wilson_interval(self.share, self.tasks) if self.share is not None else (0.0, 1.0)

    def __add__(self, other: Rate) -> Rate:
        """Both together, if they have no task in common."""
        return Rate(passed=self.passed + other.passed, of=self.of + other.of, tasks=self.tasks + other.tasks)

    def __str__(self) -> str:
        if self.share is None:
            return "none scored"
        low, high = self.interval
        repeated = f" on {self.tasks} tasks" if self.tasks < self.of else ""
        return f"{self.share:.1%} of {self.of}{repeated} ({low:.1%} to {high:.1%})"


class Figures(Wire):
    """Episodes in numbers."""

    planned: int = 0
    outcomes: dict[str, int] = Field({}, description="How they ended; cancelled ones by reason.")
    by_band: dict[DifficultyBand, Rate] = Field({}, description="Successes among the scored, by difficulty.")
    unscorable: int = Field(0, description="The judge failed on them.")
    unjudged: int = Field(0, description="No verdict of this judge, although they can be scored.")
    kept: int = Field(0, description="Episodes with their steps in the store.")
    steps: int = 0
    invalid: int = Field(0, description="Steps whose reply could not be read.")
    unchanged: int = Field(0, description="Steps that did nothing to see.")
    prompt_tokens: int = 0
    completion_tokens: int = 0
    judge_dollars: float = Field(0.0, description="What all judgements of them by this judge cost; 0 without a price.")

    @property
    def success(self) -> Rate:
        return sum(self.by_band.values(), Rate())

    @property
    def steps_per_episode(self) -> float:
        return self.steps / self.kept if self.kept else 0.0

    @property
    def invalid_share(self) -> float:
        return self.invalid / self.steps if self.steps else 0.0

    @property
    def infra_share(self) -> float:
        return self.outcomes.get("infra", 0) / self.planned if self.planned else 0.0


def measure(run: Run, iteration: int, judge: str) -> Figures:
    """The figures of one iteration by one judge's latest verdicts. Reads an episode at a time; blocks."""
    planned = {one.id for one in run.planned(iteration)}
    records = run.outcomes()
    verdicts: dict[str, Verdict] = {}
    dollars = 0.0
    for said in run.judgements(judge):
        if said.episode in planned:
            verdicts[said.episode] = said.verdict  # the latest counts, and every one was paid for
            dollars += said.dollars
    ended: Counter[str] = Counter()
    for name in planned:
        record = records.get(name)
        outcome = record.outcome if record is not None else None
        if outcome is None:
            ended["unfinished"] += 1
        else:
            ended[f"cancelled({outcome.reason})" if outcome.kind == "cancelled" else outcome.kind] += 1
    tally = _Tally()
    for episode in run.episodes(iteration):
        tally.add(episode, verdicts.get(episode.id))
    return tally.figures(len(planned), dict(sorted(ended.items())), dollars)


class _Tally:
    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._rewards: dict[DifficultyBand, list[tuple[str, int]]] = {}

    def add(self, episode: Episode, verdict: Verdict | None) -> None:
        counts, steps = self._counts, episode.steps
        counts["kept"] += 1
        counts["steps"] += len(steps)
        counts["invalid"] += sum(step.invalid is not None for step in steps)
        counts["unchanged"] += sum(step.unchanged for step in steps)
        replies = [step.reply for step in steps if step.reply is not None]
        counts["prompt_tokens"] += sum(reply.prompt_tokens for reply in replies)
        counts["completion_tokens"] += sum(reply.completion_tokens for reply in replies)
        if not episode.trainable:
            return
        if isinstance(verdict, Scored):
            self._rewards.setdefault(episode.task.band, []).append((episode.task.id, verdict.reward))
        else:
            counts["unjudged" if verdict is None else "unscorable"] += 1

    def figures(self, planned: int, outcomes: dict[str, int], dollars: float) -> Figures:
        bands = {band: _rate(self._rewards[band]) for band in BANDS if band in self._rewards}
        return Figures(planned=planned, outcomes=outcomes, by_band=bands, judge_dollars=dollars, **self._counts)


def _rate(rewards: Sequence[tuple[str, int]]) -> Rate:
    """Of the tasks and rewards of scored episodes."""
    return Rate(passed=sum(one for _, one in rewards), of=len(rewards), tasks=len({task for task, _ in rewards}))
