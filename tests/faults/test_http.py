"""Strangers at the door, in raw bytes against a real `webgym serve` (matrix rows 31, 32, 33 and 37; G8)."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import psutil
import pytest

from tests import raw
from tests.conftest import KEY, settings_for
from tests.processes import command_line, environment
from tests.raw import Answer, request
from tests.served import Served, serving
from tests.site.canary import Canary, free_port
from tests.site.server import Site
from webgym.errors import ConfigError
from webgym.server.fleet.local import running_fleet
from webgym.server.http import new_app
from webgym.server.listen import Listener
from webgym.server.settings import HttpLimits

MB = 1024 * 1024
SECRETS = {
    "key": KEY,
    "proxy password": "canary-proxy-password",
    "cookie": "canary-cookie-value",
    "header": "canary-header-value",
    "local storage": "canary-stored-value",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("serve")
    with serving(folder, log_level="DEBUG", http__header_seconds=1, http__body_seconds=1, limits__warm=0) as running:
        yield running


@pytest.fixture(scope="module", params=["master", "worker"])
def url(server: Served, request: pytest.FixtureRequest) -> str:
    """Both listen with the same defences, and both are tried."""
    if request.param == "master":
        return server.url
    fleet = json.loads(ask(server.url, "GET", "/v1/fleet").data.partition(b"\r\n\r\n")[2])
    return str(fleet["workers"][0]["url"])


def ask(url: str, method: str, path: str, *headers: str, body: bytes = b"", key: str | None = KEY) -> Answer:
    return raw.send(url, request(method, path, *headers, body=body, key=key))


def post(url: str, path: str, body: bytes) -> Answer:
    return ask(url, "POST", path, "Content-Type: application/json", body=body)


def alive(url: str) -> None:
    assert ask(url, "GET", "/v1/health").status == 200


# ── row 31: the key ──────────────────────────────────────────────────────────────────────────────────────────────

WRONG_KEYS = {
    "missing": [],
    "empty": ["X-API-Key:"],
    "empty bearer": ["Authorization: Bearer "],
    "scheme only": ["Authorization: Bearer"],
    "no scheme": [f"Authorization: {KEY}"],
    "basic": [f"Authorization: Basic {KEY}"],
    "short": [f"X-API-Key: {KEY[:-1]}"],
    "long": [f"X-API-Key: {KEY}x"],
    "upper case": [f"X-API-Key: {KEY.upper()}"],
    "quoted": [f'X-API-Key: "{KEY}"'],
    "latin-1": ["X-API-Key: schlüssel-schlüssel"],
    "NUL inside": [f"X-API-Key: {KEY}%00"],
    "wrong, then a right bearer": ["X-API-Key: wrong", f"Authorization: Bearer {KEY}"],
    "as a cookie": [f"Cookie: X-API-Key={KEY}"],
}
CALLS = [
    ("GET", "/v1/fleet"), ("GET", "/metrics"), ("POST", "/v1/sessions"), ("POST", "/v1/sessions/s-x/step"),
    ("DELETE", "/v1/sessions/s-x"), ("GET", "/v1/sessions/s-x/files/x"), ("POST", "/v1/workers"), ("GET", "/nowhere"),
    ("OPTIONS", "/v1/sessions"), ("HEAD", "/v1/fleet"), ("GET", "/docs/"), ("GET", "//docs"), ("GET", "/v1/health/../fleet"),
    ("POST", "/get"), ("GET", "/info"),
]  # fmt: skip


@pytest.mark.parametrize("headers", WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_a_missing_wrong_empty_or_short_key_is_refused(url, headers):
    answer = ask(url, "GET", "/v1/fleet", *headers, key=None)
    assert (answer.status, answer.error["code"]) == (401, "unauthorized")
    assert KEY not in answer.text


def test_no_call_is_open_without_the_key_but_health_and_the_description(url):
    for method, path in CALLS:
        answer = ask(url, method, path, key=None)
        assert answer.status == 401, (method, path, answer.text)
    for path in ("/v1/health", "/docs", "/openapi.json"):
        assert ask(url, "GET", path, key=None).status == 200


@pytest.mark.parametrize("header", [f"X-API-Key: {KEY}", f"Authorization: Bearer {KEY}", f"authorization: bearer   {KEY}  "])
def test_the_key_is_taken_in_either_header(url, header):
    assert ask(url, "GET", "/v1/fleet", header, key=None).status == 200


def test_a_header_that_decides_and_comes_twice_is_refused(url):
    for name, one, two in (
        ("X-API-Key", KEY, "wrong"),
        ("X-API-Key", "wrong", KEY),
        ("Host", "a", "b"),
        ("Lease", "a", "b"),
    ):
        answer = ask(url, "GET", "/v1/fleet", f"{name}: {one}", f"{name}: {two}", key=KEY if name != "X-API-Key" else None)
        assert answer.status == 422, name
        assert answer.error["message"] == f"the header {name.lower()} was sent twice"


def test_the_key_is_in_no_command_line_and_in_no_browsers_environment(server):
    children, browsers = server.children(), server.browsers()
    assert len(children) == 2
    assert browsers
    for process in (psutil.Process(server.process.pid), *children, *browsers):
        assert KEY not in " ".join(command_line(process))
    known = [variables for process in browsers if (variables := environment(process))]
    assert known, "they cannot all have ended"
    for variables in known:
        assert KEY not in str(variables)
        assert not any(name.startswith("WEBGYM") for name in variables)


def refuses_to_start(*arguments: str, key: str | None) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"} | ({"WEBGYM_API_KEY": key} if key is not None else {})
    command = [sys.executable, "-m", "webgym.cli", "serve", "--port", "0", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2, done
    return done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_a_key_only_loopback_is_listened_on(host):
    assert f"listening on {host} needs a key of your own" in refuses_to_start("--host", host, key=None)


@pytest.mark.parametrize("key", ["", "fifteen-charact"])
def test_a_key_that_is_none_stops_the_start_and_is_not_repeated(key):
    said = refuses_to_start(key=key)
    assert "WEBGYM_API_KEY must be at least 16 printable ASCII characters" in said
    assert not key or key not in said


async def test_whoever_starts_a_fleet_cannot_leave_it_open_to_the_world():
    async with Site() as site:
        for host, key in (("0.0.0.0", None), ("127.0.0.1", "short"), ("127.0.0.1", "")):
            with pytest.raises(ConfigError):
                async with running_fleet(settings_for(site, host=host), key):
                    raise AssertionError("it started")


# ── the guard, in front of the smallest application ─────────────────────────────────────────────────────────────


@asynccontextmanager
async def guarded(key: str | None = None, **limits: float) -> AsyncIterator[str]:
    bounds = HttpLimits(**limits)
    app = new_app("small", key=key, limits=bounds, refused=lambda _: None)

    @app.get("/it")
    async def it() -> dict[str, str]:
        return {"it": "works"}

    async with Listener(app, "127.0.0.1", 0, bounds) as listener:
        yield listener.url()


async def call(url: str, *lines: str) -> Answer:
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
    return await asyncio.to_thread(raw.send, url, head)


async def test_without_a_key_a_foreign_host_is_refused_as_dns_rebinding_would_send_it():
    async with guarded() as url:
        port = url.rpartition(":")[2]
        for host in ("localhost", f"LocalHost:{port}", "127.0.0.1", f"127.0.0.1:{port}", "[::1]", f"[::1]:{port}"):
            assert (await call(url, "GET /it HTTP/1.1", f"Host: {host}")).status == 200, host
        foreign = ["", "evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0"]
        foreign += ["evil.example:127.0.0.1", "[::1].evil.example", "localhost@evil.example", "127.0.0.1, evil.example"]
        for host in foreign:
            answer = await call(url, "GET /it HTTP/1.1", f"Host: {host}")
            assert answer.status in (400, 403), host
        assert (await call(url, "GET /it HTTP/1.0")).status == 403


async def test_requests_of_web_pages_are_refused_and_nothing_invites_them():
    for key in (None, KEY):
        async with guarded(key) as url:
            origins = [f"Origin: {origin}" for origin in ("http://evil.example", "null", "http://127.0.0.1")]
            for header in (*origins, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"):
                lines = [f"{method} /it HTTP/1.1" for method in ("GET", "POST", "OPTIONS")]
                for line in lines:
                    answer = await call(url, line, "Host: localhost", f"X-API-Key: {KEY}", header)
                    assert answer.status == 403, (line, header)
                    assert "access-control" not in answer.text.lower()
            assert (
                await call(url, "GET /it HTTP/1.1", "Host: localhost", f"X-API-Key: {KEY}", "Sec-Fetch-Site: none")
            ).status == 200


async def test_other_methods_upgrades_and_trailing_slashes_lead_nowhere():
    async with guarded() as url:
        for line, status in (
            ("OPTIONS /it", 405),
            ("HEAD /it", 405),
            ("TRACE /it", 405),
            ("GET /it/", 404),
            ("CONNECT /it", 405),
        ):
            answer = await call(url, f"{line} HTTP/1.1", "Host: localhost")
            assert answer.status == status, line
            assert "location:" not in answer.text.lower()
        upgrade = ("Host: localhost", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
        answer = await call(url, "GET /it HTTP/1.1", *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        assert 101 not in answer.statuses


# ── row 32: too much, too slow, too odd ─────────────────────────────────────────────────────────────────────────


def chunks(total: int, size: int = 64 * 1024) -> Iterator[bytes]:
    block = b"x" * size
    for _ in range(total // size):
        yield f"{size:x}\r\n".encode() + block + b"\r\n"
    yield b"0\r\n\r\n"


def chunked(path: str = "/v1/sessions", method: str = "POST") -> bytes:
    return request(method, path, "Transfer-Encoding: chunked", "Content-Type: application/json", key=KEY)


def test_a_body_of_100_mb_is_refused_before_it_is_read(url):
    head = request("POST", "/v1/sessions", f"Content-Length: {100 * MB}", "Content-Type: application/json", key=KEY)
    answer = raw.send(url, head)
    assert (answer.status, answer.error["code"]) == (413, "body_too_large")
    assert answer.seconds < 3.5


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/sessions/s-x/step"])
def test_a_body_of_100_mb_is_refused_though_it_did_not_say_so(url, path):
    head = request("POST", path, f"Content-Length: {100 * MB}", "Content-Type: application/json", key=KEY)
    with_length = raw.send(url, iter([head, *[b"x" * MB] * 100]))
    assert (with_length.status, with_length.closed) == (413, True)
    answer = raw.send(url, iter([chunked(path), *chunks(100 * MB)]))
    # The master does not read the body of a session it does not know.
    assert answer.status in ((413,) if path == "/v1/sessions" else (413, 404))
    assert answer.closed
    alive(url)


def test_the_answer_to_a_refused_upload_arrives_though_the_sender_does_not_listen_before_it_is_done(url):
    head = request("POST", "/v1/sessions", f"Content-Length: {20 * MB}", key=None)
    answer = raw.send(url, iter([head, *[b"x" * MB] * 20]))
    assert answer.status == 401


def test_a_compressed_body_is_refused_unread(url):
    bomb = gzip.compress(b" " * 50 * MB)
    answer = ask(url, "POST", "/v1/sessions", "Content-Encoding: gzip", "Content-Type: application/json", body=bomb)
    assert (answer.status, answer.error["message"]) == (422, "compressed bodies are not read")
    assert ask(url, "POST", "/v1/sessions", "Transfer-Encoding: gzip, chunked", body=b"x").status in (400, 422)


@pytest.mark.parametrize("depth", [500, 100_000])
@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])
def test_deep_json_is_refused_and_crashes_nothing(url, depth, left, right):
    middle = "" if left == "[" else "1"
    answer = post(url, "/v1/sessions", (left * depth + middle + right * depth).encode())
    assert answer.status == 422
    answer = post(url, "/v1/sessions", ('{"headers":' + left * depth + middle + right * depth + "}").encode())
    assert answer.status == 422
    alive(url)


@pytest.mark.parametrize("body", [b"1" * 100_000, b'{"ttl":' + b"1" * 10_000 + b"}", b'{"ttl":1e999}', b'{"ttl":NaN}'])
def test_huge_numbers_are_refused(url, body):
    assert post(url, "/v1/sessions", body).status == 422


def test_ten_thousand_headers_and_one_of_ten_megabytes_are_refused(url):
    many = request("GET", "/v1/health", *[f"X-{n}: y" for n in range(10_000)])
    assert raw.send(url, many).status == 431
    large = request("GET", "/v1/health", "X-Large: " + "y" * 10 * MB)
    assert raw.send(url, large).status == 431
    path = request("GET", "/v1/health?" + "y" * 10 * MB)
    assert raw.send(url, path).status in (414, 431)
    fits = request("GET", "/v1/health", "X-Large: " + "y" * 16_000)
    assert raw.send(url, fits).status == 200


def test_a_large_body_right_behind_small_headers_is_not_taken_for_headers(url):
    """However the network cuts it: also in the middle of the blank line."""
    body = b'{"user_agent": "' + b"x" * 200_000 + b'"}'
    whole = request("POST", "/v1/sessions", "Content-Type: application/json", body=body, key=KEY)
    cut = whole.index(b"\r\n\r\n")
    for at in (cut + 1, cut + 2, cut + 3, cut + 4):

        def pieces(at: int = at) -> Iterator[bytes]:
            yield whole[:at]
            time.sleep(0.05)
            yield whole[at:]

        answer = raw.send(url, pieces())
        assert answer.status == 422, answer.text
        assert answer.error["message"].startswith("user_agent: String should match pattern")


def slowly(head: bytes, each: float = 0.2, times: int = 40) -> Iterator[bytes]:
    yield head
    for _ in range(times):
        time.sleep(each)
        yield b"x"


def test_slow_headers_end_in_408(server):
    answer = raw.send(server.url, slowly(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", times=7))
    assert (answer.status, answer.closed) == (408, True)
    assert answer.seconds < 6


def test_a_connection_that_says_nothing_is_closed(server):
    answer = raw.send(server.url, b"")
    assert (answer.data, answer.closed) == (b"", True)
    assert answer.seconds < 4


def test_a_slow_body_ends_in_408(server):
    head = request("POST", "/v1/sessions", "Content-Length: 1000", "Content-Type: application/json", key=KEY)
    answer = raw.send(server.url, slowly(head, times=7))
    assert (answer.status, answer.closed) == (408, True)
    assert answer.error["code"] == "request_timeout"
    assert answer.seconds < 6


def test_blank_lines_do_not_keep_a_connection_for_ever(server):
    def pieces() -> Iterator[bytes]:
        yield request("GET", "/v1/health", end=False)
        for _ in range(9):
            time.sleep(0.2)
            yield b"\r\n"

    answer = raw.send(server.url, pieces())
    assert (answer.statuses, answer.closed) == ([200, 408], True)


def test_a_body_nobody_asked_for_does_not_keep_a_connection_for_ever(server):
    head = request("GET", "/v1/health", "Content-Length: 1000000", end=False)
    answer = raw.send(server.url, slowly(head, times=8))
    assert (answer.status, answer.closed) == (200, True)
    assert answer.seconds < 6


def test_trailers_and_chunk_framing_have_a_bound(server, url):
    before = resident(server)

    def trailers() -> Iterator[bytes]:
        yield chunked() + b"2\r\n{}\r\n0\r\nX-Trailer: "
        for _ in range(60):
            yield b"y" * MB

    answer = raw.send(url, trailers())
    assert answer.closed
    assert resident(server) - before < 20 * MB

    def extensions() -> Iterator[bytes]:
        yield chunked() + b"2;"
        for _ in range(60):
            yield b"y" * MB

    assert raw.send(url, extensions()).closed
    assert resident(server) - before < 20 * MB
    alive(url)


def test_a_trailer_is_no_header(url):
    """Otherwise a key in front of which a proxy put its own checks could be replaced behind its back."""
    head = request("POST", "/v1/sessions/s-x/renew", "Transfer-Encoding: chunked", "Content-Type: application/json")
    answer = raw.send(url, head + b"2\r\n{}\r\n0\r\nX-API-Key: " + KEY.encode() + b"\r\n\r\n")
    assert answer.status == 401


def test_pipelined_requests_are_answered_in_order_and_a_flood_of_them_is_cut(server, url):
    few = b"".join(request("GET", path, key=KEY, end=False) for path in ("/v1/health", "/nowhere", "/v1/fleet"))
    answer = raw.send(url, few + request("GET", "/v1/health"))
    assert answer.statuses == [200, 404, 200, 200]
    before = resident(server)
    for _ in range(5):
        answer = raw.send(url, b"GET /v1/fleet HTTP/1.1\r\n\r\n" * 10_000, within=3)
        assert answer.closed
    assert resident(server) - before < 10 * MB


def test_the_headers_of_a_pipelined_request_are_bounded_too(server, url):
    before = resident(server)

    def pieces() -> Iterator[bytes]:
        yield request("POST", "/v1/sessions", "Content-Length: 10", "Content-Type: application/json", key=KEY, end=False)
        yield b"0123456789GET /v1/health HTTP/1.1\r\nX-Large: "
        for _ in range(50):
            yield b"y" * MB

    answer = raw.send(url, pieces())
    assert answer.closed
    assert answer.statuses in ([], [422], [422, 431], [431])
    assert resident(server) - before < 10 * MB


GET, POST = (f"{line} HTTP/1.1\r\nHost: x\r\n" for line in ("GET /v1/health", "POST /v1/sessions"))
SMUGGLED = GET + "\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
ODD = {
    "both lengths": POST + "Content-Length: 6\r\n" + CHUNKED + "\r\n0\r\n\r\n" + SMUGGLED,
    "both lengths, turned": POST + CHUNKED + "Content-Length: 6\r\n\r\n0\r\n\r\n",
    "two lengths": POST + "Content-Length: 0\r\nContent-Length: 37\r\n\r\n" + SMUGGLED,
    "length list": POST + "Content-Length: 0, 37\r\n\r\n" + SMUGGLED,
    "negative length": POST + "Content-Length: -1\r\n\r\n" + SMUGGLED,
    "plus length": POST + "Content-Length: +5\r\n\r\n" + SMUGGLED,
    "hexadecimal length": POST + "Content-Length: 0x5\r\n\r\n" + SMUGGLED,
    "endless length": POST + f"Content-Length: {'9' * 5000}\r\n\r\n" + SMUGGLED,
    "chunked not last": POST + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "odd chunked": POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "blank before colon": POST + "Content-Length : 37\r\n\r\n" + SMUGGLED,
    "blank before encoding": POST + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "folded": GET + "X-Folded: a\r\n b\r\n\r\n" + SMUGGLED,
    "bare LF": "GET /v1/health HTTP/1.1\nHost: x\n\n" + SMUGGLED,
    "bare CR": GET + "X: a\rb\r\n\r\n" + SMUGGLED,
    "NUL in a header": GET + "X: a\0b\r\n\r\n" + SMUGGLED,
    "NUL in the path": "GET /v1/hea\0lth HTTP/1.1\r\nHost: x\r\n\r\n" + SMUGGLED,
    "odd chunk size": POST + CHUNKED + "X-API-Key: KEY\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "endless chunk size": POST + CHUNKED + "X-API-Key: KEY\r\n\r\n" + "f" * 40,
    "HTTP/0.9": "GET /v1/health\r\n\r\n",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "noise": "\xff\xfe\x00\x01\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_what_two_servers_could_read_differently_is_refused_and_closed(url, text):
    answer = raw.send(url, text.replace("KEY", KEY).encode("latin-1"))
    assert 200 not in answer.statuses, answer.text
    assert answer.statuses in ([400], [401], [408]), answer.text
    assert answer.closed


def test_old_and_absolute_forms_are_judged_like_any_other(url):
    old = raw.send(url, f"GET /v1/fleet HTTP/1.0\r\nX-API-Key: {KEY}\r\n\r\n".encode())
    assert (old.status, old.closed) == (200, True)
    assert raw.send(url, b"GET /v1/fleet HTTP/1.0\r\n\r\n").status == 401
    for target in ("http://169.254.169.254/v1/fleet", "http://evil.example/v1/fleet", "http://evil.example:1/v1/fleet"):
        assert ask(url, "GET", target).status == 200, "the path counts, and the address is ours"
        assert ask(url, "GET", target, key=None).status == 401
    assert ask(url, "GET", "http://evil.example").status in (400, 404)
    assert ask(url, "GET", "*").status in (400, 404)


def test_five_hundred_silent_connections_do_not_hurt(server, url):
    before = resident(server)
    with ExitStack() as stack:
        for _ in range(500):
            stack.enter_context(raw.connect(url))
        began = time.monotonic()
        alive(url)
        assert time.monotonic() - began < 1.0
        grown = resident(server) - before
    assert grown < 20 * MB, grown
    alive(url)


async def test_connections_have_a_cap_and_come_back_under_it():
    async with guarded(connections=16, header_seconds=60) as url:
        held = [await asyncio.to_thread(raw.connect, url) for _ in range(16)]
        await asyncio.sleep(0.2)
        assert (await asyncio.to_thread(raw.send, url, b"")).statuses == [503]
        for sock in held:
            sock.close()
        await asyncio.sleep(0.2)
        assert (await call(url, "GET /it HTTP/1.1", "Host: localhost")).status == 200


@asynccontextmanager
async def generous(**bounds: float) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A server whose answer has 64 MB, more than any socket holds; and when it has stopped trying to send it."""
    ended = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (64 * MB))]})
            for left in range(63, -1, -1):
                await send({"type": "http.response.body", "body": bytes(MB), "more_body": left > 0})
        finally:
            ended.set()

    async with Listener(app, "127.0.0.1", 0, HttpLimits.model_validate(bounds)) as listening:
        yield listening.url(), ended


