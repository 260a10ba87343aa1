"""A guide to trails: parks on a map, trails with a route map that zooms and an elevation profile, conditions, permits.

Tasks: look up trails and parks, compare, filter, collect, ask for a permit, save trails behind a log-in.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Final
from urllib.parse import urlencode

from webgym.worlds.account import has_accounts
from webgym.worlds.blocks import (
    Accordion,
    Block,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Detail,
    Facts,
    Hero,
    Link,
    Map,
    Notice,
    Page,
    Picture,
    Place,
    Prose,
    Response,
    Review,
    Reviews,
    Stats,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.pictures import subject
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.sites.trails_content import Land, Trail, land
from webgym.worlds.words import listed, person


@dataclass(frozen=True)
class RouteMap(Block):
    """A way drawn on a map that can be zoomed and moved."""

    heading: str
    token: str
    line: tuple[tuple[float, float], ...]
    places: tuple[Place, ...]

    template = "trails/route_map.html"


@subject("terrain")
def terrain(chance: random.Random, width: int, height: int) -> str:
    """A topographic map: rings of height around summits, woods and a stream."""
    parts = [f'<rect width="{width}" height="{height}" fill="#e9efdc"/>']
    for _ in range(5):
        x, y, r = chance.random() * width, chance.random() * height, chance.uniform(0.12, 0.3) * height
        parts.append(f'<ellipse cx="{x:.0f}" cy="{y:.0f}" rx="{r * 1.4:.0f}" ry="{r:.0f}" fill="#cfe0bb" opacity=".8"/>')
    for _ in range(4):
        x, y, r = chance.random() * width, chance.random() * height, chance.uniform(0.18, 0.34) * height
        bumps = [chance.uniform(0.82, 1.18) for _ in range(12)]
        for ring in range(7):
            size = r * (1 - ring / 8)
            spots = [
                (x + cos(k * pi / 6) * size * bump * 1.3, y + sin(k * pi / 6) * size * bump) for k, bump in enumerate(bumps)
            ]
            points = " ".join(f"{a:.0f},{b:.0f}" for a, b in spots)
            look = 'fill="#c9a77a" fill-opacity=".07" stroke="#b08d5f" stroke-width="1.4" stroke-linejoin="round"'
            parts.append(f'<polygon points="{points}" {look}/>')
    bends = "".join(
        f" q{width / 10:.0f} {chance.randrange(-90, 90)} {width / 5:.0f} {chance.randrange(-50, 50)}" for _ in range(6)
    )
    parts.append(
        f'<path d="M-10 {chance.uniform(0.3, 0.7) * height:.0f}{bends}" fill="none" stroke="#86b9d8" stroke-width="7"/>'
    )
    return "".join(parts)


def menu(site: Site, content: Land) -> tuple[Link, ...]:
    inside = tuple(Link(park.name, park.href) for park in content.parks)
    return (
        Link("All trails", "/trails"),
        Link("Parks", "/parks", inside),
        Link("Conditions", "/conditions"),
        Link("Permits", "/permits"),
        Link("My list", "/list"),
    )


def findable(content: Land) -> tuple[Entry, ...]:
    parks = [Entry(park.name, park.href, "Park") for park in content.parks]
    return (*(Entry(trail.name, trail.href, trail.level) for trail in content.trails), *parks)


def tagline(site: Site, content: Land) -> str:
    return f"{len(content.trails)} trails in {len(content.parks)} parks, walked and measured."


kind: Final = Kind(
    "trails",
    subdomain="Outdoor & Recreation",
    words=("trails", "hikes", "outdoors", "treks", "summits", "rambles"),
    content=land,
    nav=menu,
    entries=findable,
    tagline=tagline,
    login=True,
)
has_accounts(kind, home="/list")


def _card(trail: Trail) -> Card:
    return Card(
        trail.name,
        trail.href,
        Picture("landscape", trail.slug),
        badge=trail.level,
        meta=(f"{trail.km} km", trail.time, trail.park),
        stars=trail.stars,
        votes=trail.votes,
    )


saves(kind, "/list", "My list", lambda content, slug: _card(trail) if (trail := content.trail(slug)) else None, members=True)


@kind.page("/")
def home(visit: Visit[Land]) -> Response:
    site, content = visit.site, visit.content
    chance = site.draw("home")
    title = chance.choice(("Go outside", "Find your next walk", "Paths worth taking", "The hills are waiting"))
    hero = Hero(
        title,
        tagline(site, content),
        Picture("landscape", "hero", 900, 600),
        Link("See all trails", "/trails"),
        Link("Check conditions", "/conditions"),
    )
    atlas = _atlas(content, "Parks on the map")
    picks = CardRow(
        "Walkers' favourites", tuple(map(_card, chance.sample(content.trails, 6))), Link("More trails", "/trails")
    )
    levels = ("Easy", "Moderate", "Hard", "Expert")
    ways = Tiles(
        "By difficulty",
        tuple(
            (
                Link(level, f"/trails?{urlencode({'level': level})}"),
                f"{sum(t.level == level for t in content.trails)} trails",
                None,
            )
            for level in levels
        ),
    )
    figures = Stats(
        (
            ("Trails", str(len(content.trails))),
            ("Kilometres", f"{sum(t.metres for t in content.trails) // 1000:,}"),
            ("Parks", str(len(content.parks))),
        )
    )
    rest: tuple[Block, ...] = (picks, atlas, ways, figures)
    at = site.style.layout % len(rest)
    return Page("Home", (hero, *rest[at:], *rest[:at]))


def _atlas(content: Land, heading: str) -> Map:
    return Map(heading, "parks", tuple(Place(park.name, park.x, park.y, park.href) for park in content.parks))


@kind.page("/trails")
def trails(visit: Visit[Land]) -> Response:
    listing = Listing(
        visit.content.trails,
        _card,
        lambda trail: f"{trail.name} {trail.park} {trail.level}",
        (
            Facet("park", "Park", lambda trail: trail.park),
            Facet("level", "Difficulty", lambda trail: trail.level),
            Facet("form", "Route type", lambda trail: trail.form),
            Facet("dogs", "Dogs", lambda trail: trail.dogs),
        ),
        (Limit("km", "Maximum length", lambda trail: trail.metres / 1000, 0, 26, 1, "km"),),
        (
            Sort("short", "Shortest first", lambda trail: trail.metres),
            Sort("steep", "Most ascent", lambda trail: trail.ascent, down=True),
            Sort("stars", "Best rated", lambda trail: trail.stars * 10_000 + trail.votes, down=True),
        ),
        per_page=9,
        endless=visit.site.number("endless") % 3 == 0,
    )
    return Page("Trails", (visit.listing(listing, "All trails"),))


@kind.page("/trails/{slug}")
def trail_page(visit: Visit[Land]) -> Response:
    trail = visit.content.trail(visit.argument("slug"))
    if trail is None:
        return NOT_FOUND
    park = next(park for park in visit.content.parks if park.name == trail.park)
    detail = Detail(
        trail.name,
        tuple(Picture("landscape", trail.slug if n == 0 else f"{trail.slug}-{n}", 720, 540) for n in range(4)),
        badge=trail.level,
        stars=trail.stars,
        votes=trail.votes,
        lead=f"A walk in {trail.park}, on {trail.surface.lower()}. It passes {listed(trail.points[:3]).lower()}.",
        rows=trail.rows,
        buttons=(keep_button(trail.slug, "Add to my list"),),
        links=(Link("Ask for a permit", "/permits"), Link(f"About {park.name}", park.href)),
    )
    places = tuple(Place(name, *trail.line[n * 3 + 1]) for n, name in enumerate(trail.points))
    way = RouteMap("", trail.slug, trail.line, places)
    step = trail.metres / 1000 / (len(trail.profile) - 1)
    profile = Chart("", tuple((f"km {n * step:.1f}", float(height)) for n, height in enumerate(trail.profile)), "line", " m")
    said = Reviews("", tuple(_review(visit.site, trail, n) for n in range(3)))
    tabs = Tabs((("Map", (way,)), ("Elevation", (profile,)), ("Reviews", (said,))))
    crumbs = (Link("All trails", "/trails"), Link(trail.name, trail.href))
    shown = Notice(f"{trail.state}", "info" if trail.state == "Open" else "bad", "Condition")
    if visit.site.style.layout in (1, 4):
        return Page(trail.name, (detail, shown, way, profile, said), crumbs)
    return Page(trail.name, (detail, shown, tabs), crumbs)


def tabbed(site: Site) -> bool:
    """Whether map and profile of a trail stand in tabs."""
    return site.style.layout not in (1, 4)


def _review(site: Site, trail: Trail, n: int) -> Review:
    chance = site.draw("review", trail.slug, n)
    title = chance.choice(("Great views", "Steeper than it looks", "Good signs", "Bring water", "Quiet on weekdays"))
    text = chance.choice(
        ("We met nobody before noon.", "The middle part is the best.", "Start early to find a place to park.")
    )
    return Review(person(chance.randrange(500), chance.randrange(500)), chance.randrange(3, 6), title, text)


@kind.page("/parks")
def parks(visit: Visit[Land]) -> Response:
    rows = tuple(
        (Cell(p.name, p.href), Cell(f"{p.hectares:,}", number=True), str(p.founded), Cell(f"${p.fee}", number=True))
        for p in visit.content.parks
    )
    table = Table("All parks", ("Park", "Hectares", "Founded", "Fee"), rows, sortable=True)
    return Page("Parks", (_atlas(visit.content, ""), table), heading="Parks")


@kind.page("/parks/{slug}")
def park_page(visit: Visit[Land]) -> Response:
    park = next((park for park in visit.content.parks if park.href == visit.path), None)
    if park is None:
        return NOT_FOUND
    inside = [trail for trail in visit.content.trails if trail.park == park.name]
    hero = Hero(
        park.name,
        f"{len(inside)} trails to walk.",
        Picture("landscape", park.slug, 900, 600),
        Link("Ask for a permit", "/permits"),
    )
    rows = tuple((Cell(t.name, t.href), t.level, Cell(f"{t.km} km", number=True)) for t in inside)
    table = Table("Trails in this park", ("Trail", "Difficulty", "Length"), rows, sortable=True)
    return Page(
        park.name,
        (hero, Columns(((table,), (Facts("About the park", park.rows),)))),
        (Link("Parks", "/parks"), Link(park.name, park.href)),
    )


@kind.page("/conditions")
def conditions(visit: Visit[Land]) -> Response:
    rows = tuple(
        (Cell(t.name, t.href), t.park, Cell(t.state, tone="good" if t.state == "Open" else "bad"))
        for t in visit.content.trails
    )
    safety = Accordion(
        "Before you go", (("Weather", "Turn back when thunder is near."), ("Light", "Carry a lamp, even in summer."))
    )
    return Page(
        "Conditions", (Table("", ("Trail", "Park", "Condition"), rows, sortable=True), safety), heading="Trail conditions"
    )


def permit_form(content: Land) -> Form:
    trip = (
        Field("park", "Park", "select", tuple(park.name for park in content.parks)),
        Field("day", "Date of entry", "date"),
        Field("nights", "Nights", "stepper", least=1, most=14, value="1"),
        Field("people", "People", "stepper", least=1, most=12, value="2"),
        Field("camp", "Kind of camp", "radio", ("Tent", "Shelter", "Open air")),
    )
    who = (
        Field("name", "Leader of the group"),
        Field("phone", "Telephone", "tel"),
        Field("agree", "We carry our waste out", "checkbox"),
    )
    return Form("permit", (FormStep("The trip", trip), FormStep("The group", who)), submit="Ask for the permit")


@kind.page("/permits")
def permits(visit: Visit[Land]) -> Response:
    form = permit_form(visit.content)
    values = visit.filled(form)
    if values is None:
        rules = Prose("Rules", ("A permit is needed to stay overnight.", "Groups have twelve people at most."))
        return Page("Permits", (Columns(((visit.form(form),), (rules,))),), heading="Overnight permits")
    visit.memory.record("permit", values)
    fee = next(park for park in visit.content.parks if park.name == values["park"]).fee * int(values["nights"])
    return Page(
        "Permit", (Notice(f"${fee} are due at the ranger station.", "good", "Your permit is ready"),), heading="Thank you"
    )
