"""How a task can be solved, in steps a person would name. The oracle turns them into pixels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Go:
    """Type the address of a site (or of a page of it)."""

    host: str
    path: str = "/"


@dataclass(frozen=True)
class Search:
    """Use the search field of the header."""

    text: str


@dataclass(frozen=True)
class Open:
    """Follow a link by its text."""

    name: str


@dataclass(frozen=True)
class Press:
    """Press a button, a tab or what opens a section, by its text."""

    name: str


@dataclass(frozen=True)
class Fill:
    """Type into a field by its label, instead of what is there."""

    label: str
    text: str


@dataclass(frozen=True)
class Choose:
    """Choose an option of a list or a set of radio buttons."""

    label: str
    option: str


@dataclass(frozen=True)
class Tick:
    """Tick a box."""

    label: str


@dataclass(frozen=True)
class Slide:
    """Move a slider."""

    label: str
    value: float


@dataclass(frozen=True)
class Filter:
    """Narrow a list by one of its filters, whichever way this site draws it."""

    name: str
    option: str


@dataclass(frozen=True)
class SortBy:
    name: str


@dataclass(frozen=True)
class See:
    """Scroll until these texts are on screen."""

    texts: tuple[str, ...]


Move = Go | Search | Open | Press | Fill | Choose | Tick | Slide | Filter | SortBy | See
