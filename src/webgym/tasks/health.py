"""Which websites can be visited: one line a website, with the date it was last seen.

A sampler asks `Health.usable` and leaves out what is dead, and what blocks automation for as long as a block lasts. A
website nobody has visited counts as usable, so that an old file never empties a task set.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from pydantic import AwareDatetime, ValidationError

from webgym.errors import ConfigError
from webgym.tasks.files import Staged
from webgym.tasks.websites import site
from webgym.types import Wire

log = logging.getLogger(__name__)

BLOCK: Final = timedelta(hours=12)

State = Literal["reachable", "dead", "blocked", "redirected"]


class Visited(Wire):
    """How a website was found."""

    website: str
    state: State
    at: AwareDatetime
    status: int | None = None
    url: str = ""
    detail: str = ""


def now() -> datetime:
    return datetime.now(UTC)


def read_health(path: Path) -> dict[str, Visited]:
    """The latest visit of each site. A line that a kill has torn is skipped."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as e:
        raise ConfigError(f"{path} cannot be read: {e.strerror}") from e
    found: dict[str, Visited] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            visited = Visited.model_validate_json(line)
        except ValidationError:
            log.warning("%s:%d is not a visit; skipped", path, number)
            continue
        known = found.get(site(visited.website))
        if known is None or known.at <= visited.at:
            found[site(visited.website)] = visited
    return found


def write_health(path: Path, visits: Iterable[Visited]) -> None:
    """Write the file anew, in the order of the sites; it appears whole."""
    with Staged(path) as file:
        for visited in sorted(visits, key=lambda one: site(one.website)):
            file.write(visited.model_dump_json(exclude_defaults=True).encode() + b"\n")


class Health:
    """The health file as samplers use it."""

    def __init__(
        self,
        visits: Mapping[str, Visited],
        *,
        refuse: Iterable[State] = ("dead", "blocked"),
        block: timedelta = BLOCK,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._visits, self._refuse, self._block, self._clock = visits, frozenset(refuse), block, clock

    @classmethod
    def open(cls, path: str | Path) -> Health:
        return cls(read_health(Path(path)))

    def usable(self, website: str) -> bool:
        """Whether a task on this website is worth a browser."""
        visited = self._visits.get(site(website))
        if visited is None or visited.state not in self._refuse:
            return True
        return visited.state == "blocked" and self._clock() - visited.at > self._block