async def read_all(sock: socket.socket, pause: float) -> int:
    """How many bytes come until the other side ends it."""
    received = 0
    with suppress(ConnectionResetError):
        while data := await asyncio.to_thread(sock.recv, 4 * MB):
            received += len(data)
            await asyncio.sleep(pause)
    return received


async def test_an_answer_that_nobody_reads_is_given_up():
    async with generous(answer_seconds=0.5) as (url, ended):
        with await asyncio.to_thread(raw.connect, url) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.wait_for(ended.wait(), 10)
            assert await read_all(sock, pause=0) < 32 * MB, "only what the sockets held"


async def test_an_answer_that_is_read_slowly_arrives():
    async with generous(answer_seconds=0.5) as (url, _):
        with await asyncio.to_thread(raw.connect, url) as sock:
            began = time.monotonic()
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert await read_all(sock, pause=0.1) > 64 * MB
            assert time.monotonic() - began > 1.0, "too quick to show anything"


def resident(server: Served) -> int:
    """Bytes in memory of master and worker, their browsers not counted."""
    return sum(process.memory_info().rss for process in server.children())


def test_all_of_it_together_takes_less_than_20_mb(server, url):
    raw.send(url, iter([chunked(), *chunks(10 * MB)]))  # what the first large body of a process costs once
    before = resident(server)
    deep = b"[" * 100_000
    for _ in range(3):
        raw.send(url, iter([chunked(), *chunks(100 * MB)]))
        raw.send(url, iter([chunked("/v1/sessions/s-x/files/x", "PUT"), *chunks(100 * MB)]))
        post(url, "/v1/sessions", deep)
        raw.send(url, request("GET", "/v1/health", *[f"X-{n}: y" for n in range(10_000)]))
        raw.send(url, request("GET", "/v1/health", "X-Large: " + "y" * 10 * MB))
    alive(url)
    grown = resident(server) - before
    assert grown < 20 * MB, f"{grown / MB:.1f} MB"


