"""The client of the policy's endpoint: one `Policy` a process, shared by every episode.

    async with Policy(settings) as policy:
        reply = await policy.ask(messages, episode=episode_id)

Invariants. An episode stays with one replica, chosen by a hash of its id, so that the server's prefix cache serves it; it
moves only while its replica is down, and returns when that is over. Every try has a deadline. A server that is busy
(Retry-After) is waited for, one that is down is left alone for a while and another tried at once. The while doubles with
each failure in a row, and then one request at a time goes there until there is a reply: a replica that takes requests and
never answers costs little. A failure starts a budget of `patience` seconds, after which no try begins and `EndpointDown` is
raised. Replies are never cached. The API key is in no log, error or reply, unless it is too short to be a secret
(`endpoint.transport`).

    408, 409, 425, 429, 5xx with Retry-After          the same replica, everyone pausing for as long as it asks
    the same, asking for longer than patience lasts   another replica; this one is left alone for as long as it asks
    the same without, no connection, broken, late,
    200 with a body that is no chat completion, or
    with a reply that the server broke off itself     another replica, then pauses that double, jittered
    400, 413, 422: the request itself                 never again (EndpointRefused)
    any other status: a key, a model's name           another replica; EndpointRefused once each has refused
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Final, Self

import msgspec

from webgym.agents.completion import read_completion
from webgym.agents.settings import PolicySettings
from webgym.endpoint.limits import Clock, Limits, Sleep
from webgym.endpoint.messages import Message, body_of
from webgym.endpoint.transport import OF_THE_REQUEST, Transport, backoff, read_key
from webgym.errors import EndpointDown, EndpointRefused
from webgym.types import ABORTED, Reply

log = logging.getLogger(__name__)

DOUBLINGS: Final = 6  # of `avoid`, at most


class ReplicaTotals(msgspec.Struct, frozen=True):
    """What one replica has done so far. `seconds` is the time that answered tries took. `down`: others are asked instead."""

    url: str
    replies: int = 0
    failures: int = 0
    in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    down: bool = False


class _Replica:
    def __init__(self, url: str, transport: Transport, limits: Limits, clock: Clock) -> None:
        self.url, self._transport, self.limits, self._clock = url, transport, limits, clock
        self._replies = self._failures = self._in_flight = self._prompt_tokens = self._completion_tokens = 0
        self._seconds = 0.0
        self._failed_in_a_row = 0
        self._avoided_until = float("-inf")

    @property
    def down(self) -> bool:
        """It is left alone, or one request is finding out whether it is back."""
        return self._clock() < self._avoided_until or (self._failed_in_a_row > 0 and self._in_flight > 0)

    @property
    def totals(self) -> ReplicaTotals:
        return ReplicaTotals(
            self.url,
            self._replies,
            self._failures,
            self._in_flight,
            self._prompt_tokens,
            self._completion_tokens,
            self._seconds,
            self.down,
        )

    def avoid(self, seconds: float) -> None:
        self._avoided_until = max(self._avoided_until, self._clock() + seconds)

    def failed(self, began: float, avoid: float) -> None:
        """A try that began then has failed: the replica is left alone, twice as long as after the failure before."""
        # One that began before the avoiding ended tells nothing new: it was under way with the one that failed first, or
        # there was no other replica to ask.
        if not self._failed_in_a_row or began >= self._avoided_until:
            self._failed_in_a_row += 1
        self.avoid(avoid * 2.0 ** min(self._failed_in_a_row - 1, DOUBLINGS))

    async def try_once(self, body: Sequence[bytes], model: str) -> Reply:
        self._in_flight += 1
        began = self._clock()
        try:
            text = await self._transport.post(body)
            seconds = self._clock() - began
            reply = read_completion(text, asked=model, seconds=seconds)
            if reply is None:
                raise EndpointDown(f"model {model}: the answer is no chat completion: {text[:100]!r}")
            if reply.finish in ABORTED:
                raise EndpointDown(f"model {model}: the server broke its reply off (finish reason {reply.finish!r})")
        except asyncio.CancelledError:  # ours: it says nothing of the replica
            raise
        except BaseException:
            self._failures += 1
            raise
        finally:
            self._in_flight -= 1
        self._replies += 1
        self._seconds += seconds
        self._prompt_tokens += reply.prompt_tokens
        self._completion_tokens += reply.completion_tokens
        self._failed_in_a_row = 0
        self._avoided_until = float("-inf")
        said = self._transport.discreet(reply.text)
        return reply if said == reply.text else reply.model_copy(update={"text": said})


class Policy:
    """A model that acts. Enter it once; `totals` tells what each replica has done."""

    def __init__(
        self,
        settings: PolicySettings,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self._fields: dict[str, object] = {
            "model": settings.model,
            settings.limit_field: settings.sampling.max_tokens,
            **settings.sampling.model_dump(exclude={"max_tokens"}, exclude_none=True),
            **({"return_token_ids": True} if settings.token_ids else {}),
            **({"logprobs": True} if settings.logprobs else {}),
            **settings.extra_body,
        }
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._replicas: list[_Replica] = []

    def __repr__(self) -> str:
        return f"Policy({self.settings.model!r} at {len(self.settings.urls)} replicas)"

    async def __aenter__(self) -> Self:
        settings, key = self.settings, read_key(self.settings.key_variable)
        async with AsyncExitStack() as stack:
            for url in settings.urls:
                transport = Transport(
                    url,
                    settings.model,
                    key,
                    connect_timeout=settings.connect_timeout,
                    timeout=settings.timeout,
                    max_reply_bytes=settings.max_reply_bytes,
                )
                await stack.enter_async_context(transport)
                limits = Limits(settings.concurrency, None, None, clock=self._clock, sleep=self._sleep)
                self._replicas.append(_Replica(url, transport, limits, self._clock))
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def model(self) -> str:
        return self.settings.model

    @property
    def totals(self) -> tuple[ReplicaTotals, ...]:
        return tuple(replica.totals for replica in self._replicas)

    async def ask(self, messages: Sequence[Message], *, episode: str) -> Reply:
        """The model's reply. Raises EndpointDown when patience has ended, EndpointRefused for a request it will not take."""
        settings, body = self.settings, body_of(messages, self._fields)
        order = self._replicas
        if len(order) > 1:
            order = sorted(order, key=lambda replica: _rank(episode, replica.url))
        failures, give_up = 0, float("inf")
        while True:
            replica = next((replica for replica in order if not replica.down), order[failures % len(order)])
            try:
                async with replica.limits.admit(0):
                    # A place may have become free because the one who had it found the replica down.
                    if replica.down and any(not other.down for other in order):
                        continue
                    began = self._clock()
                    return await replica.try_once(body, settings.model)
            except EndpointRefused as e:
                order = [other for other in order if other is not replica]  # it would say so again
                if e.status in OF_THE_REQUEST or not order:
                    raise
                replica.failed(began, settings.avoid)
                log.warning("%s refuses what others are asked instead: %s", replica.url, e)
                continue
            except EndpointDown as e:
                failures += 1
                now, asked = self._clock(), e.retry_after or 0.0
                give_up = min(give_up, now + settings.patience)
                gone = e.retry_after is None or now + asked > give_up
                if gone and asked:
                    replica.avoid(asked)
                elif gone:
                    replica.failed(began, settings.avoid)
                # A pause at least once a round of the replicas, however short they are avoided.
                alternative = gone and failures % len(order) and any(not other.down for other in order)
                own = backoff(failures, first=settings.backoff, longest=settings.max_backoff, chance=self._chance)
                pause = 0.0 if alternative else asked + own
                if now >= give_up or now + pause > give_up:
                    raise
                if not gone:
                    replica.limits.hold(asked)
                log.debug("episode %s: %s; again in %.2f s", episode, e, pause)
            await self._sleep(pause)


def _rank(episode: str, url: str) -> bytes:
    """Rendezvous hashing: each episode has its own order of the replicas, and losing one moves only its own episodes."""
    return hashlib.blake2b(f"{episode} {url}".encode(), digest_size=8).digest()
