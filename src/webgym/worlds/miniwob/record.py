"""What a task's page leaves in its browser session: the cookie `webgym_state` of the host `miniwob.localhost`.

The rollout reads it with the session's storage into `Episode.state`. The page (episode.js) is its only writer; a session
plays one task, and a record that says `done` is final, so a second try cannot improve on the first.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self
from urllib.parse import unquote

from pydantic import Field, model_validator

from webgym.types import Wire

HOST = "miniwob.localhost"
COOKIE = "webgym_state"

Mode = Literal["train", "test"]
MAX_SEED = 2**31 - 1
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]


class Record(Wire):
    """One episode of MiniWoB++ as its page tells it."""

    task: str
    seed: Seed
    mode: Mode
    starts: Annotated[int, Field(ge=0, description="How often it began: more than once if the agent reloaded the page.")]
    utterance: str = Field("", description="What the page asked for, cut to 300 characters.")
    done: bool = False
    raw: float | None = Field(None, description="The page's own reward, before any decay with time.")
    reward: float | None = Field(None, description="The same after the decay with time, if the server keeps it.")
    reason: str = Field("", description="Why, in the page's words, if it says so.")

    @model_validator(mode="after")
    def _an_end_has_a_reward(self) -> Self:
        if self.done != (self.raw is not None):
            raise ValueError("a record has a reward if and only if it is done")
        return self


def read(kept: str) -> Record:
    """The record in a cookie's value, percent-encoded as the page wrote it or already decoded."""
    return Record.model_validate_json(kept if kept.startswith("{") else unquote(kept))
