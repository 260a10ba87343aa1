"""The tasks of MiniWoB++: every page that ships, with any seed.

An id is `miniwob:<name>:<seed>` and fixes the whole problem. Seeds below `TEST_SEEDS` are for training, the others for
tests; for a test seed the page is told `mode=test`, and the few tasks that keep data apart for tests then use it.
What a page asks for is made by its script from the seed, so no one knows it before a browser runs the page: the task's
instruction sends the agent to the words on the page, and the record keeps them (`Record.utterance`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from webgym.errors import ConfigError
from webgym.types import FactGroup, Provenance, Split, Task
from webgym.worlds.miniwob import package
from webgym.worlds.miniwob.record import MAX_SEED, Mode
from webgym.worlds.miniwob.server import Asked, Zoom, address

SOURCE = "miniwob"
TEST_SEEDS = 1_000_000_000
"""The first seed that is kept for tests."""

HELD_OUT = frozenset(
    {"click-pie", "click-shades", "drag-shapes", "find-word", "grid-coordinate", "identify-shape", "login-user",
     "navigate-tree", "order-food", "phone-book", "read-table", "resize-textarea", "search-engine", "simple-arithmetic",
     "social-media", "terminal", "text-transform", "tic-tac-toe", "use-autocomplete", "use-slider",
     "flight.Alaska"}
)  # fmt: skip
"""Families that training never sees when the split is by task."""

REAL_TIME = frozenset({"button-delay", "chase-circle", "hover-shape", "moving-items", "simon-says"})
"""Tasks that run on the clock while the agent thinks; the package ships them as pages and registers no environment for them.
`chase-circle` pays a little for doing nothing, and `hover-shape` never pays: they are left out unless asked for."""

_VARIANT = re.compile(
    r"(-(\d+|nodelay|easy|medium|hard|large|soft|transfer|popup|grid|all|some|dynamic|auto)|(?<=^email-inbox)-.+)+$"
)


def names() -> tuple[str, ...]:
    """Every task of the installed package."""
    return package.names()


def family(name: str) -> str:
    """The name without what tells variants apart: `click-tab` for click-tab-2-hard; all mailboxes are one."""
    return _VARIANT.sub("", name)


def held_out(name: str) -> bool:
    return family(name) in HELD_OUT


@dataclass(frozen=True)
class Identity:
    """What an id says."""

    name: str
    seed: int

    @property
    def split(self) -> Split:
        return "test" if self.seed >= TEST_SEEDS else "train"

    @property
    def mode(self) -> Mode:
        return self.split


def identify(task_id: str) -> Identity:
    source, _, rest = task_id.partition(":")
    name, _, seed = rest.partition(":")
    if source != SOURCE or not name or not re.fullmatch(r"[0-9]{1,10}", seed) or int(seed) > MAX_SEED:
        raise ConfigError(f"{task_id!r:.200} is no id of a MiniWoB++ task, such as miniwob:click-test:7")
    return Identity(name, int(seed))


def task(name: str, seed: int, *, origin: str, zoom: Zoom = 1) -> Task:
    """One problem on the server at `origin`. `website` is the whole address: that is where the episode starts."""
    if name not in package.names():
        raise ConfigError(f"MiniWoB++ has no task {name!r:.100}")
    identity = identify(f"{SOURCE}:{name}:{seed}")
    beside = package.is_flight(name)
    where = "in the table beside the booking site" if beside else "at the top of the page, on yellow"
    return Task(
        id=f"{SOURCE}:{name}:{seed}",
        source=SOURCE,
        instruction=(
            f"Do what the page asks. What it asks is written {where}. The page notices by itself when the task is over, "
            "and says so without telling the result; then end the episode."
        ),
        website=address(origin, name, Asked(seed=seed, mode=identity.mode, zoom=zoom)),
        domain="MiniWoB++",
        subdomain=family(name),
        groups=(FactGroup(id=0, description=name, facts=(f"The page rewards what was done in {name} with seed {seed}.",)),),
        split=identity.split,
        provenance=Provenance(file=f"{name}.html", licence="MIT"),
    )


def tasks(
    split: Split,
    *,
    origin: str,
    seeds: int = 1,
    first: int = 0,
    by: Literal["seeds", "tasks"] = "seeds",
    zoom: Zoom = 1,
    real_time: bool = False,
) -> Iterator[Task]:
    """`seeds` problems of each task, from the `first` seed of the split on.

    By seeds, both splits have every task and no seed in common. By tasks, test also has only the held-out families and
    train only the others.
    """
    base = TEST_SEEDS if split == "test" else 0
    if first < 0 or base + first + seeds > (MAX_SEED + 1 if split == "test" else TEST_SEEDS):
        raise ConfigError(f"seeds {first} to {first + seeds - 1} do not fit into the {split} split")
    chosen = [name for name in names() if real_time or name not in REAL_TIME]
    if by == "tasks":
        chosen = [name for name in chosen if held_out(name) == (split == "test")]
    for name in chosen:
        for seed in range(base + first, base + first + seeds):
            yield task(name, seed, origin=origin, zoom=zoom)
