"""How an engine works: how many at a time, how far an episode may go, when to give up. Defaults are those of the paper."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webgym.types import Split, Task, Url

Cap = Annotated[int, Field(ge=1, le=1000)]
Places = Annotated[int, Field(ge=1, le=4096)]
Pause = Annotated[float, Field(ge=0, le=86_400)]

# Why a record without an episode file may be taken back when a run is resumed.
Again = Literal["shutdown", "policy_unavailable", "circuit_open", "disk_full", "straggler", "blocked_site", "infra"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Caps(_Part):
    """How many steps an episode may take, by difficulty."""

    easy: Cap
    medium: Cap
    hard: Cap


TRAIN_CAPS: Final = Caps(easy=10, medium=20, hard=30)
TEST_CAPS: Final = Caps(easy=30, medium=50, hard=70)


class StepCaps(_Part):
    """Shorter training horizons learn better; a test gives more time."""

    train: Caps = TRAIN_CAPS
    test: Caps = TEST_CAPS

    def of(self, task: Task) -> int:
        caps: Caps = getattr(self, task.split)
        limit: int = getattr(caps, task.band)
        return limit


class GateSizes(_Part):
    """How many may do the same thing at once. More sessions may be held than are stepped at a time."""

    allocate: Places = 8
    navigate: Places = 16
    step: Places = 32
    model: Places = 256
    judge: Places = 16


class SessionOptions(_Part):
    """The browser of an episode."""

    width: Annotated[int, Field(ge=64, le=4096)] = 1280
    height: Annotated[int, Field(ge=64, le=4096)] = 768
    ttl: Annotated[float, Field(gt=0, le=86_400)] = Field(60.0, description="Seconds its lease lasts; it is renewed.")
    lifetime: Annotated[float, Field(gt=0, le=86_400)] = Field(7200.0, description="Seconds after which it ends regardless.")
    wait: Annotated[float, Field(ge=0, le=300)] = Field(60.0, description="Seconds to queue at the server for a free one.")
    patience: Pause = Field(3600.0, description="Seconds to ask again, after that, while the server is full.")
    blank: Url = Field("about:blank", description="Where a task starts that names no website.")


class Stragglers(_Part):
    """Once this share of an iteration has ended, the rest get this many seconds."""

    share: Annotated[float, Field(gt=0, le=1)] = 0.95
    grace: Pause = 30.0


class Breaker(_Part):
    """When most of the last outcomes are faults of ours, or the start pages of as many websites in a row cannot be loaded,
    to go on is to waste the rest of the plan."""

    last: Annotated[int, Field(ge=1, le=10_000)] = Field(20, description="How many outcomes are looked at.")
    share: Annotated[float, Field(gt=0, le=1)] = Field(0.6, description="How many of them may fail at most.")


class DiskLimits(_Part):
    """What to do about a disk that is nearly full: admit nobody until there is room again."""

    reserve: Annotated[int, Field(ge=0)] = Field(256, description="MB that must be free to admit an episode.")
    patience: Pause = Field(3600.0, description="Seconds an episode under way waits for room before it is given up.")
    poll: Annotated[float, Field(gt=0, le=60)] = 1.0


class EngineSettings(_Part):
    """The rollout engine."""

    slots: Places = Field(32, description="Episodes under way at a time.")
    gates: GateSizes = GateSizes()
    caps: StepCaps = StepCaps()
    session: SessionOptions = SessionOptions()
    retries: Annotated[int, Field(ge=0, le=20)] = Field(2, description="New sessions after infrastructure failures.")
    backoff: Pause = Field(1.0, description="Seconds before the first retry; doubles.")
    decision: Annotated[float, Field(gt=0)] = Field(3600.0, description="Seconds a decision may take, whatever the agent's.")
    stragglers: Stragglers | None = Field(Stragglers(), description="Not applied to test sets: they are walked whole.")
    breaker: Breaker | None = Breaker()
    disk: DiskLimits = DiskLimits()
    grace: Pause = Field(60.0, description="Seconds that episodes under way have after the first SIGTERM.")
    block_hours: Annotated[float, Field(ge=0)] = Field(12.0, description="How long a website that blocks us is left alone.")
    redo: tuple[Again, ...] = Field(
        ("shutdown", "policy_unavailable", "circuit_open", "disk_full", "infra"),
        description="What a resumed run attempts again.",
    )

    @model_validator(mode="after")
    def _lifetime_covers_the_lease(self) -> Self:
        if self.session.lifetime < self.session.ttl:
            raise ValueError(f"session.lifetime is {self.session.lifetime:g}, less than session.ttl, {self.session.ttl:g}")
        return self

    def stragglers_of(self, split: Split) -> Stragglers | None:
        return self.stragglers if split == "train" else None
