"""Sites follow from (seed, host) alone; every page of every kind answers, and what is wrong is said with its status."""

from __future__ import annotations

import re
import subprocess
import sys
from urllib.parse import urlsplit

import aiohttp
import pytest
from yarl import URL

from webgym.worlds.answers import Answer, Asked, answer
from webgym.worlds.names import count, host_of, is_host, kind_of, site_of
from webgym.worlds.server import POLICY, WorldServer
from webgym.worlds.sites import KINDS
from webgym.worlds.style import LAYOUTS

HOSTS = [host_of(0, kind, number) for kind in KINDS.values() for number in range(8)]


def get(host: str, path: str, cookies: dict[str, str] | None = None, **query: str) -> Answer:
    return answer(Asked(0, host, path, query, None, cookies or {}))


def links(page: Answer) -> list[str]:
    found = re.findall(r'(?:href|src|action)="([^"#]*)"', page.body.decode())
    return [link.replace("&amp;", "&") for link in found if link]


DIGEST = """
import hashlib, sys
from webgym.worlds.answers import Asked, answer
for host in sys.argv[1:]:
    for path in ("/", "/search", "/_/style.css", "/_/icon.svg", "/about"):
        print(hashlib.sha256(answer(Asked(0, host, path, {}, None, {})).body).hexdigest())
"""


def test_two_processes_give_the_same_bytes():
    said = {
        subprocess.run(
            [sys.executable, "-c", DIGEST, *HOSTS[:3]], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1
    assert len(said.pop().split()) == 15


def test_another_seed_is_another_web():
    host = HOSTS[0]
    other = answer(Asked(1, host, "/", {}, None, {}))
    assert other.status == 200
    assert other.body != get(host, "/").body


REFUSED = {"/partners": (403,), "/_/broken.svg": (503,)}  # what some pages show or link to, and never get


@pytest.mark.parametrize("host", HOSTS)
def test_every_page_a_site_links_to_is_there(host: str):
    seen, waiting = set(), ["/"]
    while waiting and len(seen) < 60:
        path = waiting.pop(0)
        parts = urlsplit(path)
        if path in seen or path.startswith(("/cart/", "/_/consent")):
            continue
        assert not parts.netloc, f"{path} leaves the site"
        seen.add(path)
        query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
        found = answer(Asked(0, host, parts.path, {k: v.replace("+", " ") for k, v in query.items()}, None, {}))
        assert found.status in REFUSED.get(parts.path, (200, 303)), path
        if found.media.startswith("text/html"):
            waiting += links(found)
    assert len(seen) > 20


def test_no_page_names_an_outside_address():
    for host in HOSTS:
        for path in ("/", "/search", "/contact", "/nowhere"):
            assert b"http" not in get(host, path).body.replace(b"http-equiv", b"")
    assert "'self'" in POLICY


def test_all_layouts_and_both_themes_occur():
    styles = [site_of(0, host_of(0, kind, number)).style for kind in KINDS.values() for number in range(60)]
    assert {style.layout for style in styles} == set(range(LAYOUTS))
    assert {style.dark for style in styles} == {True, False}


def test_hosts_of_the_catalogue_are_distinct_and_of_their_kind():
    for kind in KINDS.values():
        hosts = [host_of(0, kind, number) for number in range(3_000)]
        assert len(set(hosts)) == 3_000 <= count(kind)
        assert all(kind_of(0, host) is kind for host in hosts)
        assert all(map(is_host, hosts))


@pytest.mark.parametrize("host", HOSTS[::8])
def test_what_is_not_there_is_a_404_and_robots_are_blocked(host: str):
    assert get(host, "/no/such/page").status == 404
    assert b"Page not found" in get(host, "/no/such/page").body
    assert get(host, "/partners").status == 403
    assert get(host, "/_/broken.svg").status == 503
    assert get(host, "/_/slow.svg").delay > 0


def test_a_stylesheet_is_sent_once():
    first = get(HOSTS[0], "/_/style.css")
    mark = dict(first.headers)["etag"]
    again = answer(Asked(0, HOSTS[0], "/_/style.css", {}, None, {}, mark))
    assert (again.status, again.body) == (304, b"")


def test_suggestions_begin_as_typed():
    host = host_of(0, KINDS["shop"], 0)
    entry = KINDS["shop"].entries(KINDS["shop"].content(site_of(0, host)))[0]
    assert entry.title.encode() in get(host, "/_/suggest", q=entry.title[:4]).body
    assert get(host, "/_/suggest", q="zzzz").body == b"[]"


def test_what_a_person_typed_is_escaped():
    page = get(HOSTS[0], "/search", q='"><script>alert(1)</script>').body
    assert b"<script>alert" not in page
    assert b"&lt;script&gt;" in page


EURO = "%E2%82%AC"
BANK = host_of(0, KINDS["bank"], 3)


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        (f"/my/{EURO}", 303, f"/login?next=/my/{EURO}"),
        ("/my/a%26b%3Fc", 303, "/login?next=/my/a%26b%3Fc"),
        (f"/_/language?to=de&back=/{EURO}", 303, f"/{EURO}"),
        ("/_/language?to=de&back=/a%3Fq=1%26r=2", 303, "/a?q=1&r=2"),
        ("/_/language?to=de&back=/%0D%0ASet-Cookie:%20a=b", 303, "/%0D%0ASet-Cookie:%20a=b"),
        ("/_/language?to=de&back=/%09/example.com", 303, "/%09/example.com"),
        ("/_/language?to=de&back=//example.com", 303, "/"),
        ("/?" + "&".join(f"f{n}={n}" for n in range(61)), 400, None),
        ("/?" + "&".join(f"f{n}={n}" for n in range(60)), 200, None),
    ],
)
async def test_no_address_that_can_be_typed_is_a_fault_of_the_server(path: str, status: int, location: str | None):
    async with WorldServer(0) as server, aiohttp.ClientSession() as http:
        address = URL(f"http://127.0.0.1:{server.port}{path}", encoded=True)
        async with http.get(address, headers={"Host": BANK}, allow_redirects=False) as found:
            assert (found.status, found.headers.get("location")) == (status, location)
            assert "a" not in found.cookies


async def test_a_form_with_too_many_fields_is_refused():
    async with WorldServer(0) as server, aiohttp.ClientSession() as http:
        many = {f"f{n}": "1" for n in range(201)}
        async with http.post(f"http://127.0.0.1:{server.port}/contact", headers={"Host": BANK}, data=many) as found:
            assert found.status == 400


async def test_the_server_serves_by_host_name_and_refuses_foreign_ones():
    async with WorldServer(0) as server, aiohttp.ClientSession() as http:
        base = f"http://127.0.0.1:{server.port}/"
        async with http.get(base, headers={"Host": f"{HOSTS[0]}:{server.port}"}) as found:
            assert found.status == 200
            assert found.headers["content-security-policy"] == POLICY
            assert site_of(0, HOSTS[0]).brand in await found.text()
        async with http.get(base, headers={"Host": "example.com"}) as found:
            assert found.status == 421
