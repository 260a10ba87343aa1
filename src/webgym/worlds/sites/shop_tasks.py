"""Tasks of the shop: look up particulars, compare prices, narrow a department down to the one that fits, order."""

from __future__ import annotations

from webgym.worlds import asking
from webgym.worlds.cart import DELIVERY, Buyer, checkout_moves
from webgym.worlds.checks import Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Filter, Move, Open, Press, Search, See, SortBy
from webgym.worlds.sites.shop import Product, Stock, kind
from webgym.worlds.subjects import Known, Topic, named
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, listed, money


def _to(product: Product) -> tuple[Move, ...]:
    return (Search(product.name), Open(product.name))


def _priced(product: Product) -> Topic:
    return Topic(product.name, product.href, f"the {product.name}", (Known("price", money(product.cents)),))


def _particulars(make: Maker[Stock], product: Product, count: int) -> tuple[list[str], tuple[Fact, ...]]:
    """Some of what there is to find out about a product: what to ask for, and the facts."""
    plain = [(name.lower(), value) for name, value in product.rows]
    chosen = make.some([("price", money(product.cents)), ("average rating", f"{product.stars:.1f}"), *plain], count)
    names, facts = [], []
    for name, value in chosen:
        says = value.split()[0] if name in ("weight", "warranty", "in stock", "delivery time") else value
        asked = {"in stock": "number of pieces in stock", "weight": "weight in grams", "warranty": "warranty in months"}.get(
            name, name
        )
        asked = "delivery time in days" if asked == "delivery time" else asked
        names.append(asked)
        shown = value if says != value else ""
        facts.append(make.find(product.href, product.name, asked, says, shown=shown))
    return names, tuple(facts)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Stock]) -> Draft:
    groups = []
    for product, count in zip(make.some(make.content.products, len(make.shape)), make.shape, strict=True):
        names, facts = _particulars(make, product, count)
        seen = tuple(See(check.texts) for fact in facts for check in fact.checks if isinstance(check, Shown))
        groups.append(
            Group(
                f"the {listed(names)} of the {product.name}",
                f"Particulars of the {product.name}",
                facts,
                (*_to(product), *seen),
            )
        )
    return Draft(
        (
            f"Find {{}} at {make.site.brand}.",
            f"On {make.site.brand}, look up {{}}.",
            "I am thinking of buying something here. Tell me {}.",
            "Please report {}, as given on this shop's product pages.",
        ),
        tuple(groups),
    )


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Stock]) -> Draft:
    """The prices of several products, and which is the cheapest."""
    return asking.compare(
        make,
        make.content.products,
        _priced,
        "price",
        lambda product: product.cents,
        "cheapest",
        ("Find out {}.", "Compare and tell me {}.", "Before I order, tell me {}."),
        most=False,
    )


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[Stock]) -> Draft:
    """The cheapest (or best rated) product of a department with a given manufacturer or colour."""
    department = make.one(make.content.departments)
    by = make.one(("Manufacturer", "Colour"))

    def value_of(product: Product) -> str:
        return product.maker if by == "Manufacturer" else product.colour

    inside = make.content.of(department)
    value = make.one(sorted({value_of(product) for product in inside}))
    fitting = sorted((product for product in inside if value_of(product) == value), key=lambda product: product.cents)
    if len(fitting) < 2 or fitting[0].cents == fitting[1].cents:
        raise CannotMake("not one that fits best")
    best = fitting[0]
    names, facts = _particulars(make, best, make.shape[0] - 1)
    text = f"The cheapest {department} product with {by.lower()} {value} is the {best.name}."
    first = named(make, _priced(best), map(_priced, fitting), text, facts)
    seen = tuple(See(check.texts) for fact in facts for check in fact.checks if isinstance(check, Shown))
    route: tuple[Move, ...] = (Open(department), Filter(by, value), SortBy("Price: low to high"), Open(best.name), *seen)
    ask = f"the cheapest product in the {department} department with {by.lower()} {value}: its name and its {listed(names)}"
    return Draft(
        ("Find {}.", f"At {make.site.brand}, find {{}}.", "Use the shop's filters to find {}."),
        (Group(ask, "The product that fits", (first, *facts), route),),
    )


@kind.task("order", [(1, 5), (0, 2)])
def order(make: Maker[Stock]) -> Draft:
    """Buy given numbers of products, delivered to somebody."""
    products = make.some(make.content.products, make.shape[0])
    counts = [make.chance.randrange(1, 4) for _ in products]
    chance = make.chance
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    buyer = Buyer(
        name,
        f"{name.split()[0].lower()}@example.com",
        f"{chance.randrange(1, 200)} {chance.choice(STREETS)} Street",
        chance.choice(CITIES),
        f"{chance.randrange(10000, 99999)}",
        chance.choice([way for way, _ in DELIVERY]),
    )
    lines = ("lines", str(len(products)))
    items = tuple(
        make.done(f"An order is placed for {count} × {product.name}.", "order", (f"item:{product.slug}", str(count)), lines)
        for product, count in zip(products, counts, strict=True)
    )
    moves: list[Move] = []
    for product, count in zip(products, counts, strict=True):
        moves += [*_to(product), Choose("Quantity", str(count)), Press("Add to cart"), See(("Your cart",))]
    what = listed([f"{count} × {product.name}" for product, count in zip(products, counts, strict=True)])
    address = f"{buyer.name}, {buyer.email}, {buyer.street}, {buyer.postcode} {buyer.city}"
    groups = [Group(f"an order for {what}", "The articles ordered", items, tuple(moves))]
    if len(make.shape) > 1:
        where = (
            make.done(f"The order is delivered by {buyer.delivery}.", "order", ("delivery", buyer.delivery)),
            make.done(f"The order is addressed to {address}.", "order", *_address(buyer)),
        )[: make.shape[1]]
        asked = (
            f"the delivery method {buyer.delivery}"
            if make.shape[1] == 1
            else f"the delivery method {buyer.delivery}, addressed to {address}"
        )
        groups.append(Group(asked, "How and where the order is delivered", where))
    return Draft(
        (
            "Place {}. Invent what the forms ask for beyond that.",
            f"On {make.site.brand}, complete {{}}; anything else the checkout asks for is up to you.",
        ),
        tuple(groups),
        end=checkout_moves(buyer),
    )


def _address(buyer: Buyer) -> tuple[tuple[str, str], ...]:
    return (("name", buyer.name), ("street", buyer.street), ("city", buyer.city), ("postcode", buyer.postcode))