# ── row 33: malformed ────────────────────────────────────────────────────────────────────────────────────────────

POSSIBLE = "s-" + "0" * 24
ODD_IDS = [
    "x:80@169.254.169.254", "..", "%2e%2e", "..%2f..%2fmetrics", "%2e%2e%2f", ".", "%00", "s-%0d%0aX-Injected:1",
    POSSIBLE, "s-" + "0" * 20_000, "http:%2f%2f127.0.0.1", "@127.0.0.1", "%ff%fe",
    "s-000000000000000000000000%3fx=1", "%23", "*", "'\"><script>",
]  # fmt: skip


def bodies() -> Iterator[tuple[str, bytes]]:
    yield "not JSON", b"{"
    yield "a word", b"hello"
    yield "empty", b""
    yield "a list", b"[]"
    yield "a string", b'"secret-value"'
    yield "null", b"null"
    yield "not UTF-8", b'{"url": "\xff\xfe"}'
    yield "a lone surrogate", b'{"user_agent": "\\ud800"}'
    yield "an unknown field", b'{"secret-value-field": 1}'
    yield "a wrong type", b'{"ttl": "secret-value"}'
    yield "MessagePack", b"\x81\xa3url\xa1x"


@pytest.mark.parametrize("body", [body for _, body in bodies()], ids=[name for name, _ in bodies()])
def test_a_malformed_body_is_a_422_that_repeats_no_value(url, body):
    answer = post(url, "/v1/sessions", body)
    assert (answer.status, answer.error["code"]) == (422, "bad_request"), answer.text
    assert "secret-value" not in answer.text.replace("secret-value-field", "")


