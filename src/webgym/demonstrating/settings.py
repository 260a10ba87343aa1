"""Everything `webgym warm-up` can be told. How pages are shown and prompts are made stands beside it, as for a rollout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webgym.agents.dialects import DIALECTS, dialect
from webgym.rolling.settings import OfflineWeb, RolloutParts, RolloutSettings
from webgym.train.job import TrainSettings
from webgym.worlds.sites import KINDS

Sites = Annotated[int, Field(ge=1, le=10_000)]


class Practice(BaseModel):
    """Websites to train and to test on. The demonstrations show none of them, and `shown` others of each of their kinds
    that is not shown anyway."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: tuple[str, ...] = Field((), description="Kinds of sites; all if none is named.")
    train_sites: Sites = Field(100, description="Websites of each kind to train on.")
    test_sites: Sites = Field(20, description="Websites of each kind to test on.")
    shown: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0, description="Demonstrations on each of these kinds, too, unless it is among those shown already."
    )
    each: Annotated[int, Field(ge=1, le=100)] = Field(3, description="Tasks of a website to train on; one is tested.")


class WarmUpSettings(RolloutParts):
    """Show a tiny model how pages are opened by a menu, and write the tasks it can then practise on."""

    folder: Path = Field(description="Holds the demonstrations, the model and the tasks; made if it is not there.")
    kinds: tuple[str, ...] = Field((), description="Kinds of sites that are shown; all if none is named.")
    demonstrations: Annotated[int, Field(ge=1)] = Field(600, description="Episodes on them, each on its own website.")
    practice: Practice = Practice()
    worlds: OfflineWeb | None = OfflineWeb()
    train: TrainSettings = TrainSettings()

    @model_validator(mode="after")
    def _dialect_looks_with_marks(self) -> Self:
        """The guide speaks of elements by their marks: without any it can only scroll, and every demonstration fails."""
        if not dialect(self.model.dialect).look.marks:
            marked = " or ".join(name for name in DIALECTS if dialect(name).look.marks)
            raise ValueError(
                f"model.dialect is {self.model.dialect}, which shows no marks, and demonstrations need them: "
                f"choose {marked} (configs/proof-warm-up.yaml has settings that work)"
            )
        return self

    @property
    def tasks_file(self) -> Path:
        """The tasks to practise: both splits."""
        return self.folder / "tasks.parquet"

    @property
    def episodes(self) -> int:
        """Demonstrations of all kinds together."""
        return self.demonstrations + self.practice.shown * len(self.added_kinds)

    @property
    def added_kinds(self) -> tuple[str, ...]:
        """Kinds to practise that `kinds` does not show; none if it shows them all."""
        return tuple(sorted(set(self.practice.kinds or KINDS) - set(self.kinds or KINDS)))

    def rollout(self, shown: Path) -> RolloutSettings:
        """The demonstrations as a rollout of their own."""
        given: dict[str, object] = {name: getattr(self, name) for name in RolloutParts.model_fields}
        given |= {"run": self.folder / "demonstrations", "tasks": shown, "count": self.episodes}
        return RolloutSettings.model_validate(given | {"resume": True, "repeats": 1})
