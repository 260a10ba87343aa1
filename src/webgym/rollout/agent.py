"""What the engine drives, as it sees it. `webgym.agents` has the makers; nothing of theirs is imported here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from webgym.types import Action, Look, Observation, Reply, Task, Turn

Eyes = Callable[[Look], Awaitable[Observation]]


class Decision(Protocol):
    """An action or the reason why there is none. `look`, if given, replaces the agent's for the next observation."""

    @property
    def action(self) -> Action | None: ...
    @property
    def invalid(self) -> str | None: ...
    @property
    def prompt(self) -> tuple[Turn, ...]: ...
    @property
    def reply(self) -> Reply | None: ...
    @property
    def look(self) -> Look | None: ...


class Agent(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def look(self) -> Look: ...

    async def decide(self, observation: Observation) -> Decision: ...

    async def close(self) -> None: ...


class NewAgent(Protocol):
    def __call__(self, task: Task, episode: str) -> Agent: ...


@runtime_checkable
class LooksAround(Protocol):
    """An agent that wants to look without acting, between being asked and deciding, as the oracle does."""

    def give_eyes(self, eyes: Eyes) -> None: ...