async def test_an_odd_id_is_unknown_and_becomes_no_address(url, server):
    async with Canary() as canary:
        ids = [*ODD_IDS, f"x@127.0.0.1:{canary.port}", f"127.0.0.1:{canary.port}", f"http:%2f%2f127.0.0.1:{canary.port}%2f"]
        for odd in ids:
            for method, call_ in (
                ("POST", "/step"),
                ("POST", "/observe"),
                ("GET", "/storage"),
                ("GET", "/files/x"),
                ("DELETE", ""),
            ):
                body = b'{"action": {"kind": "back"}}' if call_ == "/step" else b""
                lines = ("Content-Type: application/json", "Lease: x")
                answer = await asyncio.to_thread(ask, url, method, f"/v1/sessions/{odd}{call_}", *lines, body=body)
                # A master that has just started does not say of a possible id that there is no such session.
                expected = (404, 503) if odd == POSSIBLE else (400, 404, 405, 422)
                assert answer.status in expected, (odd, call_, answer.text)
                assert "x-injected" not in answer.text.lower()
        assert canary.hits == 0


def test_a_worker_can_only_be_announced_by_the_fleet(server):
    worker = {
        "id": "w-000000000000",
        "url": f"http://127.0.0.1:{free_port()}",
        "capacity": 99,
        "sessions": [],
        "browsers": 1,
        "version": "x",
    }
    body = json.dumps({"worker": worker}).encode()
    for header in ("X-Nothing: x", "X-WebGym-Fleet-Key:", f"X-WebGym-Fleet-Key: {KEY}", "X-WebGym-Fleet-Key: schlüssel"):
        answer = ask(server.url, "POST", "/v1/workers", "Content-Type: application/json", header, body=body)
        assert answer.status == 401, answer.text
    for odd in (
        "http://x:80@169.254.169.254",
        "http://a/b",
        "https://a",
        "file:///etc/passwd",
        "http://a\nb",
        "http://a?b",
        "http://a#b",
    ):
        answer = ask(
            server.url,
            "POST",
            "/v1/workers",
            "Content-Type: application/json",
            body=json.dumps({"worker": worker | {"url": odd}}).encode(),
        )
        assert answer.status in (401, 422)
    assert b"w-000000000000" not in ask(server.url, "GET", "/v1/fleet").data


