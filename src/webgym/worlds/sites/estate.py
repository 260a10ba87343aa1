"""An estate agency: homes with price and area sliders, maps that can be zoomed, neighbourhoods, agents, a calculator.

Mechanics: two sliders in one list, pins on maps as ways to the homes, a gallery, tabs with a chart of costs, a calculator
with sliders, requests for viewings with a date picker (record `viewing` with `home, day, time, name, phone`), and a short
list of saved homes (record `saved` for each, with `home`).
"""

from __future__ import annotations

from typing import Final

from webgym.worlds.blocks import (
    Button,
    Buttons,
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
    Redirect,
    Response,
    Stats,
    Table,
    Tabs,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.fronts import Finder, arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.estate_content import TYPES, Agent, Area, Home, Market, market

TIMES: Final = ("9:00", "11:00", "14:00", "17:00")
_LOAN: Final = Form.of(
    "loan",
    Field("amount", "Loan in thousand dollars", "slider", least=50, most=900, step=10, value="300"),
    Field("years", "Years", "slider", least=5, most=40, step=5, value="20"),
    submit="Calculate",
)


def _menu(site: Site, content: Market) -> tuple[Link, ...]:
    inside = tuple(Link(f"{name}s", f"/homes?type={name}") for name in TYPES)
    return (
        Link("Homes for sale", "/homes", inside),
        Link("Map search", "/map"),
        Link("Neighbourhoods", "/areas"),
        Link("Our agents", "/agents"),
        Link("Calculator", "/calculator"),
        Link("Saved homes", "/saved"),
    )


def _findable(content: Market) -> tuple[Entry, ...]:
    homes = [Entry(home.title, home.href, f"{home.type} in {home.area.name}") for home in content.homes]
    areas = [Entry(area.name, area.href, "Neighbourhood") for area in content.areas]
    return (*areas, *homes, *(Entry(agent.name, agent.href, "Agent") for agent in content.agents))


kind: Final = Kind(
    "estate",
    subdomain="Real Estate",
    words=("homes", "realty", "estates", "property", "lettings", "houses", "residences", "living"),
    content=market,
    nav=_menu,
    entries=_findable,
    tagline=lambda site, content: (
        f"{len(content.homes)} homes in {len(content.areas)} neighbourhoods, shown by people who live there."
    ),
)


def _card(home: Home) -> Card:
    return Card(
        home.title,
        home.href,
        Picture("house" if home.type != "Apartment" else "city", home.slug, 600, 420),
        home.price,
        badge=home.type,
        meta=(home.area.name, f"{home.beds} bed", f"{home.metres} m²"),
    )


@kind.page("/")
def home_page(visit: Visit[Market]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    picks = chance.sample(content.homes, 9)
    star = picks[0]
    panel = Finder(
        chance.choice(
            (
                "Find a place to stay",
                "Where do you want to live?",
                "Your next front door",
                f"At home with {visit.site.brand}",
            )
        ),
        "/homes",
        (
            ("area", "Neighbourhood", tuple(sorted(area.name for area in content.areas))),
            ("type", "Type", TYPES),
            ("beds", "Bedrooms", ("1", "2", "3", "4", "5")),
        ),
        "Show homes",
    )
    hero = Hero(
        star.title,
        f"{star.type} in {star.area.name}: {star.metres} m², {star.beds} bedrooms, {star.price}.",
        Picture("house", star.slug, 1000, 640),
        Link("See this home", star.href),
        Link("All homes", "/homes"),
    )
    new = CardRow(
        "New on the market", tuple(map(_card, picks[1:7])), Link("All homes", "/homes"), big=visit.site.style.layout == 2
    )
    ground = Map("Neighbourhoods", "town", _places(content.areas))
    agents = CardRow("Ask somebody who knows", tuple(map(_agent_card, content.agents[:4])))
    return Page("Home", arranged(visit.site.style.layout, panel, hero, new, ground, agents))


def _places(areas: tuple[Area, ...]) -> tuple[Place, ...]:
    return tuple(Place(area.name, area.x, area.y, area.href) for area in areas)


def _agent_card(agent: Agent) -> Card:
    picture = Picture("face", agent.name.replace(" ", "-"), 420, 360)
    return Card(agent.name, agent.href, picture, meta=(agent.phone, f"since {agent.since}"))


@kind.page("/homes")
def homes(visit: Visit[Market]) -> Response:
    listing = Listing(
        visit.content.homes,
        _card,
        lambda home: f"{home.title} {home.type} {home.area.name}",
        (
            Facet("area", "Neighbourhood", lambda home: home.area.name),
            Facet("type", "Type", lambda home: home.type),
            Facet("beds", "Bedrooms", lambda home: str(home.beds)),
        ),
        (
            Limit("max", "Maximum price in thousands", lambda home: home.thousands, 100, 2000, 50, "$"),
            Limit("size", "Minimum area", lambda home: home.metres, 0, 300, 10, "m²", lowest=True),
        ),
        (
            Sort("cheap", "Price: low to high", lambda home: home.thousands),
            Sort("dear", "Price: high to low", lambda home: home.thousands, down=True),
            Sort("large", "Largest first", lambda home: home.metres, down=True),
            Sort("new", "Newest building first", lambda home: home.built, down=True),
        ),
        per_page=9,
    )
    return Page("Homes for sale", (visit.listing(listing, "Homes for sale"),))


@kind.page("/map")
def map_search(visit: Visit[Market]) -> Response:
    places = []
    for home in visit.content.homes:
        x, y = home.area.x + (home.x - 50) * 0.3, home.area.y + (home.y - 50) * 0.4
        places.append(Place(home.pin, round(min(96, max(4, x)), 1), round(min(94, max(6, y)), 1), home.href, home.title))
    note = Prose("", ("Zoom in and move the map to see homes that lie close together, or choose a neighbourhood.",))
    rows = tuple((Cell(area.name, area.href), str(len(visit.content.inside(area)))) for area in visit.content.areas)
    return Page(
        "Map search",
        (note, Map("", "town", tuple(places)), Table("", ("Neighbourhood", "Homes"), rows)),
        heading="Map search",
    )


@kind.page("/home/{slug}")
def one_home(visit: Visit[Market]) -> Response:
    home = next((home for home in visit.content.homes if home.href == visit.path), None)
    if home is None:
        return NOT_FOUND
    chance = visit.site.draw("home", home.slug)
    praise = (
        "Evening sun on the balcony",
        "A kitchen large enough for a long table",
        "Quiet rooms to the garden",
        "Old beams and new windows",
    )
    detail = Detail(
        home.title,
        tuple(
            Picture(subject, f"{home.slug}-{n}" if n else home.slug, 760, 540)
            for n, subject in enumerate(("house" if home.type != "Apartment" else "city", "sofa", "table", "landscape"))
        ),
        home.price,
        badge=home.type,
        lead=f"{chance.choice(praise)}, and {home.area.minutes} minutes to the centre. Shown by {home.agent.name}.",
        rows=home.rows,
        buttons=(Button("Save home", "/save", (("home", home.slug),)),),
        links=(Link("Request a viewing", f"/viewing/{home.slug}"), Link(home.area.name, home.area.href)),
    )
    costs = tuple((name, float(chance.randrange(20, 190))) for name in ("Water", "Heating", "Insurance", "Repairs", "Waste"))
    where = Map("", home.area.slug, (Place(home.title, home.x, home.y, home.href),))
    agent = Facts(home.agent.name, home.agent.rows)
    tabs = Tabs((("Costs a month", (Chart("", costs, unit=" $"),)), ("Location", (where,)), ("Agent", (agent,))))
    near = [other for other in visit.content.inside(home.area) if other is not home]
    return Page(
        home.title,
        (detail, tabs, CardRow(f"More in {home.area.name}", tuple(map(_card, near[:4])))),
        (Link("Homes for sale", "/homes"), Link(home.area.name, home.area.href)),
    )


@kind.page("/save")
def save(visit: Visit[Market]) -> Response:
    wanted = next((home for home in visit.content.homes if home.slug == (visit.posted or {}).get("home")), None)
    if wanted is not None and wanted.title not in [record.fields["home"] for record in visit.memory.all("saved")]:
        visit.memory.record("saved", {"home": wanted.title})
    return Redirect("/saved")


@kind.page("/saved")
def saved(visit: Visit[Market]) -> Response:
    kept = [record.fields["home"] for record in visit.memory.all("saved")]
    found = tuple(_card(home) for home in visit.content.homes if home.title in kept)
    if not found:
        empty = Notice("You have not saved a home yet.", link=Link("See all homes", "/homes"))
        return Page("Saved homes", (empty,), heading="Saved homes")
    return Page("Saved homes", (CardRow("", found),), heading="Saved homes")


@kind.page("/viewing/{slug}")
def viewing(visit: Visit[Market]) -> Response:
    home = next((home for home in visit.content.homes if home.slug == visit.argument("slug")), None)
    if home is None:
        return NOT_FOUND
    form = Form.of(
        "viewing",
        Field("day", "Day", "date"),
        Field("time", "Time", "radio", TIMES),
        Field("name", "Your name"),
        Field("phone", "Telephone", "tel"),
        Field("note", "Anything we should know?", "textarea", required=False),
        submit="Request viewing",
    )
    values = visit.filled(form)
    if values is None:
        facts = Facts("", (("Home", home.title), ("Price", home.price), ("Agent", home.agent.name)))
        return Page(
            "Request a viewing",
            (Columns(((visit.form(form),), (facts,))),),
            (Link(home.title, home.href),),
            f"See {home.title}",
        )
    visit.memory.record("viewing", {"home": home.title, **values})
    thanks = Notice(
        f"{home.agent.name} will meet you there on {values['day']} at {values['time']}.", "good", "Viewing requested"
    )
    return Page("Viewing requested", (thanks,), heading="Thank you")


@kind.page("/areas")
def areas(visit: Visit[Market]) -> Response:
    rows = tuple(
        (Cell(area.name, area.href), f"{area.people:,}", str(len(visit.content.inside(area))))
        for area in visit.content.areas
    )
    table = Table("", ("Neighbourhood", "Residents", "Homes for sale"), rows)
    return Page("Neighbourhoods", (Map("", "town", _places(visit.content.areas)), table), heading="Neighbourhoods")


@kind.page("/area/{slug}")
def area_page(visit: Visit[Market]) -> Response:
    area = next((area for area in visit.content.areas if area.href == visit.path), None)
    if area is None:
        return NOT_FOUND
    inside = visit.content.inside(area)
    ground = Map(
        f"Homes in {area.name}", area.slug, tuple(Place(home.pin, home.x, home.y, home.href, home.type) for home in inside)
    )
    facts = Facts("The neighbourhood", area.rows)
    text = Prose(
        "", (f"{area.name} lies {area.minutes} minutes from the centre. On Saturdays everybody meets at {area.park}.",)
    )
    blocks = (Columns(((ground,), (text, facts))), CardRow("All homes here", tuple(map(_card, inside))))
    return Page(area.name, blocks, (Link("Neighbourhoods", "/areas"), Link(area.name, area.href)), area.name)


@kind.page("/agents")
def agents(visit: Visit[Market]) -> Response:
    return Page("Our agents", (CardRow("", tuple(map(_agent_card, visit.content.agents))),), heading="Our agents")


@kind.page("/agent/{slug}")
def agent_page(visit: Visit[Market]) -> Response:
    agent = next((agent for agent in visit.content.agents if agent.href == visit.path), None)
    if agent is None:
        return NOT_FOUND
    shown = tuple(_card(home) for home in visit.content.homes if home.agent is agent)
    picture = Picture("face", agent.name.replace(" ", "-"), 520, 420)
    detail = Detail(agent.name, (picture,), lead=f"{agent.name} shows {len(shown)} homes at the moment.", rows=agent.rows)
    return Page(agent.name, (detail, CardRow("Homes", shown)) if shown else (detail,), (Link("Our agents", "/agents"),))


@kind.page("/calculator")
def calculator(visit: Visit[Market]) -> Response:
    values = visit.filled(_LOAN)
    rate = Prose("", (f"We calculate with {visit.content.rate:.2f}% interest a year, fixed for the whole term.",))
    if values is None:
        return Page("Calculator", (Columns(((visit.form(_LOAN),), (rate,))),), heading="What would it cost a month?")
    amount, years = int(float(values["amount"])), int(float(values["years"]))
    figures = Stats(
        (
            ("Monthly payment", visit.content.payment(amount, years)),
            ("Loan", f"${amount * 1000:,}"),
            ("Term", f"{years} years"),
        )
    )
    again = Buttons(links=(Link("Calculate again", "/calculator"), Link("See homes", "/homes")))
    return Page("Calculator", (figures, rate, again), heading="Your loan")
