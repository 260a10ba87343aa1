"""Pages for benchmarks: a form of three steps, long documentation, a gallery. All are made once and kept."""

import html
import random
from functools import cache

from aiohttp import web

from tests.site import images
from tests.site.entry import Entry
from tests.site.static import document

routes = web.RouteTableDef()
GROUP = "bench"
SECTIONS = 150
PHOTOS = 40
WORDS = """
session lease browser worker screenshot action deadline element observation page request response cache
queue timeout retry step policy reward judge rubric task episode buffer replay server client token image
pixel frame event handler socket stream context storage profile
"""
VERBS = """
returns accepts waits closes renews stores sends checks drops keeps reads writes measures limits
"""

ENTRIES = [
    Entry("interaction", "/docs-long", "long documentation: about 40 screens, 150 links, code, tables"),
    Entry(GROUP, "/bench/docs", "the same as /docs-long"),
    Entry(GROUP, "/bench/form", "a form of three steps: #go submits each"),
    Entry(GROUP, "/bench/images", f"{PHOTOS} pictures of 320×240, 30 to 100 KB each"),
    Entry(GROUP, "/bench/image/0.png", "one of them"),
]


def warm() -> None:
    """Make everything now, so that a measurement does not pay for it."""
    _documentation()
    for n in range(PHOTOS):
        images.photo(n)


@routes.get("/docs-long")
@routes.get("/bench/docs")
async def docs(_: web.Request) -> web.Response:
    return document("Documentation", _documentation(), head=DOCS_STYLE)


@routes.get("/bench/images")
async def gallery(_: web.Request) -> web.Response:
    figures = "".join(
        f'<figure><img src="/bench/image/{n}.png" width="320" height="240" alt="Photo {n}">'
        f"<figcaption>Photo {n}</figcaption></figure>"
        for n in range(PHOTOS)
    )
    return document("Gallery", f"<h1>Gallery</h1><div class=gallery>{figures}</div>", head=GALLERY_STYLE)


@routes.get(r"/bench/image/{n:\d+}.png")
async def photo(request: web.Request) -> web.Response:
    n = int(request.match_info["n"]) % PHOTOS
    return web.Response(body=images.photo(n), content_type="image/png", headers={"Cache-Control": "max-age=3600"})


@routes.get("/bench/form")
async def form(_: web.Request) -> web.Response:
    fields = "".join(
        f'<label>{label}<input id="{name}" name="{name}" type="{kind}"></label>'
        for name, label, kind in (
            ("name", "Full name", "text"),
            ("email", "E-mail", "email"),
            ("phone", "Telephone", "tel"),
            ("city", "City", "text"),
        )
    )
    return _step("Your details", "/bench/form/trip", fields, {})


@routes.post("/bench/form/trip")
async def trip(request: web.Request) -> web.Response:
    cities = "".join(f"<option>{city}</option>" for city in ("Paris", "Rome", "Tokyo", "Lima"))
    fields = (
        f'<label>Destination<select id="to" name="to">{cities}</select></label>'
        '<label>Travellers<input id="travellers" name="travellers" type="number" value="1"></label>'
        '<label><span><input id="window" name="window" type="checkbox"> Window seat</span></label>'
        '<label>Notes<textarea id="notes" name="notes" rows="3"></textarea></label>'
    )
    return _step("Your trip", "/bench/form/done", fields, await _texts(request))


@routes.post("/bench/form/done")
async def done(request: web.Request) -> web.Response:
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in (await _texts(request)).items()
    )
    return document("Booked", f'<main><h1>Booked</h1><table id="booking">{rows}</table></main>')


async def _texts(request: web.Request) -> dict[str, str]:
    return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}


def _step(title: str, action: str, fields: str, carried: dict[str, str]) -> web.Response:
    hidden = "".join(
        f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">' for name, value in carried.items()
    )
    return document(
        title,
        f'<main><h1>{title}</h1><form method="post" action="{action}">{hidden}{fields}'
        '<button id="go">Continue</button></form></main>',
        head=FORM_STYLE,
    )


@cache
def _documentation() -> str:
    chance = random.Random(1)
    nouns, verbs = WORDS.split(), VERBS.split()

    def sentence() -> str:
        words = [chance.choice(nouns) for _ in range(chance.randint(6, 14))]
        words.insert(2, chance.choice(verbs))
        return f"The {' '.join(words)}."

    def paragraph() -> str:
        return f"<p>{' '.join(sentence() for _ in range(3))}</p>"

    def code() -> str:
        a, b, c = chance.choices(nouns, k=3)
        limit = chance.randint(1, 99)
        return f"<pre><code>async with {a}.{b}(limit={limit}) as {c}:\n    await {c}.{b}()</code></pre>"

    def table() -> str:
        rows = "".join(f"<tr><td><code>{chance.choice(nouns)}_{n}</code></td><td>{sentence()}</td></tr>" for n in range(3))
        return f"<table><tr><th>Option</th><th>Meaning</th></tr>{rows}</table>"

    titles = [f"{n}. {' '.join(chance.sample(nouns, 2)).capitalize()}" for n in range(1, SECTIONS + 1)]
    links = "".join(f'<a href="#s{n}">{title}</a>' for n, title in enumerate(titles, start=1))
    sections = []
    for n, title in enumerate(titles, start=1):
        extra = code() if n % 3 == 0 else table() if n % 5 == 0 else ""
        sections.append(f'<section id="s{n}"><h2>{title}</h2>{paragraph()}{extra}</section>')
    article = f"<article><h1>Documentation</h1>{paragraph()}{''.join(sections)}</article>"
    return f'<nav id="sidebar">{links}</nav>{article}'


FORM_STYLE = """<style>
main { max-width: 480px; }
label { display: block; margin: 0 0 14px; font-weight: 600; }
label input:not([type=checkbox]), label select, label textarea {
  display: block; width: 100%; margin-top: 4px; }
</style>
"""
DOCS_STYLE = """<style>
body { padding: 0; }
#sidebar { position: fixed; inset: 0 auto 0 0; width: 280px; overflow-y: auto; padding: 16px;
  background: #f3f5f7; border-right: 1px solid #d5dbe1; }
#sidebar a { display: block; padding: 2px 0; font-size: 14px; text-decoration: none; }
article { margin-left: 280px; max-width: 860px; padding: 20px 40px; }
</style>
"""
GALLERY_STYLE = """<style>
.gallery { display: flex; flex-wrap: wrap; gap: 16px; }
figure { margin: 0; } figcaption { color: #616e7c; font-size: 14px; }
img { display: block; border-radius: 6px; }
</style>
"""
