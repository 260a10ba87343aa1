"""Which Chromium to run, and how to get one.

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
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from webgym.errors import BrowserError, BrowserMissing, ConfigError, WebGymError

Kind = Literal["headless-shell", "chromium", "chrome"]
Say = Callable[[str], None]

PROBE_SECONDS = 20.0  # a Mac verifies an app's signature at its first start
DOWNLOAD_SECONDS = 300.0
PACKAGES_SECONDS = 600.0
STILL_SECONDS = 15.0  # a person is told at least this often that a long command still runs

# Playwright tries five times, each with this limit on a silent connection: a network that swallows packets
# costs half a minute, not the two and a half of Playwright's own limit.
DOWNLOAD_SILENCE_MS = "6000"

CANNOT_START, NOT_LINKED = (
    126,
    127,
)  # exit statuses: of a shell, and of the dynamic loader when a library is missing

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
    done = _run([str(path), "--version"], within=within)
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
    shells = _playwright_shells(cache)
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


def _playwright_shells(cache: Path) -> list[Path]:
    """Newest revision first. The folder below it names the platform and has changed over the years."""
    names = ("chrome-headless-shell", "headless_shell")
    found = [path for name in names for path in cache.glob(f"chromium_headless_shell-*/*/{name}")]

    def revision(path: Path) -> int:
        number = path.parent.parent.name.rpartition("-")[2]
        return int(number) if number.isdigit() else -1

    return sorted((path for path in found if os.access(path, os.X_OK)), key=revision, reverse=True)


@dataclass(frozen=True)
class _Manager:
    """A package manager: its command, what refreshes its lists, and the packages to try in turn."""

    command: str
    refresh: tuple[str, ...] | None
    installs: tuple[tuple[str, ...], ...]
    needs_root: bool = True

    def by_hand(self, *, is_root: bool) -> str:
        sudo = "sudo " if self.needs_root and not is_root else ""
        steps = ((self.refresh,) if self.refresh else ()) + self.installs[:1]
        return " && ".join(sudo + " ".join(step) for step in steps)


# Debian recommends half a desktop with Chromium, but without a font every page is blank.
_APT = ("apt-get", "install", "-y", "--no-install-recommends", "fonts-liberation")
_MANAGERS = (
    _Manager(
        "apt-get",
        ("apt-get", "update"),
        ((*_APT, "chromium-headless-shell"), (*_APT, "chromium", "chromium-sandbox")),
    ),
    _Manager("dnf", None, (("dnf", "install", "-y", "chromium-headless"), ("dnf", "install", "-y", "chromium"))),
    _Manager("pacman", None, (("pacman", "-Sy", "--noconfirm", "chromium"),)),
    _Manager("apk", None, (("apk", "add", "chromium"),)),
    _Manager("brew", None, (("brew", "install", "--cask", "chromium"),), needs_root=False),
)


def install(say: Say, *, machine: Machine | None = None) -> Chromium:
    """The browser that is there, else Playwright's headless shell, else the system's package.

    Raises BrowserMissing with the command to run by hand when neither can be had.
    """
    machine = machine or Machine()
    with suppress(BrowserMissing):
        chromium = find(machine=machine)
        say(f"Chromium {chromium.version} is here already: {chromium.path}")
        return chromium
    installed = _from_playwright(say, machine) or _from_packages(say, machine)
    if installed is None:
        raise BrowserMissing(f"No Chromium could be installed. Run:\n  {_by_hand(machine)}")
    say(f"Chromium {installed.version} is ready: {installed.path}")
    return installed


def _by_hand(machine: Machine) -> str:
    """The command for a person. A shell in Playwright's cache that does not run misses only libraries."""
    python = machine.python
    if _playwright_shells(playwright_cache(machine)):
        sudo = "" if machine.is_root else "sudo "
        then = f"{sudo}{python} -m playwright install-deps chromium"
        return f"{python} -m pip install playwright && {then}"
    for manager in _MANAGERS:
        if machine.which(manager.command):
            return manager.by_hand(is_root=machine.is_root)
    then = f"{python} -m playwright install --with-deps --only-shell chromium"
    return f"{python} -m pip install playwright && {then}"