# ── row 37: secrets ──────────────────────────────────────────────────────────────────────────────────────────────


def test_no_secret_shows_in_any_log_error_metric_or_page(server, url):
    """Runs last: it also reads what the server wrote during all the tests above, at DEBUG."""
    stored = [{"name": "s", "value": SECRETS["local storage"]}]
    fields = {
        "proxy": f"http://user:{SECRETS['proxy password']}@127.0.0.1:{free_port()}",
        "headers": {"X-Secret": SECRETS["header"]},
        "storage_state": {
            "cookies": [{"name": "c", "value": SECRETS["cookie"], "domain": "a.localhost"}],
            "origins": [{"origin": "http://a.localhost", "localStorage": stored}],
        },
    }
    wrong: list[dict[str, object]] = [
        fields,
        fields | {"unknown": 1},
        {"proxy": {"url": fields["proxy"]}},
        *({"proxy": text.replace("PASSWORD", SECRETS["proxy password"])} for text in (
            "http://user:PASSWORD", "PASSWORD", "http://user:PASSWORD:1:2", "ftp://user:PASSWORD@h", "http://PASSWORD:x",
            "http://h:PASSWORD",
        )),
        {"headers": {"X-Secret": SECRETS["header"] + "\n"}},
        {"headers": {f"X-Secret: {SECRETS['header']}": ""}},
        {"headers": [SECRETS["header"]]},
        {"storage_state": {"cookies": [{"name": "c", "value": SECRETS["cookie"], "domain": ""}]}},
        {"storage_state": {"cookies": [{"name": "c\0", "value": SECRETS["cookie"] + "\n", "domain": "a.localhost"}]}},
        {"storage_state": {"cookies": SECRETS["cookie"]}},
        {"storage_state": {"cookies": [SECRETS["cookie"]]}},
        {"storage_state": {"origins": [{"origin": "javascript:1", "localStorage": stored}]}},
        {"storage_state": {"origins": [{"origin": "http://a.localhost", "localStorage": {"s": SECRETS["local storage"]}}]}},
    ]  # fmt: skip
    seen = [post(url, "/v1/sessions", json.dumps(body).encode()) for body in wrong]
    assert {answer.status for answer in seen} <= {403, 422}, [answer.text[:300] for answer in seen]
    accepted = {name: fields[name] for name in ("headers", "storage_state")} | {"url": "http://a.localhost/", "ttl": 1}
    seen.append(post(url, "/v1/sessions", json.dumps(accepted).encode()))
    assert seen[-1].status == 200
    steps = [{"action": {"kind": kind, "x": KEY}} for kind in (KEY, "click")]
    seen += [post(url, "/v1/sessions/s-x/step", json.dumps(step).encode()) for step in steps]
    seen += [
        ask(url, "GET", path) for path in ("/v1/fleet", "/metrics", "/docs", "/openapi.json", "/v1/health", f"/{KEY}x"[:4])
    ]
    for name, secret in SECRETS.items():
        for answer in seen:
            assert secret not in answer.text, (name, answer.text)
        assert secret not in server.written(), name
    assert "Traceback" not in server.written()
