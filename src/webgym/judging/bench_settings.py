"""Everything `webgym judge bench` and `webgym judge import` can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from webgym.config import Settings
from webgym.judge.settings import JudgeSettings
from webgym.server.settings import on_unless_no_sandbox


class BenchSettings(Settings):
    """Measure a judge against the truth."""

    judge: Literal["rubric", "worlds", "stored"] = Field(
        "rubric",
        description="rubric: a model looks at the screenshots; worlds: the offline web's verifiers; "
        "stored: what a judge has said of these episodes before.",
    )
    rubric: JudgeSettings = Field(JudgeSettings(), description="The rubric judge.")
    stored: str | None = Field(None, description="Whose stored verdicts are measured: the judge's identity.")

    labelled: Path | None = Field(
        None, description="A labelled run to measure on; unset: one of the offline web, made if it is not there."
    )
    episodes: Annotated[int, Field(ge=5, le=100_000)] = Field(
        200, description="Episodes of the offline web, rounded up to fives: each task is played by five agents."
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="Which tasks; the same seed and number are the same episodes.")
    runs: Path = Field(Path("runs"), description="Where labelled runs of the offline web are.")
    sessions: Annotated[int, Field(ge=1, le=256)] = Field(4, description="Browser sessions while they are played.")
    chromium: Path | None = None
    sandbox: bool = Field(default_factory=on_unless_no_sandbox, description="Chromium's; off with WEBGYM_NO_SANDBOX=1.")

    at_once: Annotated[int, Field(ge=1, le=1024)] = Field(16, description="Episodes judged at a time.")
    cache: Path | None = Field(
        None, description="Folder of stored replies; judge-replies beside the run if unset. A new one shows the full cost."
    )
    give_up_after: Annotated[int, Field(ge=1)] = Field(
        20, description="Stop when the model was down for so many episodes in a row, or could score none of so many."
    )
    out: Path | None = Field(None, description="Folder for the figures and the plot; beside the run if unset.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"

    @model_validator(mode="after")
    def _stored_by_whom(self) -> Self:
        if (self.judge == "stored") != (self.stored is not None):
            raise ValueError(
                f"judge is {self.judge!r} and stored is {self.stored!r}: stored verdicts need a judge's identity"
            )
        return self


class ImportSettings(Settings):
    """Bring an outside labelled set into a run, to measure judges on."""

    format: Literal["online-mind2web", "cua-verifier-bench"]
    source: Path = Field(description="The set's folder.")
    run: Path = Field(description="The new run's folder.")
    labels: Path | None = Field(None, description="online-mind2web: human_label.json.")
    agent: str | None = Field(None, description="online-mind2web: whose trajectories these are, as the labels name it.")
    split: Literal["fara7b_om2w_browserbase", "internal"] = Field(
        "fara7b_om2w_browserbase", description="cua-verifier-bench: which split."
    )
    show: Annotated[int, Field(ge=0)] = Field(20, description="List at most so many faults; all are counted.")

    @model_validator(mode="after")
    def _labels_of_an_agent(self) -> Self:
        if self.format == "online-mind2web" and (self.labels is None or not self.agent):
            raise ValueError(f"online-mind2web needs labels and agent: they are {self.labels!r} and {self.agent!r}")
        return self
