"""Actions of other systems, in episodes that were imported: kept in their own words as the reply of a step."""

from __future__ import annotations

from typing import Final

from webgym.types import Reply, Step

FOREIGN: Final = "an action of another system, kept in its own words"
UNRECORDED: Final = "nothing is recorded"


def foreign_step(index: int, screenshot: str | None, url: str, words: str) -> Step:
    """A step of which the action is known in words only, or not at all."""
    return Step(
        index=index,
        screenshot=screenshot,
        url=url,
        title="",
        reply=Reply(text=words) if words else None,
        invalid=FOREIGN if words else UNRECORDED,
    )


def foreign_words(step: Step) -> str | None:
    """What was done in a step of another system; None if the step is one of ours."""
    if step.invalid not in (FOREIGN, UNRECORDED):
        return None
    return step.reply.text if step.reply is not None else UNRECORDED
