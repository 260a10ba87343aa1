"""Drawing replies by weight, without putting any back, so that the same seed draws the same whatever the order.

Each candidate gets a key: an exponential variate of its own, made of a hash of the seed, the update it is drawn for and its
name, divided by its weight. The update is in it because a reply stays a candidate for several: without it they would all
draw the same ones, and never the others. Taking the smallest keys is drawing by weight without replacement (Efraimidis and
Spirakis), and needs no list to draw from.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from webgym.replay.settings import ReplaySettings
from webgym.replay.statistics import StepReason


@dataclass(frozen=True)
class Candidate:
    """A reply that could be learned from: all that is known of it while drawing."""

    episode: str
    step: int
    iteration: int
    task: str
    website: str
    advantage: float


def draw(
    candidates: Iterable[Candidate], settings: ReplaySettings, *, iteration: int
) -> tuple[list[Candidate], Counter[StepReason]]:
    """The replies drawn for the update after `iteration`, and how many were not, by reason."""
    chosen: list[Candidate] = []
    dropped: Counter[StepReason] = Counter()
    tasks: Counter[str] = Counter()
    websites: Counter[str] = Counter()
    for one in sorted(candidates, key=lambda one: _key(one, settings, iteration)):
        if settings.samples is not None and len(chosen) == settings.samples:
            dropped["not_drawn"] += 1
        elif settings.per_task is not None and tasks[one.task] == settings.per_task:
            dropped["task_cap"] += 1
        elif settings.per_website is not None and websites[one.website] == settings.per_website:
            dropped["website_cap"] += 1
        else:
            chosen.append(one)
            tasks[one.task] += 1
            websites[one.website] += 1
    return chosen, dropped


def _key(one: Candidate, settings: ReplaySettings, iteration: int) -> tuple[float, str, int]:
    digest = hashlib.sha256(f"{settings.seed}/{iteration}/{one.episode}/{one.step}".encode()).digest()
    uniform = (int.from_bytes(digest[:7], "big") + 0.5) / 2**56
    return -math.log(uniform) / (one.iteration + 1) ** settings.power, one.episode, one.step
