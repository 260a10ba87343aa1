"""How a site looks: palette, type, spacing, header, cards, footer and the layout of its pages, all drawn from (seed, host).

`layout` (0 to 5) is structure: where filters stand, whether things are listed in a grid, in rows, as a table, as a magazine,
with a picture in front or in two columns. Everything else is dress. The two are drawn apart, so that a held-out website is
a combination nobody has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.chance import draw

LAYOUTS: Final = 6
_SANS: Final = '"Liberation Sans", Arial, Helvetica, sans-serif'
_DEJAVU: Final = '"DejaVu Sans", Verdana, sans-serif'
_SERIF: Final = '"Liberation Serif", Georgia, "Times New Roman", serif'
_SLAB: Final = '"DejaVu Serif", Georgia, serif'
_NARROW: Final = '"Liberation Sans Narrow", "Arial Narrow", sans-serif'
# Headings and text, with the text's size.
_TYPE: Final = (
    (_SANS, _SANS, 16),
    (_SERIF, _SANS, 16),
    (_SANS, _SERIF, 17),
    (_DEJAVU, _SANS, 15),
    (_NARROW, _SANS, 16),
    (_SLAB, _SANS, 15),
    (_SERIF, _SERIF, 17),
)
_HUES: Final = (4, 16, 28, 42, 88, 140, 158, 174, 192, 205, 214, 226, 244, 262, 286, 322, 340)
NAVS: Final = ("bar", "two-rows", "centred", "side", "strip", "drawer")
HEROES: Final = ("split", "wide", "panel", "plain", "banner", "duo")
CARDS: Final = ("shadow", "line", "flat", "overlay", "inset")
FOOTERS: Final = ("columns", "slim", "dark")


@dataclass(frozen=True)
class Style:
    layout: int
    dark: bool
    hue: int
    second: int
    grey: int
    heading: str
    text: str
    size: int
    radius: int
    gap: int
    width: int
    nav: str
    hero: str
    card: str
    footer: str
    upper: bool
    weight: int

    @property
    def classes(self) -> str:
        """What the stylesheet selects by, on <body>."""
        shade = "dark" if self.dark else "light"
        upper = " upper" if self.upper else ""
        return f"l{self.layout} {shade} nav-{self.nav} hero-{self.hero} card-{self.card} foot-{self.footer}{upper}"

    @property
    def colours(self) -> dict[str, str]:
        """CSS variables."""
        hue, grey = self.hue, self.grey
        if self.dark:
            shades = {
                "bg": f"hsl({grey} 18% 9%)",
                "surface": f"hsl({grey} 16% 13%)",
                "soft": f"hsl({grey} 15% 18%)",
                "line": f"hsl({grey} 12% 26%)",
                "ink": f"hsl({grey} 20% 93%)",
                "muted": f"hsl({grey} 10% 66%)",
                "accent": f"hsl({hue} 72% 64%)",
                "on-accent": f"hsl({hue} 40% 9%)",
                "link": f"hsl({hue} 80% 74%)",
                "tint": f"hsl({hue} 28% 19%)",
            }
        else:
            deep = 33 if 40 <= hue <= 195 else 43  # greens and yellows are light: white text needs a darker ground
            shades = {
                "bg": f"hsl({grey} 24% {97 if self.gap % 4 else 100}%)",
                "surface": "#fff",
                "soft": f"hsl({grey} 22% 95%)",
                "line": f"hsl({grey} 16% 87%)",
                "ink": f"hsl({grey} 24% 13%)",
                "muted": f"hsl({grey} 9% 41%)",
                "accent": f"hsl({hue} 68% {deep}%)",
                "on-accent": "#fff",
                "link": f"hsl({hue} 72% {deep - 7}%)",
                "tint": f"hsl({hue} 52% 95%)",
            }
        shades["second"] = f"hsl({self.second} 58% {62 if self.dark else 42}%)"
        shades["good"] = f"hsl(150 55% {62 if self.dark else 30}%)"
        shades["bad"] = f"hsl(4 70% {70 if self.dark else 42}%)"
        return shades


def style_of(seed: int, host: str) -> Style:
    chance = draw(seed, host, "style")
    heading, text, size = chance.choice(_TYPE)
    hue = chance.choice(_HUES)
    return Style(
        layout=chance.randrange(LAYOUTS),
        dark=chance.random() < 0.27,
        hue=hue,
        second=(hue + chance.choice((150, 180, 210, 40, 320))) % 360,
        grey=chance.choice((210, 220, 30, 40, 250, 160, hue)),
        heading=heading,
        text=text,
        size=size,
        radius=chance.choice((0, 3, 6, 10, 14, 20)),
        gap=chance.choice((14, 16, 18, 20, 24)),
        width=chance.choice((1080, 1140, 1200, 1260)),
        nav=chance.choice(NAVS),
        hero=chance.choice(HEROES),
        card=chance.choice(CARDS),
        footer=chance.choice(FOOTERS),
        upper=chance.random() < 0.2,
        weight=chance.choice((600, 700, 700, 800)),
    )
