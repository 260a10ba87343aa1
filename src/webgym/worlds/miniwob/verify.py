"""The verdict on an episode of MiniWoB++, from the record its page left and nothing else.

The rule: reward 1 if and only if the page ended the episode and its own raw reward is more than `above`, which is 0. Some
tasks give partial credit; who does not want it asks for more. Without a record, or with an unfinished one or another task's,
an agent that ended the episode or used up its steps has not done the task: reward 0, with the reason. A record that
cannot be read, or an episode that neither the agent nor its step limit ended, has no reward at all.
"""

from __future__ import annotations

from pydantic import ValidationError

from webgym.types import Episode, FactResult, Scored, Unscorable, Verdict
from webgym.worlds.miniwob import record, suite


def verify(episode: Episode, *, above: float = 0.0) -> Verdict:
    if not episode.trainable:
        return Unscorable(reason=f"the episode ended by {episode.outcome.kind}, which says nothing about the agent")
    kept = episode.state.get(record.HOST)
    if kept is None:
        return _scored(episode, False, "the session has no record: the task's page was never opened")
    try:
        found = record.read(kept)
    except ValidationError as e:
        return Unscorable(reason=f"the record of {record.HOST} cannot be read ({e.error_count()} faults)")
    wanted = suite.identify(episode.task.id)
    if (found.task, found.seed, found.mode) != (wanted.name, wanted.seed, wanted.mode):
        return _scored(episode, False, f"the session played {found.task} with seed {found.seed} ({found.mode})")
    if found.raw is None:
        return _scored(episode, False, "the task was begun and did not end")
    return _scored(episode, found.raw > above, f"raw reward {found.raw:g}" + (f": {found.reason}" if found.reason else ""))


def _scored(episode: Episode, met: bool, reason: str) -> Scored:
    group = episode.task.groups[0]
    return Scored(reward=1 if met else 0, facts=(FactResult(group=group.id, fact=group.facts[0], met=met, reason=reason),))
