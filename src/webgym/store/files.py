"""Every byte the store writes goes through here, and appears whole or not at all.

A new file is written under a staging name, brought to the disk, and linked to its own name. A link fails if the name is
taken, also between processes, so the first writer wins. Each writer's staging names begin with its mark, a file it holds
locked for as long as it lives; the lock falls with the process, however it dies. A staging file whose mark is free is left
over, and whoever opens the run next removes it. A log that is a link is not written: a run from elsewhere must not reach
files outside its folder.

`checkpoint` is called with a name before and after every operation that changes the disk: fault tests stop there.

What is done for every screenshot takes names as text: building a `Path` costs more than the system call it is for.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final

from webgym.errors import DiskFull, StoreError

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_MARK: Final = ".mark"
_STAGED: Final = re.compile(r"([0-9a-f]{16})\.(?:mark|\d+)")
_LOCK_SECONDS: Final = 30.0
_CHUNK: Final = 1 << 20
_OPEN_AT_ONCE: Final = 64  # files

Checkpoint = Callable[[str], None]


def _go_on(_: str) -> None:
    return


class trouble:  # noqa: N801
    """Give an operating system's error one of our names: `with trouble("reading it"): ...`.

    A class because every screenshot passes through several: a generator would cost more than some of the calls inside."""

    __slots__ = ("_doing",)

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, OSError):
            full = error.errno in _FULL
            raise (DiskFull if full else StoreError)(f"{self._doing}: {error.strerror or error}") from error


class Disk:
    """One run's folder as its writers see it. Safe to use from several threads; every call blocks."""

    def __init__(self, root: Path, *, checkpoint: Checkpoint = _go_on, chunk: int = _CHUNK) -> None:
        self.root = root
        self._checkpoint, self._chunk = checkpoint, chunk
        self._staging = root / "staging"
        self._mark: tuple[str, int] | None = None
        self._numbers = count()
        self._starting = threading.Lock()

    # new files

    @contextmanager
    def staged(self, data: bytes) -> Iterator[str]:
        """The bytes on the disk, under a staging name that is gone afterwards."""
        staged = self._stage(data, durable=True)
        try:
            yield staged
        finally:
            self._unstage(staged)

    def link(self, staged: str, path: Path) -> bool:
        """Give staged bytes their name; false, and nothing done, if the name is taken."""
        linked = self._link(staged, str(path))
        if linked:
            self.sync(str(path.parent))
        return linked

    def publish(self, path: Path, data: bytes) -> bool:
        """A new file; false, and nothing done, if the name is taken."""
        self.folder(path.parent)
        with self.staged(data) as staged:
            return self.link(staged, path)

    def place(self, path: str, data: bytes) -> bool:
        """A new file that `sync` brings to the disk later, with its folder's names and those of the folder above; false, and
        nothing done, if the name is taken."""
        staged = self._stage(data, durable=False)
        try:
            return self._link(staged, path)
        except StoreError as e:
            if not isinstance(e.__cause__, FileNotFoundError):
                raise
            folder = Path(path).parent  # this is the first file in it
            self.folder(folder.parent)
            with trouble(f"making {folder}"):
                self._checkpoint("folder")
                folder.mkdir(exist_ok=True)
                self._checkpoint("foldered")
            return self._link(staged, path)
        finally:
            self._unstage(staged)

    def replace(self, path: Path, data: bytes) -> None:
        """A file in the place of another: readers see the old one or the new one."""
        self.folder(path.parent)
        with self.staged(data) as staged, trouble(f"writing {path}"):
            self._checkpoint("replace")
            Path(staged).replace(path)
            self._checkpoint("replaced")
        self.sync(str(path.parent))

    # old files

    def append(self, path: Path, data: bytes, *, durable: bool) -> None:
        """Add to the end of a file; on an error the file is as long as before. The caller holds the lock."""
        with trouble(f"writing {path}"):
            self._checkpoint("append")
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                before = os.fstat(handle).st_size
                try:
                    self._write(handle, data, "append part")
                    if durable:
                        os.fsync(handle)
                except OSError:
                    os.ftruncate(handle, before)
                    raise
            finally:
                os.close(handle)
            self._checkpoint("appended")
        if durable and not before:
            self.sync(str(path.parent))

    def cut(self, path: Path, length: int) -> None:
        """Take off what follows the first `length` bytes. The caller holds the lock."""
        with trouble(f"writing {path}"):
            self._checkpoint("cut")
            handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                os.ftruncate(handle, length)
            finally:
                os.close(handle)
            self._checkpoint("was cut")

    def move(self, path: Path, to: Path) -> None:
        self.folder(to.parent)
        with trouble(f"moving {path}"):
            self._checkpoint("move")
            path.replace(to)
            self._checkpoint("moved")
        self.sync(str(to.parent))

    def folder(self, path: Path) -> None:
        """A folder that is there, and stays there after a power cut."""
        if path.is_dir():
            return
        with trouble(f"making {path}"):
            missing = [path, *(parent for parent in path.parents if not parent.exists())]
            self._checkpoint("folder")
            path.mkdir(parents=True, exist_ok=True)
            self._checkpoint("foldered")
        for one in reversed(missing):
            self.sync(str(one.parent))

    def sync_all(self, paths: Sequence[str]) -> None:
        """Bring the bytes of several files to the disk. Writing begins for all before any is waited for: that is one pass
        of the file system's journal, and not one a file."""
        for start in range(0, len(paths), _OPEN_AT_ONCE):
            with ExitStack() as stack:
                handles = []
                for path in paths[start : start + _OPEN_AT_ONCE]:
                    with trouble(f"writing {path}"):
                        handles.append(handle := os.open(path, os.O_RDONLY | os.O_CLOEXEC))
                        stack.callback(os.close, handle)
                    if sys.platform == "linux":  # where this begins to write, and drops nothing that is not written yet
                        with suppress(OSError):
                            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
                for handle in handles:
                    with trouble(f"writing files to {self.root}"):
                        os.fsync(handle)
                    self._checkpoint("synced")

    def sync(self, path: str) -> None:
        """Bring a file's bytes, or a folder's names, to the disk."""
        with trouble(f"writing {path}"):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            self._checkpoint("synced")

    def free_space(self) -> int:
        """Bytes that may still be written."""
        with trouble(f"looking at {self.root}"):
            found = os.statvfs(self.root)
        return found.f_bavail * found.f_frsize

    @contextmanager
    def alone(self, path: Path) -> Iterator[None]:
        """One thread of one process at a time, per lock file. A lock falls with its holder."""
        with trouble(f"locking {path}"):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            until, pause = time.monotonic() + _LOCK_SECONDS, 0.0005
            while not _taken(handle):
                if time.monotonic() > until:
                    raise StoreError(f"{path} has been held by another process for {_LOCK_SECONDS:g} s; is it stopped?")
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
            yield
        finally:
            os.close(handle)

    # staging

    def leftovers(self) -> list[Path]:
        """Staging files of writers that are no more, marks last."""
        if not self._staging.is_dir():
            return []
        found: dict[str, list[Path]] = {}
        for path in self._staging.iterdir():
            if name := _STAGED.fullmatch(path.name):  # what else is here is not ours to remove: the folder may be a link
                found.setdefault(name[1], []).append(path)
        left = []
        for mark, paths in found.items():
            if not self._alive(mark):
                left += sorted(paths, key=lambda path: path.suffix == _MARK)
        return left

    def sweep(self) -> int:
        """Remove what dead writers left; returns how many files that were."""
        left = self.leftovers()
        with trouble(f"clearing {self._staging}"):
            for path in left:
                self._checkpoint("sweep")
                path.unlink(missing_ok=True)
        return len(left)

    def close(self) -> None:
        """Give the mark back. The disk may be used again."""
        with self._starting:
            if self._mark is not None:
                mark, handle = self._mark
                with suppress(OSError):
                    (self._staging / f"{mark}{_MARK}").unlink(missing_ok=True)
                os.close(handle)
                self._mark = None

    def _my_mark(self) -> str:
        with self._starting:
            while self._mark is None:
                self.folder(self._staging)
                self._mark = self._new_mark()
            return self._mark[0]

    def _new_mark(self) -> tuple[str, int] | None:
        """A locked mark; none if a sweeper took the new file for a dead writer's before it was locked."""
        mark = secrets.token_hex(8)
        path = self._staging / f"{mark}{_MARK}"
        with trouble(f"writing {self._staging}"):
            self._checkpoint("mark")
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            self._checkpoint("marked")
        if _taken(handle) and path.exists():
            return mark, handle
        os.close(handle)
        return None

    def _alive(self, mark: str) -> bool:
        if self._mark is not None and self._mark[0] == mark:
            return True
        try:
            handle = os.open(self._staging / f"{mark}{_MARK}", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not _taken(handle)
        finally:
            os.close(handle)

    def _stage(self, data: bytes, *, durable: bool) -> str:
        path = f"{self._staging}/{self._my_mark()}.{next(self._numbers)}"
        try:
            with trouble(f"writing {self._staging}"):
                self._checkpoint("stage")
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
                try:
                    self._write(handle, data, "stage part")
                    if durable:
                        os.fsync(handle)
                finally:
                    os.close(handle)
                self._checkpoint("staged")
        except BaseException:
            self._unstage(path)
            raise
        return path

    def _unstage(self, path: str) -> None:
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108
        self._checkpoint("unstaged")

    def _link(self, staged: str, path: str) -> bool:
        with trouble(f"writing {path}"):
            self._checkpoint("link")
            try:
                os.link(staged, path)
            except FileExistsError:
                return False
            self._checkpoint("linked")
            return True

    def _write(self, handle: int, data: bytes, part: str) -> None:
        rest = memoryview(data)
        while rest:
            written = os.write(handle, rest[: self._chunk])
            rest = rest[written:]
            self._checkpoint(part)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
