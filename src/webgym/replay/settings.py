"""Which replies of the past are learned from. The defaults are those of the paper's run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from webgym.types import Wire

Count = Annotated[int, Field(ge=1)]


class ReplaySettings(Wire):
    samples: Count | None = Field(1_800, description="How many replies are drawn; None: all there are.")
    iterations: Count = Field(4, description="How many iterations back; objectives with groups use the latest only.")
    power: Annotated[float, Field(ge=0, le=16)] = Field(2.0, description="A reply's weight is (its iteration + 1)^power.")
    per_task: Count | None = Field(None, description="Most replies of one task.")
    per_website: Count | None = Field(None, description="Most replies of one website.")
    min_group: Annotated[int, Field(ge=2)] = Field(2, description="Scored episodes without which a group is left out.")
    step_normaliser: Annotated[float, Field(gt=0)] = Field(
        10.0, description="GRPO: what each step's advantage is divided by, whatever the length of its episode."
    )
    drop_unchanged: bool = Field(True, description="Leave out steps after which the screen was the same.")
    successes_only: bool = Field(True, description="False clones failures too: for showing what that does.")
    seed: int = Field(0, description="Of the draws; those of different updates are independent all the same.")
