"""Pages and agents that try to reach what is not theirs to reach, through a real server with its default policy
(matrix row 34). The site they come from is the one thing that is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from tests.site.canary import Canary
from tests.site.server import Site
from tests.wire import Api, Session

SPELLINGS = [
    "127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[0:0:0:0:0:0:0:1]", "2130706433", "0x7f000001",
    "017700000001", "0177.0.0.1", "0x7f.1", "127.1", "127.0.1", "127.000.000.001", "0.0.0.0", "0", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0.1.",
]  # fmt: skip
ELSEWHERE = [
    "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://metadata.localhost/", "http://10.0.0.1/",
    "http://192.168.0.1/", "http://172.16.0.1/", "http://100.64.0.1/", "http://[fe80::1]/", "http://0251.0376.0251.0376/",
    "http://2852039166/", "http://[::ffff:a9fe:a9fe]/",
]  # fmt: skip
SCHEMES = [
    "file:///etc/passwd", "FILE:///etc/passwd", " file:///etc/passwd", "file:/etc/passwd",
    "file://localhost/etc/passwd", "chrome://version", "chrome://inspect", "chrome-untrusted://x",
    "devtools://devtools/bundled/inspector.html", "view-source:http://127.0.0.1/", "view-source:file:///etc/passwd",
    "javascript:alert(1)", "JavaScript:document.title='x'", "data:text/html,<h1>x</h1>", "blob:http://a/b",
    "ftp://127.0.0.1/", "ws://127.0.0.1/", "filesystem:http://a/temporary/x", "about:version", "chrome-extension://x/",
    "gopher://127.0.0.1:1/",
]  # fmt: skip


@pytest.fixture
def site(house_site: Site) -> Site:
    return house_site


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    """Whatever a test does, nobody has been here."""
    async with Canary() as running:
        yield running
        await asyncio.sleep(0.3)
        assert (running.hits, running.requests) == (0, [])


@pytest.fixture
async def session(api: Api) -> AsyncIterator[Session]:
    async with api.session() as one:
        yield one


def refused(seen: dict[str, str]) -> str:
    reason = seen["action_error"] or seen["navigation_error"]
    assert reason, seen
    return reason


async def test_no_spelling_of_this_machine_can_be_navigated_to(session, canary):
    for host in SPELLINGS:
        seen = await session.seen("navigate", url=f"http://{host}:{canary.port}/")
        assert "blocked by the egress policy" in refused(seen), host
        assert canary.hits == 0, host


async def test_no_private_address_can_be_navigated_to(session):
    for url in ELSEWHERE:
        assert "blocked by the egress policy" in refused(await session.seen("navigate", url=url)), url


async def test_no_name_before_the_host_hides_it(session, site, canary):
    here = f"127.0.0.1:{canary.port}"
    odd = [
        f"http://site.localhost:{site.port}@{here}/",
        f"http:\\\\{here}\\",
        f"http:/{here}",
        f"http:{here}",
        f"//{here}/",
        here,
    ]
    for url in (*odd, f"http://%31%32%37.0.0.1:{canary.port}/", f"http://127.0.0.1\t:{canary.port}/"):
        assert refused(await session.seen("navigate", url=url)), url


async def test_only_http_can_be_navigated_to(session):
    for kind, url in [*(("navigate", url) for url in SCHEMES), *(("new_tab", url) for url in SCHEMES[:3])]:
        seen = await session.seen(kind, url=url)
        assert seen["action_error"], (kind, url)
        assert seen["url"] == "about:blank", (kind, url)
        assert "root:" not in str(seen)


async def test_a_session_cannot_start_there_either(api, canary):
    for url in (f"http://127.0.0.1:{canary.port}/", "file:///etc/passwd", "http://169.254.169.254/"):
        async with api.session(url=url) as session:
            assert refused(session.first)
            assert session.first["url"] in ("about:blank", url, "chrome-error://chromewebdata/")


async def test_no_redirect_leads_there(session, site, canary):
    for host in ("127.0.0.1", "localhost", "[::1]", "2130706433", "0.0.0.0"):
        for status in (301, 307):
            target = quote(f"http://{host}:{canary.port}/", safe="")
            seen = await session.seen("navigate", url=site.url(f"/redirect?to={target}&status={status}"))
            assert "blocked by the egress policy" in refused(seen), host
    for target in ("http://169.254.169.254/", "file:///etc/passwd", "chrome://version"):
        seen = await session.seen("navigate", url=site.url(f"/redirect?to={quote(target, safe='')}"))
        assert refused(seen), target


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", *(pytest.param(h, marks=pytest.mark.slow) for h in ("localhost", "0x7f.1"))]
)
async def test_a_page_that_stays_open_reaches_nothing(session, site, canary, host):
    """Images, frames, fetch, WebSocket, workers, service workers, WebRTC, prefetch and thirty more."""
    target = quote(canary.url("/", host=host), safe="")
    await session.seen("navigate", url=site.url(f"/ssrf?target={target}"))
    for _ in range(20):
        seen = await session.seen("wait", seconds=0.5)
        if seen["title"] == "done":
            break
    assert seen["title"] == "done"
    assert site.hits["/ssrf-sw.js"], "the service worker was tried"
    assert site.hits["/ssrf-worker.js"]
    await session.seen("wait", seconds=1)


@pytest.mark.parametrize("way", ["ssrf-refresh", "ssrf-header", "ssrf-location", "ssrf-open"])
async def test_a_page_that_leaves_gets_nowhere(session, site, canary, way):
    await session.seen("navigate", url=site.url(f"/{way}?target={quote(canary.url(), safe='')}"))
    seen = await session.seen("wait", seconds=0.5)
    if way != "ssrf-open":
        assert "blocked by the egress policy" in refused(seen), seen


async def test_a_click_gets_nowhere_and_says_why(api, site, canary):
    for mark in range(1, 5):
        async with api.session(
            url=site.url(f"/ssrf-click?target={quote(canary.url(), safe='')}"), look={"marks": True}
        ) as session:
            marks = session.first["marks"]
            assert len(marks) == 4
            seen = await session.seen("click", element=marks[mark - 1]["id"])
            if marks[mark - 1]["name"] != "Download":
                assert "blocked by the egress policy" in refused(seen), marks[mark - 1]


@pytest.mark.parametrize("target", ["file:///etc/passwd", pytest.param("chrome://version", marks=pytest.mark.slow)])
async def test_a_page_that_links_to_a_file_gets_nowhere(session, site, target):
    for way in ("ssrf-click", "ssrf-location", "ssrf-open", "ssrf"):
        start = site.url(f"/{way}?target={quote(target, safe='')}")
        seen = await session.seen("navigate", url=start, look={"image": "none", "marks": True})
        if way == "ssrf-click":
            seen = await session.seen("click", element=seen["marks"][0]["id"])
        seen = await session.seen("wait", seconds=0.3, look={"image": "none", "text": True, "accessibility": True})
        assert "root:" not in str(seen)
        for tab in seen["tabs"]:
            assert not tab["url"].startswith(("file:", "chrome://", "view-source:")), seen["tabs"]
