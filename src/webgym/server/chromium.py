"""Which Chromium to run.

Invariants:
- What `find` returns has just answered `--version`: a path that exists is not yet a browser.
- A person's choice (the setting, or WEBGYM_CHROMIUM) is used or refused, never silently replaced by another.
- Every process started here has a deadline and dies with its whole group when that passes.

A headless shell comes before a full Chromium: it has no windows, extensions or profile services, so a process
starts faster and takes less memory. Debian's real binary comes before its launcher in /usr/bin: the launcher
stays in between as a `sh` process, so that killing it would leave the browser running.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from webgym.errors import BrowserError, BrowserMissing, ConfigError, WebGymError
from webgym.server.commands import run

Kind = Literal["headless-shell", "chromium", "chrome"]

PROBE_SECONDS = 20.0  # a Mac verifies an app's signature at its first start
DOWNLOAD_SECONDS = 300.0

NOT_LINKED = 127  # the dynamic loader's exit status when a library is missing

LEANER = "a headless shell, leaner than a full Chromium"
FULL = "no headless shell was found; a full Chromium works too but takes more memory"


@dataclass(frozen=True)
class Machine:
    """What the search depends on, so that a test can hand in a machine of its own."""

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    which: Callable[[str], str | None] = shutil.which
    home: Path = field(default_factory=Path.home)
    root: Path = Path("/")
    platform: str = sys.platform
    python: str = sys.executable
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    probe_seconds: float = PROBE_SECONDS
    download_seconds: float = DOWNLOAD_SECONDS


@dataclass(frozen=True)
class Chromium:
    """A browser that answered `--version`."""

    path: Path
    version: str
    kind: Kind
    why: str


@dataclass(frozen=True)
class Candidate:
    """One place that was looked at. `chromium` is there when it can be used, else `problem` says why not."""

    place: str
    path: Path | None
    chromium: Chromium | None
    problem: str | None


@dataclass(frozen=True)
class _Place:
    label: str
    path: Path | None  # None: nothing there
    kind: Kind
    why: str
    chosen: bool = False  # by a person
    absent: str = "not there"


def find(setting: Path | None = None, *, machine: Machine | None = None) -> Chromium:
    """The first usable browser. Raises ConfigError for a wrong choice, BrowserMissing when there is none."""
    machine = machine or Machine()
    broken: list[str] = []
    for place in _places(setting, machine):
        seen = _look(place, machine)
        if seen.chromium is not None:
            return seen.chromium
        if place.chosen:
            raise ConfigError(f"{place.label}: {seen.problem}. Name a Chromium that runs, or none to have one found.")
        if seen.path is not None:
            broken.append(f"  {seen.path}: {seen.problem}")
    found = "Found, but not usable:\n" + "\n".join(broken) + "\n" if broken else ""
    raise BrowserMissing(
        f"No Chromium that runs was found on this machine. {found}Run:\n  webgym browser install\n"
        "or name one with WEBGYM_CHROMIUM=/path/to/chromium. `webgym browser` lists the places looked at."
    )


def candidates(setting: Path | None = None, *, machine: Machine | None = None) -> list[Candidate]:
    """Every place, in the order of `find`, whether something was there or not."""
    machine = machine or Machine()
    return [_look(place, machine) for place in _places(setting, machine)]


def version(path: Path, *, within: float = PROBE_SECONDS) -> str:
    """Its answer to `--version`. Raises BrowserError when it does not run; only success is remembered."""
    try:
        return _version(path, path.stat().st_mtime_ns, within)
    except OSError as e:
        raise BrowserError(f"cannot be read: {e.strerror}") from e


@lru_cache(maxsize=64)
def _version(path: Path, changed: int, within: float) -> str:
    del changed  # a part of the key only: a browser that was updated is asked again
    done = run([str(path), "--version"], within=within)
    if done.code is None:
        raise BrowserError(f"gave no answer to --version in {within:g} s")
    if done.code == NOT_LINKED:
        raise BrowserError(f"does not start, shared libraries are missing ({done.last_line})")
    if done.code != 0:
        raise BrowserError(f"--version ended with exit status {done.code} ({done.last_line})")
    number = re.search(r"\d+(?:\.\d+){3}", done.output)
    if number is None:
        raise BrowserError("its --version names no version: not a Chromium")
    return number.group()


def _look(place: _Place, machine: Machine) -> Candidate:
    if place.path is None:
        return Candidate(place.label, None, None, place.absent)
    if not place.chosen and _is_snap(place.path):
        problem = "a snap: it is confined to folders of its own and cannot use the server's profiles"
        return Candidate(place.label, place.path, None, problem)
    try:
        answer = version(place.path, within=machine.probe_seconds)
    except BrowserError as e:
        return Candidate(place.label, place.path, None, str(e))
    return Candidate(place.label, place.path, Chromium(place.path, answer, place.kind, place.why), None)


def _is_snap(path: Path) -> bool:
    """Ubuntu's `chromium-browser` is a script that hands over to the snap, or tells to install it."""
    real = path.resolve()
    if real.name == "snap" or real.is_relative_to("/snap"):
        return True
    with suppress(OSError), real.open("rb") as file:
        head = file.read(4096)
        return head.startswith(b"#!") and b"/snap/bin/" in head
    return False


