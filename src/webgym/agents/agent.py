"""What the engine drives: one agent an episode, made by a factory, holding its own history.

    agent = new_agent(task, episode_id)
    try:
        decision = await agent.decide(observation)      # then perform decision.action, look as agent.look says, and again
    finally:
        await agent.close()

Invariants. A decision is an action or the reason why there is none, never both. A reply that cannot be read is a decision:
the engine performs nothing, looks again and asks again, and the agent tells its model. What an agent raises is
infrastructure (`EndpointDown`, `EndpointRefused`, …), never the model's doing. `decide` is not called twice at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from webgym.types import Action, Look, Observation, Reply, Task, Turn


@dataclass(frozen=True)
class Decision:
    """What to do next, and how it came about. `look`, if given, replaces the agent's for the next observation."""

    action: Action | None = None
    invalid: str | None = None
    prompt: tuple[Turn, ...] = ()
    reply: Reply | None = None
    look: Look | None = None

    def __post_init__(self) -> None:
        if (self.action is None) == (self.invalid is None):
            raise ValueError("a decision has either an action or the reason why there is none")


class Agent(Protocol):
    """One episode's actor."""

    @property
    def name(self) -> str:
        """Who acts: a dialect and model, or the name of a script."""
        ...

    @property
    def look(self) -> Look:
        """What the observations it is given must hold."""
        ...

    async def decide(self, observation: Observation) -> Decision: ...

    async def close(self) -> None:
        """The episode is over, however it ended."""
        ...


class NewAgent(Protocol):
    """Makes the agent of an episode."""

    def __call__(self, task: Task, episode: str) -> Agent: ...
