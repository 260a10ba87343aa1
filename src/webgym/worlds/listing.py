"""Lists that can be searched, filtered, sorted and paged, from the query of the address alone.

A kind says what its things are and by which of their sides they can be told apart; `visit.listing` does the rest. The
style's layout decides whether filters are links beside the list or fields above it. Everything works without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

from webgym.worlds.blocks import Block, Card

T = TypeVar("T")
MAX_OPTIONS: Final = 14


@dataclass(frozen=True)
class Facet(Generic[T]):
    """A filter by exact value: `Facet("brand", "Brand", lambda product: product.brand)`."""

    key: str
    name: str
    value: Callable[[T], str]


@dataclass(frozen=True)
class Limit(Generic[T]):
    """A filter by a highest (or lowest) number, drawn as a slider: `Limit("max", "Maximum price", price, 0, 500, 10)`."""

    key: str
    name: str
    value: Callable[[T], float]
    least: float
    most: float
    step: float = 1
    unit: str = ""
    lowest: bool = False


@dataclass(frozen=True)
class Sort(Generic[T]):
    key: str
    name: str
    value: Callable[[T], float | str]
    down: bool = False


@dataclass(frozen=True)
class Listing(Generic[T]):
    items: Sequence[T]
    card: Callable[[T], Card]
    text: Callable[[T], str]
    facets: tuple[Facet[T], ...] = ()
    limits: tuple[Limit[T], ...] = ()
    sorts: tuple[Sort[T], ...] = ()
    per_page: int = 12
    endless: bool = False  # more appear as one scrolls; the next page is still a link


@dataclass(frozen=True)
class Option:
    text: str
    count: int
    href: str
    chosen: bool


@dataclass(frozen=True)
class FacetView:
    key: str
    name: str
    options: tuple[Option, ...]
    chosen: str
    clear: str


@dataclass(frozen=True)
class LimitView:
    key: str
    name: str
    least: float
    most: float
    step: float
    unit: str
    value: float


@dataclass(frozen=True)
class ListingView(Block):
    """A list as one address shows it."""

    heading: str
    path: str
    query: str
    total: int
    cards: tuple[Card, ...]
    facets: tuple[FacetView, ...]
    limits: tuple[LimitView, ...]
    sorts: tuple[tuple[str, str], ...]
    sort: str
    pages: tuple[tuple[str, str, bool], ...]  # text, address, current
    next: str
    previous: str
    endless: bool
    kept: tuple[tuple[str, str], ...]
    first: int

    template = "blocks/listing.html"


def found(text: str, query: str) -> bool:
    """Whether every word of a query begins a word of the text."""
    words = re.findall(r"\w+", text.casefold())
    return all(any(word.startswith(part) for word in words) for part in re.findall(r"\w+", query.casefold()))


def view(listing: Listing[T], heading: str, path: str, given: Mapping[str, str]) -> ListingView:
    """The part of a list that a query asks for."""
    query = given.get("q", "").strip()[:200]
    known = {facet.key for facet in listing.facets} | {limit.key for limit in listing.limits} | {"q", "sort"}
    kept = {key: value for key, value in given.items() if key in known and value}
    searched = [item for item in listing.items if not query or found(listing.text(item), query)]
    limited = [item for item in searched if all(_within(limit, item, given.get(limit.key)) for limit in listing.limits)]
    chosen = _faceted(listing, limited, given)
    order = next((sort for sort in listing.sorts if sort.key == given.get("sort")), None)
    if order is not None:
        chosen = sorted(chosen, key=order.value, reverse=order.down)
    pages = max(1, -(-len(chosen) // listing.per_page))
    page = min(pages, max(1, _number(given.get("page"), 1)))
    start = (page - 1) * listing.per_page

    def at(**changes: str) -> str:
        merged = {key: value for key, value in {**kept, **changes}.items() if value}
        return f"{path}?{urlencode(merged)}" if merged else path

    near = [n for n in range(1, pages + 1) if n in (1, pages) or abs(n - page) <= 2]
    return ListingView(
        heading=heading,
        path=path,
        query=query,
        total=len(chosen),
        cards=tuple(listing.card(item) for item in chosen[start : start + listing.per_page]),
        facets=tuple(_facet_view(listing, facet, limited, given, at) for facet in listing.facets),
        limits=tuple(_limit_view(limit, given.get(limit.key)) for limit in listing.limits),
        sorts=(("", "Featured"), *((sort.key, sort.name) for sort in listing.sorts)),
        sort=order.key if order else "",
        pages=tuple((str(n), at(page=str(n)), n == page) for n in near) if pages > 1 else (),
        next=at(page=str(page + 1)) if page < pages else "",
        previous=at(page=str(page - 1)) if page > 1 else "",
        endless=listing.endless,
        kept=tuple(sorted(kept.items())),
        first=start + 1 if chosen else 0,
    )


def _faceted(listing: Listing[T], items: list[T], given: Mapping[str, str], but: str = "") -> list[T]:
    asked = [facet for facet in listing.facets if facet.key != but and given.get(facet.key)]
    return [item for item in items if all(facet.value(item) == given[facet.key] for facet in asked)]


def _facet_view(
    listing: Listing[T], facet: Facet[T], items: list[T], given: Mapping[str, str], at: Callable[..., str]
) -> FacetView:
    counts: dict[str, int] = {}
    for item in _faceted(listing, items, given, but=facet.key):
        value = facet.value(item)
        counts[value] = counts.get(value, 0) + 1
    chosen = given.get(facet.key, "")
    options = tuple(
        Option(value, counts[value], at(**{facet.key: value}), value == chosen) for value in sorted(counts)[:MAX_OPTIONS]
    )
    return FacetView(facet.key, facet.name, options, chosen, at(**{facet.key: ""}))


def _limit_view(limit: Limit[T], value: str | None) -> LimitView:
    otherwise = limit.least if limit.lowest else limit.most
    chosen = min(limit.most, max(limit.least, _decimal(value, otherwise)))
    return LimitView(limit.key, limit.name, limit.least, limit.most, limit.step, limit.unit, chosen)


def _within(limit: Limit[T], item: T, value: str | None) -> bool:
    if not value:
        return True
    bound = _decimal(value, limit.least if limit.lowest else limit.most)
    if not limit.lowest and bound >= limit.most:  # a slider at its end lets everything through
        return True
    return limit.value(item) >= bound if limit.lowest else limit.value(item) <= bound


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text) else otherwise


def _decimal(text: str | None, otherwise: float) -> float:
    return float(text) if text and re.fullmatch(r"-?\d{1,9}(\.\d{1,4})?", text) else otherwise
