"""A run of judged episodes like those of the offline web, for measuring training: nobody has to play them."""

from __future__ import annotations

import io
import random
from pathlib import Path

from PIL import Image, ImageDraw

from webgym.store import Run, episode_id
from webgym.types import (
    Answered,
    Click,
    Episode,
    FactGroup,
    ImagePart,
    Judgement,
    Reply,
    Scored,
    Step,
    Task,
    TextPart,
    Turn,
)

JUDGE = "benchmark"
SYSTEM = "You work in a web browser for a person who gave you a task. At every step you see a screenshot of the page. " * 4
WORDS = ("lamp", "chair", "garden", "kitchen", "offers", "basket", "search", "account", "delivery", "contact")


def make_run(path: Path, episodes: int, steps: int = 6) -> Path:
    """A run in which every episode succeeded."""
    with Run.create(path, name="benchmark") as run:
        run.plan(0, (f"task-{n}" for n in range(episodes)))
        for n in range(episodes):
            episode = _episode(run, n, steps)
            run.commit(episode)
            run.add_judgement(Judgement(episode=episode.id, judge=JUDGE, verdict=Scored(reward=1), judged=0.0))
    return path


def _episode(run: Run, n: int, steps: int) -> Episode:
    chance = random.Random(n)
    shots = [run.images.put(_screenshot(chance), "jpeg") for _ in range(steps + 1)]
    replies = [_call(chance.randint(1, 12)) for _ in range(steps)]
    asked = [_page(chance) for _ in range(steps)]
    task = Task(
        id=f"task-{n}",
        source="benchmark",
        instruction=f"Find the {chance.choice(WORDS)}",
        website=f"http://shop{n}.localhost",
        domain="Misc.",
        subdomain="News",
        groups=(FactGroup(id=1, description="it", facts=("found",)),),
    )
    return Episode(
        id=episode_id("benchmark", 0, task.id),
        run="benchmark",
        iteration=0,
        task=task,
        agent="benchmark",
        width=224,
        height=160,
        steps=tuple(
            Step(
                index=s,
                screenshot=shots[s],
                url="http://shop.localhost/",
                title="Shop",
                prompt=_prompt(task, s, asked, replies, shots),
                reply=Reply(text=replies[s]),
                action=Click(element=1),
            )
            for s in range(steps)
        ),
        final_screenshot=shots[steps],
        outcome=Answered(),
        started=0.0,
        ended=1.0,
    )


def _prompt(task: Task, step: int, asked: list[str], replies: list[str], shots: list[str]) -> tuple[Turn, ...]:
    """The last four rounds, as an agent sends them."""
    turns = [Turn(role="system", parts=(TextPart(text=f"{SYSTEM}\nTask: {task.instruction}"),))]
    for n in range(max(0, step - 3), step + 1):
        turns.append(Turn(role="user", parts=(ImagePart(sha256=shots[n]), TextPart(text=asked[n]))))
        if n < step:
            turns.append(Turn(role="assistant", parts=(TextPart(text=replies[n]),)))
    return tuple(turns)


def _call(element: int) -> str:
    arguments = f'{{"action": "click", "element_id": {element}}}'
    return f'<tool_call>\n{{"name": "web_interaction", "arguments": {arguments}}}\n</tool_call>'


def _page(chance: random.Random) -> str:
    marks = (f'[{n}] link "{" ".join(chance.sample(WORDS, 2))}"' for n in range(1, chance.randint(4, 13)))
    return "\n".join(("Page: Shop", "Elements:", *marks))


def _screenshot(chance: random.Random) -> bytes:
    image = Image.new("RGB", (224, 160), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(8):
        x, y = chance.randint(0, 180), chance.randint(0, 130)
        pen.rectangle((x, y, x + 40, y + 24), fill=(chance.randint(0, 255), chance.randint(0, 255), 128))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=80)
    return out.getvalue()
