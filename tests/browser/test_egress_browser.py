"""A real Chromium behind the egress: a page tries every way out to canaries on loopback.

The page itself comes from an allowed `site.localhost`. One run without our switches shows that every way is
real: there the canaries are hit.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from webgym.server.chromium import find
from webgym.server.egress import BYPASS, Egress, EgressPolicy
from webgym.server.egress.destinations import Address

SWITCHES = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-extensions",
    "--disable-popup-blocking",
    "--remote-debugging-pipe",
]


class Browser:
    """A few lines of the DevTools protocol over a pipe."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._out = into, out
        self._count = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._rest = b""

    def readable(self) -> None:
        data = os.read(self._out, 1 << 20)
        if not data:
            asyncio.get_running_loop().remove_reader(self._out)
        *messages, self._rest = (self._rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if waiting := self._waiting.pop(message.get("id"), None):
                waiting.set_result(message)

    async def call(self, method: str, session: str | None = None, /, **params: object) -> dict[str, Any]:
        self._count += 1
        self._waiting[self._count] = answer = asyncio.get_running_loop().create_future()
        message = {"id": self._count, "method": method, "params": params}
        message |= {"sessionId": session} if session else {}
        os.write(self._into, json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(20):
            result = await answer
        assert "error" not in result, result
        return result["result"]

    async def page(self, **context: str) -> Page:
        where = await self.call("Target.createBrowserContext", **context)
        target = await self.call("Target.createTarget", url="about:blank", **where)
        session = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        return Page(self, session["sessionId"])


class Page:
    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    async def goto(self, url: str) -> str:
        """The error Chromium shows, or nothing."""
        return (await self._browser.call("Page.navigate", self._session, url=url)).get("errorText", "")

    async def evaluate(self, script: str) -> Any:
        answer = await self._browser.call(
            "Runtime.evaluate", self._session, expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


@asynccontextmanager
async def chromium(folder: Path, *arguments: str) -> AsyncIterator[Browser]:
    theirs_in, into = os.pipe()
    out, theirs_out = os.pipe()
    high_in, high_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in (theirs_in, theirs_out))

    def wire() -> None:
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)

    found = await asyncio.to_thread(find)
    command = [str(found.path), *SWITCHES, f"--user-data-dir={folder}", *arguments]
    process = await asyncio.create_subprocess_exec(
        *command,
        preexec_fn=wire,
        pass_fds=(3, 4),
        start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    for fd in (theirs_in, theirs_out, high_in, high_out):
        os.close(fd)
    browser = Browser(into, out)
    loop = asyncio.get_running_loop()
    loop.add_reader(out, browser.readable)
    try:
        yield browser
    finally:
        loop.remove_reader(out)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        os.close(into)
        os.close(out)


class Site:
    """Serves `pages` by path; anything else redirects to what follows `/to/`, or is noted as a hit and
    answered."""

    def __init__(self, pages: dict[str, tuple[str, str]] | None = None) -> None:
        self.pages = pages or {}
        self.hits: Counter[str] = Counter()
        self.port = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await reader.read(1)
            if first and not first.isalpha():
                self.hits["raw"] += 1  # STUN over TCP
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1]
            extra, kind, body = "", "text/html", "ok"
            if path in self.pages:
                kind, body = self.pages[path]
            elif path.startswith("/to/"):
                extra = f"Location: {path.removeprefix('/to/')}\r\n"
            else:
                self.hits[path.strip("/")] += 1
            status = "302 Found" if extra else "200 OK"
            writer.write(
                f"HTTP/1.1 {status}\r\n{extra}Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                f"Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n{body}".encode()
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(site: Site) -> AsyncIterator[Site]:
    server = await asyncio.start_server(site, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


class Udp(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.hits = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.hits += 1


@asynccontextmanager
async def udp_canary() -> AsyncIterator[tuple[Udp, int]]:
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(Udp, ("0.0.0.0", 0))
    try:
        yield protocol, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


WORKER = "fetch('http://CANARY/worker').catch(() => 0)"
SERVICE_WORKER = "oninstall = e => e.waitUntil(fetch('http://CANARY/service-worker').catch(() => 0))"
PAGE = """<!doctype html><title>ways out</title><body><script>
const c = 'CANARY';
const add = (tag, values) => document.body.append(Object.assign(document.createElement(tag), values));
const ways = {
  fetch: () => fetch(`http://${c}/fetch`),
  redirect: () => fetch(`/to/http://${c}/redirect`),
  beacon: () => navigator.sendBeacon(`http://${c}/beacon`, 'x'),
  image: () => add('img', {src: `http://${c}/image`}),
  script: () => add('script', {src: `http://${c}/script`}),
  frame: () => add('iframe', {src: `http://${c}/frame`}),
  frame_redirect: () => add('iframe', {src: `/to/http://${c}/frame-redirect`}),
  prefetch: () => add('link', {rel: 'prefetch', href: `http://${c}/prefetch`}),
  preconnect: () => add('link', {rel: 'preconnect', href: `http://${c}`}),
  dns: () => add('link', {rel: 'dns-prefetch', href: `http://${c}`}),
  source: () => new EventSource(`http://${c}/source`),
  socket: () => new WebSocket(`ws://${c}/socket`),
  popup: () => window.open(`http://${c}/popup`),
  worker: () => new Worker('/worker.js'),
  service: () => navigator.serviceWorker.register('/service-worker.js'),
  transport: () => new WebTransport(`https://127.0.0.1:UDP/transport`).ready,
  named_transport: () => new WebTransport(`https://site.localhost:UDP/transport`).ready,
  rtc: async () => {
    const peer = new RTCPeerConnection({iceServers: [
      {urls: 'stun:127.0.0.1:UDP'}, {urls: 'stun:site.localhost:UDP'},
      {urls: 'turn:127.0.0.1:UDP?transport=udp', username: 'u', credential: 'p'},
      {urls: `turn:${c}?transport=tcp`, username: 'u', credential: 'p'}]});
    peer.createDataChannel('x');
    const gathered = new Promise(end => peer.onicecandidate =
      e => e.candidate ? candidates.push(e.candidate.candidate) : end());
    await peer.setLocalDescription(await peer.createOffer());
    const other = new RTCPeerConnection();
    await other.setRemoteDescription(peer.localDescription);
    await other.setLocalDescription(await other.createAnswer());
    await peer.setRemoteDescription(other.localDescription);
    for (const address of ['127.0.0.1', 'OWN']) {
      const candidate = `candidate:1 1 udp 2122260223 ${address} UDP typ host`;
      await peer.addIceCandidate({candidate, sdpMid: '0'});
    }
    await gathered;
  },
};
const candidates = [], tried = {};
for (const [name, way] of Object.entries(ways)) tried[name] = Promise.resolve().then(way);
const failed = way => way.then(() => false, () => true);
const ended = tried.rtc.then(() => Promise.all([failed(tried.transport), failed(tried.named_transport)]));
</script>"""


def own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def pages(canary: str, udp: int) -> dict[str, tuple[str, str]]:
    def fill(text: str) -> str:
        return text.replace("CANARY", canary).replace("UDP", str(udp)).replace("OWN", own_address())

    return {
        "/": ("text/html", fill(PAGE)),
        "/worker.js": ("text/javascript", fill(WORKER)),
        "/service-worker.js": ("text/javascript", fill(SERVICE_WORKER)),
        "/favicon.ico": ("image/png", ""),
    }


async def until(condition: Any, within: float = 15.0) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            while not condition():  # noqa: ASYNC110 (no event to wait for)
                await asyncio.sleep(0.05)
    return bool(condition())


TCP_WAYS = {"fetch", "redirect", "beacon", "image", "script", "frame", "frame-redirect", "source", "socket"}
WHEN_LOADED = "new Promise(end => document.readyState == 'complete' ? end() : addEventListener('load', end))"
SPELLINGS = [
    "127.0.0.1",
    "localhost",
    "localhost.",
    "a.localhost",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "[::1]",
    "0.0.0.0",
]
SPELLINGS += ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "evil.example", "169.254.169.254"]
TCP_WAYS |= {"popup", "worker", "service-worker", "raw"}


class Attempt:
    """What came of a page that tried everything."""

    def __init__(self, canary: Site, udp: Udp, egress: Egress) -> None:
        self.canary, self.udp, self.egress = canary, udp, egress


@asynccontextmanager
async def ways_out(folder: Path, *, guarded: bool = True, open_canary: bool = False) -> AsyncIterator[Attempt]:
    async with AsyncExitStack() as stack:
        udp, udp_port = await stack.enter_async_context(udp_canary())
        canary = await stack.enter_async_context(serving(Site()))
        site = await stack.enter_async_context(serving(Site()))
        host = f"127.0.0.1:{canary.port}"
        site.pages = pages(host, udp_port)
        allow = (f"site.localhost:{site.port}", host) if open_canary else (f"site.localhost:{site.port}",)
        egress = await stack.enter_async_context(Egress(EgressPolicy(allow=allow)))
        arguments = egress.chromium_arguments() if guarded else []
        browser = await stack.enter_async_context(chromium(folder, *arguments))
        page = await browser.page()
        assert await page.goto(f"http://site.localhost:{site.port}/") == ""
        yield Attempt(canary, udp, egress)
        if guarded:  # UDP has had its chance once WebRTC has gathered candidates and WebTransport has given up
            async with asyncio.timeout(15):
                assert await page.evaluate("ended") == [True, True]
            assert await page.evaluate("candidates") == []
            await until(lambda: udp.hits, within=1.0)


async def test_by_default_nothing_reaches_a_canary_on_loopback(tmp_path):
    async with ways_out(tmp_path) as attempt:
        # Every way was tried and came to us: none was lost on its way.
        assert await until(lambda: attempt.egress.counters.refused["blocked"] >= len(TCP_WAYS))
    assert attempt.canary.hits == {}
    assert attempt.udp.hits == 0
    failure = attempt.egress.why("127.0.0.1", attempt.canary.port)
    assert failure is not None
    assert failure.text == "blocked by the egress policy: 127.0.0.1 is loopback"


async def test_a_rule_opens_every_way_over_tcp_and_none_over_udp(tmp_path):
    async with ways_out(tmp_path, open_canary=True) as attempt:
        assert await until(lambda: attempt.canary.hits.keys() >= TCP_WAYS), attempt.canary.hits
    assert attempt.udp.hits == 0
    assert not attempt.egress.counters.refused


async def test_without_the_switches_the_canaries_are_hit_over_tcp_and_udp(tmp_path):
    async with ways_out(tmp_path, guarded=False) as attempt:
        assert await until(lambda: attempt.canary.hits.keys() >= TCP_WAYS), attempt.canary.hits
        assert await until(lambda: attempt.udp.hits > 0)
    assert attempt.egress.counters.opened == 0


@asynccontextmanager
async def one_page(folder: Path, egress: Egress, **context: str) -> AsyncIterator[Page]:
    async with chromium(folder, *egress.chromium_arguments()) as browser:
        yield await browser.page(**context)


async def test_no_spelling_of_loopback_and_no_redirect_reaches_the_canary(tmp_path):
    async def rebound(name: str) -> list[Address]:
        return [ip_address("127.0.0.1")]

    async with serving(Site()) as canary, serving(Site()) as site:
        policy = EgressPolicy(allow=(f"site.localhost:{site.port}",))
        async with Egress(policy, resolver=rebound) as egress, one_page(tmp_path, egress) as page:
            for host in SPELLINGS:
                target = f"http://{host}:{canary.port}/"
                for url in (target, f"http://site.localhost:{site.port}/to/{target}"):
                    before = egress.counters.refused["blocked"]
                    assert await page.goto(url) == "net::ERR_SOCKS_CONNECTION_FAILED", url
                    assert egress.counters.refused["blocked"] == before + 1, "Chromium does not try again"
    assert canary.hits == {}


async def test_a_click_and_a_form_do_not_reach_the_canary_either(tmp_path):
    async with serving(Site()) as canary, serving(Site()) as site:
        target = f"http://127.0.0.1:{canary.port}"
        site.pages = {
            "/link": ("text/html", f"<a id=x href='{target}/link'>x</a>"),
            "/form": ("text/html", f"<form action='{target}/form'><button id=x>x</button></form>"),
        }
        policy = EgressPolicy(allow=(f"site.localhost:{site.port}",))
        async with Egress(policy) as egress, one_page(tmp_path, egress) as page:
            for count, path in enumerate(site.pages, 1):
                assert await page.goto(f"http://site.localhost:{site.port}{path}") == ""
                await page.evaluate(WHEN_LOADED + ".then(() => x.click())")
                assert await until(lambda count=count: egress.counters.refused["blocked"] == count)
    assert canary.hits == {}


async def test_what_chromium_shows_as_one_error_is_told_apart(tmp_path):
    async def resolve(name: str) -> list[Address]:
        if name == "hangs.example":
            await asyncio.Event().wait()
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        policy = EgressPolicy(allow=("127.0.0.1",))
        egress = Egress(policy, resolver=resolve, connect_within=0.3)
        async with egress, one_page(tmp_path, egress) as page:
            cases = [("nosuch.example", 80, "dns"), ("hangs.example", 80, "timeout")]
            for host, where, kind in [*cases, ("127.0.0.1", port, "refused"), ("10.0.0.1", 80, "blocked")]:
                assert await page.goto(f"http://{host}:{where}/") == "net::ERR_SOCKS_CONNECTION_FAILED"
                failure = egress.why(host, where)
                assert failure is not None
                assert failure.kind == kind


async def test_if_the_egress_is_gone_nothing_gets_out(tmp_path):
    async with serving(Site()) as canary:
        egress = Egress(EgressPolicy(allow=("127.0.0.1",)))
        async with egress, one_page(tmp_path, egress) as page:
            assert await page.goto(f"http://127.0.0.1:{canary.port}/before") == ""
            await egress.close()
            for host in ("127.0.0.1", "localhost"):
                error = await page.goto(f"http://{host}:{canary.port}/after")
                assert error == "net::ERR_PROXY_CONNECTION_FAILED"
    assert "after" not in canary.hits


async def test_a_session_with_its_own_egress_uses_that_one_alone(tmp_path):
    async with serving(Site()) as canary:
        shut, opened = Egress(EgressPolicy()), Egress(EgressPolicy(allow=("*.localhost",)))
        async with shut, opened, chromium(tmp_path, *shut.chromium_arguments()) as browser:
            own = await browser.page(proxyServer=opened.proxy_url, proxyBypassList=BYPASS)
            assert await own.goto(f"http://a.localhost:{canary.port}/own") == ""
            common = await browser.page()
            error = await common.goto(f"http://a.localhost:{canary.port}/common")
            assert error == "net::ERR_SOCKS_CONNECTION_FAILED"
    assert canary.hits["own"] == 1
    assert "common" not in canary.hits
    assert shut.counters.opened == 0
