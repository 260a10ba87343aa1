"""The client against a peer that speaks the protocol over real sockets and misbehaves on request.

A test gives the peer a list of faults for an operation; each request of that operation uses up one, the rest are served.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from aiohttp import web
from pydantic import BaseModel, SecretStr

from webgym import errors
from webgym.errors import NetworkDown, Overloaded, ServerError, StaleLease, Unavailable, Unreachable
from webgym.rollout.client import RETRIES, Client, Timeouts
from webgym.server.protocol import (
    MSGPACK,
    ErrorBody,
    ErrorDetail,
    Fleet,
    Health,
    Lease,
    NewSession,
    SessionStarted,
    StepRequest,
    StepResult,
    StorageState,
    StoredFile,
)
from webgym.types import Click, Observation, Screenshot, ScrollPosition, Settled, Tab, Type

KEY = "a-key-of-some-length"
IMAGE = bytes(range(256)) * 600
SEEN = Observation(
    screenshot=Screenshot(format="jpeg", width=1280, height=768, sha256="0" * 64, data=IMAGE),
    unchanged=False,
    url="https://example.com/",
    title="Example",
    scroll=ScrollPosition(x=0, y=0, width=1280, height=768),
    tabs=(Tab(id=1, url="https://example.com/", title="Example", active=True),),
    settled=Settled(ms=12.5),
)
CLICK = Click(x=10, y=20)

Serve = Callable[[], Awaitable[web.StreamResponse]]
Fault = Callable[[web.Request, Serve], Awaitable[web.StreamResponse]]


def answer(model: BaseModel, request: web.Request, status: int = 200) -> web.Response:
    if MSGPACK in request.headers.get("Accept", ""):
        return web.Response(body=msgspec.msgpack.encode(model.model_dump()), status=status, content_type=MSGPACK)
    return web.Response(body=model.model_dump_json(), status=status, content_type="application/json")


def refuse(kind: type[ServerError], *, body: float | None = None, header: str | None = None) -> Fault:
    async def fault(request: web.Request, serve: Serve) -> web.StreamResponse:
        detail = ErrorDetail(code=kind.code, message=f"no: {kind.code}", retry_after=body)
        response = answer(ErrorBody(error=detail), request, kind.status)
        if header is not None:
            response.headers["Retry-After"] = header
        return response

    return fault


def say(data: bytes, media: str, status: int = 200, **headers: str) -> Fault:
    async def fault(request: web.Request, serve: Serve) -> web.StreamResponse:
        return web.Response(body=data, status=status, content_type=media, headers=headers)

    return fault


def late(seconds: float) -> Fault:
    async def fault(request: web.Request, serve: Serve) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await serve()

    return fault


async def lose_answer(request: web.Request, serve: Serve) -> web.StreamResponse:
    response = await serve()
    assert request.transport is not None
    request.transport.abort()
    return response


@dataclass
class Peer:
    """One session at a time for each create key; steps are stored by key and must come in order."""

    url: str = ""
    session_url: str | None = None
    ttl: float = 60.0
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    requests: list[tuple[str, web.Request, bytes]] = field(default_factory=list)
    leased: dict[str, NewSession] = field(default_factory=dict)
    performed: list[Any] = field(default_factory=list)
    results: dict[str, StepResult] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)

    def count(self, operation: str) -> int:
        return sum(name == operation for name, _, _ in self.requests)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.split("/")[2:]  # /v1/sessions/{id}/{operation}/{name}
        operation = parts[2] if len(parts) > 2 else "release" if len(parts) == 2 else parts[0]
        body = await request.read()
        self.requests.append((operation, request, body))

        async def serve() -> web.StreamResponse:
            return self.serve(operation, request, body)

        if self.faults[operation]:
            return await self.faults[operation].pop(0)(request, serve)
        return await serve()

    def serve(self, operation: str, request: web.Request, body: bytes) -> web.Response:
        lease = Lease(token="the-lease", ttl=self.ttl, remaining=self.ttl)
        match operation, request.method:
            case "sessions", _:
                wanted = NewSession.model_validate_json(body)
                assert wanted.key is not None
                self.leased[wanted.key] = wanted
                number = list(self.leased).index(wanted.key)
                return answer(SessionStarted(id=f"s-{number}", lease=lease, url=self.session_url, observation=SEEN), request)
            case "step", _:
                step = StepRequest.model_validate_json(body)
                assert step.key is not None
                if step.key in self.results:
                    return answer(self.results[step.key].model_copy(update={"repeated": True}), request)
                if step.seq != len(self.performed) + 1:
                    detail = ErrorDetail(code="step_conflict", message="out of order")
                    return answer(ErrorBody(error=detail), request, 409)
                self.performed.append(step.action)
                self.results[step.key] = StepResult(seq=step.seq, observation=SEEN)
                return answer(self.results[step.key], request)
            case "files", "PUT":
                self.files[request.path.rsplit("/", 1)[1]] = body
                return answer(StoredFile(name="f", size=len(body)), request)
            case "files", _:
                return web.Response(body=self.files[request.path.rsplit("/", 1)[1]])
            case "release", _:
                self.released.append(request.path)
                return web.Response(status=204)
        models: dict[str, BaseModel] = {
            "observe": SEEN,
            "renew": lease,
            "storage": StorageState(),
            "fleet": Fleet(capacity=4, available=3, queued=0, workers=()),
            "health": Health(status="ok", version="1"),
        }
        return answer(models[operation], request)


@asynccontextmanager
async def serving(peer: Peer) -> AsyncIterator[Peer]:
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", peer.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    peer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield peer
    finally:
        await runner.cleanup()


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    async with serving(Peer()) as one:
        yield one


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 6))
        self.now += seconds
        await asyncio.sleep(0)

    def client(self, url: str, **settings: Any) -> Client:
        return Client(url, key=KEY, clock=lambda: self.now, sleep=self.sleep, chance=lambda: 1.0, **settings)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while True:
            if true():
                return
            await asyncio.sleep(0.005)


async def test_a_session_is_leased_used_and_released(peer: Peer):
    async with Client(peer.url, key=KEY) as client:
        assert (await client.health()).status == "ok"
        assert (await client.fleet()).available == 3
        async with client.open(url="https://example.com", ttl=30) as session:
            assert session.observation == SEEN
            assert await session.step(CLICK) == SEEN
            assert await session.step(Type(text="hello")) == SEEN
            assert await session.observe() == SEEN
            assert (await session.renew()).ttl == 60
            assert await session.storage() == StorageState()
            assert session.seq == 2
    assert peer.performed == [CLICK, Type(text="hello")]
    assert next(iter(peer.leased.values())).ttl == 30
    assert peer.count("release") == 1
    for name, request, _ in peer.requests:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert request.headers["Accept"] == MSGPACK
        assert (name in ("sessions", "fleet", "health")) == ("Lease" not in request.headers)


async def test_one_click_never_becomes_two_though_its_answer_was_lost(peer: Peer):
    peer.faults["step"] = [lose_answer, lose_answer]
    async with Time().client(peer.url) as client, client.open(renew=False) as session:
        assert await session.step(CLICK) == SEEN
        assert session.seq == 1
    assert peer.performed == [CLICK]
    bodies = [body for name, _, body in peer.requests if name == "step"]
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


async def test_one_lease_never_becomes_two_though_its_answer_was_lost(peer: Peer):
    peer.faults["sessions"] = [lose_answer, lose_answer]
    async with Time().client(peer.url) as client, client.open(NewSession(locale="de"), renew=False):
        assert [wanted.locale for wanted in peer.leased.values()] == ["de"]
    assert peer.count("sessions") == 3


async def test_repeats_are_bounded_and_back_off(peer: Peer):
    peer.faults["step"] = [lose_answer] * 100
    moments = Time()
    async with moments.client(peer.url) as client, client.open(renew=False) as session:
        with pytest.raises(Unreachable):
            await session.step(CLICK)
    assert peer.count("step") == 1 + RETRIES["step"][0]
    assert moments.pauses == [0.2, 0.4, 0.8, 1.6]


async def test_repeats_of_a_step_end_with_its_lease(peer: Peer):
    peer.ttl, peer.faults["step"] = 1.0, [lose_answer] * 100
    moments = Time()
    async with moments.client(peer.url) as client, client.open(renew=False) as session:
        with pytest.raises(Unreachable):
            await session.step(CLICK)
    assert moments.pauses == [0.2, 0.4]


async def test_a_step_given_up_conflicts_with_the_next_if_it_happened_after_all(peer: Peer):
    peer.faults["step"] = [lose_answer]
    async with Time().client(peer.url, retries={}) as client, client.open(renew=False) as session:
        with pytest.raises(Unreachable):
            await session.step(CLICK)
        with pytest.raises(errors.StepConflict):
            await session.step(CLICK)
    assert peer.performed == [CLICK]


@pytest.mark.parametrize("kind", [Overloaded, NetworkDown, Unavailable])
@pytest.mark.parametrize("operation", ["sessions", "step"])
async def test_a_busy_server_is_asked_again_when_it_said(peer: Peer, kind: type[ServerError], operation: str):
    peer.faults[operation] = [refuse(kind, body=1.5), refuse(kind, header="7"), refuse(kind)]
    moments = Time()
    async with moments.client(peer.url) as client, client.open(renew=False) as session:
        await session.step(CLICK)
    assert moments.pauses == [1.7, 7.4, 0.8]
    assert peer.performed == [CLICK]
    assert len(peer.leased) == 1


async def test_patience_ends(peer: Peer):
    peer.faults["sessions"] = [refuse(Overloaded, body=2.0)] * 100
    moments = Time()
    async with moments.client(peer.url, patience=20) as client:
        with pytest.raises(Overloaded) as refusal:
            await client.session()
    assert refusal.value.retry_after == 2.0
    assert sum(moments.pauses) <= 20
    assert peer.count("sessions") == 1 + len(moments.pauses) > 3


async def test_a_wait_beyond_patience_is_not_begun(peer: Peer):
    peer.faults["sessions"] = [refuse(Unavailable, header="3600")]
    moments = Time()
    async with moments.client(peer.url) as client:
        with pytest.raises(Unavailable):
            await client.session()
    assert moments.pauses == []


STANDING = [kind for kind in errors.SERVER_ERRORS.values() if kind not in (Overloaded, NetworkDown, Unavailable)]


@pytest.mark.parametrize("kind", STANDING)
@pytest.mark.parametrize("operation", ["sessions", "step"])
async def test_any_other_refusal_stands(peer: Peer, kind: type[ServerError], operation: str):
    peer.faults[operation] = [refuse(kind, body=0.0)]
    async with Time().client(peer.url) as client:
        with pytest.raises(ServerError, match=f"no: {kind.code}") as refusal:
            async with client.open(renew=False) as session:
                await session.step(CLICK)
    assert type(refusal.value) is kind
    assert peer.count(operation) == 1
    assert peer.performed == []


@pytest.mark.parametrize("kind", [StaleLease, errors.BrowserGone, errors.PageUnresponsive, errors.UnknownSession])
async def test_a_lost_session_says_so_without_asking_again(peer: Peer, kind: type[ServerError]):
    peer.faults["observe"] = [refuse(kind)]
    async with Time().client(peer.url) as client, client.open(renew=False) as session:
        for call in (session.observe(), session.step(CLICK), session.storage(), session.get_file("x")):
            with pytest.raises(kind):
                await call
        assert session.gone.is_set()
    assert [name for name, _, _ in peer.requests] == ["sessions", "observe"]


async def test_a_missing_file_does_not_end_the_session(peer: Peer):
    peer.faults["files"] = [refuse(errors.UnknownFile)]
    async with Time().client(peer.url) as client, client.open(renew=False) as session:
        with pytest.raises(errors.UnknownFile):
            await session.get_file("nothing")
        await session.step(CLICK)
        assert not session.gone.is_set()


UNREADABLE = {
    "html error": say(b"<h1>bad gateway</h1>", "text/html", 502),
    "error of another shape": say(b'{"error": "x"}', "application/json", 500),
    "redirect": say(b"", "text/plain", 307, Location="/v1/health"),
    "cut msgpack": say(b"\x81\xa6status", MSGPACK),
    "not utf-8": say(b"\xa2\xff\xfe", MSGPACK),
    "deep msgpack": say(b"\x91" * 100_000, MSGPACK),
    "wrong shape": say(b"\x81\xa6status\xa2ok", MSGPACK),
    "prose": say(b"all is well", "text/plain"),
    "nothing": say(b"", MSGPACK),
}


@pytest.mark.parametrize("fault", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_an_unreadable_answer_is_an_error_of_the_server(peer: Peer, fault: Fault):
    peer.faults["health"] = [fault]
    async with Time().client(peer.url) as client:
        with pytest.raises(ServerError) as refusal:
            await client.health()
    assert type(refusal.value) is ServerError
    assert peer.count("health") == 1


async def test_an_answer_without_end_is_not_read_to_its_end(peer: Peer):
    async def endless(request: web.Request, serve: Serve) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(bytes(100_000))

    peer.faults["health"] = [endless]
    async with Time().client(peer.url, max_body=1_000_000) as client:
        with pytest.raises(ServerError, match="over the cap"):
            await client.health()


async def test_a_proxy_in_between_that_is_busy_is_asked_again(peer: Peer):
    peer.faults["step"] = [say(b"<h1>restarting</h1>", "text/html", 503, **{"Retry-After": "3"})]
    moments = Time()
    async with moments.client(peer.url) as client, client.open(renew=False) as session:
        await session.step(CLICK)
    assert moments.pauses == [3.2]


async def test_an_answer_in_json_is_read_too(peer: Peer):
    peer.faults["step"] = [say(StepResult(seq=1, observation=SEEN).model_dump_json().encode(), "application/json")]
    async with Time().client(peer.url) as client, client.open(renew=False) as session:
        assert await session.step(CLICK) == SEEN


async def test_every_call_has_a_deadline(peer: Peer):
    peer.faults["step"] = [late(30)]
    async with (
        Time().client(peer.url, timeouts=Timeouts(step=0.1), retries={}) as client,
        client.open(renew=False) as session,
    ):
        began = time.monotonic()
        with pytest.raises(Unreachable, match=r"no answer in 0\.1 s"):
            await session.step(CLICK)
        assert time.monotonic() - began < 2


async def test_a_server_that_is_not_there_is_unreachable(peer: Peer):
    async with serving(Peer()) as other:
        pass
    async with Time().client(other.url) as client:
        with pytest.raises(Unreachable):
            await client.session()


async def test_steps_at_the_same_time_take_turns(peer: Peer):
    async with Client(peer.url) as client, client.open() as session:
        await asyncio.gather(*(session.step(CLICK) for _ in range(5)))
        assert session.seq == 5


async def test_an_exception_leaves_as_it_came_and_the_session_is_released(peer: Peer):
    with pytest.raises(ZeroDivisionError):
        async with Client(peer.url) as client, client.open():
            raise ZeroDivisionError
    assert peer.count("release") == 1


async def test_a_cancelled_holder_releases_and_stays_cancelled(peer: Peer):
    peer.faults["step"], peer.faults["release"] = [late(30)], [late(0.2)]
    finished = []

    async def hold() -> None:
        async with client.open() as session:
            try:
                await session.step(CLICK)
            finally:
                finished.append(session)

    async with Client(peer.url) as client:
        task = asyncio.create_task(hold())
        await until(lambda: peer.count("step") == 1)
        task.cancel()
        await until(lambda: peer.count("release") == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        with pytest.raises(StaleLease, match="released"):
            await finished[0].observe()
    assert peer.released == ["/v1/sessions/s-0"]


async def test_a_release_that_hangs_ends_at_its_deadline(peer: Peer, caplog: pytest.LogCaptureFixture):
    peer.faults["release"] = [late(30)] * 9
    began = time.monotonic()
    async with Client(peer.url, timeouts=Timeouts(release=0.2)) as client:
        async with client.open():
            pass
        assert "was not released" in caplog.text
        with pytest.raises(Unreachable):
            await (await client.session()).release()
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("kind", [StaleLease, errors.BrowserGone, errors.UnknownSession])
async def test_releasing_what_ended_already_is_fine(peer: Peer, kind: type[ServerError]):
    peer.faults["release"] = [refuse(kind)]
    async with Client(peer.url) as client:
        session = await client.session()
        await session.release()
        await session.release()
    assert peer.count("release") == 1


async def test_a_client_that_leaves_releases_what_is_still_held(peer: Peer):
    began = time.monotonic()
    async with Client(peer.url) as client:
        for _ in range(3):
            await client.session()
    assert time.monotonic() - began < 2  # no keeper sleeps on
    assert sorted(peer.released) == ["/v1/sessions/s-0", "/v1/sessions/s-1", "/v1/sessions/s-2"]


async def test_an_idle_session_is_renewed_until_it_is_released(peer: Peer):
    peer.ttl = 0.15
    async with Client(peer.url) as client:
        async with client.open():
            began = time.monotonic()
            await until(lambda: peer.count("renew") >= 3)
            assert time.monotonic() - began > 0.14  # a third of the lease apart
        async with client.open(renew=False):
            renewed = peer.count("renew")
            await asyncio.sleep(0.2)
            assert peer.count("renew") == renewed


async def test_a_long_lease_is_asked_about_often_enough_to_learn_of_its_end_in_time(peer: Peer):
    peer.ttl, peer.faults["renew"] = 3600.0, [refuse(errors.BrowserGone)]
    moments = Time()
    async with moments.client(peer.url) as client, client.open() as session:
        async with asyncio.timeout(5):
            await session.gone.wait()
        assert moments.now <= 5
        with pytest.raises(errors.BrowserGone):
            await session.step(CLICK)
    assert [name for name, _, _ in peer.requests] == ["sessions", "renew"]


async def test_sessions_look_around_at_the_same_moments(peer: Peer):
    """A process with a thousand sessions would else wake a thousand times where once is enough."""
    ends: list[float] = []

    async def sleep(seconds: float) -> None:
        if seconds:
            ends.append(time.monotonic() + seconds)
        await asyncio.sleep(seconds)

    peer.ttl = 1.2  # asked about every 0.4 s
    async with Client(peer.url, key=KEY, sleep=sleep) as client, client.open():
        await asyncio.sleep(0.03)
        async with client.open():
            await until(lambda: peer.count("renew") >= 4)
    assert len(ends) >= 4
    assert all(abs(end / 0.05 - round(end / 0.05)) < 0.05 for end in ends), ends


async def test_a_renewal_that_fails_once_is_made_again(peer: Peer):
    peer.ttl, peer.faults["renew"] = 0.3, [refuse(ServerError), say(b"", "text/plain")]
    async with Client(peer.url) as client, client.open() as session:
        await until(lambda: peer.count("renew") >= 4)
        await session.step(CLICK)


async def test_a_server_silent_for_a_whole_lease_has_lost_the_session(peer: Peer):
    peer.ttl, peer.faults["renew"] = 0.3, [lose_answer] * 1000
    async with Client(peer.url) as client, client.open() as session:
        async with asyncio.timeout(5):
            await session.gone.wait()
        with pytest.raises(Unreachable):
            await session.step(CLICK)


async def test_a_proxy_password_reaches_the_server_and_nothing_else(peer: Peer, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    proxy, shown = "http://user:hunter2@proxy.example:3128", []
    peer.faults["sessions"] = [lose_answer, refuse(Overloaded, body=0.01), refuse(errors.BadRequest)]
    async with Client(peer.url, key=KEY) as client:
        with pytest.raises(errors.BadRequest) as refusal:
            await client.session(proxy=SecretStr(proxy))
        async with client.open(NewSession(proxy=SecretStr(proxy))) as session:
            shown += [repr(client), repr(session), repr(vars(session)), repr(refusal.value), caplog.text]
    assert [json.loads(body)["proxy"] for name, _, body in peer.requests if name == "sessions"] == [proxy] * 4
    assert "again in" in caplog.text
    assert not any("hunter2" in text or KEY in text or "the-lease" in text for text in shown)


async def test_a_session_is_used_at_the_address_it_was_given(peer: Peer):
    async with serving(Peer()) as worker, Client(peer.url, key=KEY) as client:
        peer.session_url = worker.url
        async with client.open() as session:
            await session.step(CLICK)
        assert [name for name, _, _ in peer.requests] == ["sessions"]
        assert [name for name, _, _ in worker.requests] == ["step", "release"]
        peer.session_url = "file:///etc"
        with pytest.raises(ServerError, match="must look like"):
            await client.session()


async def test_files_keep_their_names_and_bytes(peer: Peer):
    async with Client(peer.url) as client, client.open() as session:
        for name, data in (("ü?#%2f &.txt", b""), ("..", b"dots"), ("big", b"x" * (3 << 20))):
            await session.put_file(name, data)
            assert peer.files[name] == data
            assert await session.get_file(name) == data
        peer.faults["files"] = [say(msgspec.msgpack.encode({"name": "f", "size": 1}), MSGPACK)]
        with pytest.raises(ServerError, match="1 bytes of 4"):
            await session.put_file("f", b"four")


async def test_the_key_comes_from_the_environment_and_proxies_do_not(peer: Peer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEBGYM_API_KEY", "from-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with Client(peer.url) as client:
        await client.health()
    assert peer.requests[0][1].headers["Authorization"] == "Bearer from-the-environment"


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:7860", "ftp://host", "http://", "http://u:p@host", "http://[", "http://h/?q"]
)
def test_an_address_that_cannot_be_is_refused(url: str):
    with pytest.raises(errors.ConfigError, match="must look like"):
        Client(url)


def test_a_key_that_cannot_be_a_header_is_refused_without_showing_it():
    with pytest.raises(errors.ConfigError) as refusal:
        Client("http://host", key="secret\nX: y")
    assert "secret" not in str(refusal.value)
