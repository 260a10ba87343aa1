"""Everything `webgym rollout` can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webgym.agents.settings import AgentSettings
from webgym.config import Settings
from webgym.judge.settings import JudgeSettings
from webgym.rollout.settings import EngineSettings
from webgym.server.egress import EgressPolicy
from webgym.server.settings import LOOPBACK, on_unless_no_sandbox
from webgym.server.settle import SettleLimits
from webgym.tasks.sampler import SamplerSettings
from webgym.types import Split


class OfflineWeb(BaseModel):
    """The offline web, served by the rollout itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Annotated[int, Field(ge=0, le=999_999_999)] = 0
    port: Annotated[int, Field(ge=1, le=65535)] = Field(8090, description="The port that the tasks' addresses name.")
    tasks: Annotated[int, Field(ge=200, le=1_000_000)] = Field(2000, description="Train tasks made if no file is given.")


class OwnServer(BaseModel):
    """The rollout server, started with the rollout if no address is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sessions: Annotated[int, Field(ge=1, le=4096)] | None = Field(None, description="As many as there are slots if unset.")
    workers: Annotated[int, Field(ge=0, le=64)] = 0
    browsers: Annotated[int, Field(ge=0, le=256)] = 0
    chromium: Path | None = None
    sandbox: bool = Field(default_factory=on_unless_no_sandbox, description="Chromium's; off with WEBGYM_NO_SANDBOX=1.")
    egress: EgressPolicy = EgressPolicy()
    settle: SettleLimits = SettleLimits()


class Recording(BaseModel):
    """What the agent `replay` does again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Path = Field(description="The folder of the run that holds it.")
    iteration: Annotated[int, Field(ge=0)] = 0
    episode: str | None = Field(None, description="One episode alone; the first kept one of every task if unset.")


class RolloutParts(Settings):
    """What any rollout needs to know, whoever plans it."""

    tasks: Path | None = Field(None, description="A task file (.parquet); may be left out with the offline web.")
    count: Annotated[int, Field(ge=1)] | None = Field(None, description="Tasks; 1,024 of train, all of test if unset.")
    repeats: Annotated[int, Field(ge=1, le=1024)] = Field(1, description="Episodes of each task.")
    sampler: SamplerSettings = SamplerSettings()
    health: Path | None = Field(None, description="A file of `webgym tasks probe`: what is down is not drawn.")
    blocklist: Path | None = Field(None, description="Who refuses automation; blocked.jsonl beside the run if unset.")

    agent: Literal["model", "oracle", "random", "replay"] = Field("model", description="Who acts.")
    recording: Recording | None = Field(None, description="What the agent replay does again, on the tasks it was made of.")
    model: AgentSettings = AgentSettings()
    seed: int = Field(0, description="Of the random agent.")
    judge: Literal["auto", "worlds", "rubric", "none"] = Field(
        "auto",
        description="Judge as episodes end: worlds by the verifiers of the offline web and MiniWoB++, rubric by a model; "
        "auto by the verifiers if every task has one, else not at all.",
    )
    rubric: JudgeSettings = Field(JudgeSettings(), description="The rubric judge.")

    server: str | None = Field(None, description="Address of a rollout server; one is started if unset.")
    serve: OwnServer = OwnServer()
    worlds: OfflineWeb | None = Field(None, description="Serve the offline web, too.")
    engine: EngineSettings = EngineSettings()
    monitor: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        None, description="Show the rollout live in the browser, at this port of loopback; 0 picks a free one."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"

    @model_validator(mode="after")
    def _tasks_from_somewhere(self) -> Self:
        if self.tasks is None and self.worlds is None and self.agent != "replay":
            raise ValueError("tasks is not set, and worlds is not either: name a task file, or serve the offline web")
        return self

    @model_validator(mode="after")
    def _worlds_where_the_browsers_are(self) -> Self:
        host = urlsplit(self.server).hostname if self.server is not None else None
        if host is not None and self.worlds is not None and host not in LOOPBACK:
            raise ValueError(
                f"worlds is set, and server is on {host}, whose browsers look for *.localhost on their own machine: serve "
                "the offline web there (`webgym worlds serve`) and name a task file; or call it 127.0.0.1 if it is here"
            )
        return self

    @model_validator(mode="after")
    def _replay_of_something(self) -> Self:
        if (self.agent == "replay") != (self.recording is not None):
            given = "set" if self.recording is not None else "not set"
            raise ValueError(f"agent is {self.agent} and recording is {given}: replay needs recording.run, others take none")
        return self


class RolloutSettings(RolloutParts):
    """Roll tasks out: plan an iteration, play its episodes, keep them."""

    run: Path = Field(description="The run's folder; made if it is not there.")
    resume: bool = Field(False, description="Finish an iteration that was planned before.")
    iteration: Annotated[int, Field(ge=0)] = 0
    split: Split = "train"

    @property
    def wanted(self) -> int | None:
        """How many tasks; None: all there are."""
        return 1024 if self.count is None and self.split == "train" else self.count
