"""Small episodes and labelled runs for the tests of the bench."""

from __future__ import annotations

import random
from pathlib import Path

from webgym.store import Run
from webgym.store.plan import episode_id
from webgym.types import (
    Answer,
    Answered,
    Episode,
    FactGroup,
    FactResult,
    Judgement,
    Outcome,
    Scored,
    Step,
    Task,
    Wait,
)

URL = "https://shop.example/"
FACTS = ("The lamp costs $20.", "The lamp is made of oak.")
TRUTH = "truth-by-hand"
SAID = "The lamp costs $20 and is made of oak."
KINDS = ("oracle", "wrong-answer", "half-done")


def task(number: int = 0) -> Task:
    group = FactGroup(id=1, description="the lamp", facts=FACTS)
    return Task(
        id=f"task-{number}", source="test", instruction=f"How much is lamp {number}?", website=URL, domain="Misc.",
        subdomain="News", groups=(group,),
    )  # fmt: skip


def step(
    index: int, *, title: str = "Shop", visible: str | None = None, last: bool = False, screenshot: str | None = None
) -> Step:
    action = Answer(text=SAID) if last else Wait()
    return Step(index=index, screenshot=screenshot, url=URL, title=title, visible=visible, action=action)


def episode(
    number: int = 0,
    *,
    run: str = "bench",
    agent: str = "oracle",
    steps: tuple[Step, ...] | None = None,
    final_visible: str | None = None,
    outcome: Outcome | None = None,
) -> Episode:
    about = task(number)
    return Episode(
        id=episode_id(run, 0, about.id), run=run, iteration=0, task=about, agent=agent, width=1280, height=768,
        steps=(step(0, last=True),) if steps is None else steps, final_url=URL, final_visible=final_visible, answer=SAID,
        outcome=outcome or Answered(), started=0.0, ended=1.0,
    )  # fmt: skip


def facts(*met: bool) -> tuple[FactResult, ...]:
    return tuple(FactResult(group=1, fact=text, met=one) for text, one in zip(FACTS, met, strict=True))


def labelled_run(folder: Path, count: int, *, seed: int = 0, picture: bytes | None = None) -> tuple[Run, dict[str, Scored]]:
    """A run whose episodes have a truth: who did it well or badly is drawn. All of them saw the one picture, if any."""
    chance = random.Random(seed)
    run = Run.create(folder, name="bench", settings={"truth": TRUTH})
    run.plan(0, [task(number).id for number in range(count)])
    shot = run.images.put(picture, "png") if picture is not None else None
    truths = {}
    for number in range(count):
        one = episode(number, agent=KINDS[number % len(KINDS)], steps=(step(0, last=True, screenshot=shot),))
        met = (chance.random() < 0.7, chance.random() < 0.7)
        truths[one.id] = Scored(reward=1 if all(met) else 0, facts=facts(*met))
        run.commit(one)
        run.add_judgement(Judgement(episode=one.id, judge=TRUTH, verdict=truths[one.id], judged=2.0))
    return run, truths
