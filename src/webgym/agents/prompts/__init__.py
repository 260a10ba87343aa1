"""System prompts as files: `<name>.md`, put together by dialects. `$width` and its like are filled in for the screen."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from string import Template


@cache
def text(name: str) -> str:
    """The prompt of that name."""
    return files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip()


@lru_cache(maxsize=256)
def compose(names: tuple[str, ...], *, width: int, height: int, last_x: int, last_y: int) -> str:
    """Prompts one after another, for a screen of this size in the family's own units."""
    whole = Template("\n\n".join(text(name) for name in names))
    return whole.substitute(width=width, height=height, last_x=last_x, last_y=last_y)


def reply_form(*, memory: bool, thinking: bool) -> tuple[str, ...]:
    """The names of the prompts that say how a reply is laid out."""
    return (*(("thinking",) if thinking else ()), "memory" if memory else "plain")
