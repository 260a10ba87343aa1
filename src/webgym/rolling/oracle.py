"""The offline web's oracle as an agent."""

from __future__ import annotations

from webgym.judging.agents import Actor
from webgym.types import Task


def oracle_agent(task: Task, episode: str) -> Actor:
    return Actor("oracle", task)
