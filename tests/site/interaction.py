"""The few interaction pages that depend on the request: form results and the history chain."""

import html

from aiohttp import web

from tests.site.entry import Entry
from tests.site.static import document

routes = web.RouteTableDef()
GROUP = "interaction"
CHAIN = {"a": "b", "b": "c", "c": "a"}

ENTRIES = [
    Entry(GROUP, "/submitted?name=Ada", "shows the values it was sent, as text, in #values"),
    *(Entry(GROUP, f"/history/{name}", "a chain of pages; link #next") for name in CHAIN),
]


@routes.route("*", "/submitted")
async def submitted(request: web.Request) -> web.Response:
    values = list(request.query.items())
    if request.method == "POST":
        values += [(name, value) for name, value in (await request.post()).items() if isinstance(value, str)]
    lines = "\n".join(html.escape(f"{name} = {value}") for name, value in values)
    return document("Submitted", f'<main><h1>Submitted</h1><pre id="values">{lines}</pre></main>')


@routes.get("/history/{name:[abc]}")
async def history(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    return document(
        f"History {name}",
        f'<a id="next" class="button at1" href="/history/{CHAIN[name]}">To {CHAIN[name]}</a>'
        f'<p class="big" style="margin-top: 60px">Page {name}</p>',
    )
