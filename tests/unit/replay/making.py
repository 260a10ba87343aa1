"""Runs with judged episodes of every kind, for the tests of replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from webgym.store import Run, episode_id
from webgym.types import (
    Answered,
    Blocked,
    Cancelled,
    Click,
    Episode,
    FactGroup,
    ImagePart,
    Infra,
    Judgement,
    Outcome,
    Reply,
    Scored,
    SiteError,
    Step,
    StepLimit,
    Task,
    TextPart,
    Turn,
    Unscorable,
    Verdict,
)

JUDGE = "worlds/v1"
OUTCOMES: dict[str, Outcome] = {
    "answered": Answered(),
    "step_limit": StepLimit(limit=3),
    "blocked": Blocked(reason="a wall"),
    "site_error": SiteError(reason="500"),
    "infra": Infra(reason="the browser died"),
    "cancelled": Cancelled(reason="straggler"),
}
VERDICTS: dict[str, Verdict | None] = {
    "success": Scored(reward=1),
    "failure": Scored(reward=0),
    "unscorable": Unscorable(reason="the judge was down"),
    "none": None,
}


@dataclass(frozen=True)
class Plan:
    """What one episode is to be like."""

    task: str = "task"
    iteration: int = 0
    replica: int = 0
    outcome: str = "answered"
    verdict: str = "success"
    split: str = "train"
    website: str = "http://shop.localhost"
    unchanged: tuple[int, ...] = ()
    invalid: tuple[int, ...] = ()
    steps: int = 3
    logprobs: bool = True
    urls: tuple[str, ...] = ()  # of the steps, as far as they matter
    window: int = 0  # screenshots of earlier steps in a prompt


def make_run(path: Path, plans: list[Plan]) -> Run:
    """A run in which these episodes were played and judged. Nothing is repaired or left out on the way."""
    run = Run.create(path, name="run")
    most = max(plan.steps for plan in plans) if plans else 0
    shots = [run.images.put(b"\xff\xd8\xff picture %d" % n, "jpeg") for n in range(most + 1)]
    for iteration in sorted({plan.iteration for plan in plans}):
        mine = [plan for plan in plans if plan.iteration == iteration]
        run.plan(iteration, dict.fromkeys(plan.task for plan in mine), replicas=1 + max(plan.replica for plan in mine))
    for plan in plans:
        episode = make_episode(plan, shots)
        run.commit(episode)
        if verdict := VERDICTS[plan.verdict]:
            run.add_judgement(Judgement(episode=episode.id, judge=JUDGE, verdict=verdict, judged=1.0))
    return run


def make_episode(plan: Plan, shots: Sequence[str] = ("0" * 64,) * 4) -> Episode:
    task = Task.model_validate(
        {
            "id": plan.task,
            "source": "worlds",
            "instruction": f"Do {plan.task}",
            "website": plan.website,
            "domain": "Misc.",
            "subdomain": "News",
            "groups": (FactGroup(id=1, description="it", facts=("done",)),),
            "split": plan.split,
        }
    )
    return Episode(
        id=episode_id("run", plan.iteration, plan.task, plan.replica),
        run="run",
        iteration=plan.iteration,
        replica=plan.replica,
        task=task,
        agent="m",
        width=64,
        height=64,
        steps=tuple(_step(plan, n, shots) for n in range(plan.steps)),
        final_screenshot=shots[plan.steps],
        outcome=OUTCOMES[plan.outcome],
        started=0.0,
        ended=1.0,
    )


def _step(plan: Plan, n: int, shots: Sequence[str]) -> Step:
    reply = Reply(text=f"{plan.task} {plan.replica} {n}")
    if plan.logprobs:
        reply = reply.model_copy(update={"token_ids": (1, 2), "logprobs": (-0.1, -0.2)})
    bad = n in plan.invalid
    seen = [ImagePart(sha256=shot) for shot in shots[max(0, n - plan.window) : n + 1]]
    return Step(
        index=n,
        screenshot=shots[n],
        url=plan.urls[n] if n < len(plan.urls) else "u",
        title="t",
        prompt=(Turn(role="user", parts=(TextPart(text=f"{plan.task} {n}"), *seen)),),
        reply=reply,
        action=None if bad else Click(x=1, y=1),
        invalid="no call" if bad else None,
        unchanged=n in plan.unchanged,
    )
