"""Everything `webgym train` can be told. What a rollout can be told stands beside it, under the same names.

The two rollouts of an iteration follow from one set of settings: training plays `count` tasks of the train split, evaluation
walks the test split. They differ in what `evaluation` names and in nothing else, so a curve compares like with like.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

from webgym.agents.context import weight
from webgym.agents.settings import AgentSettings, PolicySampling
from webgym.config import Settings
from webgym.replay.settings import ReplaySettings
from webgym.rolling.settings import RolloutParts, RolloutSettings
from webgym.train.job import TrainSettings
from webgym.train.serving.settings import EmbeddedSettings, ModelServerSettings, VllmSettings
from webgym.types import Split

Tracker = Literal["wandb", "trackio", "tensorboard"]


class Evaluation(BaseModel):
    """How the test split is measured. None leaves a value as it is in training."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every: Annotated[int, Field(ge=0)] = Field(
        5, description="Iterations between evaluations; the first and the last model are always evaluated. 0: never."
    )
    tasks: Path | None = Field(None, description="A task file of its own; the training tasks' file if unset.")
    count: Annotated[int, Field(ge=1)] | None = Field(None, description="Test tasks, in the file's order; all if unset.")
    repeats: Annotated[int, Field(ge=1, le=1024)] = Field(1, description="Episodes of each test task.")
    sampling: PolicySampling | None = Field(
        None, description="How the tested model draws its replies; what is not named here is as in training."
    )

    @field_serializer("sampling")
    def _as_named(self, sampling: PolicySampling | None) -> dict[str, object] | None:
        """Only what was named: the rest is not the defaults that the object holds."""
        return None if sampling is None else sampling.model_dump(exclude_unset=True)

    def due(self, version: int, last: int) -> bool:
        """Whether the model after so many updates is evaluated."""
        return self.every > 0 and (version % self.every == 0 or version == last)


