"""What a build will cost, reckoned without asking anyone.

Expected figures take four bytes for a token and the reply lengths of the settings; the ceiling takes three bytes, every
reply as long as it may be, and every reply repaired once. Questions whose replies are stored cost nothing. How many
children the unknown rubrics will have is not knowable: the ratio of the settings is used, which is that of the public set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from webgym.endpoint import Endpoint
from webgym.endpoint.cost import Usage
from webgym.endpoint.messages import BYTES_PER_TOKEN
from webgym.tasks.decompose import DecomposeSettings, child_question, children
from webgym.tasks.question import M, Question
from webgym.tasks.rubric import needs, rubric_question, subject_question, task_of
from webgym.tasks.seed import Seed
from webgym.types import Task

USUAL_BYTES_PER_TOKEN: Final = 4
CHILD_PROMPT_TOKENS: Final = 700  # the rules, a task and its facts


class EstimateSettings(BaseModel):
    """What to expect of replies before any has come."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rubric_tokens: Annotated[int, Field(ge=1)] = 180
    subject_tokens: Annotated[int, Field(ge=1)] = 25
    child_tokens: Annotated[int, Field(ge=1)] = 60
    children: Annotated[float, Field(ge=0)] = Field(0.13, description="Decomposed tasks for each original.")


@dataclass(frozen=True)
class Estimate:
    """Calls still to be made; what they should cost and what they can cost at most."""

    seeds: int
    stored: int
    calls: int
    expected: Usage
    most: Usage
    dollars: float
    most_dollars: float
    minutes: float

    def lines(self, *, priced: bool) -> list[str]:
        money = f"about ${self.dollars:,.2f}, at most ${self.most_dollars:,.2f}" if priced else "the model has no price"
        time = f"about {self.minutes:,.0f} min at the limits set" if self.minutes else "no limits are set"
        return [
            f"seeds        {self.seeds:,}",
            f"stored       {self.stored:,} replies are there already",
            f"calls        about {self.calls:,}",
            f"tokens       about {self.expected.input:,} in and {self.expected.output:,} out",
            f"cost         {money}",
            f"time         {time}",
        ]


@dataclass
class _Tally:
    """What is stored and what is left to ask."""

    model: Endpoint
    stored: int = 0
    calls: int = 0
    expected: Usage = field(default_factory=Usage)
    most: Usage = field(default_factory=Usage)

    def add(self, question: Question[M], reply_tokens: int) -> M | None:
        """Count a question; its answer, if it is stored."""
        answer = question.known(self.model)
        if answer is not None:
            self.stored += 1
            return answer
        ceiling = self.model.most(question.messages, question.kind.model_json_schema())
        self.calls += 1
        self.most += ceiling + ceiling
        self.expected += Usage(ceiling.input * BYTES_PER_TOKEN // USUAL_BYTES_PER_TOKEN, reply_tokens)
        return None


def estimate(seeds: Iterable[Seed], model: Endpoint, decompose: DecomposeSettings, settings: EstimateSettings) -> Estimate:
    """Price a job. Replies that are stored are read, so that a second run is priced by what is left."""
    tally, counted, unknown = _Tally(model), 0, 0
    for seed in seeds:
        counted += 1
        task = _known_task(seed, tally, settings)
        if task is None:
            unknown += decompose.enabled
            continue
        for places in () if seed.whole else children(task, decompose):
            tally.add(child_question(task, places), settings.child_tokens)
    more = math.ceil(unknown * settings.children)
    calls = tally.calls + more
    expected = tally.expected + Usage(more * CHILD_PROMPT_TOKENS, more * settings.child_tokens)
    most = tally.most + Usage(4 * more * CHILD_PROMPT_TOKENS, 2 * more * model.settings.sampling.max_tokens)
    price, minutes = model.settings.price, _minutes(model, calls, expected)
    return Estimate(counted, tally.stored, calls, expected, most, expected.dollars(price), most.dollars(price), minutes)


def _known_task(seed: Seed, tally: _Tally, settings: EstimateSettings) -> Task | None:
    match needs(seed):
        case "nothing":
            return task_of(seed)
        case "subject":
            subject = tally.add(subject_question(seed), settings.subject_tokens)
            return task_of(seed, subject=subject) if subject is not None else None
        case "rubric":
            rubric = tally.add(rubric_question(seed), settings.rubric_tokens)
            return task_of(seed, rubric=rubric) if rubric is not None else None


def _minutes(model: Endpoint, calls: int, expected: Usage) -> float:
    limits = model.settings.requests_per_minute, model.settings.tokens_per_minute
    return max((amount / limit for amount, limit in zip((calls, expected.total), limits, strict=True) if limit), default=0.0)
