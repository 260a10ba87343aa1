"""Everything `webgym judge` and `webgym judge diff` can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import CliPositionalArg

from webgym.config import Settings
from webgym.judge.settings import JudgeSettings


class JudgeRunSettings(Settings):
    """Judge the episodes of a run that this judge has not judged, or could not score."""

    run: CliPositionalArg[Path] = Field(description="The run's folder.")
    judge: Literal["rubric", "worlds"] = Field(
        "rubric",
        description="rubric: a model looks at the screenshots; worlds: the verifiers of the offline web and MiniWoB++.",
    )
    rubric: JudgeSettings = Field(JudgeSettings(), description="The rubric judge.")
    iteration: Annotated[int, Field(ge=0)] | None = Field(None, description="Only episodes of this iteration.")
    limit: Annotated[int, Field(ge=1)] | None = Field(None, description="At most so many episodes.")
    again: bool = Field(False, description="Also those this judge has scored; with the cache this costs nothing.")
    rubrics: Path | None = Field(None, description="A task file whose rubrics are taken instead of the episodes' own.")
    episodes: Annotated[int, Field(ge=1, le=1024)] = Field(16, description="Episodes judged at a time.")
    cache: Path | None = Field(None, description="Folder of stored replies; judge-replies beside the run if unset.")
    blocklist: Path | None = Field(None, description="Who refuses automation; blocked.jsonl beside the run if unset.")
    block_hours: Annotated[float, Field(gt=0)] = 12.0
    give_up_after: Annotated[int, Field(ge=1)] = Field(
        20,
        description="Stop when the model was down for so many episodes in a row, or could score none of so many; "
        "the next run judges them.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"


class DiffSettings(Settings):
    """Compare what two judges said of the same episodes."""

    a: CliPositionalArg[Path] = Field(description="Verdicts: RUN/verdicts/JUDGE, or a run that has one judge.")
    b: CliPositionalArg[Path] = Field(description="The same of another judge, or of another run.")
    limit: Annotated[int, Field(ge=0)] = Field(20, description="List at most so many disagreements; all are counted.")
