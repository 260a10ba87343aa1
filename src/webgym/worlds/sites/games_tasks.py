"""Tasks of the game store: look up, compare, narrow down with a slider, gather, buy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from webgym.worlds.asking import best_fit, compare, each, look_up, one_best
from webgym.worlds.cart import DELIVERY, Buyer, checkout_moves
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Filter, Move, Open, Press, See, Slide, SortBy
from webgym.worlds.sites.games import BUY, kind
from webgym.worlds.sites.games_content import Game, Shelf, Studio
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, listed, money


def _game(game: Game) -> Topic:
    known = (
        Known("price", money(game.cents)),
        Known("studio", game.studio.name),
        Known("release date", game.released),
        Known("platform", game.platform),
        Known("playing time in hours", str(game.hours), f"{game.hours} hours"),
        Known("age rating", f"{game.age}+", others=(game.age,)),
        Known("highest number of players", str(game.players), f"up to {game.players}"),
        Known("required memory in gigabytes", str(game.memory), f"{game.memory} GB", opener=(Press("Requirements"),)),
        Known(
            "required disk space in gigabytes", str(game.gigabytes), f"{game.gigabytes} GB", opener=(Press("Requirements"),)
        ),
        Known(
            "number of achievements",
            str(game.achievements),
            f"{game.achievements} to unlock",
            opener=(Press("Achievements"),),
        ),
    )
    return Topic(game.name, game.href, f"the game {game.name}", known)


def _studio(studio: Studio) -> Topic:
    known = (
        Known("town", studio.town),
        Known("year of foundation", str(studio.founded)),
        Known("number of staff", str(studio.staff), f"{studio.staff} people"),
    )
    return Topic(studio.name, studio.href, f"the studio {studio.name}", known, (Open("Studios"), Open(studio.name)))


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Shelf]) -> Draft:
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "Before I buy anything, tell me {}.",
        "What does the store list as {}?",
    )
    return look_up(make, make.content.games, _game, openings)


@kind.task("studios", [(1, 3), (0, 3)])
def studios(make: Maker[Shelf]) -> Draft:
    return look_up(make, make.content.studios, _studio, ("Find {}.", "Look up {}.", "Tell me {}."))


@kind.task("compare", [(3, 5)])
def prices(make: Maker[Shelf]) -> Draft:
    games = make.content.games
    if make.chance.random() < 0.5:
        return compare(make, games, _game, "price", lambda game: game.cents, "cheapest", most=False)
    return compare(make, games, _game, "playing time in hours", lambda game: game.hours, "longest")


_FACETS: Final[Mapping[str, Callable[[Game], str]]] = {
    "Genre": lambda game: game.genre,
    "Platform": lambda game: game.platform,
    "Studio": lambda game: game.studio.name,
}


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Shelf]) -> Draft:
    """The longest or newest game of a genre, a platform or a studio, often below a price."""
    by = make.one(sorted(_FACETS))
    value_of = _FACETS[by]
    value = make.one(sorted({value_of(game) for game in make.content.games}))
    inside = [game for game in make.content.games if value_of(game) == value]
    what = f"game whose {by.lower()} is {value}"
    route: list[Move] = [Open("Browse games"), Filter(by, value)]
    if make.chance.random() < 0.5:
        most = make.chance.randrange(4, 14) * 5
        inside = [game for game in inside if game.cents <= most * 100]
        what += f" and which costs at most ${most}"
        route += [Slide("Maximum price", float(most)), Press("Apply")]
    if make.chance.random() < 0.5:
        best, word, order = one_best(make, inside, lambda game: game.hours), "longest", "Longest playing time"
    else:
        best = one_best(make, inside, lambda game: int(game.released.replace("-", "")))
        word, order = "newest", "Newest first"
    route += [SortBy(order), Open(best.name)]
    if word == "longest":
        what = what.replace("game whose", "game (by playing time) whose", 1)
    return best_fit(
        make,
        _game(best),
        map(_game, inside),
        f"the {word} {what}",
        tuple(route),
        ("Find {}.", "Use the store's filters to find {}."),
    )


@kind.task("collect", [(4, 9)])
def gather(make: Maker[Shelf]) -> Draft:
    topics = [_game(game) for game in make.some(make.content.games, make.shape[0])]
    return each(make, topics, make.one(("price", "studio", "release date", "platform")))


@kind.task("order", [(1, 4), (0, 2)])
def order(make: Maker[Shelf]) -> Draft:
    """Buy games for somebody."""
    chance, games = make.chance, make.some(make.content.games, make.shape[0])
    counts = [chance.randrange(1, 4) for _ in games]
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    buyer = Buyer(
        name,
        f"{name.split()[0].lower()}@example.com",
        f"{chance.randrange(1, 200)} {chance.choice(STREETS)} Street",
        chance.choice(CITIES),
        f"{chance.randrange(10000, 99999)}",
        chance.choice([way for way, _ in DELIVERY]),
    )
    lines, moves = ("lines", str(len(games))), list[Move]()
    for game, count in zip(games, counts, strict=True):
        moves += [*_game(game).way, Choose("Copies", str(count)), Press(BUY), See(("Your cart",))]
    facts = tuple(
        make.done(f"{count} × {game.name} are ordered.", "order", (f"item:{game.slug}", str(count)), lines)
        for game, count in zip(games, counts, strict=True)
    )
    what = listed([f"{count} × {game.name}" for game, count in zip(games, counts, strict=True)])
    groups = [Group(f"an order of {what}", "The games ordered", facts, tuple(moves))]
    if len(make.shape) > 1:
        who = (
            make.done(f"The order is in the name of {name}.", "order", ("name", name)),
            make.done(f"It is delivered by {buyer.delivery}.", "order", ("delivery", buyer.delivery)),
        )[: make.shape[1]]
        asked = f"the name {name} on it" + (f" with the delivery method {buyer.delivery}" if make.shape[1] == 2 else "")
        groups.append(Group(asked, "For whom, and how", who))
    openings = ("Place {}. The rest of the checkout is up to you.", f"On {make.site.brand}, complete {{}}; invent the rest.")
    return Draft(openings, tuple(groups), end=checkout_moves(buyer))