class LoopSettings(RolloutParts):
    """Train on the agent's own successes: rollout, judge, evaluate, replay, train, publish, and again."""

    run: Path = Field(description="The run's folder; made if it is not there, continued if it is.")
    iterations: Annotated[int, Field(ge=1, le=100_000)] = 30
    checkpoint: Path | None = Field(None, description="Folder of the first model; only agents without one need none.")
    continue_optimizer: bool = Field(
        False, description="Go on with the optimiser that lies in the first model's folder; else it starts anew."
    )
    evaluation: Evaluation = Evaluation()
    replay: ReplaySettings = ReplaySettings()
    train: TrainSettings = TrainSettings()
    serving: ModelServerSettings = Field(
        EmbeddedSettings(), description="Who serves the model: embedded, unless kind says otherwise."
    )
    faults: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Share of a phase's episodes that may end by faults of ours; with more it is not done."
    )
    serve_while_training: bool = Field(
        False, description="Leave the model server up while training: a quicker switch for the memory of both at once."
    )
    keep_checkpoints: Annotated[int, Field(ge=1)] = Field(2, description="How many of the latest stay on disk.")
    track: tuple[Tracker, ...] = Field((), description="Trackers that get the metrics beside metrics.jsonl.")
    project: str = Field("webgym", description="The tracker's name for all runs that belong together.")
    dry_run: bool = Field(False, description="Say what the run would need and build a batch if possible; train nothing.")

    @model_validator(mode="after")
    def _a_model_to_train(self) -> Self:
        if self.agent == "model" and self.checkpoint is None:
            raise ValueError("agent is 'model', and checkpoint is not set: name the folder of the model to begin with")
        return self

    @model_validator(mode="after")
    def _someone_who_acts(self) -> Self:
        if self.agent == "replay":
            raise ValueError("agent is 'replay', which does what was done before: `webgym rollout` plays it, a loop cannot")
        return self

    @model_validator(mode="after")
    def _logprobs_for_ratios(self) -> Self:
        policy = self.model.policy
        if self.train.objective == "grpo" and self.agent == "model" and not (policy.logprobs and policy.token_ids):
            raise ValueError(
                "train.objective is 'grpo', which compares with the log-probabilities of the rollout: "
                "set model.policy.logprobs and model.policy.token_ids"
            )
        if self.train.objective != "filtered_bc" and self.repeats < 2:
            raise ValueError(
                f"train.objective is {self.train.objective!r}, which compares episodes of one task, and repeats is "
                f"{self.repeats}: give each task several"
            )
        return self

    @model_validator(mode="after")
    def _prompts_that_are_served(self) -> Self:
        """A server refuses a prompt of more than it takes, and the episode ends with it, hours after the start perhaps."""
        context, policy = self.model.context, self.model.policy
        most: tuple[str, int] | None = None
        match self.serving:
            case EmbeddedSettings(engine=engine):
                images, most = ("serving.engine.images", engine.images), ("serving.engine.context", engine.context)
            case VllmSettings(max_model_len=length):
                images = ("serving.images", self.serving.images)
                most = None if length is None else ("serving.max_model_len", length)
            case _:  # what a server of others takes is not known here
                return self
        if self.agent != "model":
            return self
        screen = self.engine.session
        each = weight(screen.width, screen.height, context.image_tokens)
        shown = min(context.window + 1, max(1, context.token_budget // max(1, each)))  # the oldest rounds go for the budget
        if shown > images[1]:
            raise ValueError(
                f"model.context.window is {context.window}, so with the page now a prompt has up to {shown} screenshots, "
                f"and {images[0]} is {images[1]}: raise that, or lower the window"
            )
        reply = max(policy.sampling.max_tokens, self._sampling("test").max_tokens)
        if most is not None and context.token_budget + reply > most[1]:
            raise ValueError(
                f"model.context.token_budget is {context.token_budget} and a reply has up to {reply} tokens (max_tokens), "
                f"{context.token_budget + reply} together, and {most[0]} is {most[1]}: raise that, or lower one of these"
            )
        return self

    @property
    def blocked(self) -> Path:
        """Who refuses automation: one list for both splits."""
        return self.blocklist or self.run.absolute().parent / "blocked.jsonl"

    def rollout(
        self, split: Split, iteration: int, folder: Path, tasks: Path | None, *, url: str | None = None
    ) -> RolloutSettings:
        """One iteration of the store as a rollout's own settings; resuming one that is not planned plans it.

        `url` is where the model server of the loop answers."""
        given: dict[str, object] = {name: getattr(self, name) for name in RolloutParts.model_fields}
        given |= {"run": folder, "tasks": tasks, "iteration": iteration, "split": split, "resume": True}
        given["blocklist"] = self.blocked
        if split == "test":
            given |= {"count": self.evaluation.count, "repeats": self.evaluation.repeats}
        if self.agent == "model":
            given["model"] = self._asking(url, split)
        return RolloutSettings.model_validate(given)

    def _asking(self, url: str | None, split: Split) -> AgentSettings:
        """The agent's settings with the model server that the loop runs."""
        policy, variable = self.model.policy, self.serving.key_variable
        changed = {
            "urls": (url,) if url is not None else policy.urls,
            "model": self.serving.model,
            "key_variable": variable if variable and os.environ.get(variable) else None,
            "sampling": self._sampling(split),
        }
        return self.model.model_copy(update={"policy": policy.model_copy(update=changed)})

    def _sampling(self, split: Split) -> PolicySampling:
        """How replies are drawn there."""
        trained, tested = self.model.policy.sampling, self.evaluation.sampling
        if split != "test" or tested is None:
            return trained
        # By what was named, and not by what is None: that leaves a value to the server.
        return trained.model_copy(update=tested.model_dump(exclude_unset=True))


class UpdateSettings(Settings):
    """Replay and train alone: one update of the model from the episodes that a run has."""

    run: Path = Field(description="The run's folder.")
    iteration: Annotated[int, Field(ge=0)] | None = Field(None, description="The first that is not updated yet, if unset.")
    checkpoint: Path = Field(description="Folder of the first model; later iterations go on from the last update.")
    continue_optimizer: bool = Field(
        False, description="Go on with the optimiser that lies in the first model's folder; else it starts anew."
    )
    judge: str | None = Field(None, description="Whose verdicts count; needed if several judges have judged the run.")
    tasks: Path | None = Field(None, description="A task file: a sample on a website of its test split stops the update.")
    replay: ReplaySettings = ReplaySettings()
    train: TrainSettings = TrainSettings()
    keep_checkpoints: Annotated[int, Field(ge=1)] = 2
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
