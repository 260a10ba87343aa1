"""Tasks of the fashion house: look up, compare, narrow down, gather, keep wishes, reserve a fitting."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, Slide, SortBy
from webgym.worlds.saved import save_some
from webgym.worlds.sites.fashion import CARE, KEEP, RESERVE, kind
from webgym.worlds.sites.fashion_content import SIZES, Collection, Look, Piece
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, listed, money


def _piece(piece: Piece) -> Topic:
    known = (
        Known("price", money(piece.cents)),
        Known("designer", piece.designer),
        Known("colour", piece.colour),
        Known("material", piece.fabric),
        Known("season", piece.season),
        Known("article number", piece.code),
        Known("country of origin", piece.origin, opener=(Press(CARE),)),
        Known("highest temperature in degrees", str(piece.wash), f"up to {piece.wash} degrees", opener=(Press(CARE),)),
    )
    return Topic(piece.name, piece.href, f"the {piece.name}", known)


def _look(look: Look) -> Topic:
    known = (
        Known("stylist", look.stylist),
        Known("occasion", look.occasion),
        Known("price of all pieces together", money(look.cents)),
    )
    return Topic(
        look.name, look.href, f"the {look.name[0].lower()}{look.name[1:]}", known, (Open("Look book"), Open(look.name))
    )


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Collection]) -> Draft:
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I saw something I like. Tell me {}.",
        "Please report {}.",
    )
    return look_up(make, make.content.pieces, _piece, openings)


@kind.task("looks", [(1, 3), (0, 3)])
def looks(make: Maker[Collection]) -> Draft:
    return look_up(make, make.content.looks, _look, ("Find {}.", "From the look book, tell me {}.", "Look up {}."))


@kind.task("compare", [(3, 5)])
def prices(make: Maker[Collection]) -> Draft:
    if make.chance.random() < 0.3:
        asked = "price of all pieces together"
        return compare(make, make.content.looks, _look, asked, lambda look: look.cents, "cheapest", most=False)
    return compare(make, make.content.pieces, _piece, "price", lambda piece: piece.cents, "most expensive")


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Collection]) -> Draft:
    """The dearest or cheapest piece of a category, a designer or a colour, perhaps below a price."""
    by, side = make.one((("Category", "category"), ("Designer", "designer"), ("Colour", "colour")))
    value = make.one(sorted({getattr(piece, side) for piece in make.content.pieces}))
    inside = [piece for piece in make.content.pieces if getattr(piece, side) == value]
    what = f"piece whose {by.lower()} is {value}"
    route: list[Move] = [Open("Collection"), Filter(by, value)]
    if make.chance.random() < 0.5:
        most = make.chance.randrange(4, 16) * 20
        inside = [piece for piece in inside if piece.cents <= most * 100]
        what = f"most expensive {what} and which costs at most ${most}"
        best = one_best(make, inside, lambda piece: piece.cents)
        route += [Slide("Maximum price", float(most)), Press("Apply"), SortBy("Price: high to low")]
    else:
        what = f"cheapest {what}"
        best = one_best(make, inside, lambda piece: piece.cents, most=False)
        route += [SortBy("Price: low to high")]
    route.append(Open(best.name))
    return best_fit(
        make,
        _piece(best),
        map(_piece, inside),
        f"the {what}",
        tuple(route),
        ("Find {}.", "Use the filters to find {}.", "Look for {}."),
    )


@kind.task("collect", [(4, 8)])
def gather(make: Maker[Collection]) -> Draft:
    """The prices of the four pieces of a look, or one side of several pieces."""
    count = make.shape[0]
    if count > 4 or make.chance.random() < 0.3:
        topics = [_piece(piece) for piece in make.some(make.content.pieces, count)]
        return each(make, topics, make.one(("price", "designer", "article number")))
    look = make.one(make.content.looks)
    facts = tuple(
        Fact(
            f"The {piece.name} in the {look.name} costs {money(piece.cents)}.",
            (Shown(make.host, look.href, (piece.name, money(piece.cents)), piece.name), Says(money(piece.cents))),
            f"{piece.name}: {money(piece.cents)}",
        )
        for piece in look.pieces
    )
    ask = f"the prices of the four pieces of the {look.name}: {listed([piece.name for piece in look.pieces])}"
    seen = (See((piece.name, money(piece.cents))) for piece in look.pieces)
    return Draft(("Find {}.", "Tell me {}."), (Group(ask, look.name, facts, (*_look(look).way, *seen)),))


@kind.task("wishes", [(1, 4)])
def wishes(make: Maker[Collection]) -> Draft:
    openings = ("Add {} to my wish list.", "Put {} on the wish list, and nothing else.", "I wish for {}: use the wish list.")
    return save_some(make, make.content.pieces, _piece, lambda piece: piece.slug, KEEP, "Wish list", openings)


@kind.task("fitting", [(1, 5)])
def fitting(make: Maker[Collection]) -> Draft:
    chance, piece = make.chance, make.one([piece for piece in make.content.pieces if piece.wearable])
    size, town = chance.choice(SIZES), chance.choice(make.content.boutiques).town
    name, day = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", f"2026-06-{chance.randrange(1, 29):02d}"
    ask, facts = submitted(
        make,
        "fitting",
        "The fitting",
        (
            Entered("piece", piece.name, f"of the {piece.name}"),
            Entered("size", size, f"in size {size}"),
            Entered("boutique", town, f"in the {town} boutique"),
            Entered("day", day, f"on {day}"),
            Entered("name", name, f"for {name}"),
        ),
    )
    route = (
        *_piece(piece).way,
        Open("Try it on"),
        Choose("Size", size),
        Choose("Boutique", town),
        Fill("Day", day),
        Fill("Full name", name),
        Fill("E-mail", f"{name.split()[0].lower()}@example.com"),
        Press(RESERVE),
        See(("Fitting reserved",)),
    )
    openings = (
        "Reserve a fitting {}. The rest of the form is up to you.",
        f"At {make.site.brand}, arrange a fitting {{}}; invent the rest.",
    )
    return Draft(openings, (Group(ask, "The fitting", facts, route),))
