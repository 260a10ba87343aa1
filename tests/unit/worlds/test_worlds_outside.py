"""Nothing the offline web sends names an address outside it: pages, stylesheets, scripts and pictures are read for all."""

from __future__ import annotations

import random
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlsplit

from benchmarks.offline import SEED, Address, pages
from webgym.worlds.answers import Asked, answer
from webgym.worlds.names import is_host
from webgym.worlds.sites import KINDS

ADDRESSES = {"action", "background", "cite", "data", "formaction", "href", "manifest", "ping", "poster", "src", "xlink:href"}
LOADED = {"img", "script", "link", "iframe", "source", "image", "use"}  # what a browser fetches by itself
URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
IN_SCRIPT = re.compile(r"""["'`](?:(?:https?|wss?):)?(//[\w.-]+[^"'`]*)""")
NAMESPACE = "http://www.w3.org/"  # names a vocabulary; nobody asks for it


class Reader(HTMLParser):
    """Every address in a document, and those a browser loads."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ADDRESSES:
                self.named.append(value)
                if tag in LOADED and value.startswith("/"):
                    self.loaded.append(value)
            elif name == "srcset":
                self.named += [part.split()[0] for part in value.split(",") if part.strip()]
            elif name == "content" and "url=" in value.lower():
                self.named.append(value.lower().partition("url=")[2].strip())
            elif name == "style":
                self.named += in_css(value)


def in_css(text: str) -> list[str]:
    return [first or second for first, second in URL.findall(unescape(text))]


def addresses(media: str, body: str) -> tuple[list[str], list[str]]:
    """All addresses in an answer, and those loaded with it."""
    if media.startswith("text/css"):
        return in_css(body), []
    if "javascript" in media:
        return IN_SCRIPT.findall(body), []
    reader = Reader()
    reader.feed(body)
    return reader.named + in_css(body), reader.loaded


def outside(found: str) -> bool:
    parts = urlsplit(found.strip())
    if parts.scheme in ("data", "blob", "about", "mailto", "tel"):
        return False  # none of them asks anybody
    return bool(parts.netloc) and not is_host(parts.hostname or "") and not found.startswith(NAMESPACE)


def test_an_outside_address_is_seen_wherever_it_stands():
    page = (
        '<img src="https://a.example/x"><a href="//b.example">b</a><img srcset="/in.svg 1x, https://c.example/y 2x">'
        '<p style="background:url(https://d.example/z)"><meta http-equiv="refresh" content="0; url=https://e.example/">'
        '<style>@import "//f.example/s.css";</style><a href="/inside">i</a><a href="#here">h</a>'
    )
    found = filter(outside, addresses("text/html", page)[0])
    assert {urlsplit(address).hostname for address in found} == {f"{letter}.example" for letter in "abcdef"}
    assert list(filter(outside, addresses("text/javascript", "fetch('https://g.example/')")[0])) == ["//g.example/"]
    assert list(filter(outside, addresses("text/css", "a{background:url('//h.example/i.png')}")[0])) == ["//h.example/i.png"]


def test_nothing_that_200_random_pages_send_or_load_names_an_outside_address():
    chance = random.Random("outside")
    kinds, loaded, count = set[str](), set[Address](), 0
    for address in pages(200, chance):
        found = address.ask()
        named, loads = addresses(found.media, found.body.decode())
        assert not list(filter(outside, named)), address
        kinds.add(address.kind)
        loaded |= {Address(address.kind, address.host, path) for path in loads}
        count += 1
    for address in loaded:
        path = urlsplit(address.path)
        found = answer(Asked(SEED, address.host, path.path, {}, None, {}))
        if found.status == 200:
            assert not list(filter(outside, addresses(found.media, found.body.decode())[0])), address
    assert (count, kinds) == (200, set(KINDS))
    assert len(loaded) > 400
