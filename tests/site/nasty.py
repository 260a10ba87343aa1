"""Answers that go wrong: responses that never end, downloads that misbehave, redirects in circles.

Invariant: a handler that waits for ever only awaits, so it ends when its client leaves or the site closes.
"""

import asyncio
import base64
import html
from contextlib import suppress
from functools import cache

from aiohttp import web

from tests.site import images
from tests.site.entry import Entry
from tests.site.static import document

routes = web.RouteTableDef()
GROUP = "faults"
GIGABYTE = 2**30
CHUNK = bytes(256 * 1024)
PASSWORD = "Basic " + base64.b64encode(b"user:secret").decode()

ENTRIES = [
    Entry(GROUP, "/drip", "a page that never ends, one byte a second", ordinary=False),
    Entry(GROUP, "/never", "accepts the request and never answers", ordinary=False),
    Entry(GROUP, "/links-50k", "50,000 links"),
    Entry(GROUP, "/download-big", "1 GB with a length, named ../../x", ordinary=False),
    Entry(GROUP, "/download-endless", "a download without length or end", ordinary=False),
    Entry(GROUP, "/download-small", "hello.txt"),
    Entry(GROUP, "/traversal-name", "a small download named ../../../../tmp/webgym-escaped.txt"),
    Entry(GROUP, "/file.pdf", "a one-page PDF, shown in the tab"),
    Entry(GROUP, "/basic-auth", "401 unless the user is user:secret", ordinary=False),
    Entry(GROUP, "/redirect-loop", "redirects to itself", ordinary=False),
    Entry(GROUP, "/redirect?to=/counter", "redirects to any address; &status=307 for another kind"),
    Entry(GROUP, "/status/503", "answers with that status", ordinary=False),
    Entry(GROUP, "/popup-target?n=1", "what the popups show"),
]


async def _trickle(request: web.Request, kind: str, first: bytes, rest: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": kind, "Cache-Control": "no-store"})
    await response.prepare(request)
    await response.write(first)
    while True:
        await asyncio.sleep(1)
        await response.write(rest)


@routes.get("/drip")
async def drip(request: web.Request) -> web.StreamResponse:
    start = b"<!doctype html><meta charset=utf-8><title>Drip</title><h1>One byte a second</h1><p>"
    return await _trickle(request, "text/html; charset=utf-8", start, b".")


@routes.get("/drip.png")
async def drip_picture(request: web.Request) -> web.StreamResponse:
    return await _trickle(request, "image/png", images.plain(0)[:64], b"\0")


@routes.get("/never")
async def never(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError("unreachable: nobody sets the event")


@routes.get("/links-50k")
async def links(_: web.Request) -> web.Response:
    return document("50,000 links", f"<h1>50,000 links</h1><p>{_many_links()}</p>")


@cache
def _many_links() -> str:
    return "".join(f'<a href="/popup-target?n={n}">link {n}</a> ' for n in range(50_000))


def _attachment(name: str, kind: str = "application/octet-stream") -> dict[str, str]:
    return {
        "Content-Type": kind,
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
    }


@routes.get("/download-big")
async def download_big(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers=_attachment("../../x"))
    response.content_length = GIGABYTE
    await response.prepare(request)
    with suppress(ConnectionResetError):  # nobody is expected to want all of it
        for _ in range(GIGABYTE // len(CHUNK)):
            await response.write(CHUNK)
    return response


@routes.get("/download-endless")
async def download_endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers=_attachment("endless.bin"))
    await response.prepare(request)
    while True:
        await response.write(CHUNK)
        await asyncio.sleep(0.01)


@routes.get("/download-small")
async def download_small(_: web.Request) -> web.Response:
    return web.Response(body=b"hello\n", headers=_attachment("hello.txt", "text/plain"))


@routes.get("/traversal-name")
async def traversal_name(_: web.Request) -> web.Response:
    return web.Response(body=b"escaped\n", headers=_attachment("../../../../tmp/webgym-escaped.txt"))


@routes.get("/file.pdf")
async def file_pdf(_: web.Request) -> web.Response:
    return web.Response(body=images.pdf(), content_type="application/pdf")


@routes.get("/basic-auth")
async def basic_auth(request: web.Request) -> web.Response:
    if request.headers.get("Authorization") == PASSWORD:
        return document("Welcome", "<h1 id=welcome>Welcome, user</h1>")
    response = document("Password needed", "<h1>Password needed</h1>", status=401)
    response.headers["WWW-Authenticate"] = 'Basic realm="test site"'
    return response


@routes.get("/redirect-loop")
async def redirect_loop(_: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": "/redirect-loop"})


@routes.route("*", "/redirect")
async def redirect(request: web.Request) -> web.Response:
    # CORS is open so that a script's request, too, follows the redirect rather than stopping at it.
    headers = {
        "Location": request.query["to"],
        "Access-Control-Allow-Origin": "*",
        "Cache-Control": "no-store",
    }
    return web.Response(status=int(request.query.get("status", "302")), headers=headers)


@routes.get("/status/{code}")
async def status(request: web.Request) -> web.Response:
    code = int(request.match_info["code"])
    return document(f"Status {code}", f"<h1>Status {code}</h1>", status=code)


@routes.get("/popup-target")
async def popup_target(request: web.Request) -> web.Response:
    n = request.query.get("n", "")
    return document(f"Popup {n}".strip(), f"<h1>Popup target {html.escape(n)}</h1>")
