"""Pages that leave marks in every storage a browser has, and pages that look for them (matrix row 35).

`/isolation/set?value=A` leaves the marks; `/isolation/get` in another session must find `{}`.
"""

from pathlib import Path

from aiohttp import web

from tests.site.entry import Entry
from tests.site.static import page

routes = web.RouteTableDef()
GROUP = "isolation"
FOLDER = Path(__file__).parent / "pages"
SET, GET = (FOLDER / "isolation-set.html").read_text(), (FOLDER / "isolation-get.html").read_text()
YEAR = 365 * 24 * 3600

ENTRIES = [
    Entry(GROUP, "/isolation/set?value=A", "leaves marks in every kind of storage; title ends as 'set'"),
    Entry(GROUP, "/isolation/get", "finds such marks; title ends as 'found {...}', also in #found"),
    Entry(GROUP, "/isolation/worked", "a service worker stands before the whole origin; title ends as 'worked'"),
]


@routes.get("/isolation/set")
async def leave(request: web.Request) -> web.Response:
    response = page(SET)
    response.set_cookie("secret", request.query.get("value", "A"), max_age=YEAR, httponly=True, path="/")
    return response


@routes.get("/isolation/get")
async def look(_: web.Request) -> web.Response:
    return page(GET)


@routes.get("/isolation/cookies")
async def cookies(request: web.Request) -> web.Response:
    """The cookies that came with the request, the hidden ones too."""
    return web.json_response(dict(request.cookies), headers={"Cache-Control": "no-store"})


@routes.get("/isolation/cached")
async def cached(_: web.Request) -> web.Response:
    return web.Response(text="cached", headers={"Cache-Control": f"max-age={YEAR}, immutable"})


@routes.get("/isolation/sw.js")
async def worker(_: web.Request) -> web.Response:
    text = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", event => {
  if (new URL(event.request.url).pathname === "/isolation/worker-answer")
    event.respondWith(new Response("from the service worker"));
});
"""
    return web.Response(text=text, content_type="text/javascript")


@routes.get("/isolation/worker-answer")
async def worker_answer(_: web.Request) -> web.Response:
    return web.Response(text="from the server", headers={"Cache-Control": "no-store"})


WORKED = """<!doctype html><title>working</title>
<script>
localStorage.setItem("mark", "kept");
const workers = navigator.serviceWorker;
const controlled = new Promise(yes => workers.addEventListener("controllerchange", yes));
workers.register("/isolation/scripted.js", {scope: "/"}).then(() => controlled).then(() => { document.title = "worked"; });
</script>"""


@routes.get("/isolation/worked")
async def worked(_: web.Request) -> web.Response:
    return page(WORKED)


@routes.get("/isolation/scripted.js")
async def scripted(_: web.Request) -> web.Response:
    """Passes every request on, and hands out a script of the site with each page."""
    text = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));
const script = "<script>localStorage.setItem('ran', 'a script of the site')</script>";
const scripted = async answer =>
  new Response(script + await answer.text(), {headers: {"Content-Type": "text/html"}});
self.addEventListener("fetch", event => event.respondWith(fetch(event.request).then(scripted)));
"""
    return web.Response(text=text, content_type="text/javascript", headers={"Service-Worker-Allowed": "/"})
