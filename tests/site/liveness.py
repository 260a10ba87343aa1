"""What the lively pages ask for after they have loaded, each with a delay a real site might have.

Delays can be overridden with `?delay=` in milliseconds.
"""

import asyncio
import html
from pathlib import Path

from aiohttp import WSMsgType, web

from tests.site import images
from tests.site.entry import Entry
from tests.site.static import FRESH, page

routes = web.RouteTableDef()
GROUP = "live"
PAGE_SIZE = 20
APPLICATION = (Path(__file__).parent / "pages" / "live" / "spa.html").read_text()
WORDS = """
apple apricot banana blackberry blueberry cherry cranberry date fig grape lemon lime mango melon nectarine
orange papaya peach pear plum quince raspberry strawberry tangerine
"""

ENTRIES = [
    Entry(GROUP, "/live/image/3.png?delay=150", "a picture of a known colour after a delay"),
    Entry(GROUP, "/live/items?page=0", "20 items as JSON after 100 ms"),
]


async def _pause(request: web.Request, otherwise: int) -> None:
    await asyncio.sleep(int(request.query.get("delay", otherwise)) / 1000)


@routes.get(r"/live/image/{n:\d+}.png")
async def image(request: web.Request) -> web.Response:
    await _pause(request, 150)
    return web.Response(body=images.plain(int(request.match_info["n"])), content_type="image/png", headers=FRESH)


@routes.get("/live/items")
async def items(request: web.Request) -> web.Response:
    await _pause(request, 100)
    first = int(request.query.get("page", "0")) * PAGE_SIZE
    return web.json_response([f"Item {n}" for n in range(first, first + PAGE_SIZE)], headers=FRESH)


@routes.get("/live/content")
async def content(request: web.Request) -> web.Response:
    await _pause(request, 200)
    return web.json_response({"text": "The content has arrived."}, headers=FRESH)


@routes.get("/live/suggest")
async def suggest(request: web.Request) -> web.Response:
    await _pause(request, 40)
    start = request.query.get("q", "").lower()
    return web.json_response([word for word in WORDS.split() if start and word.startswith(start)], headers=FRESH)


@routes.get(r"/live/spa/{view:\w+}")
async def view_again(_: web.Request) -> web.Response:
    """A reload in the middle of the application shows the same view."""
    return page(APPLICATION)


@routes.get("/live/view")
async def view(request: web.Request) -> web.Response:
    await _pause(request, 120)
    name = html.escape(request.query.get("name", "home"))
    lines = "".join(f"<li>Line {n} of {name}</li>" for n in range(1, 6))
    return web.Response(text=f"<h1>View {name}</h1><ul>{lines}</ul>", content_type="text/html", headers=FRESH)


@routes.get("/live/tick")
async def tick(_: web.Request) -> web.Response:
    return web.Response(text="tick", headers=FRESH)


@routes.get("/live/events")
async def events(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    n = 0
    while True:
        n += 1
        await response.write(f"data: event {n}\n\n".encode())
        await asyncio.sleep(1)


@routes.get("/live/ws")
async def echo(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type == WSMsgType.TEXT:
            await socket.send_str("echo " + message.data)
    return socket
