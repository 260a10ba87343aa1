"""The programmatic judge: verdicts of the offline web and of MiniWoB++, by construction. No model, no doubt, no cost.

Which verifier speaks follows from the task's source. A task of any other source has no verifier: `Unscorable`, never 0.
"""

from __future__ import annotations

import asyncio
import time

from webgym.errors import ConfigError
from webgym.types import Episode, Judgement, Unscorable, Verdict
from webgym.worlds import tasks, verify
from webgym.worlds.miniwob import suite
from webgym.worlds.miniwob.verify import verify as verify_miniwob


class WorldsJudge:
    """Asks the verifier that made the task."""

    name = "worlds-verify"

    async def judge(self, episode: Episode) -> Judgement:
        verdict = await asyncio.to_thread(programmatic_verdict, episode)
        return Judgement(episode=episode.id, judge=self.name, verdict=verdict, judged=time.time())


def programmatic_verdict(episode: Episode) -> Verdict:
    """What the task's own verifier says. Blocks on the processor, briefly."""
    if is_miniwob(episode.task.id):
        if episode.trainable and not episode.state:  # a rollout that keeps no state would make every episode a failure
            return Unscorable(reason="the episode has no state, in which the page's record would be")
        try:
            return verify_miniwob(episode)
        except ConfigError as e:
            return Unscorable(reason=str(e))
    if is_offline(episode.task.id):
        return verify.verify(episode)
    return Unscorable(reason=f"task {episode.task.id[:80]!r} of {episode.task.source!r} has no programmatic verifier")


def has_verifier(task: str) -> bool:
    """Whether the id is that of a task whose episodes a program can judge."""
    return is_offline(task) or is_miniwob(task)


def is_offline(task: str) -> bool:
    """Whether the id is that of a task of the offline web."""
    return task.startswith(f"{tasks.SOURCE}-")


def is_miniwob(task: str) -> bool:
    return task.startswith(f"{suite.SOURCE}:")
