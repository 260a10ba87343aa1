"""Which seeds are worth a rubric: by language, by length, by date. Every refusal has a name and is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from webgym.tasks.language import language
from webgym.tasks.seed import Seed
from webgym.types import Wire

Refusal = Literal["language", "too short", "too long", "date-bound", "no website"]


class SeedRules(Wire):
    """What a seed must be. The defaults keep English of any sensible length."""

    languages: tuple[str, ...] = Field(("en",), description="Languages to keep; none for all. Undecidable text is kept.")
    min_characters: Annotated[int, Field(ge=1)] = 10
    max_characters: Annotated[int, Field(ge=1, le=20_000)] = 4_000
    date_bound: bool = Field(True, description="Keep tasks that name calendar dates (they are flagged either way).")
    without_website: bool = Field(True, description="Keep tasks that name no website.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_characters > self.max_characters:
            raise ValueError(f"min_characters {self.min_characters} is over max_characters {self.max_characters}")
        return self

    def refusal(self, seed: Seed) -> Refusal | None:
        """Why a seed is left out, or None."""
        length = len(seed.instruction)
        if length < self.min_characters:
            return "too short"
        if length > self.max_characters:
            return "too long"
        if not self.date_bound and seed.date_bound:
            return "date-bound"
        if not self.without_website and not seed.website:
            return "no website"
        if self.languages and language(seed.instruction) not in (*self.languages, "und"):
            return "language"
        return None


def screen(seeds: Iterable[Seed], rules: SeedRules, refused: Counter[Refusal]) -> Iterator[Seed]:
    """The seeds that pass; `refused` counts the others by reason."""
    for seed in seeds:
        reason = rules.refusal(seed)
        if reason is None:
            yield seed
        else:
            refused[reason] += 1
