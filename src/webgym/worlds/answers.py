"""What a site answers: its kind's pages, and what every site has (search, about, contact, pictures, errors).

A pure function from what was asked to an answer. State changes leave as cookies; nothing is kept here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from webgym.worlds import pictures, render, state
from webgym.worlds.blocks import Card, Link, Notice, Page, Prose, Redirect, Response
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import Entry, Kind, Visit
from webgym.worlds.languages import LANGUAGES
from webgym.worlds.listing import Listing, found
from webgym.worlds.names import kind_of, site_of
from webgym.worlds.state import Memory, State

FOREVER: Final = ("cache-control", "public, max-age=31536000, immutable")
FRESH: Final = ("cache-control", "no-store")
SUGGESTIONS: Final = 6
SLOW: Final = 0.6
_IN_ADDRESS: Final = "%/?#[]@!$&'()*+,;=:"  # what an address has of its own; the rest of what was typed is quoted
_PICTURE = re.compile(r"/_/pic/([a-z_]{1,30})/(\d{1,4})x(\d{1,4})/([\w.%-]{1,120})\.svg")


@dataclass(frozen=True)
class Asked:
    seed: int
    host: str
    path: str
    query: Mapping[str, str]
    posted: Mapping[str, str] | None
    cookies: Mapping[str, str]
    known: str = ""  # If-None-Match


@dataclass(frozen=True)
class Answer:
    status: int
    media: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0


def answer(asked: Asked) -> Answer:
    """The answer to a request of a site."""
    if asked.path.startswith("/_/") and (fixed := _fixed(asked)) is not None:
        return fixed
    try:
        before = state.read(asked.seed, asked.host, state.joined(asked.cookies))
    except state.BadState:
        before = State()
    site, kind = site_of(asked.seed, asked.host), kind_of(asked.seed, asked.host)
    visit: Visit[Any] = Visit(site, kind.content(site), asked.path, asked.query, asked.posted, Memory.of(before))
    response = kind.answer(visit) or _common(kind, visit)
    return _finished(asked, kind, visit, response, before)


def _finished(asked: Asked, kind: Kind[Any], visit: Visit[Any], response: Response, before: State) -> Answer:
    after = visit.memory.frozen()
    headers = [FRESH]
    if after != before:
        value = state.write(asked.seed, asked.host, after)
        carried = state.chunks(value)
        if len(carried) <= state.MAX_CHUNKS:
            headers += [("set-cookie", f"{name}={part}; Path=/; HttpOnly; SameSite=Lax") for name, part in carried]
            stale = {name for name in asked.cookies if name.startswith(state.COOKIE)} - {name for name, _ in carried}
            headers += [("set-cookie", f"{name}=; Path=/; Max-Age=0") for name in sorted(stale)]
    if isinstance(response, Redirect):
        return Answer(303, "text/plain", b"", (*headers, ("location", quote(response.to, safe=_IN_ADDRESS))))
    return Answer(response.status, "text/html; charset=utf-8", render.html(kind, visit, response), tuple(headers))


# what every site has


def _common(kind: Kind[Any], visit: Visit[Any]) -> Response:
    match visit.path:
        case "/search":
            return _search(kind, visit)
        case "/about":
            name = visit.site.brand
            history = visit.site.number("founded") % 90 + 1930
            text = (kind.tagline(visit.site, visit.content), f"{name} was founded in {history}.", "We answer every letter.")
            return Page("About us", (Prose("", text),), heading=f"About {name}")
        case "/contact":
            return _contact(visit)
        case "/partners":
            notice = Notice(
                "Our systems have detected unusual traffic. Automated access to this page is not permitted.",
                "bad",
                "Please verify that you are a human",
            )
            return Page("Access denied", (notice,), status=403)
        case "/_/consent" if visit.posted is not None:
            visit.memory.choices["consent"] = "all" if visit.posted.get("consent") == "all" else "needed"
            return Redirect(_inside(visit.posted.get("back", "/")))
        case "/_/language":
            wanted = visit.query.get("to", "en")
            visit.memory.choices["language"] = wanted if wanted in dict(LANGUAGES) else "en"
            return Redirect(_inside(visit.query.get("back", "/")))
        case _:
            notice = Notice("The page you are looking for does not exist.", link=Link("Back to the start", "/"))
            return Page("Page not found", (notice,), heading="Page not found", status=404)


def _search(kind: Kind[Any], visit: Visit[Any]) -> Response:
    def card(entry: Entry) -> Card:
        return Card(entry.title, entry.href, text=entry.text)

    listing = Listing(kind.entries(visit.content), card, lambda entry: f"{entry.title} {entry.text}", per_page=10)
    return Page("Search", (visit.listing(listing, "Search results"),))


def _contact(visit: Visit[Any]) -> Response:
    form = Form.of(
        "contact",
        Field("name", "Your name"),
        Field("email", "E-mail", "email"),
        Field("topic", "Topic", "select", ("General question", "Feedback", "Press", "Accessibility")),
        Field("message", "Message", "textarea"),
        submit="Send message",
    )
    values = visit.filled(form)
    if values is None:
        return Page("Contact", (visit.form(form),), heading="Contact us")
    visit.memory.record("contact", values)
    return Page("Message sent", (Notice("We will answer within two working days.", "good", "Message sent"),))


def _inside(address: str) -> str:
    """An address of this site; anything else is the start page."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


# what depends on no session


def _fixed(asked: Asked) -> Answer | None:
    site = site_of(asked.seed, asked.host)
    match asked.path:
        case "/_/style.css":
            return _kept(asked, "text/css; charset=utf-8", render.stylesheet(site.style))
        case "/_/kernel.js":
            return _kept(asked, "text/javascript; charset=utf-8", render.SCRIPT)
        case "/_/icon.svg":
            return _kept(asked, "image/svg+xml", pictures.svg(asked.seed, asked.host, "logo", "", 64, 64).encode())
        case "/_/suggest":
            return _suggest(asked)
        case "/_/slow.svg":
            drawn = pictures.svg(asked.seed, asked.host, "abstract", "slow", 300, 80).encode()
            return Answer(200, "image/svg+xml", drawn, (FRESH,), SLOW)
        case "/_/broken.svg":
            return Answer(503, "text/plain", b"Try again later.\n", (FRESH,))
    match = _PICTURE.fullmatch(asked.path)
    if match is not None:
        name, wide, high, token = match.groups()
        width, height = min(int(wide), pictures.MOST), min(int(high), pictures.MOST)
        return _kept(asked, "image/svg+xml", pictures.svg(asked.seed, asked.host, name, token, width, height).encode())
    return None


def _suggest(asked: Asked) -> Answer:
    query = asked.query.get("q", "").strip()[:100]
    kind = kind_of(asked.seed, asked.host)
    entries = kind.entries(kind.content(site_of(asked.seed, asked.host))) if query else ()
    hits = [{"title": entry.title, "href": entry.href} for entry in entries if found(entry.title, query)][:SUGGESTIONS]
    return Answer(200, "application/json", json.dumps(hits).encode(), (FRESH,))


def _kept(asked: Asked, media: str, body: bytes) -> Answer:
    mark = f'"{render.tag(body)}"'
    headers = (FOREVER, ("etag", mark))
    return Answer(304, media, b"", headers) if asked.known == mark else Answer(200, media, body, headers)
