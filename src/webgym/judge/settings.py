"""Which models judge, what they are shown, and how sure they must be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import CliSuppress

from webgym.endpoint import EndpointSettings

DIGITS: Final = 12
Another = CliSuppress[EndpointSettings | None]  # in files, and left out of the command's help, which is long enough


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class EvidenceSettings(_Part):
    """Which screenshots are shown, and how large."""

    tolerance: Annotated[int, Field(ge=0, le=255)] = Field(
        10,
        description="Screenshots are one if no spot differs by more grey levels than this; 0: only if bytes are equal.",
    )
    straight: Annotated[int, Field(ge=1, le=48)] = Field(
        6, description="So many distinct screenshots are all shown at once, without a first look."
    )
    batch: Annotated[int, Field(ge=1, le=20)] = Field(16, description="Screenshots in one call of the first look.")
    look_width: Annotated[int, Field(ge=64, le=4096)] | None = Field(
        640, description="Width of screenshots in the first look, in pixels; none: as they are."
    )
    width: Annotated[int, Field(ge=64, le=4096)] | None = Field(None, description="The same when the criteria are judged.")
    relevance: Annotated[int, Field(ge=1, le=5)] = Field(3, description="A key screenshot has at least this, of 5.")
    sure_of_blocking: Annotated[int, Field(ge=0, le=100)] = Field(
        85, description="The first look ends the judging if it is at least this sure that the website refused, in percent."
    )
    most: Annotated[int, Field(ge=1, le=48)] = Field(12, description="Key screenshots at most; the last is always one.")


class Cascade(_Part):
    """A small model first. It decides where it is sure; the endpoint decides the rest."""

    endpoint: EndpointSettings
    accept: Annotated[int, Field(ge=0, le=100)] = Field(
        95, description="Everything is met: believed if it is at least this sure of each part, in percent."
    )
    reject: Annotated[int, Field(ge=0, le=100)] = Field(
        85, description="Something is not met: believed if it is at least this sure of one such part."
    )


class JudgeSettings(_Part):
    """The rubric judge."""

    endpoint: EndpointSettings = EndpointSettings()
    cascade: CliSuppress[Cascade | None] = Field(None, description="A small model that is asked first.")
    look: Another = Field(None, description="Another model for the first look; the small one if unset.")
    claims: Another = Field(None, description="Another model for the answer's claims; needs joined: false.")
    facts: Another = Field(None, description="Another model for the facts; needs joined: false.")
    joined: bool = Field(True, description="Ask for claims and facts in one call.")
    facts_per_call: Annotated[int, Field(ge=1, le=100)] = Field(16, description="1: a call for each fact.")
    early_exit: bool = Field(
        True, description="Stop when the reward is certainly 0; turn it off for partial credit, which wants every fact."
    )
    evidence: EvidenceSettings = EvidenceSettings()

    def endpoints(self) -> Iterator[tuple[str, EndpointSettings]]:
        """Every model there is, by the name of its setting."""
        yield "endpoint", self.endpoint
        if self.cascade is not None:
            yield "cascade.endpoint", self.cascade.endpoint
        for name, other in (("look", self.look), ("claims", self.claims), ("facts", self.facts)):
            if other is not None:
                yield name, other

    @model_validator(mode="after")
    def _cold(self) -> Self:
        for name, endpoint in self.endpoints():
            if endpoint.sampling.temperature != 0:
                raise ValueError(f"{name}.sampling.temperature is {endpoint.sampling.temperature}; a judge's must be 0")
            if "temperature" in endpoint.extra_body:
                raise ValueError(f"{name}.extra_body must not set the temperature, which is 0")
        return self

    @model_validator(mode="after")
    def _one_model_a_call(self) -> Self:
        if self.joined and (self.claims is not None or self.facts is not None):
            raise ValueError("claims or facts names a model of its own, but joined is true: one call has one model")
        return self

    def identity(self, prompts: str) -> str:
        """Who this judge is: models in words, prompts and all that can change a verdict as digests.

        Where a model is reached, how hard it is asked and what it costs change nothing of that."""
        models = [endpoint.model for _, endpoint in self.endpoints()]
        matters = self.model_dump(mode="json", exclude={"endpoint", "cascade", "look", "claims", "facts"})
        asked = [
            [name, endpoint.model, endpoint.sampling.model_dump(), endpoint.structure, sorted(endpoint.extra_body.items())]
            for name, endpoint in self.endpoints()
        ]
        sure = (self.cascade.accept, self.cascade.reject) if self.cascade is not None else None
        digest = hashlib.sha256(repr((sorted(matters.items()), asked, sure)).encode()).hexdigest()[:DIGITS]
        return f"rubric {'+'.join(dict.fromkeys(models))} prompts:{prompts} settings:{digest}"
