"""A fashion house: pieces with galleries, looks of several pieces, a size guide in a dialog, a wish list, fittings.

One picture of the look book never arrives. Tasks: look up, compare, narrow down, gather, keep wishes, reserve a fitting.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.faults import LostPicture
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.sites.fashion_content import CATEGORIES, SIZES, Collection, Look, Piece, collection
from webgym.worlds.words import FAMILY, GIVEN, money

KEEP: Final = "Add to wish list"
RESERVE: Final = "Reserve fitting"
CARE: Final = "Care and origin"


def menu(site: Site, content: Collection) -> tuple[b.Link, ...]:
    inside = tuple(b.Link(f"All {name.lower()}", f"/pieces?category={name.replace(' ', '+')}") for name in CATEGORIES)
    return (
        b.Link("Collection", "/pieces", inside),
        b.Link("Look book", "/looks"),
        b.Link("Boutiques", "/boutiques"),
        b.Link("Wish list", "/wishes"),
        b.Link("Journal", "/journal"),
    )


def findable(content: Collection) -> tuple[Entry, ...]:
    pieces = [Entry(piece.name, piece.href, f"{piece.category}, {piece.designer}") for piece in content.pieces]
    return (*pieces, *(Entry(look.name, look.href, f"For {look.occasion}") for look in content.looks))


def tagline(site: Site, content: Collection) -> str:
    return f"{len(content.pieces)} pieces by six designers, made slowly and worn for years."


kind: Final = Kind(
    "fashion",
    subdomain="Fashion & Beauty",
    words=("fashion", "boutique", "atelier", "couture", "beauty", "style", "wardrobe"),
    content=collection,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(piece: Piece) -> b.Card:
    return b.Card(
        piece.name,
        piece.href,
        b.Picture(piece.thing, piece.slug, 600, 600),
        money(piece.cents),
        meta=(piece.designer, piece.colour),
        stars=piece.stars,
        votes=piece.votes,
    )


def _look_card(look: Look, lost: bool = False) -> b.Card:
    first = look.pieces[0]
    shot = b.Picture(first.thing, f"look-{look.slug}", 600, 600)
    picture = LostPicture(first.thing, look.slug, 600, 600, f"{look.name}, picture to follow") if lost else shot
    return b.Card(look.name, look.href, picture, meta=(f"For {look.occasion}",), text=f"Styled by {look.stylist}.")


saves(kind, "/wishes", "Wish list", lambda content, slug: _card(content.by_slug[slug]) if slug in content.by_slug else None)


@kind.page("/")
def home(visit: Visit[Collection]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    picks = chance.sample(content.pieces, 10)
    star = picks[0]
    hero = b.Hero(
        chance.choice(("The quiet collection", "Made to be worn out", f"{star.season}, at last", "Less, but better")),
        tagline(site, content),
        b.Picture(star.thing, star.slug, 900, 600),
        b.Link("Discover the collection", "/pieces"),
        b.Link("Open the look book", "/looks"),
    )
    looks = b.CardRow(
        "Looks of the season", tuple(map(_look_card, content.looks[:3])), b.Link("All looks", "/looks"), big=True
    )
    chosen = b.CardRow("The edit", tuple(map(_card, picks[1:7])))
    ways = b.Tiles(
        "Shop by category",
        tuple(
            (b.Link(name, f"/pieces?category={name.replace(' ', '+')}"), "", b.Picture(thing, f"t-{name[:4]}", 300, 300))
            for name, (_, thing, _) in CATEGORIES.items()
        ),
    )
    story = b.Prose(
        "From the journal", ("A seam is a promise. We visited the people who keep it, in a mill beside a river.",)
    )
    loved = b.Reviews("Worn and loved", tuple(_review(visit, picks[n], n) for n in range(3)))
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, looks, chosen, story),
        (looks, chosen, ways, loved),
        (hero, ways, loved, chosen),
        (chosen, looks, story),
        (hero, chosen, b.Columns(((story,), (loved,)))),
        (ways, hero, looks, loved),
    )
    return b.Page("Home", orders[site.style.layout])


@kind.page("/pieces")
def pieces(visit: Visit[Collection]) -> b.Response:
    listing = Listing(
        visit.content.pieces,
        _card,
        lambda piece: f"{piece.name} {piece.category} {piece.designer} {piece.colour} {piece.fabric}",
        (
            Facet("category", "Category", lambda piece: piece.category),
            Facet("designer", "Designer", lambda piece: piece.designer),
            Facet("colour", "Colour", lambda piece: piece.colour),
        ),
        (Limit("max", "Maximum price", lambda piece: piece.cents / 100, 0, 800, 20, "$"),),
        (
            Sort("cheap", "Price: low to high", lambda piece: piece.cents),
            Sort("dear", "Price: high to low", lambda piece: piece.cents, down=True),
        ),
        endless=visit.site.number("endless") % 2 == 0,
    )
    return b.Page("Collection", (visit.listing(listing, "The collection"),))


@kind.page("/pieces/{slug}")
def piece_page(visit: Visit[Collection]) -> b.Response:
    piece = visit.content.by_slug.get(visit.argument("slug"))
    if piece is None:
        return NOT_FOUND
    chance = visit.site.draw("piece", piece.slug)
    detail = b.Detail(
        piece.name,
        tuple(b.Picture(piece.thing, f"{piece.slug}{f'-{n}' if n else ''}", 720, 720) for n in range(5)),
        money(piece.cents),
        badge=piece.category,
        stars=piece.stars,
        votes=piece.votes,
        lead=f"{piece.fabric} in {piece.colour.lower()}, drawn by {piece.designer}.",
        rows=piece.rows,
        buttons=(keep_button(piece.slug, KEEP),),
        links=(b.Link("Try it on", f"/fitting/{piece.slug}"),) if piece.wearable else (),
    )
    care = b.Facts("", (("Made in", piece.origin), ("Wash or keep at", f"up to {piece.wash} degrees")))
    said = b.Reviews("", tuple(_review(visit, piece, n) for n in range(3)))
    ship = b.Prose("", ("Sent in paper, not in plastic.", "Returns are free for thirty days."))
    parts = b.Tabs((("Reviews", (said,)), (CARE, (care,)), ("Delivery", (ship,))))
    rows = tuple((size, str(34 + 2 * n), f"{84 + 4 * n} cm", f"{66 + 4 * n} cm") for n, size in enumerate(SIZES))
    table = b.Table("", ("Size", "European", "Chest", "Waist"), rows)
    sizes = b.Modal("Size guide", "Size guide", (table,))
    near = [other for other in visit.content.pieces if other.designer == piece.designer and other is not piece]
    more = b.CardRow(f"More by {piece.designer}", tuple(map(_card, chance.sample(near, min(4, len(near))))))
    crumbs = (b.Link("Collection", "/pieces"), b.Link(piece.name, piece.href))
    return b.Page(piece.name, (detail, *((sizes,) if piece.wearable else ()), parts, more), crumbs)


def _review(visit: Visit[Collection], piece: Piece, number: int) -> b.Review:
    chance = visit.site.draw("review", piece.slug, number)
    head = chance.choice(("Fits like a plan", "Runs small", "Compliments all day", "Softer than it looks", "Sent it back"))
    text = chance.choice(
        ("The colour is deeper than on screen.", "Third winter and still good.", "I am between sizes; L it was.")
    )
    return b.Review(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.randrange(2, 6), head, text)


@kind.page("/looks")
def looks(visit: Visit[Collection]) -> b.Response:
    cards = tuple(_look_card(look, lost=n == 4) for n, look in enumerate(visit.content.looks))
    return b.Page("Look book", (b.CardRow("", cards, big=True),), heading="Look book")


@kind.page("/looks/{slug}")
def look_page(visit: Visit[Collection]) -> b.Response:
    look = next((look for look in visit.content.looks if look.href == visit.path), None)
    if look is None:
        return NOT_FOUND
    rows = (("Stylist", look.stylist), ("Occasion", look.occasion), ("All together", money(look.cents)))
    shots = tuple(b.Picture(piece.thing, piece.slug, 600, 600) for piece in look.pieces)
    detail = b.Detail(look.name, shots, lead=f"Four pieces for {look.occasion}.", rows=rows)
    crumbs = (b.Link("Look book", "/looks"), b.Link(look.name, look.href))
    return b.Page(look.name, (detail, b.CardRow("In this look", tuple(map(_card, look.pieces)))), crumbs)


@kind.page("/boutiques")
def boutiques(visit: Visit[Collection]) -> b.Response:
    rows = tuple((f"{one.town} boutique", one.street, one.opens) for one in visit.content.boutiques)
    places = tuple(
        b.Place(one.town, 18 + 21 * n, 30 + 35 * (n % 2), "/boutiques") for n, one in enumerate(visit.content.boutiques)
    )
    table = b.Table("", ("Boutique", "Address", "Opening hours"), rows)
    return b.Page("Boutiques", (table, b.Map("", "boutiques", places)), heading="Boutiques")


@kind.page("/fitting/{slug}")
def fitting(visit: Visit[Collection]) -> b.Response:
    piece = visit.content.by_slug.get(visit.argument("slug"))
    if piece is None or not piece.wearable:
        return NOT_FOUND
    form = Form.of(
        f"fitting-{piece.slug}",
        Field("size", "Size", "radio", SIZES),
        Field("boutique", "Boutique", "select", tuple(one.town for one in visit.content.boutiques)),
        Field("day", "Day", "date"),
        Field("name", "Full name"),
        Field("email", "E-mail", "email"),
        submit=RESERVE,
    )
    values = visit.filled(form)
    if values is None:
        heading = f"Try on the {piece.name}"
        side = b.CardRow("", (_card(piece),))
        return b.Page(heading, (b.Columns(((visit.form(form),), (side,))),), heading=heading)
    visit.memory.record("fitting", {"piece": piece.name, **values})
    text = f"The {piece.name} waits for you in {values['boutique']} on {values['day']}."
    return b.Page("Fitting reserved", (b.Notice(text, "good", "Fitting reserved"),), heading="See you soon")


@kind.page("/journal")
def journal(visit: Visit[Collection]) -> b.Response:
    answers = (
        ("How do I store wool?", "Folded, with cedar, and never on a hanger."),
        ("Which order for the morning?", "Cleanser, serum, cream, sun lotion. Wait a minute between them."),
        ("Can leather get wet?", "Yes, if it may dry slowly and gets some balm afterwards."),
    )
    text = ("A seam is a promise.", "We visited the people who keep it, in a mill beside a river.")
    return b.Page("Journal", (b.Prose("The mill", text), b.Accordion("Care", answers)), heading="Journal")
