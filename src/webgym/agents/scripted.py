"""Agents without a model: random, a recorded episode again, and whatever drives a session by itself.

Invariant: each is a pure function of its seed, its episode or its script and of what it observes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Protocol

from webgym.agents.agent import Decision
from webgym.errors import BrowserError
from webgym.types import Action, Back, Click, Episode, Look, Observation, Scroll, Task, Terminate, Type, Wait

PLAIN = Look()
CLOSING = 5.0  # seconds a script has to end once nobody needs it
WORDS = ("shoes", "hotel", "2026", "news", "blue", "coffee", "train", "phone")


class RandomAgent:
    """Clicks, scrolls and types anywhere. It never answers: its step limit ends it."""

    name = "random"
    look = PLAIN

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)  # noqa: S311

    async def decide(self, observation: Observation) -> Decision:
        seen, chance = observation.screenshot, self._chance
        if seen is None:
            raise BrowserError("the observation has no screenshot, and this agent needs its size")
        x, y = chance.randrange(seen.width), chance.randrange(seen.height)
        draw = chance.random()
        action: Action
        if draw < 0.6:
            action = Click(x=x, y=y)
        elif draw < 0.8:
            action = Scroll(x=x, y=y, dy=chance.choice((-500, 500)))
        elif draw < 0.9:
            action = Type(x=x, y=y, text=chance.choice(WORDS), enter=chance.random() < 0.5)
        else:
            action = Back() if draw < 0.97 else Wait(seconds=0.5)
        return Decision(action=action)

    async def close(self) -> None:
        pass


class RandomAgents:
    """A `NewAgent`: the same seed and episode act alike wherever they run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, task: Task, episode: str) -> RandomAgent:
        return RandomAgent(f"{self._seed} {episode}")


class ReplayAgent:
    """Does what a recorded episode did, step by step, also its unreadable replies; then it gives up."""

    def __init__(self, episode: Episode) -> None:
        self.name = f"replay of {episode.agent}"[:200]
        # Actions that name marks need the marks drawn again.
        self.look = Look(marks=any(getattr(step.action, "element", None) is not None for step in episode.steps))
        self._steps = iter(episode.steps)

    async def decide(self, observation: Observation) -> Decision:
        step = next(self._steps, None)
        if step is None:
            return Decision(action=Terminate(status="failure"))
        return Decision(action=step.action, invalid=step.invalid)

    async def close(self) -> None:
        pass


class Hands(Protocol):
    """What a script drives: a session, or a `DrivenAgent` that looks like one."""

    async def step(self, action: Action, look: Look) -> Observation: ...


Script = Callable[[Hands, Observation], Awaitable[None]]


class DrivenAgent:
    """An agent out of a coroutine that wants to drive a session itself, such as the offline web's oracle.

    The script is given hands and the first observation. Each `step` it awaits becomes a decision of this agent, and the
    observation that the engine brings next is what `step` returns. A script that ends gives up; one that raises, raises
    from `decide`.
    """

    def __init__(self, name: str, script: Script, look: Look = PLAIN) -> None:
        self.name, self.look = name, look
        self._script = script
        self._task: asyncio.Task[None] | None = None
        self._wanted: asyncio.Queue[tuple[Action, Look]] = asyncio.Queue(1)
        self._seen: asyncio.Queue[Observation] = asyncio.Queue(1)

    async def step(self, action: Action, look: Look) -> Observation:
        await self._wanted.put((action, look))
        return await self._seen.get()

    async def decide(self, observation: Observation) -> Decision:
        if self._task is None:
            self._task = asyncio.create_task(_run(self._script(self, observation)), name=self.name)
        elif not self._task.done():
            self._seen.put_nowait(observation)
        wanted = asyncio.create_task(self._wanted.get())
        try:
            await asyncio.wait({wanted, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if wanted.done():
                action, look = wanted.result()
                return Decision(action=action, look=look)
            await self._task
            return Decision(action=Terminate(status="failure"))
        finally:
            wanted.cancel()

    async def close(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSING)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # `decide` has told of it, or nobody asked any more


async def _run(script: Awaitable[None]) -> None:
    await script
