"""The verdict on an episode, from the episode alone: each fact's checks, and every claim signed or seen.

The task's id gives the checks, the steps' outlines say what was on screen, the signed state says what was done. Whatever
is missing counts against the fact that needs it: not on an outline, nothing shown; no answer, nothing said; no state or one
that was tampered with, nothing done. An answer much longer than what was asked for says nothing, nor does one that counts
numbers through: it may list all there is, and the right values among the rest. An episode that was played without keeping
outlines at all says nothing either way.
"""

from __future__ import annotations

from typing import Final, assert_never

from webgym.errors import ConfigError
from webgym.types import Episode, FactResult, Scored, Unscorable
from webgym.worlds import tasks
from webgym.worlds.checks import Glimpse, Reached, Says, Shown, glimpses, numbers_in_a_row, plain
from webgym.worlds.making import Fact
from webgym.worlds.state import BadState, State, read
from webgym.worlds.tasks import WorldTask

NUMBERS: Final = 8  # in a row and beyond those of the right answer: more than any date, telephone number or size has


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
    seen, states, empty = glimpses(episode), _states(task.id.seed, episode), _says_nothing(task, episode.answer)
    results = tuple(
        _result(place, fact, episode.answer, empty, seen, states)
        for place, group in enumerate(task.groups, 1)
        for fact in group.facts
    )
    met = all(result.met for result in results)
    answered = bool((episode.answer or "").strip())
    reason = empty or ("" if answered or not met else "the agent never answered")
    return Scored(reward=1 if met and answered else 0, facts=results, reason=reason)


def _says_nothing(task: WorldTask, answer: str | None) -> str | None:
    """Why an answer is none, whatever it holds: its length, in the form in which it is compared, or a list of numbers."""
    if task.answer_limit is None or answer is None:
        return None
    length = len(plain(answer))
    if length > task.answer_limit:
        return f"the answer has {length} characters, at most {task.answer_limit} were expected of it"
    numbers, most = numbers_in_a_row(answer), NUMBERS + numbers_in_a_row(task.answer)
    return f"the answer has {numbers} numbers in a row, at most {most} were expected of it" if numbers > most else None


def _result(
    group: int, fact: Fact, answer: str | None, empty: str | None, seen: list[Glimpse], states: dict[str, State]
) -> FactResult:
    problems, shots = [], []
    for check in fact.checks:
        match check:
            case Shown():
                problem, shot = check.problem(seen)
                if shot is not None:
                    shots.append(shot)
            case Says():
                problem = empty or check.problem(answer)
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
