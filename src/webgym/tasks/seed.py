"""A seed: a task as a source has it, before a rubric is written for it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from webgym.types import FactGroup, Wire


class Seed(Wire):
    """One row of a source in common words. `groups` is set when the source brings a rubric of its own."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    instruction: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
    website: str = ""
    hints: tuple[str, ...] = Field((), description="Steps or criteria of the source, for whoever writes the rubric.")
    groups: tuple[FactGroup, ...] = ()
    domain: str = ""
    subdomain: str = ""
    reference_answer: str | None = None
    parent_id: str | None = None
    whole: bool = Field(False, description="Comes with the children it has: it is not taken apart again.")
    evaluation_only: bool = Field(False, description="Must not enter a train split unless forced.")
    held_by: tuple[str, ...] = Field((), description="Sources that keep it for evaluation; empty: its own, if any.")
    confidential: bool = Field(False, description="Decrypted or gated: never to be written out unasked.")
    date_bound: bool = Field(False, description="Mentions dates that pass.")
    file: str = ""
    line: int | None = None
    licence: str = ""

    def __repr_args__(self) -> list[tuple[str | None, object]]:
        """A confidential seed's text stays out of reprs, and so out of logs and tracebacks."""
        if self.confidential:
            return [("id", self.id), ("source", self.source), ("confidential", True)]
        return list(super().__repr_args__())
