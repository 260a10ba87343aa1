"""A real Chromium behind the egress: a page tries every way out to canaries on loopback.

The page itself comes from an allowed `site.localhost`. One run without our switches shows that every way is real: there
the canaries are hit.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from webgym.server.egress import BYPASS, Egress, EgressPolicy

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chrome-headless-shell", "chromium"))), "")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")

SWITCHES = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run --disable-extensions --disable-popup-blocking --remote-debugging-pipe"
).split()


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
        os.write(self._into, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
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
        return answer["result"].get("value")


@asynccontextmanager
async def chromium(folder: Path, *arguments: str) -> AsyncIterator[Browser]:
    theirs_in, into = os.pipe()
    out, theirs_out = os.pipe()
    high_in, high_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in (theirs_in, theirs_out))

    def wire() -> None:
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)

    command = [CHROMIUM, *SWITCHES, f"--user-data-dir={folder}", *arguments]
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
    """Serves `pages` by path; anything else redirects to what follows `/to/`, or is noted as a hit and answered."""

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
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(Udp, ("127.0.0.1", 0))
    try:
        yield protocol, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


WORKER = "fetch('http://CANARY/worker').catch(() => 0)"
SERVICE_WORKER = "oninstall = e => e.waitUntil(fetch('http://CANARY/service-worker').catch(() => 0))"
PAGE = """<!doctype html><title>ways out</title><body><script>
const c = 'CANARY', [host, port] = c.split(':'), me = location.origin;
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
    window.candidates = [];
    peer.onicecandidate = e => e.candidate && candidates.push(e.candidate.candidate);
    await peer.setLocalDescription(await peer.createOffer());
    const other = new RTCPeerConnection();
    await other.setRemoteDescription(peer.localDescription);
    await other.setLocalDescription(await other.createAnswer());
    await peer.setRemoteDescription(other.localDescription);
    for (const address of ['127.0.0.1', 'OWN'])
      await peer.addIceCandidate({candidate: `candidate:1 1 udp 2122260223 ${address} UDP typ host`, sdpMid: '0'});
  },
};
window.errors = {};
for (const [name, way] of Object.entries(ways))
  Promise.resolve().then(way).catch(e => errors[name] = String(e));
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


TCP_WAYS = {"fetch", "redirect", "beacon", "image", "script", "frame", "frame-redirect", "source", "socket", "popup"}
TCP_WAYS |= {"worker", "service-worker", "raw"}


async def try_everything(folder: Path, mode: str) -> tuple[Site, Udp, Egress, Any]:
    async with AsyncExitStack() as stack:
        udp, udp_port = await stack.enter_async_context(udp_canary())
        canary = await stack.enter_async_context(serving(Site()))
        site = Site()
        await stack.enter_async_context(serving(site))
        host = f"127.0.0.1:{canary.port}"
        site.pages = pages(host, udp_port)
        allow = [f"site.localhost:{site.port}"] + ([host] if mode == "allowed" else [])
        egress = await stack.enter_async_context(Egress(EgressPolicy(allow=tuple(allow))))
        arguments = [] if mode == "no switches" else egress.chromium_arguments()
        browser = await stack.enter_async_context(chromium(folder, *arguments))
        page = await browser.page()
        assert await page.goto(f"http://site.localhost:{site.port}/") == ""
        if mode == "default":
            assert await until(lambda: egress.counters.refused["blocked"] >= len(TCP_WAYS))
            await asyncio.sleep(3)
        else:
            await until(lambda: canary.hits.keys() >= TCP_WAYS)
        print(mode, dict(canary.hits), udp.hits, egress.counters)
        print(await page.evaluate("JSON.stringify(errors, null, 1)"), await page.evaluate("candidates"))
        return canary, udp, egress, None


@pytest.mark.parametrize("mode", ["default", "allowed", "no switches"])
async def test_x(tmp_path, mode):
    await try_everything(tmp_path, mode)
