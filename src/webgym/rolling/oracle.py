"""The offline web's oracle as an agent."""

from __future__ import annotations

from urllib.parse import urlsplit

from webgym.agents.scripted import DrivenAgent, Hands
from webgym.rollout.agent import Eyes
from webgym.types import Action, Look, Observation, Task
from webgym.worlds import oracle, tasks

LOOK = Look(accessibility=True)


class OracleAgent(DrivenAgent):
    """Goes the task's route by pixels. It looks at marks apart, so that its screenshots stay free of them."""

    def __init__(self, task: Task) -> None:
        super().__init__("oracle", self._play, LOOK)
        self._goal = task
        self._eyes: Eyes | None = None

    def give_eyes(self, eyes: Eyes) -> None:
        self._eyes = eyes

    async def _play(self, hands: Hands, first: Observation) -> None:
        assert self._eyes is not None
        port = urlsplit(self._goal.website).port or 80
        await oracle.play(_OracleHands(hands, self._eyes, first), tasks.find(self._goal.id), port)


class _OracleHands:
    def __init__(self, hands: Hands, eyes: Eyes, first: Observation) -> None:
        self._hands, self._eyes = hands, eyes
        self._first: Observation | None = first

    async def step(self, action: Action, look: Look | None = None) -> Observation:
        self._first = None
        return await self._hands.step(action, look or LOOK)

    async def observe(self, look: Look | None = None) -> Observation:
        if self._first is not None and look == LOOK:
            return self._first  # the engine has just looked
        return await self._eyes(look or LOOK)


def oracle_agent(task: Task, episode: str) -> OracleAgent:
    return OracleAgent(task)
