"""A shop: departments, products with prices and specifications, a cart, a checkout.

Tasks: look up particulars of products, compare products, narrow a department down to the one that fits, place an order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from webgym.worlds.blocks import (
    Accordion,
    Button,
    Card,
    CardRow,
    Detail,
    Facts,
    Hero,
    Link,
    Modal,
    Page,
    Picture,
    Prose,
    Response,
    Review,
    Reviews,
    Tabs,
    Tiles,
)
from webgym.worlds.cart import DELIVERY, Article, sells
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.words import FAMILY, GIVEN, listed, money

# What departments sell: the noun, its picture, and a price in dollars from which others vary.
DEPARTMENTS: Final = {
    "Living room": "Floor Lamp/lamp/90 Armchair/chair/320 Side Table/table/110 Sofa/sofa/740 Vase/vase/35",
    "Kitchen": "Mug/mug/14 Frying Pan/pan/48 Storage Jar/jar/19 Carafe/bottle/32 Dining Table/table/420",
    "Audio": "Headphones/headphones/160 Speaker/speaker/210 Soundbar/speaker/280 Earphones/headphones/70",
    "Computers": "Laptop/laptop/980 Tablet/phone/420 Phone/phone/610 Webcam/camera/85",
    "Outdoor": "Tent/tent/230 Backpack/bag/120 Trail Shoes/shoe/115 Flask/bottle/28 Camp Chair/chair/55",
    "Garden": "Planter/plant/26 Fern/plant/18 Lantern/lamp/39 Bench/sofa/260",
    "Accessories": "Watch/watch/190 Tote Bag/bag/60 Camera/camera/530 Notebook/book/12 Gift Box/box/34",
}
SERIES: Final = [
    "Alba",
    "Brio",
    "Calla",
    "Dorsa",
    "Elva",
    "Fjord",
    "Gala",
    "Halden",
    "Isola",
    "Juno",
    "Kelda",
    "Lund",
    "Mira",
    "Nola",
    "Orla",
    "Palma",
    "Quill",
    "Rivo",
    "Silva",
    "Tarn",
    "Ulma",
    "Verso",
    "Wilma",
    "Xeno",
    "Yara",
    "Zinnia",
    "Arden",
    "Bjork",
    "Cleo",
    "Dune",
    "Enzo",
    "Flora",
    "Grove",
    "Hugo",
    "Iris",
    "Jasper",
    "Koto",
    "Luna",
    "Moss",
    "Nord",
    "Opal",
    "Pico",
]
MAKERS: Final = [
    "Arkwell",
    "Bento&Co",
    "Castor",
    "Dalby",
    "Ekholm",
    "Fairline",
    "Grayson",
    "Hatch",
    "Ikon",
    "Juniper",
    "Kestrel",
    "Lumo",
]
COLOURS: Final = ("Black", "White", "Sand", "Forest green", "Navy", "Terracotta", "Charcoal", "Sage", "Mustard")
MATERIALS: Final = ("Oak", "Steel", "Aluminium", "Ceramic", "Recycled plastic", "Cotton", "Glass", "Bamboo", "Leather")


@dataclass(frozen=True)
class Product:
    slug: str
    name: str
    department: str
    thing: str
    maker: str
    colour: str
    material: str
    cents: int
    was: int
    stars: float
    votes: int
    stock: int
    grams: int
    warranty: int
    days: int

    @property
    def href(self) -> str:
        return f"/p/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Manufacturer", self.maker),
            ("Colour", self.colour),
            ("Material", self.material),
            ("Weight", f"{self.grams:,} g"),
            ("Warranty", f"{self.warranty} months"),
            ("In stock", f"{self.stock} pieces"),
            ("Delivery time", f"{self.days} days"),
        )


@dataclass(frozen=True)
class Stock:
    departments: tuple[str, ...]
    products: tuple[Product, ...]
    by_slug: dict[str, Product]

    def of(self, department: str) -> tuple[Product, ...]:
        return tuple(product for product in self.products if product.department == department)


def stock(site: Site) -> Stock:
    chance = site.draw("stock")
    departments = tuple(chance.sample(sorted(DEPARTMENTS), chance.randrange(3, 6)))
    products: list[Product] = []
    taken: set[str] = set()
    for department in departments:
        sold = re.findall(r"([A-Z][A-Za-z ]+)/([a-z]+)/(\d+)", DEPARTMENTS[department])
        for _ in range(chance.randrange(14, 30)):
            noun, thing, dollars = chance.choice(sold)
            name = f"{chance.choice(SERIES)} {noun}"
            if name in taken:
                continue
            taken.add(name)
            cents = max(300, int(int(dollars) * chance.uniform(0.5, 1.9)) * 100 + chance.choice((0, 49, 90, 95, 99)))
            products.append(
                Product(
                    slug=name.lower().replace(" ", "-"),
                    name=name,
                    department=department,
                    thing=thing,
                    maker=chance.choice(MAKERS),
                    colour=chance.choice(COLOURS),
                    material=chance.choice(MATERIALS),
                    cents=cents,
                    was=int(cents * 1.25) // 100 * 100 + 99 if chance.random() < 0.2 else 0,
                    stars=chance.randrange(28, 51) / 10,
                    votes=chance.randrange(3, 900),
                    stock=chance.randrange(2, 95),
                    grams=chance.randrange(12, 980) * 10,
                    warranty=chance.choice((6, 12, 18, 24, 36, 60)),
                    days=chance.randrange(1, 15),
                )
            )
    return Stock(departments, tuple(products), {product.slug: product for product in products})


def _way(department: str) -> str:
    return f"/d/{department.lower().replace(' ', '-')}"


def menu(site: Site, content: Stock) -> tuple[Link, ...]:
    inside = tuple(Link(name, _way(name)) for name in content.departments)
    return (Link("All products", "/products", inside), *inside, Link("Service", "/service"))


def findable(content: Stock) -> tuple[Entry, ...]:
    return tuple(Entry(product.name, product.href, product.department) for product in content.products)


def tagline(site: Site, content: Stock) -> str:
    return f"{listed(content.departments)}: chosen with care, delivered to your door."


kind: Final = Kind(
    "shop",
    subdomain="Shopping",
    words=("market", "outlet", "goods", "store", "mart", "supply", "emporium", "depot", "bazaar"),
    content=stock,
    nav=menu,
    entries=findable,
    tagline=tagline,
    cart=True,
)


def _card(product: Product) -> Card:
    return Card(
        product.name,
        product.href,
        Picture(product.thing, product.slug),
        money(product.cents),
        money(product.was) if product.was else "",
        "Sale" if product.was else "",
        (product.maker, product.colour),
        stars=product.stars,
        votes=product.votes,
    )


def _listing(products: tuple[Product, ...], endless: bool) -> Listing[Product]:
    return Listing(
        products,
        _card,
        lambda product: f"{product.name} {product.department} {product.maker} {product.colour} {product.material}",
        (
            Facet("maker", "Manufacturer", lambda product: product.maker),
            Facet("colour", "Colour", lambda product: product.colour),
            Facet("material", "Material", lambda product: product.material),
        ),
        (Limit("max", "Maximum price", lambda product: product.cents / 100, 0, 2000, 50, "$"),),
        (
            Sort("cheap", "Price: low to high", lambda product: product.cents),
            Sort("dear", "Price: high to low", lambda product: product.cents, down=True),
            Sort("stars", "Best rated", lambda product: product.stars * 10_000 + product.votes, down=True),
        ),
        endless=endless,
    )


@kind.page("/")
def home(visit: Visit[Stock]) -> Response:
    site, content = visit.site, visit.content
    chance = site.draw("home")
    picks = chance.sample(content.products, min(12, len(content.products)))
    star = picks[0]
    hero = Hero(
        chance.choice(
            ("Made for everyday life", "New things for a new season", "Good things last", f"Welcome to {site.brand}")
        ),
        tagline(site, content),
        Picture(star.thing, star.slug, 900, 600),
        Link("Shop all products", "/products"),
        Link(f"See the {star.name}", star.href),
    )
    sections = Tiles(
        "Departments",
        tuple(
            (
                Link(name, _way(name)),
                f"{len(content.of(name))} products",
                Picture(content.of(name)[0].thing, f"tile-{name}".replace(" ", "-"), 300, 200),
            )
            for name in content.departments
        ),
    )
    favourites = CardRow("Customer favourites", tuple(map(_card, picks[1:7])), Link("See everything", "/products"))
    sale = CardRow("On sale", tuple(_card(product) for product in content.products if product.was)[:4])
    blocks = (hero, favourites, sections, sale) if site.style.layout % 2 else (hero, sections, favourites, sale)
    return Page("Home", blocks)


@kind.page("/products")
def everything(visit: Visit[Stock]) -> Response:
    return Page("All products", (visit.listing(_listing(visit.content.products, _endless(visit)), "All products"),))


@kind.page("/search")
def search(visit: Visit[Stock]) -> Response:
    return Page("Search", (visit.listing(_listing(visit.content.products, False), "Search results"),))


@kind.page("/d/{name}")
def department(visit: Visit[Stock]) -> Response:
    for name in visit.content.departments:
        if _way(name) == visit.path:
            shown = visit.listing(_listing(visit.content.of(name), _endless(visit)), name)
            return Page(name, (shown,), crumbs=(Link("All products", "/products"), Link(name, visit.path)))
    return NOT_FOUND


def _endless(visit: Visit[Stock]) -> bool:
    return visit.site.number("endless") % 4 == 0


@kind.page("/p/{slug}")
def product_page(visit: Visit[Stock]) -> Response:
    product = visit.content.by_slug.get(visit.argument("slug"))
    if product is None:
        return NOT_FOUND
    chance = visit.site.draw("page", product.slug)
    praise = ("A quiet companion for every day.", "Built to be repaired, not replaced.", "Our own favourite of the season.")
    made = f"made of {product.material.lower()} and comes in {product.colour.lower()}"
    lead = f"The {product.name} by {product.maker} is {made}. {chance.choice(praise)}"
    detail = Detail(
        product.name,
        tuple(Picture(product.thing, f"{product.slug}{'' if n == 0 else f'-{n}'}", 720, 540) for n in range(4)),
        money(product.cents),
        money(product.was) if product.was else "",
        "Sale" if product.was else "",
        product.stars,
        product.votes,
        lead,
        () if visit.site.style.layout in (0, 3) else product.rows,
        (Button("Add to cart", "/cart/add", (("sku", product.slug),), (("count", "Quantity", ("1", "2", "3", "4", "5")),)),),
    )
    reviews = Reviews("", tuple(_review(visit, product, n) for n in range(3)))
    care = Prose(
        "", (f"Ships within {product.days} days.", "Returns are free for 30 days.", "Repairs are done in our own workshop.")
    )
    spec = Facts("Specifications", product.rows)
    extra = Tabs((("Specifications", (spec,)), ("Reviews", (reviews,)), ("Shipping", (care,))))
    others = [other for other in visit.content.of(product.department) if other is not product]
    related = CardRow("You may also like", tuple(map(_card, chance.sample(others, min(4, len(others))))))
    sizes = Modal(
        "Size guide", "Size guide", (Prose("", ("All sizes are given in centimetres, width before depth before height.",)),)
    )
    crumbs = (Link(product.department, _way(product.department)), Link(product.name, product.href))
    blocks = (detail, spec, sizes, related) if visit.site.style.layout == 3 else (detail, extra, sizes, related)
    return Page(product.name, blocks, crumbs)


def _review(visit: Visit[Stock], product: Product, number: int) -> Review:
    chance = visit.site.draw("review", product.slug, number)
    who = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    title = chance.choice(("Just right", "Better than expected", "Solid", "Would buy again", "Does what it says"))
    text = chance.choice(
        (
            "It arrived well packed and looks as in the pictures.",
            "The finish is lovely. The manual could be clearer.",
            "I use it every day and it still looks new.",
        )
    )
    return Review(who, chance.randrange(3, 6), title, text)


@kind.page("/service")
def service(visit: Visit[Stock]) -> Response:
    chance = visit.site.draw("service")
    answers = (
        ("How long can I return an article?", f"You can return articles for {chance.choice((14, 30, 45, 60))} days."),
        ("What does delivery cost?", "; ".join(f"{name}: {money(cents)}" for name, cents in DELIVERY)),
        ("Do you deliver abroad?", f"Yes, to {chance.randrange(8, 40)} countries."),
    )
    return Page("Service", (Accordion("Questions and answers", answers),), heading="Service")


sells(kind, lambda content, sku: _article(content.by_slug.get(sku)))


def _article(product: Product | None) -> Article | None:
    if product is None:
        return None
    return Article(product.slug, product.name, product.href, product.cents, Picture(product.thing, product.slug))