def _from_playwright(say: Say, machine: Machine) -> Chromium | None:
    with tempfile.TemporaryDirectory(prefix="webgym-playwright-") as folder:
        ends = time.monotonic() + machine.download_seconds
        python = _python_with_playwright(Path(folder), ends, say, machine)
        if python is None:
            return None
        say("Downloading Playwright's headless shell (about 100 MB)")
        env = {
            "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": DOWNLOAD_SILENCE_MS,
            **machine.env,
            "PLAYWRIGHT_BROWSERS_PATH": str(playwright_cache(machine)),
        }
        shell = [python, "-m", "playwright", "install", "--only-shell", "chromium"]
        done = _run(shell, within=ends - time.monotonic(), env=env, say=say)
        if done.code != 0:
            say(f"The download did not work: {done.ending}")
        if not _playwright_shells(playwright_cache(machine)):
            return None
        with suppress(BrowserMissing):
            return find(machine=machine)
        say("It does not start yet: libraries of the system are missing")
        if not (machine.is_root or _sudo_asks_nothing(machine)):
            return None
        libraries = [python, "-m", "playwright", "install-deps", "chromium"]
        done = _run(libraries, within=PACKAGES_SECONDS, env=env, say=say)
        if done.code != 0:
            say(f"They could not be installed: {done.ending}")
        with suppress(BrowserMissing):
            return find(machine=machine)
    return None


def _python_with_playwright(folder: Path, ends: float, say: Say, machine: Machine) -> str | None:
    """This Python when it has Playwright, else that of a venv made for the occasion."""

    def run(*argv: str) -> _Done:
        return _run(argv, within=ends - time.monotonic(), env=machine.env, say=say)

    if run(machine.python, "-c", "import playwright").code == 0:
        return machine.python
    say("Fetching Playwright into a temporary venv")
    python = str(folder / "bin" / "python")
    for step in (
        (machine.python, "-m", "venv", str(folder)),
        (python, "-m", "pip", "install", "-qq", "playwright"),
    ):
        done = run(*step)
        if done.code != 0:
            say(f"Playwright could not be fetched: {done.ending}")
            return None
    return python


def _from_packages(say: Say, machine: Machine) -> Chromium | None:
    env = {**machine.env, "DEBIAN_FRONTEND": "noninteractive"}
    for manager in _MANAGERS:
        if machine.which(manager.command) is None:
            continue
        sudo: tuple[str, ...] = ()
        if manager.needs_root and not machine.is_root:
            if not _sudo_asks_nothing(machine):
                say(f"{manager.command} needs root, and sudo would ask for a password")
                continue
            sudo = ("sudo", "-n")
        if manager.refresh is not None:
            say(f"Running {' '.join(manager.refresh)}")
            _run(_resolved((*sudo, *manager.refresh), machine), within=PACKAGES_SECONDS, env=env, say=say)
        for argv in manager.installs:
            say(f"Running {' '.join(argv)}")
            done = _run(_resolved((*sudo, *argv), machine), within=PACKAGES_SECONDS, env=env, say=say)
            if done.code != 0:
                say(f"It did not work: {done.ending}")
            with suppress(BrowserMissing):
                return find(machine=machine)
    return None


def _sudo_asks_nothing(machine: Machine) -> bool:
    if machine.which("sudo") is None:
        return False
    return _run(_resolved(("sudo", "-n", "true"), machine), within=PROBE_SECONDS, env=machine.env).code == 0


def _resolved(argv: Sequence[str], machine: Machine) -> list[str]:
    return [machine.which(argv[0]) or argv[0], *argv[1:]]


@dataclass(frozen=True)
class _Done:
    code: int | None  # None: it was killed at its deadline
    output: str

    @property
    def last_line(self) -> str:
        lines = [line.strip() for line in self.output.splitlines()]
        told = [line for line in lines if line and not line.startswith("at ")]  # below the stack of a Node program
        return told[-1][:200] if told else "no output"

    @property
    def ending(self) -> str:
        return "out of time" if self.code is None else f"exit status {self.code} ({self.last_line})"


def _run(argv: Sequence[str], *, within: float, env: Mapping[str, str] | None = None, say: Say | None = None) -> _Done:
    """Run to the end or to the deadline."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a launcher's children die with it
        )
    except OSError as e:
        return _Done(CANNOT_START, e.strerror or type(e).__name__)
    try:
        while (left := within - (time.monotonic() - began)) > 0:
            try:
                output, _ = process.communicate(timeout=min(left, STILL_SECONDS))
                return _Done(process.returncode, output)
            except subprocess.TimeoutExpired:
                if say is not None:
                    say(f"  still running, {time.monotonic() - began:.0f} s")
        return _Done(None, "")
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[str]) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # PermissionError: it runs as root, through sudo
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
    if process.stdout is not None:
        process.stdout.close()


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


def run_install(*, machine: Machine | None = None) -> int:
    """`webgym browser install`. 0 when there is a browser at the end."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(soft_wrap=True)  # a command to copy must stay on its line
    try:
        install(lambda text: console.print(escape(text)), machine=machine)
    except WebGymError as e:
        console.print(f"[red]{escape(str(e))}[/]")
        return 1
    return 0