def _places(setting: Path | None, machine: Machine) -> Iterator[_Place]:
    named = machine.env.get("WEBGYM_CHROMIUM")
    if setting is not None:
        yield _chosen("the setting", setting, machine)
    if named:
        yield _chosen("WEBGYM_CHROMIUM", Path(named), machine)

    cache = playwright_cache(machine)
    shells = playwright_shells(cache)
    for shell in shells:
        yield _Place("Playwright's cache", shell, "headless-shell", f"Playwright's: {LEANER}")
    if not shells:
        yield _Place(f"Playwright's cache, {cache}", None, "headless-shell", "", absent="no headless shell")

    for lib in ("usr/lib/chromium/chromium-headless-shell", "usr/lib64/chromium-browser/headless_shell"):
        yield _at(machine.root / lib, "headless-shell", f"the system's: {LEANER}", machine)
    for name in ("chromium-headless-shell", "chrome-headless-shell"):
        yield _at(name, "headless-shell", f"on PATH: {LEANER}", machine)

    yield _at(machine.root / "usr/lib/chromium/chromium", "chromium", FULL, machine)
    for name in ("chromium", "chromium-browser"):
        yield _at(name, "chromium", FULL, machine)
    for name in ("google-chrome-stable", "google-chrome"):
        yield _at(name, "chrome", FULL, machine)

    if machine.platform == "darwin":
        for folder in (machine.root / "Applications", machine.home / "Applications"):
            yield _at(folder / "Chromium.app/Contents/MacOS/Chromium", "chromium", FULL, machine)
            yield _at(folder / "Google Chrome.app/Contents/MacOS/Google Chrome", "chrome", FULL, machine)


def _chosen(label: str, path: Path, machine: Machine) -> _Place:
    path = path.expanduser()
    name = path.name.lower()
    kind: Kind = "chromium"
    if name in {"headless_shell", "chrome-headless-shell", "chromium-headless-shell"}:
        kind = "headless-shell"
    elif "chrome" in name:
        kind = "chrome"
    absent = f"{path} is not an executable file" if path.exists() else f"{path} does not exist"
    found = machine.which(str(path))
    return _Place(
        f"{label}, {path}",
        Path(found).absolute() if found else None,
        kind,
        f"named by {label}",
        chosen=True,
        absent=absent,
    )


def _at(where: Path | str, kind: Kind, why: str, machine: Machine) -> _Place:
    """A file, or a name to be found on PATH."""
    found = machine.which(str(where))
    label = str(where) if isinstance(where, Path) else f"{where} on PATH"
    return _Place(label, Path(found) if found else None, kind, why)


def playwright_cache(machine: Machine) -> Path:
    """Where Playwright keeps its browsers."""
    named = machine.env.get("PLAYWRIGHT_BROWSERS_PATH", "0")
    if named not in ("", "0"):  # 0 means "inside the package", where a temporary venv would lose it
        return Path(named).absolute()
    if machine.platform == "darwin":
        return machine.home / "Library/Caches/ms-playwright"
    return Path(machine.env.get("XDG_CACHE_HOME") or machine.home / ".cache") / "ms-playwright"


def playwright_shells(cache: Path) -> list[Path]:
    """Newest revision first. The folder below it names the platform and has changed over the years."""
    names = ("chrome-headless-shell", "headless_shell")
    found = [path for name in names for path in cache.glob(f"chromium_headless_shell-*/*/{name}")]

    def revision(path: Path) -> int:
        number = path.parent.parent.name.rpartition("-")[2]
        return int(number) if number.isdigit() else -1

    return sorted((path for path in found if os.access(path, os.X_OK)), key=revision, reverse=True)


def show(setting: Path | None = None, *, machine: Machine | None = None) -> int:
    """`webgym browser`: every place looked at and the one chosen. 0 when there is one."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    console = Console()
    columns = [Column(title, overflow="fold") for title in ("looked at", "outcome")]
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for seen in candidates(setting, machine=machine):
        if seen.chromium is not None:
            outcome = f"[green]{seen.chromium.version}[/]  {escape(str(seen.path))}"
        else:
            outcome = f"[{'red' if seen.path else 'dim'}]{escape(seen.problem or '')}[/]"
        table.add_row(escape(seen.place), outcome)
    console.print(table)
    console.print()
    try:
        chosen = find(setting, machine=machine)
    except WebGymError as e:
        console.print(f"[red]{escape(str(e))}[/]")
        return 1
    console.print(f"[bold]{escape(str(chosen.path))}[/] {chosen.version} ({chosen.kind})")
    console.print(escape(chosen.why), style="dim")
    return 0
