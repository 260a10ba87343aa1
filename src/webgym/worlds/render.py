"""From a page to HTML, and a site's stylesheet. Templates are compiled once; every value is escaped."""

from __future__ import annotations

from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from webgym.worlds.blocks import Page
from webgym.worlds.kind import Kind, Visit
from webgym.worlds.languages import LANGUAGES, say
from webgym.worlds.style import Style

_HERE: Final = Path(__file__).parent
_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
    cache_size=200,
)
SCRIPT: Final = (_HERE / "static" / "kernel.js").read_bytes()
_BASE: Final = (_HERE / "static" / "base.css").read_text()


def tag(data: bytes) -> str:
    """A short name for content, for addresses that may be kept for ever."""
    return blake2b(data, digest_size=6).hexdigest()


_SCRIPT_TAG: Final = tag(SCRIPT)


@lru_cache(maxsize=256)
def stylesheet(style: Style) -> bytes:
    """All CSS of a site: its variables, then what every site shares."""
    variables = {
        **style.colours,
        "heading": style.heading,
        "text": style.text,
        "size": f"{style.size}px",
        "weight": str(style.weight),
        "radius": f"{style.radius}px",
        "gap": f"{style.gap}px",
        "width": f"{style.width}px",
    }
    return (":root{" + ";".join(f"--{name}:{value}" for name, value in variables.items()) + "}\n" + _BASE).encode()


@lru_cache(maxsize=256)
def _stylesheet_tag(style: Style) -> str:
    return tag(stylesheet(style))


def html(kind: Kind[Any], visit: Visit[Any], page: Page) -> bytes:
    """A page of a site, whole."""
    site, memory = visit.site, visit.memory
    language = memory.choices.get("language", "en")
    return (
        _TEMPLATES.get_template("page.html")
        .render(
            page=page,
            site=site,
            path=visit.path,
            here=visit.path,
            query=visit.query.get("q", ""),
            nav=kind.nav(site, visit.content),
            tagline=kind.tagline(site, visit.content),
            user=memory.user,
            cart_count=sum(memory.cart.values()),
            has_cart=kind.cart,
            has_login=kind.login,
            ask_consent=asks_consent(visit),
            language=language,
            languages=LANGUAGES,
            say=partial(say, language=language),
            stylesheet=f"/_/style.css?v={_stylesheet_tag(site.style)}",
            script=f"/_/kernel.js?v={_SCRIPT_TAG}",
        )
        .encode()
    )


def asks_consent(visit: Visit[Any]) -> bool:
    """Two sites in five show a cookie banner, until it is answered."""
    return visit.site.number("consent") % 5 < 2 and "consent" not in visit.memory.choices
