"""A game store: games with screenshots, requirements and achievements; studios; sales; a cart; an age gate.

Pictures of the trailer come late. Tasks: look up games and studios, compare, narrow down with a slider, gather, buy.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.cart import Article, sells
from webgym.worlds.faults import LatePicture, LostPicture
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.scenery import POSTER
from webgym.worlds.sites.games_content import GENRES, Game, Shelf, Studio, shelf
from webgym.worlds.words import FAMILY, GIVEN, money

BUY: Final = "Add to cart"


def menu(site: Site, content: Shelf) -> tuple[b.Link, ...]:
    inside = tuple(b.Link(f"All {genre.lower()}", f"/games?genre={genre.replace(' ', '+')}") for genre in GENRES)
    return (
        b.Link("Browse games", "/games", inside),
        b.Link("Specials", "/specials"),
        b.Link("Studios", "/studios"),
        b.Link("Charts", "/charts"),
        b.Link("Support", "/support"),
    )


def findable(content: Shelf) -> tuple[Entry, ...]:
    games = [Entry(game.name, game.href, f"{game.genre}, {game.platform}") for game in content.games]
    return (*games, *(Entry(studio.name, studio.href, f"Studio in {studio.town}") for studio in content.studios))


def tagline(site: Site, content: Shelf) -> str:
    return f"{len(content.games)} games from {len(content.studios)} studios. Yours to keep, without a launcher."


kind: Final = Kind(
    "games",
    subdomain="Gaming & Virtual Worlds",
    words=("games", "arcade", "gaming", "quests", "pixels", "playstore", "respawn"),
    content=shelf,
    nav=menu,
    entries=findable,
    tagline=tagline,
    cart=True,
)


def _card(game: Game) -> b.Card:
    return b.Card(
        game.name,
        game.href,
        b.Picture(POSTER, f"game-{game.slug}"),
        money(game.cents),
        money(game.was) if game.was else "",
        "On sale" if game.was else "",
        (game.genre, game.platform),
        stars=game.stars,
        votes=game.votes,
    )


@kind.page("/")
def home(visit: Visit[Shelf]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    picks = chance.sample(content.games, 10)
    star = picks[0]
    hero = b.Hero(
        star.name,
        f"{star.genre} for {star.platform} by {star.studio.name}. {money(star.cents)}.",
        b.Picture(POSTER, f"game-{star.slug}", 900, 600),
        b.Link(f"Play {star.name}", star.href),
        b.Link("Browse games", "/games"),
    )
    tiles = b.Tiles(
        "By genre", tuple((b.Link(genre, f"/games?genre={genre.replace(' ', '+')}"), "", None) for genre in GENRES)
    )
    sale = b.CardRow(
        "Specials this week",
        tuple(_card(game) for game in content.games if game.was)[:6],
        b.Link("All of them", "/specials"),
    )
    new = sorted(content.games, key=lambda game: game.released, reverse=True)[:8]
    fresh = b.Table(
        "New releases",
        ("Game", "Released on", "Price"),
        tuple((b.Cell(game.name, game.href), game.released, b.Cell(money(game.cents), number=True)) for game in new),
    )
    staff = b.CardRow("Picked by our team", tuple(map(_card, picks[1:4])), big=True)
    live = b.CardRow(
        "Live now",
        (
            b.Card(f"Trailer: {picks[4].name}", picks[4].href, LatePicture("abstract", "trailer", 600, 340, "Trailer")),
            b.Card(
                f"Stream: {picks[5].name}",
                picks[5].href,
                LostPicture("abstract", "stream", 600, 340, "The stream is offline"),
            ),
        ),
    )
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, sale, b.Columns(((fresh,), (tiles,))), live),
        (staff, b.Columns(((fresh,), (live,))), sale),
        (hero, tiles, fresh, live),
        (sale, staff, live, tiles),
        (hero, staff, b.Columns(((live,), (fresh,)))),
        (hero, b.Tabs((("New", (fresh,)), ("Specials", (sale,)), ("Team picks", (staff,)))), live),
    )
    return b.Page("Home", orders[site.style.layout])


def _listing(games: tuple[Game, ...], endless: bool) -> Listing[Game]:
    return Listing(
        games,
        _card,
        lambda game: f"{game.name} {game.genre} {game.platform} {game.studio.name}",
        (
            Facet("genre", "Genre", lambda game: game.genre),
            Facet("platform", "Platform", lambda game: game.platform),
            Facet("studio", "Studio", lambda game: game.studio.name),
        ),
        (Limit("max", "Maximum price", lambda game: game.cents / 100, 0, 75, 5, "$"),),
        (
            Sort("cheap", "Price: low to high", lambda game: game.cents),
            Sort("new", "Newest first", lambda game: game.released, down=True),
            Sort("long", "Longest playing time", lambda game: game.hours, down=True),
        ),
        endless=endless,
    )


@kind.page("/games")
def games(visit: Visit[Shelf]) -> b.Response:
    endless = visit.site.number("endless") % 2 == 0
    return b.Page("Games", (visit.listing(_listing(visit.content.games, endless), "All games"),))


@kind.page("/specials")
def specials(visit: Visit[Shelf]) -> b.Response:
    cheaper = tuple(game for game in visit.content.games if game.was)
    return b.Page("Specials", (visit.listing(_listing(cheaper, False), "On sale now"),))


@kind.page("/games/{slug}")
def game_page(visit: Visit[Shelf]) -> b.Response:
    game = visit.content.by_slug.get(visit.argument("slug"))
    if game is None:
        return NOT_FOUND
    chance = visit.site.draw("game", game.slug)
    hook = chance.choice(
        (
            "Build, lose everything, build better.",
            "A quiet world with a loud secret.",
            "One more turn, and then one more.",
            "Friendships will be tested.",
        )
    )
    detail = b.Detail(
        game.name,
        tuple(b.Picture(POSTER, f"game-{game.slug}{f'-{n}' if n else ''}", 720, 480) for n in range(4)),
        money(game.cents),
        money(game.was) if game.was else "",
        game.genre,
        game.stars,
        game.votes,
        hook,
        game.rows,
        (b.Button(BUY, "/cart/add", (("sku", game.slug),), (("count", "Copies", ("1", "2", "3", "4")),)),),
        (b.Link(f"More by {game.studio.name}", game.studio.href),),
    )
    said = b.Reviews("", tuple(_review(visit, game, n) for n in range(3)))
    trophies = b.Facts(
        "", (("Achievements", f"{game.achievements} to unlock"), ("Rarest", f"{chance.randrange(1, 9)} percent of players"))
    )
    parts = b.Tabs((("Requirements", (b.Facts("", game.needs),)), ("Achievements", (trophies,)), ("Reviews", (said,))))
    gate: tuple[b.Block, ...] = ()
    if game.age == "18" and visit.query.get("adult") != "yes":
        gate = (
            b.Modal(
                "",
                "For adults",
                (b.Prose("", ("This game is rated 18+. Close this note if you may see it.",)),),
                at_once=True,
            ),
        )
    crumbs = (b.Link("Browse games", "/games"), b.Link(game.name, game.href))
    near = [other for other in visit.content.games if other.genre == game.genre and other is not game]
    return b.Page(game.name, (*gate, detail, parts, b.CardRow("Similar games", tuple(map(_card, near[:4])))), crumbs)


def _review(visit: Visit[Shelf], game: Game, number: int) -> b.Review:
    chance = visit.site.draw("review", game.slug, number)
    head = chance.choice(("Hooked", "Needs a patch", "Best with friends", "Gorgeous", "Too hard for me"))
    text = chance.choice(("I looked up and it was morning.", "Runs well on an old machine.", "The music alone is worth it."))
    return b.Review(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.randrange(2, 6), head, text)


def _studio_card(studio: Studio) -> b.Card:
    meta = (studio.town, f"Founded in {studio.founded}")
    return b.Card(studio.name, studio.href, b.Picture("abstract", studio.slug), meta=meta)


@kind.page("/studios")
def studios(visit: Visit[Shelf]) -> b.Response:
    return b.Page("Studios", (b.CardRow("", tuple(map(_studio_card, visit.content.studios))),), heading="Studios")


@kind.page("/studios/{slug}")
def studio_page(visit: Visit[Shelf]) -> b.Response:
    studio = next((studio for studio in visit.content.studios if studio.href == visit.path), None)
    if studio is None:
        return NOT_FOUND
    made = tuple(_card(game) for game in visit.content.games if game.studio is studio)
    rows = (("Town", studio.town), ("Founded in", str(studio.founded)), ("Staff", f"{studio.staff} people"))
    detail = b.Detail(
        studio.name, (b.Picture("city", studio.slug, 720, 420),), lead="Independent, and staying so.", rows=rows
    )
    crumbs = (b.Link("Studios", "/studios"), b.Link(studio.name, studio.href))
    return b.Page(studio.name, (detail, b.CardRow(f"Games by {studio.name}", made)), crumbs)


@kind.page("/charts")
def charts(visit: Visit[Shelf]) -> b.Response:
    loved = sorted(visit.content.games, key=lambda game: (-game.stars, -game.votes))[:30]
    rows = tuple(
        (
            b.Cell(game.name, game.href),
            game.genre,
            b.Cell(f"{game.stars:.1f}", number=True),
            b.Cell(f"{game.votes:,}", number=True),
        )
        for game in loved
    )
    bars = b.Chart(
        "Longest games, in hours",
        tuple((game.name, float(game.hours)) for game in sorted(loved, key=lambda one: -one.hours)[:6]),
    )
    return b.Page(
        "Charts", (b.Table("Best rated", ("Game", "Genre", "Rating", "Votes"), rows, sortable=True), bars), heading="Charts"
    )


@kind.page("/support")
def support(visit: Visit[Shelf]) -> b.Response:
    chance = visit.site.draw("support")
    answers = (
        ("Can I get a refund?", f"Within {chance.choice((7, 14, 30))} days, if you played less than two hours."),
        ("How many devices can I use?", f"Up to {chance.randrange(2, 9)} at once."),
        ("Do you sell gift cards?", "Yes, choose them as payment method in the checkout."),
    )
    return b.Page("Support", (b.Accordion("Questions and answers", answers),), heading="Support")


def _article(game: Game | None) -> Article | None:
    if game is None:
        return None
    return Article(game.slug, game.name, game.href, game.cents, b.Picture(POSTER, f"game-{game.slug}"))


sells(kind, lambda content, sku: _article(content.by_slug.get(sku)))
