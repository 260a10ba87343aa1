"""The error tree: one type per boundary, so that whose fault it was is decided by type and never by message.

    WebGymError
    ├── ConfigError           the person: a setting is wrong; the message names it and what to do
    ├── BrowserMissing        the machine: no Chromium here
    ├── ServerError           the rollout server said no; `code` crosses the wire and `from_code` restores the type
    │   ├── Unauthorized      401  missing or wrong API key
    │   ├── Forbidden         403  a foreign Host or Origin, or a URL the egress policy refuses
    │   ├── UnknownSession    404  no such session, ever
    │   ├── UnknownFile       404  the session's folder has no such file
    │   ├── RequestTimeout    408  the request did not arrive in time
    │   ├── StepConflict      409  a step out of order
    │   ├── StaleLease        410  the lease has ended; the session is gone
    │   ├── BrowserGone       410  the browser under the session died
    │   ├── PageUnresponsive  410  the page could not be brought back; its session was closed
    │   ├── BodyTooLarge      413  over the cap
    │   ├── BadRequest        422  the request does not say what it should; the message names the field
    │   ├── Overloaded        429  no session free; `retry_after` says when to ask again
    │   └── Unavailable       503  no worker can serve; `retry_after` likewise
    ├── BrowserError          Chromium broke a promise (protocol error, no answer, died)
    ├── Unreachable           the client could not talk to the server at all
    ├── EndpointError         a language model behind HTTP
    │   ├── EndpointDown      no answer after every retry: ask again later
    │   ├── EndpointRefused   it will not take this request; `status` says why, repeating it does not help
    │   ├── UnusableReply     it answered, and the answer cannot be used; `fault` says how
    │   └── BudgetSpent       asking could cost more than is left
    ├── StoreError            a run's folder cannot be read or written as asked
    │   ├── DiskFull          no room; nothing half written is visible, the same call works once there is room
    │   ├── Damaged           what is on disk is not what was written
    │   └── NewerVersion      written by a later WebGym than this one
    ├── TrainError            a training job failed, or took longer than it may
    ├── RolloutStopped        a rollout stopped itself: too many of its episodes failed for reasons of ours
    └── LeakageError          a task set shares a website, or a family of tasks, between train and test

An infrastructure error is never a reward: whoever catches one of these records an outcome, not a score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import ClassVar, Literal


class WebGymError(Exception):
    """Anything this project raises on purpose."""


class ConfigError(WebGymError):
    """A setting is wrong."""


class BrowserMissing(WebGymError):
    """No usable Chromium was found."""


class BrowserError(WebGymError):
    """Chromium answered with an error, too late, or not at all."""


class Unreachable(WebGymError):
    """No connection to the server, or the connection broke before an answer came."""


class EndpointError(WebGymError):
    """A language model did not give a usable answer."""


class EndpointDown(EndpointError):
    """No answer: unreachable, too slow, overloaded or broken, after every retry."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EndpointRefused(EndpointError):
    """The endpoint will not take this request, now or later."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


ReplyFault = Literal["empty", "refused", "cut", "malformed", "schema", "content"]


class UnusableReply(EndpointError):
    """An answer that is not what was asked for. It is never guessed at."""

    def __init__(self, message: str, *, fault: ReplyFault) -> None:
        super().__init__(message)
        self.fault: ReplyFault = fault


class BudgetSpent(EndpointError):
    """The next call could exceed the budget, so it was not made."""


class LeakageError(WebGymError):
    """Train and test are not apart."""


class RolloutStopped(WebGymError):
    """Most episodes failed for reasons that are not theirs, so the rest were not attempted."""


class TrainError(WebGymError):
    """A training job failed. Its log says more; no checkpoint was published."""


class StoreError(WebGymError):
    """A run's folder cannot be read or written as asked."""


class DiskFull(StoreError):
    """No room on the disk, or in the quota. Nothing half written is visible."""


class Damaged(StoreError):
    """What is on disk is not what was written."""


class NewerVersion(StoreError):
    """A file of a later version of its format: nothing is wrong with it, this program is too old."""


class ServerError(WebGymError):
    """A refusal with a name: `code` and `status` travel over the wire."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class Unauthorized(ServerError):
    code, status = "unauthorized", 401


class Forbidden(ServerError):
    code, status = "forbidden", 403


class UnknownSession(ServerError):
    code, status = "unknown_session", 404


class UnknownFile(ServerError):
    code, status = "unknown_file", 404


class RequestTimeout(ServerError):
    code, status = "request_timeout", 408


class StepConflict(ServerError):
    code, status = "step_conflict", 409


class StaleLease(ServerError):
    code, status = "stale_lease", 410


class BrowserGone(ServerError):
    code, status = "browser_gone", 410


class PageUnresponsive(ServerError):
    code, status = "page_unresponsive", 410


class BodyTooLarge(ServerError):
    code, status = "body_too_large", 413


class BadRequest(ServerError):
    code, status = "bad_request", 422


class Overloaded(ServerError):
    code, status = "overloaded", 429


class Unavailable(ServerError):
    code, status = "unavailable", 503


class NetworkDown(ServerError):
    """A page could not be loaded, and no website is to blame: DNS is silent, or the session's own proxy."""

    code, status = "network_down", 502


SERVER_ERRORS: dict[str, type[ServerError]] = {kind.code: kind for kind in ServerError.__subclasses__()}


def from_code(code: str, message: str, *, retry_after: float | None = None) -> ServerError:
    """The typed error for a code that came over the wire."""
    return SERVER_ERRORS.get(code, ServerError)(message, retry_after=retry_after)


@contextmanager
def ungrouped() -> Iterator[None]:
    """Let what a task raised out of its task group as it is, if it is one of ours: a group says nothing to a person."""
    try:
        yield
    except BaseExceptionGroup as several:
        first = several.exceptions[0]
        if all(isinstance(one, WebGymError) for one in several.exceptions):
            raise first from first.__cause__
        raise


class blame:  # noqa: N801
    """Give a foreign call a deadline and one of our names: `async with blame(Unreachable, "step", within=5): ...`.

    A class because every step passes through several: a generator would cost more than all else it does."""

    __slots__ = ("_deadline", "_doing", "_kind", "_within")

    def __init__(self, kind: type[WebGymError], doing: str, *, within: float) -> None:
        self._kind, self._doing, self._within = kind, doing, within

    async def __aenter__(self) -> None:
        self._deadline = asyncio.timeout(self._within)
        await self._deadline.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._deadline.__aexit__(kind, error, trace)
        except TimeoutError as e:
            raise self._late() from e
        if isinstance(error, WebGymError) or not isinstance(error, Exception):
            return
        if isinstance(error, TimeoutError):
            raise self._late() from error
        raise self._kind(f"{self._doing}: {type(error).__name__}: {error}") from error

    def _late(self) -> WebGymError:
        return self._kind(f"{self._doing}: no answer in {self._within:g} s")
