"""How much more likely each episode's replies should become.

Cloning gives successes 1 and knows nothing else. The objectives with groups compare the scored episodes of one task in one
iteration: REINFORCE with the group's mean, GRPO also in units of its deviation and divided by a constant per step. A group
whose rewards are all the same says nothing, and is left out. Only rewards come in here, and a reward is 0 or 1: whatever
has no verdict has no place to enter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Literal

from webgym.replay.settings import ReplaySettings
from webgym.replay.statistics import EpisodeReason
from webgym.store.samples import Objective


@dataclass(frozen=True)
class Score:
    """A scored episode, by what it is compared with."""

    group: str
    reward: Literal[0, 1]


def advantages(
    scores: Mapping[str, Score], objective: Objective, settings: ReplaySettings
) -> dict[str, float | EpisodeReason]:
    """The advantage of each scored episode, or why it has none."""
    if objective == "filtered_bc":
        return {
            episode: 1.0 if score.reward or not settings.successes_only else "failed" for episode, score in scores.items()
        }
    groups: dict[str, list[int]] = {}
    for score in scores.values():
        groups.setdefault(score.group, []).append(score.reward)
    return {name: _compared(score.reward, groups[score.group], objective, settings) for name, score in scores.items()}


def _compared(reward: int, rewards: list[int], objective: Objective, settings: ReplaySettings) -> float | EpisodeReason:
    if len(rewards) < settings.min_group:
        return "small_group"
    if len(set(rewards)) == 1:
        return "same_rewards"
    above = reward - fmean(rewards)
    return above / pstdev(rewards) / settings.step_normaliser if objective == "grpo" else above
