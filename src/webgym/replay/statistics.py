"""What replay kept and what it left out, and why. Every planned episode and every step of a read one is counted once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from webgym.types import Wire

EpisodeReason = Literal[
    "unfinished",  # no terminal record yet
    "blocked", "site_error", "infra", "cancelled",  # how it ended: there is nothing to score
    "damaged",  # its file cannot be read
    "test",  # of the test split
    "unjudged",  # the judge has not spoken
    "unscorable",  # the judge could not tell
    "failed",  # scored 0, where only successes are cloned
    "small_group",  # too few scored episodes of its task to compare with
    "same_rewards",  # its group has nothing to compare
]  # fmt: skip
StepReason = Literal[
    "no_model",  # no prompt or no reply: not the model's
    "test_website",  # on a website that is tested on, where its task did not send it, or with its picture in the prompt
    "invalid",  # the reply could not be read
    "unchanged",  # the screen was the same afterwards
    "no_logprobs",  # the server did not say how likely its tokens were
    "task_cap",
    "website_cap",
    "not_drawn",  # there were more than asked for
]


class ReplayStatistics(Wire):
    """The account of one replay."""

    judge: str = Field(description="Whose verdicts were used.")
    objective: str
    planned: int = Field(0, description="Episodes of the iterations looked at.")
    used: int = Field(0, description="Episodes whose steps could be drawn.")
    kept: int = Field(0, description="Samples written.")
    episodes_dropped: dict[EpisodeReason, int] = Field({}, description="Episodes left out whole.")
    dropped: dict[StepReason, int] = Field({}, description="Steps left out of the episodes that were used.")
    kept_by_iteration: dict[int, int] = Field({}, description="Samples by the iteration they come from.")
    tasks: int = Field(0, description="Different tasks among the samples.")
    websites: int = Field(0, description="Different websites among the samples.")
