"""Pages that try to reach an address the browser should keep them from (matrix row 34); see `canary.Canary`.

`/ssrf?target=URL` tries every way that leaves the page where it is. The ways that leave it have a page each.
"""

import html
import json
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from tests.site.entry import Entry
from tests.site.static import document, page

routes = web.RouteTableDef()
GROUP = "forbidden addresses"
ATTEMPTS = (Path(__file__).parent / "pages" / "ssrf.html").read_text()
EXAMPLE = "?target=http://127.0.0.1:9/"

ENTRIES = [
    Entry(
        GROUP,
        "/ssrf" + EXAMPLE,
        "tries the target in every way that leaves the page open; title ends as 'done'",
    ),
    Entry(GROUP, "/ssrf-refresh" + EXAMPLE, "goes there by meta refresh"),
    Entry(GROUP, "/ssrf-header" + EXAMPLE, "goes there by a Refresh header"),
    Entry(GROUP, "/ssrf-location" + EXAMPLE, "goes there by location.href"),
    Entry(GROUP, "/ssrf-open" + EXAMPLE, "opens it in a window at load, and by button #go"),
    Entry(GROUP, "/ssrf-click" + EXAMPLE, "link #go, form #send, new tab #blank, download #save, all by click"),
]


@routes.get("/ssrf")
async def ssrf(request: web.Request) -> web.Response:
    response = page(ATTEMPTS)
    # A violation report is a request that the browser sends by itself.
    response.headers["Content-Security-Policy-Report-Only"] = f"img-src 'none'; report-uri {request.query['target']}"
    return response


@routes.get("/ssrf-sw.js")
async def worker(request: web.Request) -> web.Response:
    target = json.dumps(request.query["target"])
    text = f"""
const attempt = () => Promise.allSettled([
  fetch({target}, {{mode: "no-cors"}}),
  fetch("/redirect?to=" + encodeURIComponent({target}), {{mode: "no-cors"}}),
]);
self.addEventListener("install", event => event.waitUntil(attempt()));
self.addEventListener("activate", event => event.waitUntil(attempt()));
"""
    return web.Response(text=text, content_type="text/javascript")


@routes.get("/ssrf-worker.js")
async def dedicated_worker(request: web.Request) -> web.Response:
    target = json.dumps(request.query["target"])
    text = f"""
fetch({target}, {{mode: "no-cors"}}).catch(() => 0);
try {{ new WebSocket({target}.replace(/^http/, "ws")); }} catch {{}}
try {{ importScripts({target}); }} catch {{}}
"""
    return web.Response(text=text, content_type="text/javascript")


@routes.get("/ssrf-style.css")
async def style(request: web.Request) -> web.Response:
    target = json.dumps(request.query["target"])
    text = f"""@import url({target});
@font-face {{ font-family: "stolen"; src: url({target}); }}
#styled {{ background-image: url({target}); font-family: "stolen"; cursor: url({target}), auto; }}
"""
    return web.Response(text=text, content_type="text/css")


@routes.get("/ssrf-refresh")
async def refresh(request: web.Request) -> web.Response:
    target = html.escape(request.query["target"])
    return document("Refresh", "<h1>Refresh</h1>", head=f'<meta http-equiv="refresh" content="0; url={target}">\n')


@routes.get("/ssrf-header")
async def refresh_header(request: web.Request) -> web.Response:
    response = document("Refresh header", "<h1>Refresh header</h1>")
    response.headers["Refresh"] = f"0; url={request.query['target']}"
    return response


@routes.get("/ssrf-location")
async def location(request: web.Request) -> web.Response:
    return document("Location", f"<h1>Location</h1><script>location.href = {_script(request)}</script>")


@routes.get("/ssrf-open")
async def window_open(request: web.Request) -> web.Response:
    target = _script(request)
    return document(
        "Open",
        f"""<button id="go" class="at1">Open</button><h1 style="margin-top: 60px">Open</h1>
<script>go.onclick = () => window.open({target}); window.open({target});</script>""",
    )


@routes.get("/ssrf-click")
async def click(request: web.Request) -> web.Response:
    target = html.escape(request.query["target"])
    detour = "/redirect?to=" + quote(request.query["target"], safe="")
    return document(
        "Click",
        f"""<a id="go" class="button at1" href="{target}">Link</a>
<form method="post" action="{target}"><button id="send" name="a" value="b" class="at2">Send</button></form>
<a id="blank" class="button at3" target="_blank" href="{target}">New tab</a>
<a id="save" class="button at4" download="x" href="{detour}">Download</a>
<h1 style="margin-top: 60px">Click</h1>""",
    )


def _script(request: web.Request) -> str:
    """The target as a script literal that cannot close its script element."""
    return json.dumps(request.query["target"]).replace("</", "<\\/")
