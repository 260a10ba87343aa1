"""Where the installed package `miniwob` keeps its pages, and their names.

The package is found, never imported: its Python half wants Selenium and Gymnasium, which nothing here needs.
A task is named as the package names it: `click-test` for html/miniwob/click-test.html, `flight.AA` for html/flight/AA.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from webgym.errors import ConfigError

FLIGHT = "flight."


@cache
def html_folder() -> Path:
    spec = find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("MiniWoB++ is not installed: pip install 'open-webgym[miniwob]'")
    folder = Path(spec.submodule_search_locations[0]) / "html"
    if not (folder / "core" / "core.js").is_file():
        raise ConfigError(f"the installed package miniwob has no pages under {folder}; version 1.1 ships them")
    return folder


@cache
def names() -> tuple[str, ...]:
    """Every task whose page ships, in the order of the alphabet."""
    folder = html_folder()
    plain = (page.stem for page in (folder / "miniwob").glob("*.html"))
    flights = (FLIGHT + page.parent.name for page in (folder / "flight").glob("*/wrapper.html"))
    return tuple(sorted((*plain, *flights)))


def page(name: str) -> str:
    """The HTML of a task as the package ships it."""
    if name not in names():
        raise ConfigError(f"MiniWoB++ has no task {name!r:.100}")
    folder = html_folder()
    file = (
        folder / "flight" / name.removeprefix(FLIGHT) / "wrapper.html"
        if is_flight(name)
        else folder / "miniwob" / f"{name}.html"
    )
    return file.read_text(encoding="utf-8")


def is_flight(name: str) -> bool:
    """Whether the task is a whole booking site in a frame, with its instruction beside it."""
    return name.startswith(FLIGHT)
