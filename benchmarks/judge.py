"""Calls and image tokens that judging an episode takes: the naive order against `webgym.judge`, in one run.

    python -m benchmarks.judge

Stored episodes of 5, 15 and 30 steps with 3 facts are judged over HTTP by a model that counts what reaches it. The naive
order is that of the first public WebGym: a call for each screenshot but the last to find the key ones, a call with at most
20 screenshots to see whether the site blocked, a call with the key screenshots for the answer's claims, and one more for
each fact. Both are given the same episodes, find the same screenshots relevant and must come to the same reward.

An image weighs one token for each 32 × 32 pixels, as Qwen3-VL reckons. Every screenshot of an episode differs from the
others; what repeats saves comes on top and has a row of its own, as have other shares of key screenshots. Afterwards the
same episodes are judged again with a warm cache. The last line is JSON, from 15 steps.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from tests.standin.judge import JudgingModel, picture
from webgym.endpoint import Endpoint, EndpointSettings, Image
from webgym.endpoint.cost import Usage
from webgym.judge.criteria import Question, claims_question, facts_of, facts_question, look_question
from webgym.judge.evidence import Shot
from webgym.judge.models import opened
from webgym.judge.rubric import RubricJudge
from webgym.judge.settings import JudgeSettings
from webgym.store import Run
from webgym.types import Answer, Answered, Click, Episode, FactGroup, Scored, Step, Task, Wire

SIZE = (1280, 768)
PATCH = 32
FACTS = 3
BLOCK_CHECK = 20
JUDGED_AT = 15
M = TypeVar("M", bound=Wire)
TARGETS = {"calls_ratio": 5.0, "image_token_ratio": 3.0}


@dataclass(frozen=True)
class Case:
    """A kind of episode: how long, which screenshots matter, how many steps change nothing; and how it is judged."""

    steps: int
    keys: str = "a third"
    repeats: int = 0
    joined: bool = True

    def relevance(self, page: int) -> int:
        return {"a third": 4 if page % 3 == 0 else 1, "all": 4, "the last": 1}[self.keys]


CASES = (Case(5), Case(15), Case(30), Case(15, "all"), Case(15, "the last"), Case(15, repeats=3), Case(15, joined=False))


@dataclass(frozen=True)
class Cost:
    calls: int
    images: int
    image_tokens: int
    reward: int


def make_episode(run: Run, case: Case) -> Episode:
    """The last action answers, which changes nothing: what it led to is what was seen before it."""
    pages = list(range(case.steps))
    for n in range(case.repeats):
        pages[2 * n + 2] = pages[2 * n + 1]
    shots = []
    for page in pages:
        last = page == pages[-1]
        words = "\n".join(f"{case} page {page} line {line} {'█' * ((page * 7 + line) % 40)}" for line in range(24))
        shown = tuple(range(1, FACTS + 1)) if last else ()
        data = picture(relevance=5 if last else case.relevance(page), shows=shown, words=words, size=SIZE)
        shots.append(run.images.put(data, "jpeg"))
    task = Task(
        id=str(case),
        source="benchmark",
        instruction="Find the lamp and say what it costs.",
        website="https://shop.example",
        domain="Lifestyle & Leisure",
        subdomain="Shopping",
        groups=(FactGroup(id=1, description="the lamp", facts=tuple(f"fact {n} is shown" for n in range(1, FACTS + 1))),),
    )
    (planned,) = run.plan(CASES.index(case), [task.id])
    acts = [Click(x=10, y=10)] * (case.steps - 1)
    steps = tuple(
        Step(index=n, screenshot=shot, url=f"https://shop.example/{n}", title=f"page {n}", action=action)
        for n, (shot, action) in enumerate(zip(shots, [*acts, Answer(text="It costs 12 euros.")], strict=True))
    )
    episode = Episode(
        id=planned.id, run=run.info.name, iteration=planned.iteration, task=task, agent="benchmark",
        width=SIZE[0], height=SIZE[1], steps=steps, final_screenshot=shots[-1], final_url="https://shop.example/end",
        answer="It costs 12 euros.", outcome=Answered(), started=0.0, ended=1.0,
    )  # fmt: skip
    run.commit(episode)
    return episode


async def naive(episode: Episode, read: Callable[[str], bytes], model: Endpoint) -> int:
    """The order of the first public WebGym, with one screenshot for every step."""

    async def ask(question: Question[M]) -> M:
        answer = await model.ask(question.messages, question.kind, version=question.version, check=question.check)
        return answer.value

    taken = [step.screenshot or "" for step in episode.steps]
    shots = [Shot(n, sha256, (n - 1,), Image(read(sha256))) for n, sha256 in enumerate(taken, start=1)]
    looks = [await ask(look_question(episode.task, [shot])) for shot in shots[:-1]]
    keys = [shot for shot, look in zip(shots, looks, strict=False) if look.screenshots[0].relevance >= 3]
    blocked = await ask(look_question(episode.task, shots[-BLOCK_CHECK:]))
    shown = [(shot, shot.small) for shot in (*keys, shots[-1])]
    claims = await ask(claims_question(episode, shown))
    facts = [await ask(facts_question(episode, [fact], shown)) for fact in facts_of(episode.task)]
    met = all(reply.facts[0].met for reply in facts)
    return int(met and claims.claims.supported and not blocked.blocking.blocked)


def counted(model: JudgingModel, reward: int) -> Cost:
    """What reached the model since the last time."""
    tokens = sum(-(-width // PATCH) * -(-height // PATCH) for width, height in model.sizes)
    cost = Cost(len(model.kinds), len(model.sizes), tokens, reward)
    model.kinds.clear()
    model.sizes.clear()
    return cost


async def reward_of(judge: RubricJudge, episode: Episode) -> int:
    verdict = (await judge.judge(episode)).verdict
    assert isinstance(verdict, Scored), verdict
    return verdict.reward


def for_case(settings: JudgeSettings, case: Case) -> JudgeSettings:
    return settings.model_copy(update={"joined": case.joined})


async def measure(folder: Path) -> tuple[dict[Case, tuple[Cost, Cost]], int]:
    costs: dict[Case, tuple[Cost, Cost]] = {}
    async with JudgingModel() as model:
        at = EndpointSettings(url=model.url, model="counting")
        settings = JudgeSettings(endpoint=at.model_copy(update={"cache": folder / "replies"}))
        with Run.create(folder / "run") as run:
            episodes = {case: make_episode(run, case) for case in CASES}
            async with Endpoint(at) as asked, opened(settings) as models:
                for case, episode in episodes.items():
                    judge = RubricJudge(for_case(settings, case), models, run.images.get)
                    before = counted(model, await naive(episode, run.images.get, asked))
                    after = counted(model, await reward_of(judge, episode))
                    assert before.reward == after.reward == 1, "both must come to the same verdict"
                    costs[case] = (before, after)
            async with opened(settings) as models:
                for case, episode in episodes.items():
                    again = RubricJudge(for_case(settings, case), models, run.images.get)
                    assert await reward_of(again, episode) == 1
                assert models.spent().tokens == Usage().total
            warm = counted(model, 1).calls
    return costs, warm


def table(costs: dict[Case, tuple[Cost, Cost]]) -> Table:
    made = Table(title=f"Judging one episode, {FACTS} facts, {SIZE[0]} × {SIZE[1]}: naive → ours", pad_edge=False)
    for head in (
        "steps",
        "key screenshots",
        "repeated",
        "criteria",
        "calls",
        "images",
        "image tokens",
        "calls ÷",
        "image tokens ÷",
    ):
        made.add_column(head, justify="left" if head == "key screenshots" else "right")
    for case, (before, after) in costs.items():
        made.add_row(
            str(case.steps),
            case.keys,
            str(case.repeats),
            "joined" if case.joined else "apart",
            f"{before.calls} → {after.calls}",
            f"{before.images} → {after.images}",
            f"{before.image_tokens:,} → {after.image_tokens:,}",
            f"{before.calls / after.calls:.1f}",
            f"{before.image_tokens / after.image_tokens:.1f}",
        )
    return made


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        costs, warm = asyncio.run(measure(Path(folder)))
    before, after = costs[Case(JUDGED_AT)]
    figures = {
        "calls_ratio": round(before.calls / after.calls, 2),
        "image_token_ratio": round(before.image_tokens / after.image_tokens, 2),
        "warm_calls": warm,
    }
    console = Console()
    console.print(table(costs))
    for name, bound in TARGETS.items():
        console.print(f"{name} {figures[name]:g}, target ≥ {bound:g}: {'holds' if figures[name] >= bound else 'missed'}")
    console.print(f"warm_calls {warm}, target 0: {'holds' if warm == 0 else 'missed'}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
