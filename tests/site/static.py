"""Pages that are files: read once at start, served from memory.

A file `pages/faults/hang.html` is served at `/hang`, `pages/live/poll.html` at `/live/poll`; what it does
stands in its own `<meta name="description">`.
"""

import html
import re
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from tests.site.entry import Entry

DESCRIPTION = re.compile(r'<meta name="description" content="([^"]*)">')
PREFIXES = {"faults": "/", "interaction": "/", "live": "/live/"}
STYLE = (Path(__file__).parent / "style.css").read_text()
# Every visit asks again, so that `Site.hits` counts it. Not no-store, which would end back-forward caching.
FRESH = {"Cache-Control": "no-cache"}

routes = web.RouteTableDef()


@dataclass(frozen=True)
class Page:
    entry: Entry
    content: str

    async def serve(self, _: web.Request) -> web.Response:
        return page(self.content)


def page(content: str, status: int = 200) -> web.Response:
    return web.Response(text=content, status=status, content_type="text/html", charset="utf-8", headers=FRESH)


def document(title: str, body: str, head: str = "", status: int = 200) -> web.Response:
    """A whole page in the site's style. `title` is text, `head` and `body` are HTML."""
    return page(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f'<link rel="stylesheet" href="/style.css">\n{head}<body>\n{body}\n</body></html>\n',
        status,
    )


def load(folder: Path) -> dict[str, Page]:
    """All page files by path."""
    pages: dict[str, Page] = {}
    for file in sorted(folder.glob("*/*.html")):
        content = file.read_text()
        description = DESCRIPTION.search(content)
        if description is None:
            raise ValueError(f"{file} has no description")
        group, path = file.parent.name, PREFIXES[file.parent.name] + file.stem
        pages[path] = Page(Entry(group, path, html.unescape(description[1])), content)
    return pages


@routes.get("/style.css")
async def style(_: web.Request) -> web.Response:
    return web.Response(text=STYLE, content_type="text/css", headers={"Cache-Control": "max-age=3600"})


@routes.get("/favicon.ico")
async def icon(_: web.Request) -> web.Response:
    return web.Response(status=204)
