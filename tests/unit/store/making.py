"""Runs and episodes for the store's tests."""

from __future__ import annotations

import time

from webgym.store import Run, episode_id
from webgym.types import (
    Answer,
    Answered,
    Click,
    Episode,
    FactGroup,
    ImagePart,
    Infra,
    Judgement,
    Outcome,
    Reply,
    Scored,
    Step,
    Task,
    TextPart,
    Turn,
)

JUDGE = "rubric/stand-in v1"


def picture(n: int) -> bytes:
    """Bytes that stand for a screenshot; the store does not look into them."""
    return b"\xff\xd8\xff" + n.to_bytes(8, "big") * 400


def make_task(n: int = 0, split: str = "train") -> Task:
    return Task.model_validate(
        {
            "id": f"task-{n}",
            "source": "worlds",
            "instruction": f"Find the price of lamp {n} — à la carte",
            "website": f"http://shop{n}.localhost",
            "domain": "Lifestyle & Leisure",
            "subdomain": "Shopping",
            "groups": (FactGroup(id=1, description="price", facts=("the price is named",)),),
            "split": split,
        }
    )


def make_episode(
    run: Run,
    n: int = 0,
    *,
    steps: int = 3,
    iteration: int = 0,
    replica: int = 0,
    outcome: Outcome | None = None,
    split="train",
) -> Episode:
    """An episode whose screenshots are in the run's store; half of them are shared with other episodes."""
    shots = [run.images.put(picture(s if s % 2 else 1_000 * n + s), "jpeg") for s in range(steps + 1)]
    system = Turn(role="system", parts=(TextPart(text="You operate a browser. " * 40),))
    task = make_task(n, split)
    made = []
    for s in range(steps):
        seen = [
            Turn(role="user", parts=(TextPart(text=f"round {r}"), ImagePart(sha256=shots[r])))
            for r in range(max(0, s - 3), s + 1)
        ]
        last = s == steps - 1
        made.append(
            Step(
                index=s,
                screenshot=shots[s],
                url=f"{task.website}/{s}",
                title=f"page {s}",
                prompt=(system, *seen),
                reply=Reply(
                    text=f"<tool_call>{s}</tool_call>",
                    model="stand-in",
                    prompt_tokens=900,
                    completion_tokens=40,
                    seconds=0.8,
                ),
                action=Answer(text="12 €") if last else Click(x=10.5 + s, y=20),
                seconds=1.25,
            )
        )
    return Episode(
        id=episode_id(run.info.name, iteration, task.id, replica),
        run=run.info.name,
        iteration=iteration,
        replica=replica,
        task=task,
        agent="scripted",
        width=1280,
        height=720,
        steps=tuple(made),
        final_screenshot=shots[steps],
        final_url=f"{task.website}/end",
        answer="12 €",
        state={"shop.localhost": "{}"},
        outcome=outcome or Answered(),
        started=1_000.0,
        ended=1_010.5,
    )


def make_judgement(episode: str, judge: str = JUDGE) -> Judgement:
    return Judgement(episode=episode, judge=judge, verdict=Scored(reward=1), judged=time.time())


BROKEN = Infra(reason="the browser died three times")
