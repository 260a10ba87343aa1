"""A bank: accounts behind a log-in, transactions, transfers, cards and loans, branches on a map, rates.

Tasks: look up products and branches, read one's own accounts, compare rates, make a transfer, apply for a loan.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds.account import has_accounts
from webgym.worlds.blocks import (
    Accordion,
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
    Stats,
    Table,
    Tiles,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Listing, Sort
from webgym.worlds.sites.bank_content import (
    CATEGORIES,
    PURPOSES,
    Branch,
    House,
    Offer,
    house,
)
from webgym.worlds.words import money


def menu(site: Site, content: House) -> tuple[Link, ...]:
    inside = tuple(Link(name, f"/offers?category={name.replace(' ', '+')}") for name in CATEGORIES)
    return (
        Link("Products", "/offers", inside),
        Link("Rates", "/rates"),
        Link("Branches", "/branches"),
        Link("Apply for a loan", "/apply"),
        Link("My accounts", "/my"),
    )


def findable(content: House) -> tuple[Entry, ...]:
    offers = [Entry(offer.name, offer.href, offer.category) for offer in content.offers]
    return (*offers, *(Entry(f"{branch.city} branch", branch.href, branch.street) for branch in content.branches))


def tagline(site: Site, content: House) -> str:
    return f"Banking that keeps its word, in {len(content.branches)} towns and on your phone."


kind: Final = Kind(
    "bank",
    subdomain="Finance & Investment",
    words=("bank", "savings", "credit", "finance", "trust", "capital", "mutual", "lending"),
    content=house,
    nav=menu,
    entries=findable,
    tagline=tagline,
    login=True,
)
has_accounts(kind, home="/my")


def _card(offer: Offer) -> Card:
    picture = Picture("abstract", offer.slug, 600, 340)
    return Card(offer.name, offer.href, picture, f"{offer.rate:.2f}%", meta=(offer.category, f"Fee {money(offer.fee)}"))


@kind.page("/")
def home(visit: Visit[House]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    title = chance.choice(
        (
            "Money, made simple",
            "A bank for the long run",
            "Your plans are worth saving for",
            f"Welcome to {visit.site.brand}",
        )
    )
    hero = Hero(
        title,
        tagline(visit.site, content),
        Picture(chance.choice(("city", "house", "landscape")), "hero", 900, 600),
        Link("See our products", "/offers"),
        Link("Find a branch", "/branches"),
    )
    ways = Tiles(
        "What would you like to do?",
        (
            (Link("Check my accounts", "/my"), "Balances and transfers", None),
            (Link("Apply for a loan", "/apply"), "In three steps", None),
            (Link("Compare rates", "/rates"), "All products at a glance", None),
            (Link("Visit a branch", "/branches"), f"{len(content.branches)} branches", None),
        ),
    )
    picks = CardRow("Popular products", tuple(map(_card, chance.sample(content.offers, 4))), Link("All products", "/offers"))
    questions = Accordion(
        "Questions",
        (
            ("How safe is my money?", "Deposits are protected up to $250,000."),
            ("How do I open an account?", "Visit a branch with an identity card. It takes twenty minutes."),
        ),
    )
    blocks = (hero, picks, ways, questions) if visit.site.style.layout in (1, 3, 4) else (hero, ways, picks, questions)
    return Page("Home", blocks)


@kind.page("/offers")
def offers(visit: Visit[House]) -> Response:
    listing = Listing(
        visit.content.offers,
        _card,
        lambda offer: f"{offer.name} {offer.category}",
        (Facet("category", "Category", lambda offer: offer.category),),
        (),
        (
            Sort("rate", "Interest rate: low to high", lambda offer: offer.rate),
            Sort("fee", "Lowest fee", lambda offer: offer.fee),
        ),
        per_page=9,
    )
    return Page("Products", (visit.listing(listing, "Our products"),))


@kind.page("/offers/{slug}")
def offer_page(visit: Visit[House]) -> Response:
    offer = next((offer for offer in visit.content.offers if offer.slug == visit.argument("slug")), None)
    if offer is None:
        return NOT_FOUND
    lead = f"The {offer.name} is one of our {offer.category.lower()}: clear terms, no small print, and a person to talk to."
    detail = Detail(
        offer.name,
        (Picture("abstract", offer.slug, 720, 480),),
        lead=lead,
        rows=offer.rows,
        links=(Link("Apply for a loan", "/apply"), Link("Find a branch", "/branches")),
    )
    terms = Accordion(
        "Terms",
        (
            ("Can I cancel?", "Yes, within 14 days of signing."),
            ("Who can apply?", "Anyone over 18 who lives in the country."),
        ),
    )
    return Page(offer.name, (detail, terms), (Link("Products", "/offers"), Link(offer.name, offer.href)))


@kind.page("/rates")
def rates(visit: Visit[House]) -> Response:
    rows = tuple(
        (
            Cell(offer.name, offer.href),
            offer.category,
            Cell(f"{offer.rate:.2f}%", number=True),
            Cell(money(offer.fee), number=True),
        )
        for offer in visit.content.offers
    )
    return Page(
        "Rates",
        (Table("", ("Product", "Category", "Interest rate", "Yearly fee"), rows, sortable=True),),
        heading="Rates and fees",
    )


@kind.page("/branches")
def branches(visit: Visit[House]) -> Response:
    places = tuple(
        Place(branch.city, round(branch.x, 1), round(branch.y, 1), branch.href) for branch in visit.content.branches
    )
    rows = tuple(
        (Cell(f"{branch.city} branch", branch.href), branch.street, branch.phone) for branch in visit.content.branches
    )
    return Page(
        "Branches",
        (Map("", "branches", places), Table("All branches", ("Branch", "Address", "Telephone"), rows)),
        heading="Find a branch",
    )


@kind.page("/branches/{city}")
def branch_page(visit: Visit[House]) -> Response:
    branch = next((branch for branch in visit.content.branches if branch.href == visit.path), None)
    if branch is None:
        return NOT_FOUND
    detail = Detail(
        f"{branch.city} branch",
        (Picture("house", branch.city, 720, 480),),
        lead="Come in without an appointment.",
        rows=branch_rows(branch),
        links=(Link("All branches", "/branches"),),
    )
    return Page(f"{branch.city} branch", (detail,), (Link("Branches", "/branches"), Link(branch.city, branch.href)))


def branch_rows(branch: Branch) -> tuple[tuple[str, str], ...]:
    return (
        ("Address", branch.street),
        ("Telephone", branch.phone),
        ("Branch manager", branch.manager),
        ("Opening hours", branch.opens),
    )


_LOAN_FIELDS: Final = (
    Field("purpose", "Purpose", "select", PURPOSES),
    Field("amount", "Amount in dollars", "number", least=500, most=100_000),
    Field("months", "Months", "slider", least=6, most=120, step=6, value="24"),
)
_OWN_FIELDS: Final = (
    Field("name", "Full name"),
    Field("born", "Date of birth", "date"),
    Field("income", "Monthly income", "number", least=0),
)
_TERMS: Final = (Field("agree", "I have read the terms", "checkbox"),)
LOAN: Final = Form(
    "loan",
    (FormStep("The loan", _LOAN_FIELDS), FormStep("About you", _OWN_FIELDS), FormStep("Confirm", _TERMS)),
    submit="Send application",
)


@kind.page("/apply")
def apply(visit: Visit[House]) -> Response:
    values = visit.filled(LOAN)
    if values is None:
        aside = Prose("Good to know", ("We answer within one working day.", "Your data stays with us."))
        return Page("Apply for a loan", (Columns(((visit.form(LOAN),), (aside,))),), heading="Apply for a loan")
    visit.memory.record("loan", values)
    return Page(
        "Application sent",
        (Notice("We will call you within one working day.", "good", "Application sent"),),
        heading="Thank you",
    )


@kind.page("/my", members=True)
def mine(visit: Visit[House]) -> Response:
    rows = tuple(
        (Cell(holding.name, holding.href), holding.number, Cell(money(holding.cents), number=True))
        for holding in visit.content.holdings
    )
    total = sum(holding.cents for holding in visit.content.holdings)
    chart = Chart(
        "Spending this year", tuple((month[:3], float(value)) for month, value in visit.content.spending), unit=" $"
    )
    table = Table("Accounts", ("Account", "Number", "Balance"), rows)
    figures = Stats(
        (("Total of all accounts", money(total)), ("Accounts", str(len(rows))), ("Customer", visit.site.account.name))
    )
    links = Tiles(
        "",
        (
            (Link("Make a transfer", "/transfer"), "To any account", None),
            (Link("Find a branch", "/branches"), "We are near you", None),
        ),
    )
    return Page("My accounts", (figures, table, links, chart), heading="My accounts")


@kind.page("/my/{number}", members=True)
def holding_page(visit: Visit[House]) -> Response:
    holding = next((holding for holding in visit.content.holdings if holding.href == visit.path), None)
    if holding is None:
        return NOT_FOUND
    rows = tuple(
        (
            booking.day,
            booking.payee,
            booking.reference,
            Cell(money(booking.cents), number=True, tone="bad" if booking.cents < 0 else "good"),
        )
        for booking in holding.bookings
    )
    facts = Facts("", (("Account number", holding.number), ("Balance", money(holding.cents))))
    return Page(
        holding.name,
        (facts, Table("Bookings", ("Date", "Payee", "Reference", "Amount"), rows, sortable=True)),
        (Link("My accounts", "/my"), Link(holding.name, holding.href)),
        heading=holding.name,
    )


@kind.page("/transfer", members=True)
def transfer(visit: Visit[House]) -> Response:
    form = Form.of(
        "transfer",
        Field("source", "From account", "select", tuple(holding.name for holding in visit.content.holdings)),
        Field("payee", "Payee"),
        Field("number", "Account number of the payee", pattern=r"\d{12}", hint="Twelve digits"),
        Field("amount", "Amount in dollars", "number", least=0.01, most=50_000),
        Field("reference", "Reference", required=False),
        submit="Transfer now",
    )
    values = visit.filled(form)
    if values is None:
        return Page("Transfer", (visit.form(form),), (Link("My accounts", "/my"),), heading="Make a transfer")
    visit.memory.record("transfer", values)
    return Page(
        "Transfer done",
        (Notice(f"${values['amount']} to {values['payee']}.", "good", "Transfer done"),),
        heading="Transfer done",
    )
