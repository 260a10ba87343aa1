"""Front pages: the same blocks in six arrangements, one for each layout, and the blocks that only front pages have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.blocks import Block, Card, Link

_ORDERS: Final = (
    (0, 1, 2, 3, 4, 5),
    (0, 2, 1, 4, 3, 5),
    (1, 0, 3, 2, 4, 5),
    (0, 3, 1, 2, 5, 4),
    (0, 1, 4, 3, 2, 5),
    (1, 2, 0, 4, 3, 5),
)


def arranged(layout: int, *blocks: Block) -> tuple[Block, ...]:
    """Up to six blocks in the order of a layout."""
    return tuple(blocks[place] for place in _ORDERS[layout % len(_ORDERS)] if place < len(blocks))


@dataclass(frozen=True)
class Finder(Block):
    """A panel that narrows a list before it is opened: choices of the form (name, label, options), and a word if asked."""

    heading: str
    action: str
    choices: tuple[tuple[str, str, tuple[str, ...]], ...]
    submit: str = "Search"
    text: str = ""

    template = "fronts/finder.html"


@dataclass(frozen=True)
class Headlines(Block):
    """A front page of stories: one leads, some follow with pictures, the rest are a column of lines."""

    lead: Card
    second: tuple[Card, ...]
    latest: tuple[tuple[str, Link], ...]
    heading: str = "Latest"

    template = "fronts/headlines.html"
