"""The rubric judge at work on a run: its endpoints open, its replies stored beside the run, the block list told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webgym.endpoint import EndpointSettings
from webgym.errors import WebGymError
from webgym.judge.models import Meters, opened
from webgym.judge.settings import JudgeSettings
from webgym.rollout.blocking import BlockList
from webgym.store import Run

if TYPE_CHECKING:
    from webgym.judge.rubric import RubricJudge

CACHE: Final = "judge-replies"
BLOCKED: Final = "blocked.jsonl"


@asynccontextmanager
async def rubric_judge(
    settings: JudgeSettings,
    run: Run,
    *,
    blocklist: BlockList | None = None,
    cache: Path | None = None,
    rubric: str = "",
    meters: Meters | None = None,
    trouble: Callable[[WebGymError], None] = lambda _: None,
) -> AsyncIterator[RubricJudge]:
    """A judge of the run's episodes, until the block ends. Its `models.spent()` tells what it has cost.

    Judges that are opened with the same `meters` have one budget together."""
    from webgym.judge.rubric import RubricJudge

    def blocked(website: str, reason: str, at: float) -> None:
        if blocklist is not None:
            blocklist.add(website, reason, at=at)

    async with opened(with_cache(settings, cache or run.path.parent / CACHE), meters=meters) as models:
        yield RubricJudge(settings, models, run.images.get, rubric=rubric, blocked=blocked, trouble=trouble)


def with_cache(settings: JudgeSettings, folder: Path) -> JudgeSettings:
    """The same judge with its replies stored there, where a model has no folder of its own.

    A reply that could not be used is asked for again: what is unscorable today may be scored tomorrow."""

    def stored(endpoint: EndpointSettings) -> EndpointSettings:
        return endpoint.model_copy(update={"cache": endpoint.cache or folder, "reuse": "usable"})

    changes: dict[str, object] = {
        name: stored(endpoint) for name, endpoint in settings.endpoints() if name != "cascade.endpoint"
    }
    if settings.cascade is not None:
        changes["cascade"] = settings.cascade.model_copy(update={"endpoint": stored(settings.cascade.endpoint)})
    return settings.model_copy(update=changes)
