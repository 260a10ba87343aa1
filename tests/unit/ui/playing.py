"""A rollout played on the engine's own events, without browsers: lives of episodes that follow from a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from webgym.rollout.events import Doing, Events
from webgym.rollout.gates import GateStats, Times
from webgym.store import Run, episode_id
from webgym.types import (
    Answer,
    Answered,
    Cancelled,
    Click,
    Episode,
    FactGroup,
    FactResult,
    Infra,
    Judgement,
    Reply,
    Scored,
    SiteError,
    Step,
    StepLimit,
    Task,
)

LIFE: tuple[Doing, ...] = ("screenshot", "model", "executing")
JUDGE = "stand-in"
JPEG = b"\xff\xd8\xff\xe0"


@dataclass(frozen=True)
class Page:
    """What an episode sees: an address, a title, and its picture in the run's store."""

    url: str
    title: str
    screenshot: str | None = None


@dataclass
class Life:
    task: Task
    id: str
    number: int
    limit: int
    doing: Doing = "planned"
    steps: list[Step] = field(default_factory=list)


def make_task(n: int, instruction: str = "", **changes: Any) -> Task:
    given = {
        "id": f"task-{n}",
        "source": "worlds",
        "instruction": instruction or f"Find the price of lamp {n} and say whether it is in stock.",
        "website": f"http://shop{n % 7}.localhost:8090",
        "domain": "Lifestyle & Leisure",
        "subdomain": "Shopping",
        "groups": (FactGroup(id=1, description="The lamp", facts=("the price is named", "the stock is named")),),
    }
    return Task.model_validate(given | changes)


class Play:
    """So many episodes on one board; `move` takes some of them a little further."""

    def __init__(self, run: Run, tasks: list[Task], *, seed: int = 0, pages: list[Page] | None = None) -> None:
        self.run, self.random = run, Random(seed)
        self.events = Events(run.info.name)
        self.pages = pages or [Page("http://shop.localhost/", "Shop")]
        run.plan(0, [task.id for task in tasks])
        self.lives = [
            Life(task, episode_id(run.info.name, 0, task.id), n, self.random.choice((10, 10, 20, 30)))
            for n, task in enumerate(tasks)
        ]
        self.tasks = {task.id: task for task in tasks}
        for life in self.lives:
            self.events.plan(life.id, life.task, 0, limit=life.limit)
        self.events.watch(self._gates)
        self.served = 0.0

    def move(self, count: int, *, keep: bool = False) -> None:
        """Take `count` episodes one move further; `keep` commits those that end."""
        under_way = [life for life in self.lives if life.doing not in ("done", "failed", "cancelled")]
        for life in self.random.sample(under_way, min(count, len(under_way))):
            self._next(life, keep)
        self.served += count * 0.05

    def _next(self, life: Life, keep: bool) -> None:
        if life.doing == "planned":
            self.events.begin(life.id, life.task, 0, limit=life.limit)
            life.doing = "waiting"
        elif life.doing == "waiting":
            self._do(life, "navigating")
        elif len(life.steps) >= life.limit or (life.doing == "executing" and self.random.random() < 0.08 * len(life.steps)):
            self._end(life, keep)
        elif life.doing == "navigating" and self.random.random() < 0.04:
            self._fail(life)
        else:
            self._do(life, LIFE[(LIFE.index(life.doing) + 1) % 3] if life.doing in LIFE else LIFE[0])
            if life.doing == "executing":
                self._step(life)

    def _do(self, life: Life, doing: Doing) -> None:
        life.doing = doing
        page = self.pages[(life.number + len(life.steps)) % len(self.pages)]
        self.events.doing(life.id, doing, screenshot=page.screenshot, url=page.url, title=page.title)

    def _step(self, life: Life) -> None:
        page = self.pages[(life.number + len(life.steps)) % len(self.pages)]
        x, y = self.random.uniform(80, 1200), self.random.uniform(60, 700)
        step = Step(
            index=len(life.steps), screenshot=page.screenshot, url=page.url, title=page.title, action=Click(x=x, y=y),
            reply=Reply(text=f"I see {page.title}", prompt_tokens=4000, completion_tokens=160),
            unchanged=self.random.random() < 0.1, seconds=self.random.uniform(0.6, 3),
        )  # fmt: skip
        life.steps.append(step)
        self.events.step(life.id, step)

    def _fail(self, life: Life) -> None:
        outcome = self.random.choice(
            (
                Infra(reason="the browser died three times"),
                SiteError(reason="net::ERR_CONNECTION_REFUSED"),
                Cancelled(reason="straggler"),
            )
        )
        life.doing = "cancelled" if outcome.kind == "cancelled" else "failed"
        self.events.end(life.id, outcome)
        self.run.record(life.id, outcome)

    def _end(self, life: Life, keep: bool) -> None:
        life.doing = "done"
        reward = int(self.random.random() < 0.45)
        outcome = Answered() if self.random.random() < 0.8 else StepLimit(limit=life.limit)
        if keep:
            self.run.commit(self.episode(life, outcome))
            self.run.add_judgement(self.judgement(life, reward))
        self.events.end(life.id, outcome)
        self.events.judged(life.id, reward)

    def episode(self, life: Life, outcome: Answered | StepLimit) -> Episode:
        last = self.pages[0]
        steps = (
            *life.steps,
            Step(
                index=len(life.steps), screenshot=last.screenshot, url=last.url, title=last.title, action=Answer(text="12 €")
            ),
        )
        return Episode(
            id=life.id, run=self.run.info.name, iteration=0, task=life.task, agent="stand-in", width=1280, height=768,
            steps=steps, final_screenshot=last.screenshot, final_url=last.url, answer="It costs 12 € and is in stock.",
            outcome=outcome, started=1_000.0, ended=1_000.0 + sum(step.seconds for step in steps),
        )  # fmt: skip

    def judgement(self, life: Life, reward: int) -> Judgement:
        facts = tuple(
            FactResult(group=group.id, fact=fact, met=bool(reward) or n == 0, reason="seen on the last page")
            for group in life.task.groups
            for n, fact in enumerate(group.facts)
        )
        verdict = Scored.model_validate({"reward": reward, "facts": facts})
        return Judgement(episode=life.id, judge=JUDGE, verdict=verdict, judged=1_100.0)

    def _gates(self) -> tuple[GateStats, ...]:
        counts = self.events.counts().doing
        sizes = {
            "allocate": (8, "opening"),
            "navigate": (16, "navigating"),
            "step": (32, "executing"),
            "model": (64, "model"),
        }
        found = []
        for name, (size, doing) in sizes.items():
            there = counts[doing]
            times = Times(int(self.served * 20), self.served, 4.0, 0.5, 1.9)
            found.append(GateStats(name, size, min(size, there), max(0, there - size), times, times, self.served * size / 2))
        return tuple(found)
