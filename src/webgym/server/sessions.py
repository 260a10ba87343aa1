"""What a worker does for its clients, without any HTTP: create, step, observe, renew, release.

Every method either returns a wire model or raises a `ServerError`. A session that cannot go on (its browser died, its page
cannot be freed, its lease ended) is ended here, once, with the reason that later calls on it will hear.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from webgym import types as t
from webgym.errors import (
    BadRequest,
    BrowserError,
    BrowserGone,
    Overloaded,
    PageUnresponsive,
    ServerError,
    StaleLease,
    Unavailable,
    UnknownFile,
)
from webgym.server import storage
from webgym.server.actions import CannotDo, navigate, perform
from webgym.server.browser import UpstreamProxy
from webgym.server.cdp import ConnectionClosed, ProtocolError
from webgym.server.egress import BYPASS, Egress, EgressPolicy
from webgym.server.frame import ScriptFailed
from webgym.server.leases import Leased, Leases, Step
from webgym.server.metrics import Metrics
from webgym.server.observe import observe
from webgym.server.pool import Pool
from webgym.server.protocol import Lease, NewSession, SessionStarted, StepRequest, StepResult, StorageState, StoredFile
from webgym.server.settle import SettleLimits
from webgym.server.surprises import safe_name
from webgym.server.tabs import Emulation

log = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
CLOSE_SECONDS = 20.0  # for contexts to be given back: longer than a sick browser takes to be ended
MAX_FILES = 1000  # of one session, however small: each costs the disk more than its bytes
CALL_SECONDS = 90.0  # over everything a call may do from its turn on; the parts have their own, shorter deadlines


class Sessions:
    def __init__(
        self,
        pool: Pool,
        egress: Egress,
        *,
        capacity: int,
        policy: EgressPolicy,
        settle: SettleLimits,
        max_file: int,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity = capacity
        self.leases = Leases(clock)
        self.draining = False
        self._pool = pool
        self._egress = egress
        self._policy = policy
        self._settle = settle
        self._max_file = max_file
        self._metrics = metrics
        self._starting = 0
        self._created: dict[str, asyncio.Future[SessionStarted]] = {}
        self._endings: set[asyncio.Task[None]] = set()
        self._ended_one = asyncio.Event()
        self.changed = asyncio.Event()  # a place became free

    @property
    def ending(self) -> int:
        """Sessions that have ended and still take a place: their browser contexts are being disposed."""
        return len(self._endings)

    @property
    def available(self) -> int:
        return max(0, self.capacity - len(self.leases) - self._starting - len(self._endings))

    # create and end

    async def create(self, request: NewSession, base_url: str | None) -> SessionStarted:
        if request.key is None:
            return await self._create(request, base_url)
        for leased in self.leases.all():
            if leased.idempotency == request.key:
                self._end_if_over(leased)  # or until the next sweep its key would lead to a session that nobody can use
        earlier = self._created.get(request.key)
        if earlier is not None:
            return self._as_of_now(await asyncio.shield(earlier))
        future: asyncio.Future[SessionStarted] = asyncio.get_running_loop().create_future()
        self._created[request.key] = future
        try:
            started = await self._create(request, base_url)
        except BaseException as e:
            if self._created.get(request.key) is future:  # the session may have ended before, and the key be used again
                del self._created[request.key]
            lost = Unavailable("the session was not created", retry_after=1.0)
            future.set_exception(e if isinstance(e, ServerError) else lost)
            future.exception()
            raise
        future.set_result(started)
        return started

    def _as_of_now(self, started: SessionStarted) -> SessionStarted:
        """A stored answer with the lease as it stands: asking again is a sign of life."""
        leased = self.leases.find(started.id, started.lease.token)
        return started.model_copy(update={"lease": self.leases.renew(leased)})

    async def _create(self, request: NewSession, base_url: str | None) -> SessionStarted:
        if self.draining:
            raise Unavailable("this worker is shutting down", retry_after=5.0)
        if not self.available:
            raise Overloaded(f"all {self.capacity} sessions are taken", retry_after=1.0)
        self._starting += 1
        began = time.monotonic()
        try:
            leased = await self._lease(request)
        finally:
            self._starting -= 1
            self._ended_one.set()
        try:
            seen = await self._begin(leased, request)
        except BaseException:
            # Nobody has heard of this session: without this it would keep its place until its lease ran out.
            self.begin_end(leased, StaleLease("the session was not created"))
            raise
        self._metrics.session_started(time.monotonic() - began)
        lease = self.leases.renew(leased)
        return SessionStarted(id=leased.id, lease=lease, url=base_url, observation=seen)

    async def _begin(self, leased: Leased, request: NewSession) -> t.Observation:
        async with self._call(leased):
            if request.storage_state is not None:
                await storage.restore(leased.context, request.storage_state)
            problem = None
            if request.url is not None:
                try:
                    await navigate(leased.context.active, request.url, self._policy)
                except CannotDo as e:
                    problem = str(e)
            return await self._look(leased, request.look, action_error=problem)

    async def _lease(self, request: NewSession) -> Leased:
        egress, proxy = self._egress, None
        if request.proxy is not None:
            most = self._egress.max_connections
            egress = Egress(self._policy, upstream=request.proxy.get_secret_value(), max_connections=most)
            try:
                await egress.__aenter__()
            except OSError as e:
                raise Unavailable(f"there is no room for a session's proxy: {e.strerror}", retry_after=1.0) from e
            proxy = UpstreamProxy(egress.proxy_url, BYPASS)
        try:
            browser, context = await self._pool.take(proxy)
        except BaseException:
            if egress is not self._egress:
                await asyncio.shield(egress.close())
            raise
        context.emulate(
            Emulation(
                width=request.viewport.width,
                height=request.viewport.height,
                locale=request.locale,
                time_zone=request.time_zone,
                user_agent=request.user_agent,
                headers=tuple(request.headers.items()),
            )
        )
        return self.leases.grant(
            browser,
            context,
            egress,
            owns_egress=egress is not self._egress,
            ttl=request.ttl,
            lifetime=request.lifetime,
            idempotency=request.key,
        )

    async def release(self, session_id: str, token: str | None) -> None:
        leased = self.leases.find(session_id, token)
        await self.end(leased, StaleLease("the session was released"))

    async def end(self, leased: Leased, why: ServerError) -> None:
        """End a session and wait until its browser context is gone; the ending goes on if the caller is cancelled."""
        task = self.begin_end(leased, why)
        if task is not None:
            await asyncio.shield(task)

    def begin_end(self, leased: Leased, why: ServerError) -> asyncio.Task[None] | None:
        """Take a session from its holder now, once; the returned task gives its browser context back."""
        if not self.leases.end(leased, why):
            return None
        self._metrics.session_ended(why.code if not isinstance(why, StaleLease) else why.message)
        if leased.idempotency is not None:  # a session ends once, and until then its key is no other's
            self._created.pop(leased.idempotency, None)
        task = asyncio.create_task(self._dispose(leased))
        self._endings.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._endings.discard(task)
        self.changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a session's context could not be given back", exc_info=error)
        self._ended_one.set()

    async def _dispose(self, leased: Leased) -> None:
        for step in leased.steps:
            if not step.result.done():
                step.result.set_exception(StaleLease("the session ended"))
                step.result.exception()
        try:
            await self._pool.give_back(leased.browser, leased.context)
        finally:
            if leased.owns_egress:
                await leased.egress.close()

    async def sweep_forever(self) -> None:
        """Free sessions whose lease ran out or whose browser died, though nobody asks for them."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for leased in self.leases.all():
                if not self._end_if_over(leased):
                    leased.context.surprises.refuse_strays()

    def _end_if_over(self, leased: Leased) -> bool:
        if not leased.context.alive:
            self.begin_end(leased, BrowserGone("the browser under this session is gone"))
        elif self.leases.expired(leased):
            self.begin_end(leased, StaleLease("the lease ran out"))
        else:
            return False
        return True

    async def drain(self, within: float) -> None:
        """Take no new sessions; give those there are time to end, then end them."""
        self.draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.leases or self._starting:
                    self._ended_one.clear()
                    await self._ended_one.wait()
        await self.close()

    async def close(self) -> None:
        """End every session and wait until its context has been given back."""
        for leased in self.leases.all():
            self.begin_end(leased, StaleLease("the worker shut down"))
        if self._endings:
            await asyncio.wait(self._endings, timeout=CLOSE_SECONDS)

    # use

    @asynccontextmanager
    async def _call(self, leased: Leased) -> AsyncIterator[None]:
        """One call on a session: it holds the lease, has a deadline, and ends the session if the session is past help."""
        leased.calls += 1
        try:
            async with leased.turn(), asyncio.timeout(CALL_SECONDS):
                ended = self.leases.why_ended(leased)  # while this call waited for the one before it
                if ended is not None:
                    raise ended
                yield
        except (BrowserError, BrowserGone, PageUnresponsive, TimeoutError) as e:
            # A session that was taken away under the call (released, run out) fails for that reason and no other.
            why = self.leases.why_ended(leased) or _past_help(leased, e)
            await self.end(leased, why)
            raise why from e
        finally:
            leased.calls -= 1
            self.leases.renew(leased)

    async def step(self, session_id: str, token: str | None, request: StepRequest) -> StepResult:
        leased = self.leases.find(session_id, token)
        before = leased.earlier(request)
        if before is not None and not before.unseen:
            self.leases.renew(leased)  # it asks nothing of the browser, and is a sign of life all the same
            return await before.again()
        step: Step | None = None  # ours to end: not while others may be looking at it
        began = time.monotonic()
        try:
            async with self._call(leased):
                # A step is taken when its turn has come: one that is refused in line has not been, and may be sent again.
                before = leased.earlier(request)
                if before is not None and not before.unseen:
                    return await before.again()
                step = leased.accept(request)
                seen = await self._act(leased, request, step)
        except BaseException as e:
            if step is not None and not step.result.done():
                # A bug fails in the same way however often the step is sent; only a shutdown cancels one.
                step.result.set_exception(e if isinstance(e, Exception) else StaleLease("the worker shut down"))
                step.result.exception()
            raise
        if step.result.done():  # the session ended while its last picture was taken
            return await step.result
        result = StepResult(seq=step.seq, observation=seen)
        step.result.set_result(result)
        self._metrics.step(request.action.kind, time.monotonic() - began, seen.settled.ms / 1000)
        return result

    async def _act(self, leased: Leased, request: StepRequest, step: Step) -> t.Observation:
        if not step.acted:
            step.acted = True
            step.problem = await self._perform(leased, request.action)
        typing = isinstance(request.action, t.Type | t.Key)
        return await self._look(leased, request.look, typing=typing, action_error=step.problem)

    async def _perform(self, leased: Leased, action: t.Action) -> str | None:
        """Do it; what the agent should read if it had no effect."""
        context = leased.context
        await context.reopened()
        if isinstance(action, t.Navigate | t.Back | t.Forward | t.Reload) and await context.active.unstick():
            context.surprises.note("the page did not respond; its scripts were stopped")
        try:
            await perform(context, action, self._policy)
        except CannotDo as e:
            return str(e)
        except ConnectionClosed:
            if not context.alive:
                raise
        except ProtocolError as e:
            return f"the browser refused: {e}"
        except ScriptFailed:
            return "the page did not let it be done: look again"
        except BrowserError:
            # No answer: the page hangs. `observe` finds that out too, frees it if it can, and says so.
            log.info("session %s: %s had no answer", leased.id, action.kind)
        return None

    async def _look(
        self, leased: Leased, look: t.Look, *, typing: bool = False, action_error: str | None = None
    ) -> t.Observation:
        for _ in range(2):
            try:
                return await observe(
                    leased.context, look, leased.egress, self._settle, typing=typing, action_error=action_error
                )
            except BrowserGone:
                # The last tab closed itself, and an empty one takes its place.
                if not await leased.context.reopened():
                    raise
        raise BrowserGone("every tab of this session closes itself")

    async def observe(self, session_id: str, token: str | None, look: t.Look) -> t.Observation:
        leased = self.leases.find(session_id, token)
        async with self._call(leased):
            return await self._look(leased, look)

    def renew(self, session_id: str, token: str | None, ttl: float | None) -> Lease:
        return self.leases.renew(self._living(session_id, token), ttl)

    def _living(self, session_id: str, token: str | None) -> Leased:
        """A session, for calls that ask nothing of its browser and so would not notice that it is gone."""
        leased = self.leases.find(session_id, token)
        if not leased.context.alive:
            raise BrowserGone("the browser under this session is gone")
        return leased

    async def storage(self, session_id: str, token: str | None) -> StorageState:
        leased = self.leases.find(session_id, token)
        async with self._call(leased):
            return await storage.save(leased.context)

    # files

    def put_file(self, session_id: str, token: str | None, name: str, data: bytes) -> StoredFile:
        leased = self._living(session_id, token)
        self.leases.renew(leased)
        path = _file(leased, name)
        files, held = _held_in(leased.context.folder)
        if files >= MAX_FILES and not path.exists():
            raise BadRequest(f"the session's folder may hold {MAX_FILES} files, and has {files}")
        with contextlib.suppress(FileNotFoundError):
            held -= path.stat().st_size  # it is replaced
        if held + len(data) > self._max_file:
            raise BadRequest(f"the session's folder may hold {self._max_file} bytes, and has {held} in other files")
        unfinished = path.with_name(f".{name}")  # no name that a client or a page could give
        try:
            unfinished.write_bytes(data)
            unfinished.replace(path)
        except OSError as e:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise Unavailable(f"there is no room for the file: {e.strerror}", retry_after=5.0) from e
        return StoredFile(name=name, size=len(data))

    def file(self, session_id: str, token: str | None, name: str) -> Path:
        leased = self._living(session_id, token)
        self.leases.renew(leased)
        path = _file(leased, name)
        if path.is_symlink() or not path.is_file():
            raise UnknownFile(f"there is no file {name!r:.200} in the session's folder")
        return path


def _held_in(folder: Path) -> tuple[int, int]:
    """How many files there are, and their bytes."""
    files = held = 0
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # a download that has just got its name
            held += file.stat().st_size
            files += 1
    return files, held


def _past_help(leased: Leased, error: Exception) -> ServerError:
    """What later calls will hear of a session that cannot go on."""
    if isinstance(error, ServerError):
        return error
    if isinstance(error, TimeoutError):
        return PageUnresponsive(f"the call took more than {CALL_SECONDS:g} s; its session was closed")
    if leased.context.alive:
        # What the page looks like now is anybody's guess, and so is whether the action was done: not a state to go on
        # from.
        return PageUnresponsive(f"the browser refused ({error}); its session was closed")
    return BrowserGone(f"the browser under this session is gone ({error})")


def _file(leased: Leased, name: str) -> Path:
    if name != safe_name(name):
        raise BadRequest(f"{name!r:.200} is not a plain file name")
    return leased.context.folder / name
