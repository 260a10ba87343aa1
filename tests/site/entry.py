"""One line of the index page: a path somebody may open, and what happens there."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    group: str
    path: str
    does: str
    ordinary: bool = True
    """Whether a plain GET answers 200 at once; the smoke test asks all that do."""
