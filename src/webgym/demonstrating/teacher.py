"""An agent that shows how it is done: the prompts of a model agent, answered by the guide.

Its episodes are ordinary ones. Prompts, replies and steps are what a rollout of a model would have kept, so replay and the
trainers take them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webgym.agents.agent import Decision
from webgym.agents.dialects import Dialect, Screen, dialect
from webgym.agents.model import ModelAgent
from webgym.agents.settings import AgentSettings
from webgym.demonstrating.guide import Goal, advise
from webgym.endpoint.messages import Message
from webgym.types import Look, Observation, Reply, Task

TEACHER: Final = "guide"


class _Guide:
    """Replies to whatever it is asked with what the page it has been shown calls for."""

    model = TEACHER

    def __init__(self, goal: Goal, speaker: Dialect) -> None:
        self._goal, self._speaker = goal, speaker
        self._seen: Observation | None = None

    def show(self, seen: Observation) -> None:
        self._seen = seen

    async def ask(self, messages: Sequence[Message], *, episode: str) -> Reply:
        assert self._seen is not None, "it is shown every page before it is asked"
        shot = self._seen.screenshot
        assert shot is not None, "the agent refuses pages without a picture"
        screen = Screen(shot.width, shot.height, frozenset(mark.id for mark in self._seen.marks or ()))
        return Reply(text=self._speaker.write(advise(self._goal, self._seen), screen), model=self.model)


class Demonstrator:
    """One episode of the guide."""

    def __init__(self, settings: AgentSettings, speaker: Dialect, task: Task, episode: str) -> None:
        self._guide = _Guide(Goal.of(task), speaker)
        self._agent = ModelAgent(self._guide, speaker, settings.context, task, episode)

    @property
    def name(self) -> str:
        return self._agent.name

    @property
    def look(self) -> Look:
        return self._agent.look

    async def decide(self, observation: Observation) -> Decision:
        self._guide.show(observation)
        return await self._agent.decide(observation)

    async def close(self) -> None:
        await self._agent.close()


class Demonstrators:
    """Makes the agents of a run of demonstrations: a `NewAgent`."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._dialect = dialect(
            settings.dialect, memory=settings.memory, thinking=settings.thinking, compact=settings.compact
        )

    def __call__(self, task: Task, episode: str) -> Demonstrator:
        return Demonstrator(self._settings, self._dialect, task, episode)
