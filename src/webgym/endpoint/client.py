"""The client of a language model: one `Endpoint` a model, shared by everyone who asks it.

    async with Endpoint(settings) as model:
        answer = await model.ask([Message("user", "...")], Rubric, version="rubric.1")

Invariants. Every try has a deadline, every reply a cap on its size. An answer is a checked record or a typed error, never a
guess. Limits count tries, not questions. A try is charged before it is made. A reply that arrived is stored before it is
read, so that however often a run is killed, only calls under way are paid for again; equal questions at one time are asked
once. The API key is in no log, error, repr or stored reply, even if the endpoint echoes it, unless it is too short to be a
secret (`transport`).

What is repeated, at most `tries` times in all and not after `patience` seconds:

    no connection, broken, no whole answer in time             repeated
    408, 409, 425, 429, 5xx                                    repeated, everyone pausing for what Retry-After asks
    200 with a body that is no chat completion, or too large   repeated: a proxy in between, or a server falling over
    200 with a reply that the server broke off itself          repeated, and never stored: it is not the model's
    any other status                                           never (EndpointRefused)
    a reply that is empty, refused, cut, malformed, wrong      one re-ask that says what is wrong, then UnusableReply

Left out on purpose: streaming, tool calls and several choices, which neither rubrics nor verdicts need.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Self, TypeVar
from weakref import WeakValueDictionary

import msgspec
from pydantic import BaseModel, Field, ValidationError

from webgym.endpoint.cache import Cache, StoredReply, key_of
from webgym.endpoint.cost import Charge, Meter, Usage
from webgym.endpoint.limits import Clock, Limits, Sleep
from webgym.endpoint.messages import Message, body_of, draw_mark, weigh, weigh_text
from webgym.endpoint.replies import Check, read, repair
from webgym.endpoint.settings import EndpointSettings
from webgym.endpoint.transport import Transport, backoff, read_key
from webgym.errors import EndpointDown, UnusableReply
from webgym.types import ABORTED

log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Answer(Generic[M]):
    """A record that passed its checks, and what it took. Usage is zero for a reply from the cache."""

    value: M
    model: str
    usage: Usage = field(default_factory=Usage)
    repaired: bool = False


@dataclass(frozen=True)
class _Question:
    messages: tuple[Message, ...]
    schema: dict[str, Any]
    name: str
    version: str


class _Spoken(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Spoken
    finish_reason: str | None = None


class _Count(BaseModel):
    prompt_tokens: int = Field(ge=0, le=1 << 40)
    completion_tokens: int = Field(0, ge=0, le=1 << 40)


class _Completion(BaseModel):
    """The part of a chat completion that is read; whatever else a server adds is ignored."""

    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: object = None


class Endpoint:
    """A model. Enter it once to ask; `meter` tells what it has cost. Without entering, `known` and `most` still answer."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        meter: Meter | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self.meter = meter or Meter(settings.price, settings.budget)
        self.cache = Cache(settings.cache) if settings.cache is not None else None
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __repr__(self) -> str:
        return f"Endpoint({self.settings.model!r} at {self.settings.url!r})"

    async def __aenter__(self) -> Self:
        settings = self.settings
        transport = Transport(
            settings.url,
            settings.model,
            read_key(settings.key_variable),
            connect_timeout=settings.connect_timeout,
            timeout=settings.timeout,
            max_reply_bytes=settings.max_reply_bytes,
        )
        if self.cache is not None:
            self.cache.sweep()
        self._limits = Limits(
            settings.concurrency,
            settings.requests_per_minute,
            settings.tokens_per_minute,
            clock=self._clock,
            sleep=self._sleep,
        )
        self._transport = await transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.__aexit__()

    async def ask(
        self,
        messages: Sequence[Message],
        kind: type[M],
        *,
        version: str,
        check: Check[M] | None = None,
        spent: Callable[[Usage], None] = lambda _: None,
    ) -> Answer[M]:
        """A record of the given kind that passes `check`, which says what is wrong in words the model can act on.

        `spent` is told what it took, also when it raises."""
        question = self._question(messages, kind, version)
        paid = _Paid()
        try:
            try:
                return await self._ask(question, kind, check, paid, fresh=False)
            except UnusableReply:
                if self.settings.reuse == "all" or paid.usage.total:
                    raise
            return await self._ask(question, kind, check, paid, fresh=True)
        finally:
            spent(paid.usage)

    def known(self, messages: Sequence[Message], kind: type[M], *, version: str, check: Check[M] | None = None) -> M | None:
        """The record, if it can be had from the cache alone."""
        question = self._question(messages, kind, version)
        for _ in range(2):
            stored = self._stored(self._key_of(question))
            if stored is None:
                return None
            try:
                return read(stored, kind, check)
            except UnusableReply as problem:
                question = _repaired(question, stored, problem)
        return None

    def most(self, messages: Sequence[Message], schema: object) -> Usage:
        """What one try can weigh."""
        form = weigh_text(msgspec.json.encode(schema).decode())
        weight = weigh(messages, image_tokens=self.settings.image_tokens)
        return Usage(weight + form, self.settings.sampling.max_tokens)

    async def _ask(
        self, question: _Question, kind: type[M], check: Check[M] | None, paid: _Paid, *, fresh: bool
    ) -> Answer[M]:
        reply = await self._reply(question, paid, fresh=fresh)
        try:
            return Answer(read(reply, kind, check), reply.model, paid.usage)
        except UnusableReply as e:
            problem = e
        log.debug("%s: %s; asking once more", question.version, problem.fault)
        reply = await self._reply(_repaired(question, reply, problem), paid, fresh=fresh)
        return Answer(read(reply, kind, check), reply.model, paid.usage, repaired=True)

    def _question(self, messages: Sequence[Message], kind: type[BaseModel], version: str) -> _Question:
        schema = _schema(kind)
        if self.settings.structure != "json_schema":
            form = f"Reply with one JSON object that fits this JSON schema:\n{msgspec.json.encode(schema).decode()}"
            messages = (*messages, Message("user", form))
        return _Question(tuple(messages), schema, kind.__name__, version)

    def _key_of(self, question: _Question) -> str:
        return key_of(self.settings, question.messages, question.schema, question.version)

    async def _reply(self, question: _Question, paid: _Paid, *, fresh: bool) -> StoredReply:
        """A stored reply, or a new one, stored."""
        if self.cache is None:
            return await self._fetch(question, paid)
        key = self._key_of(question)
        async with self._turns.setdefault(key, asyncio.Lock()):
            if not fresh and (stored := self._stored(key)) is not None:
                self.meter.reuse()
                return stored
            reply = await self._fetch(question, paid)
            self.cache.put(key, reply)
            return reply

    def _stored(self, key: str) -> StoredReply | None:
        stored = self.cache.get(key) if self.cache is not None else None
        # Folders may hold some that were stored before they were told from the model's own.
        return stored if stored is None or stored.finish not in ABORTED else None

    async def _fetch(self, question: _Question, paid: _Paid) -> StoredReply:
        """Try until there is a reply, a refusal that stands, or no more reason to hope."""
        settings, failures, give_up = self.settings, 0, float("inf")
        body = self._body(question)
        most = self.most(question.messages, question.schema)
        while True:
            try:
                return await self._try(body, most, paid)
            except EndpointDown as e:
                failures += 1
                now, asked = self._clock(), e.retry_after or 0.0
                give_up = min(give_up, now + settings.patience)
                own = backoff(failures, first=settings.backoff, longest=settings.max_backoff, chance=self._chance)
                if failures >= settings.tries or asked > settings.max_retry_after or now + asked + own > give_up:
                    raise
                if asked:
                    self._limits.hold(asked)
                log.debug("%s: %s; again in %.2f s", question.version, e, asked + own)
            await self._sleep(asked + own)

    async def _try(self, body: Sequence[bytes], most: Usage, paid: _Paid) -> StoredReply:
        async with self._limits.admit(most.total) as admission:
            with self.meter.call(most) as charge:
                try:
                    reply = await self._post(body, most, charge)
                finally:
                    used = charge.usage if charge.counted else Usage()
                    admission.settle(used.total)
                    paid.usage += used
                return reply

    async def _post(self, body: Sequence[bytes], most: Usage, charge: Charge) -> StoredReply:
        text = await self._transport.post(body, turned_away=charge.void)
        try:
            said = _Completion.model_validate_json(text)
        except ValidationError:
            doing = f"model {self.settings.model}"
            raise EndpointDown(f"{doing}: the answer is no chat completion: {text[:100]!r}") from None
        message, discreet = said.choices[0].message, self._transport.discreet
        spoken = discreet(message.content or "")
        usage = _usage(said.usage) or Usage(most.input, min(weigh_text(spoken), most.output))
        charge.settle(usage)
        if (finish := said.choices[0].finish_reason) in ABORTED:
            raise EndpointDown(f"model {self.settings.model}: the server broke its reply off (finish reason {finish!r})")
        return StoredReply(
            model=discreet(said.model or self.settings.model)[:200],
            text=spoken,
            refusal=discreet(message.refusal or "")[:2_000],
            finish=(finish or "")[:100],
            input=usage.input,
            output=usage.output,
        )

    def _body(self, question: _Question) -> tuple[bytes, ...]:
        sampling = self.settings.sampling
        fields: dict[str, object] = {
            "model": self.settings.model,
            self.settings.limit_field: sampling.max_tokens,
            **sampling.model_dump(exclude={"max_tokens"}, exclude_none=True),
            **self.settings.extra_body,
        }
        if self.settings.structure == "json_schema":
            form = {"name": question.name, "schema": question.schema, "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": form}
        elif self.settings.structure == "json_object":
            fields["response_format"] = {"type": "json_object"}
        return body_of(question.messages, fields, draw_mark(question.messages))


@dataclass
class _Paid:
    usage: Usage = field(default_factory=Usage)


@lru_cache(maxsize=64)
def _schema(kind: type[BaseModel]) -> dict[str, Any]:
    return kind.model_json_schema()


def _repaired(question: _Question, reply: StoredReply, problem: UnusableReply) -> _Question:
    return _Question(repair(question.messages, reply, problem), question.schema, question.name, question.version)


def _usage(count: object) -> Usage | None:
    """What the provider counted; None if it did not, or not in numbers."""
    try:
        read = _Count.model_validate(count)
    except ValidationError:
        return None
    return Usage(read.prompt_tokens, read.completion_tokens)
