"""The replay buffer: a pure function of what a run has on disk, whose verdicts count, the settings and the seed.

It walks the run twice. The first time it reads the plan, the outcomes and one judge's verdicts, then the episodes that have
an advantage, one at a time, and notes a few words of each usable step. Then it draws. The second time it reads the drawn
episodes and writes their samples as it goes. Neither images nor all prompts are ever in memory.

An episode enters only if its agent or its step limit ended it, it is of the train split, and this judge scored it. There is
no default for a missing verdict. Of such an episode, steps on a website that is tested on are left out, and so are later
ones whose prompt still shows it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from webgym.errors import NewerVersion, StoreError
from webgym.replay.advantage import Score, advantages
from webgym.replay.drawing import Candidate, draw
from webgym.replay.settings import ReplaySettings
from webgym.replay.statistics import EpisodeReason, ReplayStatistics, StepReason
from webgym.store import Record, Run
from webgym.store.samples import Objective, Sample, write_samples
from webgym.types import Episode, Judgement, Step

log = logging.getLogger(__name__)


def replay(
    run: Run,
    path: Path,
    *,
    judge: str,
    iteration: int,
    objective: Objective = "filtered_bc",
    settings: ReplaySettings | None = None,
    tested: Callable[[str], bool] = lambda _: False,
) -> ReplayStatistics:
    """Write the samples for the update after `iteration` to `path`. The run is only read.

    `tested` says of an address whether it is on a website of the test set."""
    settings = settings or ReplaySettings()
    account = _Account()
    back = settings.iterations if objective == "filtered_bc" else 1  # older groups were another policy's
    found: list[Candidate] = []
    weights = _weigh(run, range(max(0, iteration - back + 1), iteration + 1), judge, objective, settings, account)
    for episode in _read(run, weights, account):
        if episode.task.split == "test":
            account.episodes["test"] += 1
            continue
        if not episode.trainable:  # the outcome log said otherwise: one of the two is damaged, and neither is believed
            account.episodes["damaged"] += 1
            continue
        account.used += 1
        # A task that names such a website is no stray: a set that mixes train and test is to be seen, not to be thinned out.
        strayed = (lambda _: False) if tested(episode.task.website) else tested
        found += _candidates(episode, weights[episode.id], objective, settings, strayed, account)
    chosen, dropped = draw(found, settings, iteration=iteration)
    account.steps += dropped
    kept = write_samples(path, _samples(run, chosen))
    return ReplayStatistics(
        judge=judge,
        objective=objective,
        planned=account.planned,
        used=account.used,
        kept=kept,
        episodes_dropped=dict(sorted(account.episodes.items())),
        dropped=dict(sorted(account.steps.items())),
        kept_by_iteration=dict(sorted(Counter(one.iteration for one in chosen).items())),
        tasks=len({one.task for one in chosen}),
        websites=len({one.website for one in chosen}),
    )


@dataclass
class _Account:
    planned: int = 0
    used: int = 0
    episodes: Counter[EpisodeReason] = field(default_factory=Counter)
    steps: Counter[StepReason] = field(default_factory=Counter)


def _weigh(
    run: Run, iterations: range, judge: str, objective: Objective, settings: ReplaySettings, account: _Account
) -> dict[str, float]:
    """The advantage of every episode that has one, in the order they were planned."""
    wanted = {iteration: list(run.planned(iteration)) for iteration in iterations}
    verdicts = run.latest_judgements(judge, (one.id for planned in wanted.values() for one in planned))
    outcomes = run.outcomes()
    scores: dict[str, Score] = {}
    for iteration, every in wanted.items():
        for planned in every:
            account.planned += 1
            reward = _reward(outcomes.get(planned.id), verdicts.get(planned.id))
            if isinstance(reward, str):
                account.episodes[reward] += 1
            else:
                scores[planned.id] = Score(group=_group(iteration, planned.task), reward=reward)
    found: dict[str, float] = {}
    for name, advantage in advantages(scores, objective, settings).items():
        if isinstance(advantage, str):
            account.episodes[advantage] += 1
        else:
            found[name] = advantage
    return found


def _reward(record: Record | None, judgement: Judgement | None) -> Literal[0, 1] | EpisodeReason:
    """An episode's reward, or why it has none."""
    if record is None:
        return "unfinished"
    kind = record.outcome.kind
    if kind != "answered" and kind != "step_limit":
        return kind
    if judgement is None:
        return "unjudged"
    return "unscorable" if judgement.verdict.kind == "unscorable" else judgement.verdict.reward


def _read(run: Run, wanted: dict[str, float], account: _Account) -> Iterator[Episode]:
    """The wanted episodes that can be read."""
    for episode in wanted:
        try:
            yield run.episode(episode)
        except NewerVersion:
            raise
        except StoreError as e:
            log.warning("left out of replay: %s", e)
            account.episodes["damaged"] += 1


def _candidates(
    episode: Episode,
    advantage: float,
    objective: Objective,
    settings: ReplaySettings,
    strayed: Callable[[str], bool],
    account: _Account,
) -> Iterator[Candidate]:
    hidden: set[str | None] = set()  # screenshots of websites that are tested on
    for step in episode.steps:
        reason = _useless(step, advantage, objective, settings)
        if strayed(step.url):
            hidden.add(step.screenshot)
            reason = "test_website"
        elif hidden and any(part.kind == "image" and part.sha256 in hidden for turn in step.prompt for part in turn.parts):
            reason = "test_website"
        if reason is not None:
            account.steps[reason] += 1
            continue
        yield Candidate(
            episode=episode.id,
            step=step.index,
            iteration=episode.iteration,
            task=episode.task.id,
            website=episode.task.website,
            advantage=advantage,
        )


def _useless(step: Step, advantage: float, objective: Objective, settings: ReplaySettings) -> StepReason | None:
    """Why nothing is to be learned from a step. What did nothing may be discouraged, and is never encouraged."""
    if step.reply is None or not step.prompt:
        return "no_model"
    if advantage > 0 and step.action is None:
        return "invalid"
    if advantage > 0 and step.unchanged and settings.drop_unchanged:
        return "unchanged"
    if objective == "grpo" and (step.reply.token_ids is None or step.reply.logprobs is None):
        return "no_logprobs"
    return None


def _samples(run: Run, chosen: list[Candidate]) -> Iterator[Sample]:
    """The samples of the drawn steps, each episode read once."""
    wanted: dict[str, list[Candidate]] = {}
    for one in sorted(chosen, key=lambda one: (one.iteration, one.episode, one.step)):
        wanted.setdefault(one.episode, []).append(one)
    for episode_id, steps in wanted.items():
        episode = run.episode(episode_id)
        for one in steps:
            step = episode.steps[one.step]
            assert step.reply is not None
            yield Sample(
                episode=episode.id,
                step=step.index,
                task=episode.task.id,
                website=episode.task.website,
                iteration=episode.iteration,
                prompt=step.prompt,
                reply=step.reply,
                advantage=one.advantage,
                group=_group(episode.iteration, episode.task.id),
            )


def _group(iteration: int, task: str) -> str:
    return f"{iteration}/{task}"
