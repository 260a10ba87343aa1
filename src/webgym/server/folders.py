"""Where a worker keeps what lives on disk, and how the leftovers of a dead one are found.

Each worker owns one folder under the user's runtime folder and holds a lock on it for as long as it lives. A folder whose
lock can be taken belongs to a dead worker: its Chromium process groups are ended and it is deleted. The kernel drops the
lock with the process, so neither a reused process id nor a crash at any point can mislead the sweep. A folder gets its
final name when it is locked, so a sweep never meets one that is not yet anybody's; one that never got its name is swept
when it is old.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil

from webgym.errors import ConfigError

log = logging.getLogger(__name__)

LOCK = "lock"
GROUP = "group"  # a browser's `_Group`, written once it has been started
REAP_SECONDS = 2.0
UNBORN_SECONDS = 60.0  # a folder has its name within moments, unless its worker died in them


class _Group(msgspec.Struct):
    """A process group, and what helps to tell that it still is the one that was meant: numbers are used again."""

    id: int
    executable: str


def default_root() -> Path:
    return Path(tempfile.gettempdir()) / f"webgym-{os.getuid()}"


class WorkerFolder:
    """One worker's folder, locked while the worker lives."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()
        _make_private(self.root)
        name = secrets.token_hex(6)
        unborn = self.root / f"new-{name}"
        unborn.mkdir(mode=0o700)
        self._lock = _take(unborn / LOCK)
        assert self._lock is not None, "a new folder has no other owner"
        self.path = unborn.rename(self.root / f"worker-{name}")
        self._browsers = 0

    def new_browser(self) -> Path:
        self._browsers += 1
        path = self.path / f"browser-{self._browsers}"
        path.mkdir(mode=0o700)
        return path

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep(root: Path | None = None) -> int:
    """End the browsers of dead workers and delete their folders; returns how many folders went."""
    root = root or default_root()
    if not root.is_dir():
        return 0
    _make_private(root)
    swept = 0
    for path in (*root.glob("worker-*"), *_stillborn(root)):
        lock = _take(path / LOCK)
        if lock is None:
            continue
        try:
            for group in _groups(path):
                end_group(group)
                _reap(group)
            shutil.rmtree(path, ignore_errors=True)
            swept += 1
        finally:
            os.close(lock)
    if swept:
        log.warning("swept the folders of %d dead workers", swept)
    return swept


def _stillborn(root: Path) -> Iterator[Path]:
    for path in root.glob("new-*"):
        with contextlib.suppress(OSError):  # it has its name by now
            if time.time() - path.stat().st_mtime > UNBORN_SECONDS:
                yield path


def end_group(group: int) -> None:
    """Kill a process group whole."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def record_group(folder: Path, group: int, executable: Path) -> None:
    """Write down whose process group a browser's folder belongs to."""
    record = _Group(group, os.path.realpath(executable))
    (folder / GROUP).write_bytes(msgspec.json.encode(record))


def _groups(folder: Path) -> Iterator[int]:
    """The process groups a dead worker left, if they still are what they were."""
    for path in folder.glob(f"*/{GROUP}"):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            group = msgspec.json.decode(path.read_bytes(), type=_Group)
            if any(_belongs(pid, group, path.parent) for pid in psutil.pids()):
                yield group.id


def _belongs(pid: int, group: _Group, folder: Path) -> bool:
    try:
        if os.getpgid(pid) != group.id:
            return False
        process = psutil.Process(pid)  # not from process_iter, whose objects are shared between threads
        if pid == group.id:
            return any(str(folder) in argument for argument in process.cmdline())
        # If the leader is dead, its number is not given away while others are in its group.
        return not psutil.pid_exists(group.id) and process.exe() == group.executable
    except (OSError, psutil.Error):
        return False


def _reap(group: int) -> None:
    """Collect the dead of a group that have become our children: nobody else does in a container without an init."""
    ends = time.monotonic() + REAP_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < ends:
            if os.waitpid(-group, os.WNOHANG)[0] == 0:
                time.sleep(0.02)


def _take(path: Path) -> int | None:
    """The lock's descriptor, or None if somebody alive holds it (or the folder just went)."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _make_private(path: Path) -> None:
    """The shared temporary folder is open to all: insist that ours is ours before anything is written or killed by it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise ConfigError(f"{path} is not a private folder of this user: remove it, or set TMPDIR to another place")
