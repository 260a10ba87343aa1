"""What pages are made of. A page is a title and a row of blocks; the kernel draws each in the manner of the site's style.

A block is a frozen dataclass; `CardRow` is drawn by `templates/blocks/card_row.html`. A kind with something of its own
subclasses `Block`, names a `template` and puts the file beside the others, under a folder of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Block:
    template: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "template" not in cls.__dict__:
            cls.template = f"blocks/{re.sub(r'(?<!^)(?=[A-Z])', '_', cls.__name__).lower()}.html"


@dataclass(frozen=True)
class Link:
    text: str
    href: str
    inside: tuple[Link, ...] = ()  # a menu under it


@dataclass(frozen=True)
class Picture:
    """A generated picture: a subject of `pictures.py` and a token that decides the rest."""

    subject: str
    token: str
    width: int = 600
    height: int = 450
    alt: str = ""

    @property
    def src(self) -> str:
        return f"/_/pic/{self.subject}/{self.width}x{self.height}/{self.token}.svg"


@dataclass(frozen=True)
class Card:
    """One thing among others: it leads to a page of its own."""

    title: str
    href: str
    picture: Picture | None = None
    price: str = ""
    was: str = ""
    badge: str = ""
    meta: tuple[str, ...] = ()
    text: str = ""
    stars: float | None = None
    votes: int = 0


@dataclass(frozen=True)
class Button:
    """A button that posts: `Button("Add to cart", "/cart/add", (("sku", "lamp"),))`."""

    text: str
    action: str
    values: tuple[tuple[str, str], ...] = ()
    choices: tuple[tuple[str, str, tuple[str, ...]], ...] = ()  # (name, label, options) shown as selects beside it
    quiet: bool = False


@dataclass(frozen=True)
class Hero(Block):
    title: str
    text: str
    picture: Picture
    link: Link | None = None
    second: Link | None = None


@dataclass(frozen=True)
class CardRow(Block):
    heading: str
    cards: tuple[Card, ...]
    more: Link | None = None
    big: bool = False


@dataclass(frozen=True)
class Tiles(Block):
    """Ways into the site: sections, services, topics."""

    heading: str
    tiles: tuple[tuple[Link, str, Picture | None], ...]


@dataclass(frozen=True)
class Prose(Block):
    heading: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Facts(Block):
    """Names and values, such as a specification."""

    heading: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Detail(Block):
    """One thing in full: pictures, particulars, what can be done with it."""

    title: str
    pictures: tuple[Picture, ...]
    price: str = ""
    was: str = ""
    badge: str = ""
    stars: float | None = None
    votes: int = 0
    lead: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    buttons: tuple[Button, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Cell:
    text: str
    href: str = ""
    number: bool = False
    tone: Literal["", "good", "bad"] = ""


@dataclass(frozen=True)
class Table(Block):
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    sortable: bool = False
    note: str = ""


@dataclass(frozen=True)
class Tabs(Block):
    tabs: tuple[tuple[str, tuple[Block, ...]], ...]


@dataclass(frozen=True)
class Accordion(Block):
    heading: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Review:
    who: str
    stars: int
    title: str
    text: str


@dataclass(frozen=True)
class Reviews(Block):
    heading: str
    reviews: tuple[Review, ...]


@dataclass(frozen=True)
class Stats(Block):
    """A few large figures."""

    figures: tuple[tuple[str, str], ...]
    heading: str = ""


@dataclass(frozen=True)
class Chart(Block):
    """Bars or a line. Every value also stands there as text, so that it can be read and not only guessed."""

    heading: str
    points: tuple[tuple[str, float], ...]
    form: Literal["bars", "line"] = "bars"
    unit: str = ""

    @property
    def most(self) -> float:
        return max((value for _, value in self.points), default=1.0) or 1.0


@dataclass(frozen=True)
class Place:
    name: str
    x: float  # 0 to 100, from the west
    y: float  # 0 to 100, from the north
    href: str = ""
    text: str = ""


@dataclass(frozen=True)
class Map(Block):
    """A drawn map with places as buttons; it can be zoomed and moved."""

    heading: str
    token: str
    places: tuple[Place, ...]
    zoom: bool = True


@dataclass(frozen=True)
class Notice(Block):
    text: str
    tone: Literal["info", "good", "bad"] = "info"
    heading: str = ""
    link: Link | None = None


@dataclass(frozen=True)
class Modal(Block):
    """A button that opens a dialog over the page; `at_once` opens it with the page."""

    button: str
    title: str
    blocks: tuple[Block, ...]
    at_once: bool = False


@dataclass(frozen=True)
class Frame(Block):
    """Another page of this site inside this one."""

    heading: str
    src: str
    height: int = 320


@dataclass(frozen=True)
class Buttons(Block):
    buttons: tuple[Button, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Columns(Block):
    """Blocks side by side; on a small screen one below the other."""

    columns: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True)
class Page:
    """What a handler returns."""

    title: str
    blocks: tuple[Block, ...]
    crumbs: tuple[Link, ...] = ()
    heading: str = ""  # shown above the blocks
    lead: str = ""
    status: int = 200
    bare: bool = False  # without header and footer, for frames


@dataclass(frozen=True)
class Redirect:
    to: str


Response = Page | Redirect
