"""One Chromium process group: started, watched, killed whole.

Invariants: the group is dead and reaped when `close` returns; `exited` is set within moments of the browser's death,
whoever caused it; the last lines it wrote to stderr are kept for the error message, and only those. A start that fails at
any point leaves nothing behind: no process, no descriptor, no folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import logging
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import msgspec
import psutil

from webgym.errors import BrowserError, ConfigError, blame
from webgym.server.cdp import Connection
from webgym.server.chromium import Chromium
from webgym.server.display import ON_COMMAND
from webgym.server.folders import end_group, record_group

log = logging.getLogger(__name__)

LAUNCH_SECONDS = 20.0
STDERR_TAIL = 8 * 1024
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only measured
SMALL_SHM = 256 * 1024 * 1024
SOCKET = "org.chromium.Chromium.scoped_dir.XXXXXX/SingletonSocket"  # the longest name that is known of it
NO_SANDBOX = "no usable sandbox"  # what Chromium writes; only what we add to its words hangs on it
NO_NAMESPACES = (
    "This system does not let Chromium's sandbox make user namespaces (Ubuntu since 23.10 forbids them to programs it does "
    "not know, containers often do). Allow them (`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`) or name a "
    "Chromium that may make them and is no snap (WEBGYM_CHROMIUM); or turn the sandbox off knowingly with "
    "WEBGYM_NO_SANDBOX=1 (`webgym serve` also takes --no-sandbox)."
)
LONGEST_SOCKET = 104  # on macOS; Linux takes four more

# What every browser gets. No outside request, no dialog, no background work, the same colours everywhere.
SWITCHES = (
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-search-engine-choice-screen",
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    # The middle button inserts what was selected last, in whichever session.
    "--blink-settings=middleClickPasteAllowed=false",
    # A session in a shared browser is never the focused window, but its clock must run as if it were.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # RasterInducingScroll: a frame on command that meets such a scroll may never end.
    "--disable-features=AcceptCHFrame,DestroyProfileOnBrowserClose,HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding,"
    "RasterInducingScroll,Translate",
)
# Fewer processes: drawing and the network's side live in the browser's own, which a fault of theirs then takes with it. What
# makes renderers smaller elsewhere (--enable-low-end-device-mode, V8's --lite-mode) makes them larger here: flags of V8 that
# differ from its snapshot's keep them from sharing its pages.
LOW_MEMORY = (
    "--disable-software-rasterizer",
    "--enable-features=NetworkServiceInProcess2",
    "--in-process-gpu",
)


class _Version(msgspec.Struct):
    product: str
    userAgent: str


@dataclass
class ChromiumProcess:
    """A running browser and the connection to it."""

    pid: int
    folder: Path
    connection: Connection
    draws_on_command: bool = False
    product: str = ""
    user_agent: str = ""
    exited: asyncio.Event = field(default_factory=asyncio.Event)  # the browser itself
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # and every process it had
    _words: asyncio.BaseTransport | None = None  # what it writes to stderr
    _stderr: bytes = b""

    @classmethod
    async def start(
        cls, chromium: Chromium, folder: Path, *, sandbox: bool, switches: Sequence[str], in_batch: bool = False
    ) -> Self:
        """`in_batch`: it shares the processor with other browsers and gives up a little promptness for throughput."""
        try:
            arguments = _arguments(chromium, folder, sandbox=sandbox, switches=switches)
            self = await cls._spawn(arguments, folder, in_batch=in_batch)
            self.draws_on_command = set(ON_COMMAND) <= set(switches)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(_discard, folder))
            raise
        try:
            async with blame(BrowserError, "starting Chromium", within=LAUNCH_SECONDS):
                version = await self.connection.root.call("Browser.getVersion", None, _Version, within=LAUNCH_SECONDS)
        except BaseException as e:
            await asyncio.shield(self.close())
            if isinstance(e, BrowserError):
                said = f"Chromium did not start: {e}\n{chromium.path} wrote: {self.last_words or 'nothing'}"
                raise BrowserError(f"{said}\n{NO_NAMESPACES}" if NO_SANDBOX in said.lower() else said) from e
            raise
        self.product = version.product
        self.user_agent = version.userAgent
        return self

    @classmethod
    async def _spawn(cls, arguments: list[str], folder: Path, *, in_batch: bool = False) -> Self:
        loop = asyncio.get_running_loop()
        with ExitStack() as undo:  # closes what has not found its owner yet
            ours, theirs = socket.socketpair()
            undo.callback(theirs.close)
            keep_ours = undo.enter_context(ExitStack())
            keep_ours.callback(ours.close)
            # No pipe: uvloop closes one twice, and the second time it may be what another thread has opened since.
            words, their_words = socket.socketpair()
            undo.callback(their_words.close)
            keep_words = undo.enter_context(ExitStack())
            keep_words.callback(words.close)
            with _batch() if in_batch else contextlib.nullcontext():
                pid = _spawn(arguments, _environment(folder), theirs, their_words)
            killed = undo.enter_context(ExitStack())
            killed.callback(_kill_and_reap, pid)
            record_group(folder, pid, Path(arguments[0]))
            ours.setblocking(False)
            _, connection = await loop.create_unix_connection(Connection, sock=ours)
            keep_ours.pop_all()
            killed.callback(connection.close)
            self = cls(pid=pid, folder=folder, connection=connection)
            words.setblocking(False)
            self._words, _ = await loop.create_unix_connection(lambda: _Tail(self), sock=words)
            keep_words.pop_all()
            reaper = threading.Thread(target=_reap, args=(pid, loop, self), name=f"reap-{pid}", daemon=True)
            try:
                reaper.start()
            except RuntimeError as e:  # how Python tells that the system gives no more threads
                raise BrowserError(f"there is no thread to watch Chromium with: {e}") from e
            killed.pop_all()
        return self

    @property
    def last_words(self) -> str:
        return self._stderr.decode(errors="replace").strip()

    def hear(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-STDERR_TAIL:]

    async def close(self, *, within: float = 10.0) -> None:
        """Kill the group, wait for it to be reaped, and delete its folder."""
        self.connection.close()
        if not self.exited.is_set():  # later the number may be somebody else's
            end_group(self.pid)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.gone.wait()
        if self._words is not None:
            self._words.close()
        # Deleting a profile is many small file operations: not on the loop that serves steps.
        await asyncio.to_thread(_discard, self.folder)

    def resident_bytes(self) -> int:
        """Memory of the whole group, shared pages counted once per process: an upper bound that is cheap to read.
        What cannot be read counts nothing."""
        total = 0
        for process in self.members():
            with contextlib.suppress(psutil.Error, OSError):
                memory = process.memory_info()
                total += memory.rss - getattr(memory, "shared", 0)
        return total

    def members(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self.pid)
            return [root, *root.children(recursive=True)]
        except (psutil.Error, OSError):  # the latter when there is no descriptor left to look with
            return []


class _Tail(asyncio.Protocol):
    def __init__(self, process: ChromiumProcess) -> None:
        self.process = process

    def data_received(self, data: bytes) -> None:
        self.process.hear(data)


def _spawn(arguments: list[str], environment: dict[str, str], channel: socket.socket, stderr: socket.socket) -> int:
    # The child's descriptors 3 and 4 must not be overwritten before they are copied, hence the high duplicates.
    high = fcntl.fcntl(channel.fileno(), fcntl.F_DUPFD_CLOEXEC, 64)
    errors = fcntl.fcntl(stderr.fileno(), fcntl.F_DUPFD_CLOEXEC, 64)
    try:
        return os.posix_spawn(
            arguments[0],
            arguments,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, errors, 2),
                (os.POSIX_SPAWN_DUP2, high, 3),
                (os.POSIX_SPAWN_DUP2, high, 4),
            ],
            setpgroup=0,
        )
    except OSError as e:
        raise BrowserError(f"starting {arguments[0]}: {e}") from e
    finally:
        os.close(high)
        os.close(errors)


@contextlib.contextmanager
def _batch() -> Iterator[None]:
    """Have Linux let each thread of what is started here finish its turn before another one, woken meanwhile, takes its
    place. A picture passes through four processes that wake each other, and a dozen sessions do that at once: every switch
    to the next in the middle costs what the processor's caches hold. It is inherited, so this thread takes it on as long:
    to change a browser that runs already would miss what it has begun, and `posix_spawn` knows no such policy."""
    changed = False
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a container may forbid it: then it is only slower
            if os.sched_getscheduler(0) == os.SCHED_OTHER:  # and nobody has chosen another way for this server
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
                changed = True
    try:
        yield
    finally:
        if sys.platform == "linux" and changed:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _environment(folder: Path) -> dict[str, str]:
    """What Chromium needs of our environment: no key or token of ours reaches a browser.

    What it keeps in a temporary folder goes with its own folder, also when it is killed. A full Chromium has a socket there,
    though, and does not start if that socket's path is too long for the system.
    """
    kept = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "FONTCONFIG_FILE",
            "FONTCONFIG_PATH", "LD_LIBRARY_PATH")  # fmt: skip
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    if len(os.fsencode(folder / SOCKET)) < LONGEST_SOCKET:
        environment["TMPDIR"] = str(folder)
    return environment


def _arguments(chromium: Chromium, folder: Path, *, sandbox: bool, switches: Sequence[str]) -> list[str]:
    if sandbox and os.geteuid() == 0:
        raise ConfigError(
            "Chromium's sandbox does not run as root: use an ordinary user, or turn it off knowingly with "
            "WEBGYM_NO_SANDBOX=1 (`webgym serve` also takes --no-sandbox)"
        )
    arguments = [str(chromium.path), *SWITCHES, *switches, f"--user-data-dir={folder / 'profile'}"]
    if chromium.kind != "headless-shell":
        arguments.append("--headless=new")
    if not sandbox:
        arguments.append("--no-sandbox")
    if is_small(SHARED_MEMORY):
        arguments.append("--disable-dev-shm-usage")
    return arguments


def _reap(pid: int, loop: asyncio.AbstractEventLoop, process: ChromiumProcess) -> None:
    """Wait for the browser's end, then for that of all its processes (a thread of its own, as long as the browser)."""
    with contextlib.suppress(ChildProcessError):
        if sys.platform == "linux":
            # Seen dead but not yet reaped: its number cannot be another's while the rest of its group is ended.
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        else:  # where one cannot look without reaping, the number is still its group's
            os.waitpid(pid, 0)
    end_group(pid)
    _tell(loop, process.exited)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-pid, 0)
    _tell(loop, process.gone)


def _tell(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(event.set)


def _discard(folder: Path) -> None:
    with contextlib.suppress(OSError):  # which it may raise all the same: not all of its own calls are covered
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()  # an empty folder can go even when there are no descriptors left to look into it with


def _kill_and_reap(pid: int) -> None:
    end_group(pid)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def adopt_orphans() -> None:
    """Become the parent of what Chromium leaves, to reap it: in a container there is often no init that would. For a process
    that is a worker and nothing else: it would also inherit the orphans of whatever else it starts."""
    if sys.platform == "linux":
        set_child_subreaper = 36
        ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0)


def is_small(shared_memory: Path, least: int = SMALL_SHM) -> bool:
    """Whether Chromium had better use ordinary files: renderers die of a shared memory that is full or not there."""
    try:
        found = os.statvfs(shared_memory)
    except OSError:
        return True
    return found.f_bavail * found.f_frsize < least
