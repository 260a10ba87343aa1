"""Episodes and judges for the judge's tests."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.standin.judge import JudgingModel, picture
from webgym.errors import StoreError
from webgym.judge.models import Meters, opened
from webgym.judge.rubric import RubricJudge
from webgym.judge.settings import JudgeSettings
from webgym.store import Run, episode_id
from webgym.types import Answer, Answered, Click, Episode, FactGroup, Outcome, Step, Task

QUICK: dict[str, Any] = {"timeout": 5.0, "backoff": 0.01, "max_backoff": 0.05, "tries": 3}


class Album:
    """Pictures in memory by their hash."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.reads = 0

    def put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        self.kept[sha256] = data
        return sha256

    def read(self, sha256: str) -> bytes:
        self.reads += 1
        if sha256 not in self.kept:
            raise StoreError(f"there is no image {sha256[:12]}")
        return self.kept[sha256]


def make_task(facts: int = 3, *, n: int = 0, reference: str | None = None, instruction: str = "Find the lamp.") -> Task:
    stated = tuple(f"fact {number} holds" for number in range(1, facts + 1))
    groups = (FactGroup(id=7, description="all", facts=stated),) if facts else ()
    return Task(
        id=f"task-{n}",
        source="test",
        instruction=instruction,
        website="https://shop.example",
        domain="Misc.",
        subdomain="News",
        groups=groups,
        reference_answer=reference,
    )


def make_episode(
    put: Callable[[bytes], str],
    pictures: Sequence[bytes],
    *,
    task: Task | None = None,
    answer: str | None = "The lamp costs 12 euros.",
    outcome: Outcome | None = None,
    run: str = "first",
    title: str = "Shop",
) -> Episode:
    """An episode that saw these pictures, the last of them at its end."""
    task = task or make_task()
    shots = [put(one) for one in pictures]
    steps = tuple(
        Step(
            index=place,
            screenshot=shot,
            url=f"https://shop.example/{place}",
            title=title,
            action=Answer(text=answer or "") if place == len(shots) - 2 else Click(x=1, y=2),
        )
        for place, shot in enumerate(shots[:-1])
    )
    return Episode(
        id=episode_id(run, 0, task.id, 0), run=run, iteration=0, task=task, agent="test", width=320, height=200, steps=steps,
        final_screenshot=shots[-1], final_url="https://shop.example/end", answer=answer, outcome=outcome or Answered(),
        started=1.0, ended=2.0,
    )  # fmt: skip


def walk(steps: int, *, facts: int = 3, met: bool = True, marked: str = "") -> list[bytes]:
    """Distinct pictures of a walk; every third is worth reading, and the last ones show the facts."""
    shown = range(1, facts + 1) if met else range(1, facts)
    pages = [picture(relevance=4 if n % 3 == 0 else 1, words=f"page {n} {marked}\n{'█' * (n + 1)}") for n in range(steps)]
    return [*pages, picture(relevance=5, shows=tuple(shown), words=f"the end {marked}")]


def put_in(run: Run) -> Callable[[bytes], str]:
    return lambda data: run.images.put(data, "jpeg")


def settings_for(model: JudgingModel, *, endpoint: dict[str, Any] | None = None, **changes: Any) -> JudgeSettings:
    given = {"url": model.url, "model": "large", **QUICK, **(endpoint or {})}
    return JudgeSettings.model_validate({"endpoint": given, **changes})


@asynccontextmanager
async def judging(
    settings: JudgeSettings, album: Album, *, meters: Meters | None = None, **more: Any
) -> AsyncIterator[RubricJudge]:
    async with opened(settings, meters=meters) as models:
        yield RubricJudge(settings, models, album.read, **more)
