"""The wire API, version 1, the same by every way in: at a worker, at a master, at a master that relays."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
from aiohttp import web

from tests.served import Served, serving
from tests.site.canary import free_port
from tests.site.server import Site
from tests.wire import BLIND, Api, Session

WAYS = ("worker", "master", "relay")
SITE_PORT, ECHO_PORT, PROXY_PORT = free_port(), free_port(), free_port()
MSGPACK = "application/msgpack"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    rules = f"*.localhost:{SITE_PORT},*.localhost:{ECHO_PORT},127.0.0.1:{PROXY_PORT}"
    with ExitStack() as stack:
        running = {
            way: stack.enter_context(
                serving(tmp_path_factory.mktemp(way), relay=way == "relay", egress__allow=rules, log_level="DEBUG")
            )
            for way in ("master", "relay")
        }
        yield running | {"worker": running["master"]}
        for server in running.values():
            assert not re.search("pass(@|%40)word|extra-value|Traceback", server.written())


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(port=SITE_PORT) as running:
        yield running


@pytest.fixture(params=WAYS)
async def api(servers: dict[str, Served], request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    server = servers[request.param]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as http:
        way = Api(server.url, request.param, http)
        if request.param == "worker":
            fleet = (await way.ask("GET", "/v1/fleet")).json
            way = Api(fleet["workers"][0]["url"], request.param, http)
        yield way
        for _ in range(50):  # a session left by one test would be missing in the next
            if await way.available() == 4:
                break
            await asyncio.sleep(0.1)
        assert await way.available() == 4


class Echo:
    """A page that tells its title what it knows of the browser, and keeps what the browser sent."""

    PAGE = """<!doctype html><script>document.title = JSON.stringify({
      language: navigator.language, zone: Intl.DateTimeFormat().resolvedOptions().timeZone, agent: navigator.userAgent,
      width: innerWidth, height: innerHeight, stored: localStorage.getItem("s"), cookie: document.cookie})</script>"""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.connects: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Echo]:
        async def answer(request: web.Request) -> web.Response:
            self.requests.append({name.lower(): value for name, value in request.headers.items()})
            return web.Response(text=self.PAGE, content_type="text/html")

        application = web.Application()
        application.router.add_get("/{any:.*}", answer)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", ECHO_PORT).start()
        try:
            yield self
        finally:
            await runner.cleanup()

    @asynccontextmanager
    async def proxied(self, scheme: str) -> AsyncIterator[str]:
        """A proxy that leads every name to this page; wants a user name and a password."""
        serve = self._connect if scheme == "http" else self._socks
        server = await asyncio.start_server(serve, "127.0.0.1", PROXY_PORT)
        async with server:
            yield f"{scheme}://me:pass%40word@127.0.0.1:{PROXY_PORT}"

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        login = base64.b64encode(b"me:pass@word").decode()
        if f"Proxy-Authorization: Basic {login}" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        self.connects.append(head.split()[1])
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await self._splice(reader, writer)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.write(b"\x05\x02")
        user = await reader.readexactly((await reader.readexactly(2))[1])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        good = (user, password) == (b"me", b"pass@word")
        writer.write(b"\x01\x00" if good else b"\x01\x01")
        if not good:
            writer.close()
            return
        name = await reader.readexactly((await reader.readexactly(5))[4])
        port = int.from_bytes(await reader.readexactly(2))
        self.connects.append(f"{name.decode()}:{port}")
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await self._splice(reader, writer)

    async def _splice(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", ECHO_PORT)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            except ConnectionError:
                pass
            finally:
                sink.close()

        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    async with Echo().running() as running:
        yield running


# ── create ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_starts_blank_and_says_where_it_is(api):
    async with api.session() as session:
        assert re.fullmatch(r"s-[0-9a-f]{24}", session.started["id"])
        assert session.first["url"] == "about:blank"
        assert session.first["screenshot"] is None
        assert session.started["lease"]["ttl"] == 60
        if api.way == "relay":
            assert session.started["url"] is None
        else:
            assert urlsplit(session.started["url"]).hostname == "127.0.0.1"
        if api.way == "worker":
            assert session.started["url"] == api.base


async def test_every_option_reaches_the_page(api, echo):
    cookie = {"name": "c", "value": "v", "domain": "echo.localhost", "httpOnly": False}
    origin = f"http://echo.localhost:{ECHO_PORT}"
    async with api.session(
        url=f"{origin}/hello",
        viewport={"width": 640, "height": 480},
        locale="de-DE",
        time_zone="Asia/Tokyo",
        user_agent="Agent/1.0",
        headers={"X-Extra": "extra-value"},
        storage_state={
            "cookies": [cookie],
            "origins": [{"origin": origin, "localStorage": [{"name": "s", "value": "kept"}]}],
        },
        ttl=33,
        lifetime=44,
        wait=1,
        key="an-idempotency-key",
        look={"image": "png"},
    ) as session:
        page = json.loads(session.first["title"])
        assert page == {"language": "de-DE", "zone": "Asia/Tokyo", "agent": "Agent/1.0", "width": 640, "height": 480,
                        "stored": "kept", "cookie": "c=v"}  # fmt: skip
        shot = session.first["screenshot"]
        assert (shot["format"], shot["width"], shot["height"]) == ("png", 640, 480)
        sent = echo.requests[0]
        assert (sent["x-extra"], sent["user-agent"], sent["cookie"]) == ("extra-value", "Agent/1.0", "c=v")
        assert sent["accept-language"].startswith("de")
        assert session.started["lease"]["ttl"] == 33


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_session_may_bring_its_own_proxy_and_its_neighbours_do_not_use_it(api, echo, scheme):
    async with echo.proxied(scheme) as proxy:
        async with api.session(proxy=proxy, url="http://shop.test/") as session:
            assert json.loads(session.first["title"])["agent"]
            assert echo.connects
            assert set(echo.connects) == {"shop.test:80"}
            assert "pass@word" not in json.dumps(session.started)
        async with api.session(url=f"http://echo.localhost:{ECHO_PORT}/") as neighbour:
            assert neighbour.first["status"] == 200
        assert set(echo.connects) == {"shop.test:80"}
        wrong = proxy.replace("pass%40word", "pass-wrong")
        refused = await api.create(proxy=wrong, url="http://shop.test/")
        assert refused.refusal == (403, "forbidden"), "no fault of the website, and no use in asking again"
        assert b"the proxy" in refused.data
        assert b"pass-wrong" not in refused.data


async def test_a_proxy_the_policy_does_not_allow_is_refused(api):
    answer = await api.create(proxy=f"http://127.0.0.1:{free_port()}")
    assert answer.refusal == (403, "forbidden")


async def test_a_create_repeated_with_its_key_gets_the_same_session(api):
    fields = {"key": "the-same-key", "look": BLIND}
    answers = await asyncio.gather(*(api.create(**fields) for _ in range(4)))
    again = await api.create(**fields)
    assert {answer.status for answer in answers} == {200}
    assert {answer.json["id"] for answer in (*answers, again)} == {again.json["id"]}
    session = Session(api, again.json)
    assert (await session.call("DELETE", "")).status == 204
    async with api.session(**fields) as fresh:
        assert fresh.started["id"] != session.started["id"]


BAD_CREATES = [
    ({"unknown": 1}, "unknown"),
    ({"viewport": {"width": 1}}, "viewport.width"),
    ({"viewport": {"width": 640, "depth": 3}}, "viewport.depth"),
    ({"locale": "not a locale"}, "locale"),
    ({"time_zone": "../etc"}, "time_zone"),
    ({"user_agent": "a\r\nX-Injected: 1"}, "user_agent"),
    ({"headers": {"X": "a\nb"}}, "headers.X"),
    ({"headers": {"X Y": "a"}}, "headers"),
    ({"headers": {f"X-{n}": "a" for n in range(65)}}, "headers"),
    ({"storage_state": {"cookies": [{"name": "a"}]}}, "storage_state.cookies.0.value"),
    ({"storage_state": {"origins": [{"origin": "nonsense"}]}}, "storage_state.origins"),
    ({"storage_state": {"cookies": [{"name": "a", "value": "b", "domain": ""}]}}, "storage_state.cookies"),
    ({"ttl": 0}, "ttl"),
    ({"ttl": 1e9}, "ttl"),
    ({"lifetime": -1}, "lifetime"),
    ({"wait": 1e9}, "wait"),
    ({"key": "with a blank"}, "key"),
    ({"look": {"image": "gif"}}, "look.image"),
    ({"proxy": "not-a-proxy"}, "proxy"),
    ({"url": ""}, "url"),
]


@pytest.mark.parametrize(("fields", "named"), BAD_CREATES, ids=[f"{named} {n}" for n, (_, named) in enumerate(BAD_CREATES)])
async def test_a_wrong_option_is_named_and_leaves_no_session(api, fields, named):
    answer = await api.create(**fields)
    assert answer.refusal == (422, "bad_request"), answer.data
    assert answer.error["message"].startswith(f"{named}: "), answer.error


async def test_an_unknown_time_zone_is_named(api):
    answer = await api.create(time_zone="Mars/Olympus")
    assert answer.refusal == (422, "bad_request"), answer.data
    assert "time_zone" in answer.error["message"]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "chrome://version", "http://[::1", "http://exa mple/", "javascript:1"]
)
async def test_a_start_that_is_refused_is_told_to_the_agent_in_a_session_that_lives(api, url):
    async with api.session(url=url) as session:
        assert session.first["action_error"]
        assert session.first["url"] == "about:blank"


# ── step, observe, renew ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_step_acts_and_shows_the_page_at_rest(api, site):
    async with api.session(url=site.url("/counter")) as session:
        title = (await session.seen("navigate", url=site.url("/")))["title"]
        assert title == "WebGym test site"
        answer = await session.step("back", look={"image": "jpeg", "text": True})
        seen = answer.json["observation"]
        assert answer.json["seq"] == 2
        assert seen["url"] == site.url("/counter")
        assert seen["text"]
        data = base64.b64decode(seen["screenshot"]["data"])
        assert data.startswith(b"\xff\xd8")
        assert hashlib.sha256(data).hexdigest() == seen["screenshot"]["sha256"]


async def test_messagepack_carries_images_as_bytes(api, site):
    async with api.session(url=site.url("/counter")) as session:
        answer = await session.call("POST", "/observe", {"image": "png"}, Accept=MSGPACK)
        assert answer.headers["content-type"] == MSGPACK
        shot = msgspec.msgpack.decode(answer.data)["screenshot"]
        assert shot["data"].startswith(b"\x89PNG")
        assert hashlib.sha256(shot["data"]).hexdigest() == shot["sha256"]
        refused = await session.call("POST", "/observe", {"image": "gif"}, Accept=MSGPACK)
        assert (refused.status, refused.headers["content-type"]) == (422, MSGPACK)
        assert msgspec.msgpack.decode(refused.data)["error"]["code"] == "bad_request"


async def test_a_repeated_step_returns_the_stored_answer(api, site):
    async with api.session(url=site.url("/counter")) as session:
        before = site.hits["/"]
        first = await session.step("navigate", url=site.url("/"), key="k1", seq=1)
        again = await session.step("navigate", url=site.url("/"), key="k1", seq=1)
        assert site.hits["/"] == before + 1
        assert (first.json["repeated"], again.json["repeated"]) == (False, True)
        assert again.json["observation"] == first.json["observation"]
        for seq in (1, 3, 99):
            assert (await session.step("back", key=f"k-{seq}", seq=seq)).refusal == (409, "step_conflict")
        assert (await session.step("back", key="k2", seq=2)).json["seq"] == 2


BAD_STEPS = [
    ({}, "action"),
    ({"action": {"kind": "click"}}, "action.click"),
    ({"action": {"kind": "click", "x": "secret-value", "y": 1}}, "action.click.x"),
    ({"action": {"kind": "click", "x": -1, "y": 1}}, "action.click.x"),
    ({"action": {"kind": "click", "x": 1, "y": 1, "element": 1}}, "action.click"),
    ({"action": {"kind": "click", "x": 1, "y": 1, "depth": 1}}, "action.click.depth"),
    ({"action": {"kind": "secret-value"}}, "action"),
    ({"action": {"kind": ["secret-value"]}}, "action"),
    ({"action": {"x": 1}}, "action"),
    ({"action": "secret-value"}, "action"),
    ({"action": {"kind": "type", "text": "secret-value" * 5000}}, "action.type.text"),
    ({"action": {"kind": "wait", "seconds": 1e9}}, "action.wait.seconds"),
    ({"action": {"kind": "key", "keys": []}}, "action.key.keys"),
    ({"action": {"kind": "upload", "x": 1, "y": 1, "files": ["../secret-value"]}}, "action.upload.files.0"),
    ({"action": {"kind": "back"}, "extra": 1}, "extra"),
    ({"action": {"kind": "back"}, "seq": 0}, "seq"),
    ({"action": {"kind": "back"}, "key": "secret-value with blanks"}, "key"),
    ({"action": {"kind": "back"}, "look": {"quality": 101}}, "look.quality"),
]


async def test_a_malformed_step_names_its_field_repeats_no_value_and_takes_no_turn(api):
    async with api.session() as session:
        for body, named in BAD_STEPS:
            answer = await session.call("POST", "/step", body)
            assert answer.refusal == (422, "bad_request"), answer.data
            assert answer.error["message"].startswith(f"{named}: "), answer.error
            assert "secret-value" not in answer.error["message"], answer.error
            assert len(answer.error["message"]) < 2000
        for data in (b"{", b"not json", b"[]", b"\x81\xa3url\xa1x"):
            assert (await session.call("POST", "/step", data)).status == 422
        assert (await session.call("POST", "/step", b'{"action":{"kind":"back"}}', Content_Type="text/plain")).status == 422
        assert (await session.step("wait", seconds=0, seq=1)).status == 200


async def test_renewing_keeps_the_lease_and_letting_it_run_out_ends_it(api):
    answer = await api.create(ttl=1.0)
    session = Session(api, answer.json)
    for _ in range(2):
        await asyncio.sleep(0.6)
        renewed = await session.call("POST", "/renew")
        assert renewed.json["remaining"] == 1.0
    assert (await session.call("POST", "/renew", {"ttl": 0})).status == 422
    assert (await session.call("POST", "/renew", {"ttl": 0.5})).json["ttl"] == 0.5
    await asyncio.sleep(0.6)
    assert (await session.step("back")).refusal == (410, "stale_lease")


async def test_only_the_lease_opens_a_session_and_an_ended_one_stays_shut(api):
    async with api.session() as session:
        for lease in ("", "wrong", session.started["lease"]["token"] + "x"):
            answer = await session.call("POST", "/observe", Lease=lease)
            assert answer.refusal == (410, "stale_lease")
        for method, call in (
            ("POST", "/renew"),
            ("GET", "/storage"),
            ("GET", "/files/x"),
            ("PUT", "/files/x"),
            ("DELETE", ""),
        ):
            assert (await session.call(method, call, Lease="wrong")).refusal == (410, "stale_lease"), call
        assert (await session.call("POST", "/renew")).status == 200
    for method, call in (("POST", "/observe"), ("POST", "/renew"), ("GET", "/storage"), ("GET", "/files/x"), ("DELETE", "")):
        answer = await session.call(method, call)
        assert answer.refusal == (410, "stale_lease"), call
    assert answer.error["message"] == "the session was released"
    assert (await session.step("back")).refusal == (410, "stale_lease")


async def test_an_unknown_session_is_unknown(api):
    await asyncio.sleep(0)
    for name in ("s-" + "0" * 24, "nonsense", "x:80@169.254.169.254"):
        for method, call in (("POST", "/observe"), ("POST", "/renew"), ("GET", "/storage"), ("DELETE", "")):
            answer = await api.ask(method, f"/v1/sessions/{name}{call}", Lease="x")
            if answer.status == 503:  # a master that has just started does not say that there is no such session
                assert api.way != "worker"
                await asyncio.sleep(4)
                answer = await api.ask(method, f"/v1/sessions/{name}{call}", Lease="x")
            assert answer.refusal == (404, "unknown_session"), (name, call)


# ── storage and files ────────────────────────────────────────────────────────────────────────────────────────────


async def test_storage_saved_in_one_session_starts_another(api, echo):
    origin = f"http://echo.localhost:{ECHO_PORT}"
    state = {
        "cookies": [{"name": "c", "value": "v", "domain": "echo.localhost"}],
        "origins": [{"origin": origin, "localStorage": [{"name": "s", "value": "kept"}]}],
    }
    async with api.session(url=origin, storage_state=state) as session:
        saved = await session.call("GET", "/storage")
        assert saved.status == 200
    async with api.session(url=origin, storage_state=saved.json) as session:
        page = json.loads(session.first["title"])
        assert (page["stored"], page["cookie"]) == ("kept", "c=v")


async def test_files_go_in_and_come_out_as_they_were(api):
    async with api.session() as session:
        data = bytes(range(256)) * 1000
        put = await session.call("PUT", "/files/report%20(1).pdf", data)
        assert put.json == {"name": "report (1).pdf", "size": len(data)}
        got = await session.call("GET", "/files/report%20(1).pdf")
        assert (got.status, got.data) == (200, data)
        assert got.headers["content-type"] == "application/octet-stream"
        assert (await session.call("GET", "/files/nothing.txt")).status == 404
        large = await session.call("PUT", "/files/large", b"x" * (9 * 1024 * 1024))
        assert large.status == 200, "files may be larger than what is said in JSON"


ODD_NAMES = ["..", "%2e%2e", ".%2e", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "a%2fb", "a%5cb", "a%00b", "%00", ".",
             "%2e", "a%0ab", "x" * 300, "%ff", "~%2fx", "a%3a%24DATA", "."]  # fmt: skip


async def test_a_file_name_leads_nowhere_but_to_the_sessions_folder(api):
    async with api.session() as session:
        for name in ODD_NAMES:
            for method, body in (("GET", None), ("PUT", b"x")):
                answer = await session.call(method, f"/files/{name}", body)
                assert answer.status in (404, 405, 422), (method, name, answer.data)
        assert (await session.call("POST", "/renew")).status == 200


# ── about the server ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_fleet_health_and_metrics_tell_what_is_there(api):
    health = await api.ask("GET", "/v1/health")
    assert (health.status, health.json["status"]) == (200, "ok")
    async with api.session() as session:
        await session.seen("wait", seconds=0)
        fleet = (await api.ask("GET", "/v1/fleet")).json
        assert (fleet["capacity"], fleet["available"], fleet["queued"]) == (4, 3, 0)
        worker = fleet["workers"][0]
        assert (worker["sessions"], worker["healthy"], worker["draining"]) == (1, True, False)
        metrics = await api.ask("GET", "/metrics", base=worker["url"])
        assert metrics.headers["content-type"].startswith("text/plain")
        assert b'webgym_steps_total{action="wait"}' in metrics.data
    assert b"webgym_refusals_total" in (await api.ask("GET", "/metrics")).data


async def test_the_description_covers_every_call_and_its_page_asks_nobody_else(api):
    schema = (await api.ask("GET", "/openapi.json")).json
    calls = {(method.upper(), path) for path, methods in schema["paths"].items() for method in methods}
    one = "/v1/sessions/{session_id}"
    assert calls >= {
        ("POST", "/v1/sessions"), ("POST", f"{one}/step"), ("POST", f"{one}/observe"), ("POST", f"{one}/renew"),
        ("GET", f"{one}/storage"), ("PUT", f"{one}/files/{{name}}"), ("GET", f"{one}/files/{{name}}"), ("DELETE", one),
        ("GET", "/v1/fleet"), ("GET", "/v1/health"), ("GET", "/metrics"),
    }  # fmt: skip
    assert {"NewSession", "StepRequest", "StepResult", "Observation", "Click"} <= set(schema["components"]["schemas"])
    page = await api.ask("GET", "/docs")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert page.headers["x-content-type-options"] == "nosniff"
    text = page.data.decode()
    assert not re.search(r"<(script|img|link|iframe|object|embed|form)|\bon\w+=|@import|url\(", text)
    assert set(re.findall(r"(?:href|src)=(\S+?)>", text)) == {"/openapi.json"}


async def test_what_is_not_there_is_refused_with_a_name(api):
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("DELETE", "/v1/fleet", 405),
        ("GET", "/v1/fleet/", 404),
        ("HEAD", "/v1/health", 405),
    ):
        answer = await api.ask(method, path)
        assert answer.status == status, path
        assert "location" not in answer.headers
    assert not any(name.startswith("access-control") for name in answer.headers)
