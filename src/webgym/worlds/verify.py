"""The verdict on an episode, from the episode alone: each fact's checks, and every claim signed or seen.

The task's id gives the checks, the steps' outlines say what was on screen, the signed state says what was done. Whatever
is missing counts against the fact that needs it: not on an outline, nothing shown; no answer, nothing said; no state or one
that was tampered with, nothing done. An answer much longer than what was asked for says nothing: it may list all there is,
and the right values among the rest. An episode that was played without keeping outlines at all says nothing either way.
"""

from __future__ import annotations

from typing import assert_never

from webgym.errors import ConfigError
from webgym.types import Episode, FactResult, Scored, Unscorable
from webgym.worlds import tasks
from webgym.worlds.checks import Glimpse, Reached, Says, Shown, glimpses, plain
from webgym.worlds.making import Fact
from webgym.worlds.state import BadState, State, read
from webgym.worlds.tasks import WorldTask


def verify(episode: Episode) -> Scored | Unscorable:
    """Whether the episode did what its task asks."""
    if not episode.trainable:
        return Unscorable(reason=f"the episode ended by {episode.outcome.kind}")
    try:
        task = tasks.find(episode.task.id)
    except ConfigError as e:
        return Unscorable(reason=str(e))
    if episode.final_visible is None and all(step.visible is None for step in episode.steps):
        return Unscorable(reason="no outline of any page was kept: that is a rollout's doing, not the agent's")
    seen, states, too_long = glimpses(episode), _states(task.id.seed, episode), _too_long(task, episode.answer)
    results = tuple(
        _result(place, fact, episode.answer, too_long, seen, states)
        for place, group in enumerate(task.groups, 1)
        for fact in group.facts
    )
    met = all(result.met for result in results)
    answered = bool((episode.answer or "").strip())
    reason = too_long or ("" if answered or not met else "the agent never answered")
    return Scored(reward=1 if met and answered else 0, facts=results, reason=reason)


def _too_long(task: WorldTask, answer: str | None) -> str | None:
    """What is wrong with the length of an answer, in the form in which it is compared."""
    length, limit = len(plain(answer or "")), task.answer_limit
    if limit is None or length <= limit:
        return None
    return f"the answer has {length} characters, at most {limit} were expected of it"


def _result(
    group: int, fact: Fact, answer: str | None, too_long: str | None, seen: list[Glimpse], states: dict[str, State]
) -> FactResult:
    problems, shots = [], []
    for check in fact.checks:
        match check:
            case Shown():
                problem, shot = check.problem(seen)
                if shot is not None:
                    shots.append(shot)
            case Says():
                problem = too_long or check.problem(answer)
            case Reached():
                problem = check.problem(states)
            case _:
                assert_never(check)
        if problem is not None:
            problems.append(problem)
    return FactResult(group=group, fact=fact.text, met=not problems, reason="; ".join(problems), screenshots=tuple(shots))


def _states(seed: int, episode: Episode) -> dict[str, State]:
    states = {}
    for host, cookie in episode.state.items():
        try:
            states[host] = read(seed, host, cookie)
        except BadState:
            continue
    return states
