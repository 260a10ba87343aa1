"""Workshop guides: projects in steps that unfold, a library of tools to borrow, a paint calculator, saved projects.

Tasks: look up guides and tools, compare, narrow down, gather materials, use the calculator, save projects, borrow a tool.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.sites.workshop_content import CRAFTS, STEPS, Bench, Guide, Tool, bench
from webgym.worlds.words import FAMILY, GIVEN, money

KEEP: Final = "Save project"
BORROW: Final = "Request loan"
DRYING: Final = "How long does it dry?"
PICKUP: Final = ("Morning", "Afternoon", "Evening")
SURFACES: Final = {"Smooth plaster": 12, "Wallpaper": 9, "Bare brick": 6, "Wood": 10}  # square metres a litre


def menu(site: Site, content: Bench) -> tuple[b.Link, ...]:
    inside = tuple(b.Link(f"All {craft.lower()}", f"/guides?craft={craft}") for craft in CRAFTS)
    return (
        b.Link("Guides", "/guides", inside),
        b.Link("Tool library", "/tools"),
        b.Link("Paint calculator", "/paint"),
        b.Link("Safety", "/safety"),
        b.Link("My projects", "/projects"),
    )


def findable(content: Bench) -> tuple[Entry, ...]:
    guides = [Entry(guide.name, guide.href, f"{guide.craft} guide, {guide.skill}") for guide in content.guides]
    return (*guides, *(Entry(tool.name, tool.href, "Tool library") for tool in content.tools))


def tagline(site: Site, content: Bench) -> str:
    return f"{len(content.guides)} projects that were really built, and {len(content.tools)} tools to borrow."


kind: Final = Kind(
    "workshop",
    subdomain="Hobbies & DIY",
    words=("workshop", "makers", "crafts", "diy", "toolbox", "workbench", "projects"),
    content=bench,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(guide: Guide) -> b.Card:
    return b.Card(
        guide.name,
        guide.href,
        b.Picture(guide.thing, guide.slug),
        badge=guide.skill,
        meta=(guide.craft, f"{guide.hours} hours", money(guide.cents)),
        stars=guide.stars,
        votes=guide.votes,
    )


saves(
    kind, "/projects", "My projects", lambda content, slug: _card(content.by_slug[slug]) if slug in content.by_slug else None
)


@kind.page("/")
def home(visit: Visit[Bench]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    picks = chance.sample(content.guides, 9)
    star = picks[0]
    hero = b.Hero(
        f"This weekend: {star.name}",
        f"{star.hours} hours, {money(star.cents)} of materials. {tagline(site, content)}",
        b.Picture(star.thing, star.slug, 900, 600),
        b.Link("Start building", star.href),
        b.Link("All guides", "/guides"),
    )
    crafts = b.Tiles(
        "Pick a craft",
        tuple(
            (b.Link(craft, f"/guides?craft={craft}"), "", b.Picture(CRAFTS[craft][2], f"t-{craft}", 300, 200))
            for craft in CRAFTS
        ),
    )
    latest = sorted(content.guides, key=lambda guide: guide.written, reverse=True)
    fresh = b.CardRow("Fresh from the bench", tuple(map(_card, latest[:6])), b.Link("More guides", "/guides"))
    easy = b.CardRow(
        "First projects", tuple(_card(guide) for guide in content.guides if guide.skill == "Beginner")[:4], big=True
    )
    borrow = b.Table(
        "Borrow a tool",
        ("Tool", "Deposit"),
        tuple((b.Cell(tool.name, tool.href), b.Cell(money(tool.deposit), number=True)) for tool in content.tools[:6]),
    )
    rules = b.Accordion("Before you start", _rules(visit)[:3])
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, crafts, fresh, b.Columns(((rules,), (borrow,)))),
        (fresh, b.Columns(((easy,), (borrow,))), crafts),
        (hero, b.Columns(((fresh,), (rules,))), crafts),
        (crafts, hero, easy, fresh),
        (hero, easy, borrow, fresh),
        (b.Columns(((crafts,), (borrow,))), fresh, rules),
    )
    return b.Page("Home", orders[site.style.layout])


@kind.page("/guides")
def guides(visit: Visit[Bench]) -> b.Response:
    listing = Listing(
        visit.content.guides,
        _card,
        lambda guide: f"{guide.name} {guide.craft} {guide.skill} {guide.maker}",
        (
            Facet("craft", "Craft", lambda guide: guide.craft),
            Facet("skill", "Skill", lambda guide: guide.skill),
            Facet("maker", "Author", lambda guide: guide.maker),
        ),
        (Limit("hours", "Hours at most", lambda guide: guide.hours, 1, 40),),
        (
            Sort("fast", "Quickest first", lambda guide: guide.hours),
            Sort("cheap", "Cheapest first", lambda guide: guide.cents),
            Sort("new", "Newest first", lambda guide: guide.written, down=True),
        ),
        endless=visit.site.number("endless") % 3 == 0,
    )
    return b.Page("Guides", (visit.listing(listing, "All guides"),))


@kind.page("/guides/{slug}")
def guide_page(visit: Visit[Bench]) -> b.Response:
    guide = visit.content.by_slug.get(visit.argument("slug"))
    if guide is None:
        return NOT_FOUND
    detail = b.Detail(
        guide.name,
        tuple(b.Picture(guide.thing, f"{guide.slug}{f'-{n}' if n else ''}", 720, 540) for n in range(4)),
        badge=guide.craft,
        stars=guide.stars,
        votes=guide.votes,
        lead=f"{guide.maker} built this one twice, and wrote down the second time.",
        rows=guide.rows,
        buttons=(keep_button(guide.slug, KEEP),),
    )
    goods = b.Table(
        "Materials", ("Material", "Amount"), tuple((thing, b.Cell(text, number=True)) for thing, text in guide.materials)
    )
    tools = b.Table(
        "Tools", ("Tool", "Deposit"), tuple((b.Cell(tool.name, tool.href), money(tool.deposit)) for tool in guide.tools)
    )
    steps = tuple((f"Step {n}: {name}", text) for n, (name, text) in enumerate(STEPS, 1))
    method = b.Accordion("Step by step", (*steps, (DRYING, f"Leave it alone for {guide.drying} hours.")))
    said = b.Reviews("From other benches", tuple(_review(visit, guide, n) for n in range(3)))
    crumbs = (b.Link("Guides", "/guides"), b.Link(guide.name, guide.href))
    return b.Page(guide.name, (detail, b.Columns(((goods,), (tools,))), method, said), crumbs)


def _review(visit: Visit[Bench], guide: Guide, number: int) -> b.Review:
    chance = visit.site.draw("review", guide.slug, number)
    head = chance.choice(("Built it", "Took a weekend more", "Clear steps", "My first one", "Would change the glue"))
    text = chance.choice(("It wobbles a little, like me.", "The drawing saved me twice.", "Sand more than you think."))
    return b.Review(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.randrange(3, 6), head, text)


@kind.page("/tools")
def tools(visit: Visit[Bench]) -> b.Response:
    rows = tuple(
        (
            b.Cell(tool.name, tool.href),
            tool.shelf,
            b.Cell(f"{tool.watts} W", number=True),
            b.Cell(money(tool.deposit), number=True),
        )
        for tool in visit.content.tools
    )
    table = b.Table("", ("Tool", "Shelf", "Power", "Deposit"), rows, sortable=True)
    return b.Page("Tool library", (table,), heading="Tool library", lead="Members borrow without a fee, against a deposit.")


@kind.page("/tools/{slug}")
def tool_page(visit: Visit[Bench]) -> b.Response:
    tool: Tool | None = next((tool for tool in visit.content.tools if tool.href == visit.path), None)
    if tool is None:
        return NOT_FOUND
    detail = b.Detail(tool.name, (b.Picture("box", tool.slug, 600, 450),), lead="Checked after every loan.", rows=tool.rows)
    form = Form.of(
        f"borrow-{tool.slug}",
        Field("name", "Full name"),
        Field("day", "First day", "date"),
        Field("days", "Number of days", "number", least=1, most=tool.days),
        Field("pickup", "Pick-up", "radio", PICKUP),
        submit=BORROW,
    )
    values = visit.filled(form)
    crumbs = (b.Link("Tool library", "/tools"), b.Link(tool.name, tool.href))
    if values is None:
        return b.Page(tool.name, (detail, visit.form(form)), crumbs)
    visit.memory.record("loan", {"tool": tool.name, **values})
    text = f"{tool.name}, from {values['day']} for {values['days']} days."
    return b.Page("Loan requested", (b.Notice(text, "good", "Loan requested"),), crumbs, heading="Thank you")


@kind.page("/paint")
def paint(visit: Visit[Bench]) -> b.Response:
    form = Form.of(
        "paint",
        Field("area", "Square metres", "number", least=1, most=2000),
        Field("coats", "Coats", "slider", least=1, most=4, value="2"),
        Field("surface", "Surface", "select", tuple(SURFACES)),
        submit="Calculate",
    )
    values = visit.filled(form)
    rates = b.Facts("One litre covers", tuple((name, f"{rate} square metres") for name, rate in SURFACES.items()))
    if values is None:
        return b.Page("Paint calculator", (b.Columns(((visit.form(form),), (rates,))),), heading="Paint calculator")
    need = f"{litres(float(values['area']), int(values['coats']), values['surface'])} litres of paint"
    again = b.Buttons(links=(b.Link("Calculate again", "/paint"),))
    return b.Page("Paint calculator", (b.Stats((("You need", need),)), again, rates), heading="Paint calculator")


def litres(area: float, coats: int, surface: str) -> str:
    return f"{area * coats / SURFACES[surface]:.1f}"


def _rules(visit: Visit[Bench]) -> tuple[tuple[str, str], ...]:
    chance = visit.site.draw("safety")
    return (
        ("What about my eyes?", "Goggles, whenever anything spins."),
        ("How loud is too loud?", f"Above {chance.randrange(78, 88)} decibels wear ear protection."),
        ("How do I store solvents?", "Closed, cool, and far from the boiler."),
        ("What if I cut myself?", f"The first-aid box hangs beside bench {chance.randrange(1, 20)}."),
    )


@kind.page("/safety")
def safety(visit: Visit[Bench]) -> b.Response:
    return b.Page("Safety", (b.Accordion("", _rules(visit)),), heading="Safety first", lead="Read it once. Then again.")
