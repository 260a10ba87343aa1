"""Getting a Chromium: Playwright's headless shell where its download works, else the system's package manager.

Nothing asks for a password; what cannot be done without one is handed to the person as the exact command.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from webgym.errors import BrowserMissing, WebGymError
from webgym.server.chromium import PROBE_SECONDS, Chromium, Machine, find, playwright_cache, playwright_shells
from webgym.server.commands import Done, Say, run

PACKAGES_SECONDS = 600.0

# Playwright tries five times, each with this limit on a silent connection: a network that swallows packets
# costs half a minute, not the two and a half of Playwright's own limit.
DOWNLOAD_SILENCE_MS = "6000"


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
    if playwright_shells(playwright_cache(machine)):
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
        done = run(shell, within=ends - time.monotonic(), env=env, say=say)
        if done.code != 0:
            say(f"The download did not work: {done.ending}")
        if not playwright_shells(playwright_cache(machine)):
            return None
        with suppress(BrowserMissing):
            return find(machine=machine)
        say("It does not start yet: libraries of the system are missing")
        if not (machine.is_root or _sudo_asks_nothing(machine)):
            return None
        libraries = [python, "-m", "playwright", "install-deps", "chromium"]
        done = run(libraries, within=PACKAGES_SECONDS, env=env, say=say)
        if done.code != 0:
            say(f"They could not be installed: {done.ending}")
        with suppress(BrowserMissing):
            return find(machine=machine)
    return None


def _python_with_playwright(folder: Path, ends: float, say: Say, machine: Machine) -> str | None:
    """This Python when it has Playwright, else that of a venv made for the occasion."""

    def attempt(*argv: str) -> Done:
        return run(argv, within=ends - time.monotonic(), env=machine.env, say=say)

    if attempt(machine.python, "-c", "import playwright").code == 0:
        return machine.python
    say("Fetching Playwright into a temporary venv")
    python = str(folder / "bin" / "python")
    for step in (
        (machine.python, "-m", "venv", str(folder)),
        (python, "-m", "pip", "install", "-qq", "playwright"),
    ):
        done = attempt(*step)
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
            run(_resolved((*sudo, *manager.refresh), machine), within=PACKAGES_SECONDS, env=env, say=say)
        for argv in manager.installs:
            say(f"Running {' '.join(argv)}")
            done = run(_resolved((*sudo, *argv), machine), within=PACKAGES_SECONDS, env=env, say=say)
            if done.code != 0:
                say(f"It did not work: {done.ending}")
            with suppress(BrowserMissing):
                return find(machine=machine)
    return None


def _sudo_asks_nothing(machine: Machine) -> bool:
    if machine.which("sudo") is None:
        return False
    return run(_resolved(("sudo", "-n", "true"), machine), within=PROBE_SECONDS, env=machine.env).code == 0


def _resolved(argv: Sequence[str], machine: Machine) -> list[str]:
    return [machine.which(argv[0]) or argv[0], *argv[1:]]


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
