"""The embedded server's HTTP side.

    POST /v1/chat/completions    a reply
    GET  /v1/models              the one model there is
    GET  /health                 200 while the engine runs
    POST /reload                 {"checkpoint": folder}: answer with these weights from now on

Invariants. Every answer that is not 200 is an OpenAI error object; what is wrong with a request is 4xx and names the field.
A body has a cap and a deadline, a reply has a deadline, the queue a bound (429 with Retry-After). A client that leaves gives
its row back. Off loopback a key is needed; on loopback, a browser is refused, because any page may make one send requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from webgym.config import describe
from webgym.errors import (
    BadRequest,
    BodyTooLarge,
    ConfigError,
    Forbidden,
    Overloaded,
    RequestTimeout,
    ServerError,
    Unauthorized,
    Unavailable,
)
from webgym.train.serving.chat import ask_of, completion_of
from webgym.train.serving.engine import RETRY_SECONDS, Answer, Ask, Engine
from webgym.train.serving.prompt import Prompter
from webgym.train.serving.settings import LOOPBACK, EmbeddedSettings
from webgym.train.serving.weights import Loaded, load
from webgym.train.serving.wire import (
    ChatRequest,
    ErrorBody,
    Fault,
    Health,
    ModelCard,
    ModelList,
    Reloaded,
    ReloadRequest,
)

log = logging.getLogger(__name__)

READERS: Final = 2  # prompts read at once; more would only take the processor from the engine
STEP_SECONDS: Final = 60.0  # the longest that one step of the engine may take
CLIENT_LEFT: Final = 499
OPENAI_STATUS: Final = {422: 400}

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]


class ModelApp:
    """The routes over an engine; `app` is what a web server runs."""

    def __init__(self, engine: Engine, prompter: Prompter, settings: EmbeddedSettings, key: str | None) -> None:
        self._engine, self._prompter, self._settings, self._key = engine, prompter, settings, key
        self._readers = asyncio.Semaphore(READERS)
        self._reloading = asyncio.Lock()
        self._born, self._pending = int(time.time()), 0
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._guarded(self._complete), methods=["POST"]),
                Route("/v1/models", self._guarded(self._models), methods=["GET"]),
                Route("/reload", self._guarded(self._reload), methods=["POST"]),
                Route("/health", self._health, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _refusal, Exception: _bug},
        )

    def _guarded(self, handler: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            try:
                self._admit(request)
                return await handler(request)
            except ServerError as e:
                return _error(OPENAI_STATUS.get(e.status, e.status), e.message, kind=e.code, retry_after=e.retry_after)
            except ClientDisconnect:
                return _error(CLIENT_LEFT, "the client left", kind="client_left")

        return handle

    def _admit(self, request: Request) -> None:
        if self._key is not None:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self._key}".encode()):
                raise Unauthorized("Authorization: a Bearer key is needed")
        elif "origin" in request.headers or request.url.hostname not in LOOPBACK:
            raise Forbidden("web pages may not use this server, and without a key it has no name but localhost")

    async def _complete(self, request: Request) -> Response:
        limits, engine = self._settings.http, self._settings.engine
        asked = await self._read(request, ChatRequest)
        if asked.model != self._settings.model:
            return _error(404, f"model: there is no {asked.model!r}; this is {self._settings.model!r}", kind="not_found")
        # Counted before anything is made of a request: what has not reached the engine's queue takes memory too.
        if self._pending >= engine.rows + engine.waiting:
            raise Overloaded(f"{self._pending} requests are under way", retry_after=RETRY_SECONDS)
        self._pending += 1
        try:
            async with asyncio.timeout(limits.reply_seconds):
                async with self._readers:
                    prompt = await asyncio.to_thread(self._prompter.read, asked.messages)
                replied: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
                tokenizer = self._prompter.tokenizer
                done = _teller(replied)
                ask = ask_of(asked, prompt, self._engine.loaded, tokenizer, context=self._engine.context, done=done)
                answer = await self._wait(request, ask, replied)
        except TimeoutError:
            raise Unavailable(f"no reply in {limits.reply_seconds:g} s") from None
        finally:
            self._pending -= 1
        return _json(200, completion_of(asked, ask, answer, tokenizer))

    async def _wait(self, request: Request, ask: Ask, replied: asyncio.Future[Answer]) -> Answer:
        self._engine.submit(ask)
        left = asyncio.create_task(_until_left(request))
        try:
            waited: set[asyncio.Future[Any]] = {replied, left}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not replied.done():
                raise ClientDisconnect
            return replied.result()
        finally:
            left.cancel()
            if not replied.done():
                replied.cancel()
                self._engine.drop(ask)

    async def _models(self, request: Request) -> Response:
        name, folder = self._settings.model, self._engine.loaded.folder
        card = ModelCard(id=name, created=self._born, root=str(folder), max_model_len=self._engine.context)
        return _json(200, ModelList(data=(card,)))

    async def _health(self, request: Request) -> Response:
        engine = self._engine
        status, word = (200, "ok") if engine.alive else (503, "broken")
        told = {"status": word, "generation": engine.generation, "active": engine.active, "waiting": engine.waiting}
        return _json(status, Health.model_validate(told))

    async def _reload(self, request: Request) -> Response:
        wanted = Path((await self._read(request, ReloadRequest)).checkpoint)
        if self._reloading.locked():
            raise Unavailable("another checkpoint is being loaded", retry_after=RETRY_SECONDS)
        limits = self._settings.http
        async with self._reloading:
            began = time.monotonic()
            try:
                async with asyncio.timeout(limits.load_seconds):
                    # Beside the old weights, which go on answering: the pause is only as long as replies under way take.
                    loaded = await asyncio.to_thread(load, wanted)
            except ConfigError as e:
                raise BadRequest(f"checkpoint: {e}") from e
            except TimeoutError:
                raise Unavailable(f"the checkpoint was not read in {limits.load_seconds:g} s") from None
            if loaded.words != self._engine.loaded.words:
                raise BadRequest("checkpoint: its tokenizer, template or image processor differ: start a new server for it")
            load_seconds = time.monotonic() - began
            pause = await self._swap(loaded)
        log.info("weights of %s: read in %.2f s, swapped in %.3f s", wanted, load_seconds, pause)
        done = Reloaded(
            generation=self._engine.generation, checkpoint=str(wanted), load_seconds=load_seconds, pause_seconds=pause
        )
        return _json(200, done)

    async def _swap(self, loaded: Loaded) -> float:
        drain = self._settings.http.drain_seconds
        swapped = self._engine.swap(loaded, drain_seconds=drain)
        try:
            async with asyncio.timeout(drain + STEP_SECONDS):
                return await asyncio.wrap_future(swapped)
        except TimeoutError:
            raise Unavailable("the engine did not come to rest: start the server anew") from None

    async def _read(self, request: Request, kind: type[M]) -> M:
        """A body that is what it should be. Raises the error that names the field."""
        cap, body = self._settings.http.body_mib << 20, bytearray()
        try:
            async with asyncio.timeout(self._settings.http.body_seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > cap:
                        raise BodyTooLarge(f"the body is over {self._settings.http.body_mib} MiB")
        except TimeoutError:
            raise RequestTimeout("the body did not arrive in time") from None
        try:
            return kind.model_validate_json(bytes(body))
        except ValidationError as e:
            raise BadRequest(describe(e)[:2000]) from e


def _teller(replied: asyncio.Future[Answer]) -> Callable[[Answer | ServerError], None]:
    """Takes an answer from the engine's thread to the loop that waits for it."""
    loop = replied.get_loop()

    def settle(answer: Answer | ServerError) -> None:
        if replied.done():
            return
        if isinstance(answer, Answer):
            replied.set_result(answer)
        else:
            replied.set_exception(answer)

    def tell(answer: Answer | ServerError) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, answer)

    return tell


async def _until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(status: int, body: BaseModel, headers: dict[str, str] | None = None) -> Response:
    return Response(body.model_dump_json(), status, headers, media_type="application/json")


def _error(status: int, message: str, *, kind: str, retry_after: float | None = None) -> Response:
    field, colon, _ = message.partition(":")
    param = field if colon and " " not in field else None
    headers = {"Retry-After": f"{max(1, round(retry_after))}"} if retry_after is not None else None
    return _json(status, ErrorBody(error=Fault(message=message, type=kind, param=param, code=status)), headers)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, error.detail, kind="bad_request")


async def _bug(request: Request, error: Exception) -> Response:
    return _error(500, f"a fault of this server: {type(error).__name__}", kind="internal")
