"""A football league: a table that can be sorted, fixtures and results by round, clubs, players, statistics, predictions.

Tasks: look up clubs, players and matches, compare, find the most in the table, follow a club's results, send a prediction.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.scenery import CREST, PITCH
from webgym.worlds.sites.league_content import PLAYED, Club, Match, Player, Season, Standing, season

COLUMNS: Final = ("#", "Club", "Pts", "GF", "GA", "W", "D", "L", "P")
PREDICT: Final = "Send prediction"


def menu(site: Site, content: Season) -> tuple[b.Link, ...]:
    rounds = tuple(b.Link(f"Round {n}", f"/rounds/{n}") for n in range(1, content.rounds + 1))
    return (
        b.Link("Table", "/table"),
        b.Link("Fixtures and results", f"/rounds/{PLAYED}", rounds),
        b.Link("Clubs", "/clubs"),
        b.Link("Players", "/players"),
        b.Link("Statistics", "/statistics"),
        b.Link("Predict a score", "/predict"),
    )


def findable(content: Season) -> tuple[Entry, ...]:
    clubs = [Entry(club.name, club.href, f"Club, {club.ground}") for club in content.clubs]
    players = [Entry(player.name, player.href, f"{player.position}, {player.club}") for player in content.players()]
    games = [Entry(match.name, match.href, f"Round {match.round}") for match in content.matches]
    return (*games, *clubs, *players)


def tagline(site: Site, content: Season) -> str:
    return f"{len(content.clubs)} clubs, {content.rounds} rounds, one table. Round {PLAYED} has been played."


kind: Final = Kind(
    "league",
    subdomain="Sports & Fitness",
    words=("league", "football", "soccer", "premiership", "matchday", "kickoff", "sports"),
    content=season,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _numbers(*values: int) -> tuple[b.Cell, ...]:
    return tuple(b.Cell(str(value), number=True) for value in values)


def _table(content: Season, heading: str, most: int = 99) -> b.Table:
    def row(place: int, one: Standing) -> tuple[b.Cell | str, ...]:
        name = b.Cell(one.club.name, one.club.href)
        played = one.won + one.drawn + one.lost
        rest = _numbers(one.points, one.scored, one.conceded, one.won, one.drawn, one.lost, played)
        return (*_numbers(place), name, *rest)

    rows = tuple(row(place, one) for place, one in enumerate(content.table[:most], 1))
    note = "Pts points, GF goals scored, GA goals conceded, W won, D drawn, L lost, P played. Press a name to sort."
    return b.Table(heading, COLUMNS, rows, sortable=most > len(rows), note=note if most > len(rows) else "")


def _games(matches: list[Match], heading: str) -> b.Table:
    rows = tuple(
        (match.day.isoformat(), b.Cell(match.name, match.href), b.Cell(match.score, number=True), match.home.ground)
        for match in matches
    )
    return b.Table(heading, ("Date", "Match", "Result or time", "Ground"), rows)


def _scorers(content: Season) -> list[Player]:
    return sorted(content.players(), key=lambda player: (-player.goals, player.minutes, player.name))


@kind.page("/")
def home(visit: Visit[Season]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    leader, top = content.table[0].club, _scorers(content)
    game = chance.choice(content.round(PLAYED + 1))
    hero = b.Hero(
        f"{leader.name} lead after round {PLAYED}",
        f"Next up: {game.name} at {game.home.ground}, {game.day.isoformat()} at {game.time}.",
        b.Picture(PITCH, f"hero-{leader.slug}", 900, 600),
        b.Link("See the whole table", "/table"),
        b.Link("Match preview", game.href),
    )
    standings = _table(content, "At the top", 6)
    results = _games(content.round(PLAYED), f"Results of round {PLAYED}")
    coming = _games(content.round(PLAYED + 1)[:5], "Coming up")
    goals = b.Chart("Top scorers", tuple((player.name.split()[1], float(player.goals)) for player in top[:6]))
    clubs = b.CardRow(
        "Clubs to watch", tuple(_club_card(one.club) for one in content.table[:4]), b.Link("All clubs", "/clubs")
    )
    figures = b.Stats(
        (
            ("Goals so far", str(sum(sum(match.goals) for match in content.matches if match.goals))),
            ("Matches played", str(sum(match.goals is not None for match in content.matches))),
            ("Leaders", leader.name),
        )
    )
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, b.Columns(((results,), (goals,))), standings, clubs),
        (figures, b.Columns(((standings,), (coming,))), results, clubs),
        (standings, results, goals),
        (hero, figures, results, clubs),
        (b.Columns(((results, coming), (goals, figures))), standings),
        (hero, b.Tabs((("Results", (results,)), ("Fixtures", (coming,)), ("Top of the table", (standings,)))), clubs),
    )
    return b.Page("Home", orders[site.style.layout])


@kind.page("/table")
def table(visit: Visit[Season]) -> b.Response:
    return b.Page("Table", (_table(visit.content, ""),), heading="League table", lead=f"After round {PLAYED}.")


@kind.page("/rounds/{number}")
def round_page(visit: Visit[Season]) -> b.Response:
    content, text = visit.content, visit.argument("number")
    number = int(text) if text.isdecimal() and len(text) < 3 else 0
    if not 0 < number <= content.rounds:
        return NOT_FOUND
    near = [n for n in (number - 1, number + 1) if 0 < n <= content.rounds]
    links = b.Buttons(links=tuple(b.Link(f"Go to round {n}", f"/rounds/{n}") for n in near))
    state = "Results" if number <= PLAYED else "Fixtures"
    rounds = b.Tiles(
        "All rounds",
        tuple(
            (b.Link(f"Round {n}", f"/rounds/{n}"), content.round(n)[0].day.isoformat(), None)
            for n in range(1, content.rounds + 1)
        ),
    )
    return b.Page(f"Round {number}", (_games(content.round(number), state), links, rounds), heading=f"Round {number}")


@kind.page("/matches/{number}")
def match_page(visit: Visit[Season]) -> b.Response:
    match = next((match for match in visit.content.matches if match.href == visit.path), None)
    if match is None:
        return NOT_FOUND
    when = f"{match.day.isoformat()} at {match.time}"
    lead = f"{match.home.name} received {match.away.name}." if match.goals else f"{match.home.name} await {match.away.name}."
    rows = match_rows(match)
    forms = tuple((club.name, (_games(visit.content.of(club)[:PLAYED], ""),)) for club in (match.home, match.away))
    links = () if match.goals else (b.Link("Predict a score", f"/predict?match={match.number}"),)
    detail = b.Detail(
        match.name,
        (b.Picture(PITCH, f"match-{match.number}", 720, 480),),
        price=match.score if match.goals else "",
        badge="Full time" if match.goals else "To be played",
        lead=f"Round {match.round}, {when}. {lead}",
        rows=rows,
        links=links,
    )
    crumbs = (b.Link(f"Round {match.round}", f"/rounds/{match.round}"), b.Link(match.name, match.href))
    return b.Page(match.name, (detail, b.Tabs(forms)), crumbs)


def match_rows(match: Match) -> tuple[tuple[str, str], ...]:
    rows = (("Date", match.day.isoformat()), ("Kick-off", match.time), ("Ground", match.home.ground))
    return (*rows, ("Referee", match.referee), *((("Spectators", f"{match.crowd:,}"),) if match.goals else ()))


def _club_card(club: Club) -> b.Card:
    text = f"Coached by {club.coach}, playing in {club.colours}."
    return b.Card(club.name, club.href, b.Picture(CREST, club.slug), meta=(club.ground, f"{club.seats:,} seats"), text=text)


@kind.page("/clubs")
def clubs(visit: Visit[Season]) -> b.Response:
    listing = Listing(
        visit.content.clubs,
        _club_card,
        lambda club: f"{club.name} {club.ground}",
        sorts=(
            Sort("seats", "Largest ground", lambda club: club.seats, down=True),
            Sort("old", "Oldest club", lambda club: club.founded),
        ),
        per_page=20,
    )
    return b.Page("Clubs", (visit.listing(listing, "Clubs"),))


@kind.page("/clubs/{slug}")
def club_page(visit: Visit[Season]) -> b.Response:
    club = next((club for club in visit.content.clubs if club.href == visit.path), None)
    if club is None:
        return NOT_FOUND
    squad = b.Table(
        "",
        ("Number", "Player", "Position", "Age", "Goals"),
        tuple(
            (
                *_numbers(player.number),
                b.Cell(player.name, player.href),
                player.position,
                *_numbers(player.age, player.goals),
            )
            for player in club.players
        ),
        sortable=True,
    )
    games = visit.content.of(club)
    past, future = [match for match in games if match.goals], [match for match in games if not match.goals]
    parts = b.Tabs((("Squad", (squad,)), ("Results", (_games(past, ""),)), ("Fixtures", (_games(future, ""),))))
    detail = b.Detail(
        club.name,
        (b.Picture(CREST, club.slug, 480, 480),),
        lead=f"{club.name} have played in {club.colours} since the beginning.",
        rows=club_rows(club),
    )
    return b.Page(club.name, (detail, parts), (b.Link("Clubs", "/clubs"), b.Link(club.name, club.href)))


def club_rows(club: Club) -> tuple[tuple[str, str], ...]:
    return (
        ("Ground", club.ground),
        ("Seats", f"{club.seats:,}"),
        ("Founded in", str(club.founded)),
        ("Head coach", club.coach),
        ("Colours", club.colours),
    )


def _player_card(player: Player) -> b.Card:
    meta = (player.club, player.position, f"{player.goals} goals")
    return b.Card(player.name, player.href, b.Picture("face", player.slug), meta=meta)


@kind.page("/players")
def players(visit: Visit[Season]) -> b.Response:
    listing = Listing(
        visit.content.players(),
        _player_card,
        lambda player: f"{player.name} {player.club} {player.position}",
        (Facet("position", "Position", lambda player: player.position), Facet("club", "Club", lambda player: player.club)),
        (Limit("age", "Oldest age", lambda player: player.age, 18, 40, 1),),
        (
            Sort("goals", "Most goals", lambda player: player.goals, down=True),
            Sort("young", "Youngest first", lambda player: player.age),
            Sort("tall", "Tallest first", lambda player: player.height, down=True),
        ),
        per_page=16,
    )
    return b.Page("Players", (visit.listing(listing, "Players"),))


@kind.page("/players/{slug}")
def player_page(visit: Visit[Season]) -> b.Response:
    player = next((player for player in visit.content.players() if player.href == visit.path), None)
    if player is None:
        return NOT_FOUND
    detail = b.Detail(
        player.name,
        (b.Picture("face", player.slug, 480, 480),),
        badge=player.position,
        lead=f"{player.name} plays for {player.club}.",
        rows=player_rows(player),
    )
    return b.Page(player.name, (detail,), (b.Link("Players", "/players"), b.Link(player.name, player.href)))


def player_rows(player: Player) -> tuple[tuple[str, str], ...]:
    return (
        ("Club", player.club),
        ("Shirt number", str(player.number)),
        ("Age", f"{player.age} years"),
        ("Height", f"{player.height} cm"),
        ("Goals this season", str(player.goals)),
        ("Minutes played", f"{player.minutes} min"),
    )


@kind.page("/statistics")
def statistics(visit: Visit[Season]) -> b.Response:
    rows: tuple[tuple[b.Cell | str, ...], ...] = tuple(
        (b.Cell(player.name, player.href), player.club, *_numbers(player.goals, player.minutes))
        for player in _scorers(visit.content)[:25]
    )
    attack = b.Chart("Goals by club", tuple((one.club.town, float(one.scored)) for one in visit.content.table[:8]))
    scorers = b.Table("Top scorers", ("Player", "Club", "Goals", "Minutes"), rows, sortable=True)
    return b.Page("Statistics", (attack, scorers), heading="Statistics")


@kind.page("/predict")
def predict(visit: Visit[Season]) -> b.Response:
    games = visit.content.round(PLAYED + 1)
    chosen = next((match.name for match in games if str(match.number) == visit.query.get("match")), "")
    form = Form.of(
        "predict",
        Field("match", "Match", "select", tuple(match.name for match in games)),
        Field("home", "Goals of the home club", "number", least=0, most=20),
        Field("away", "Goals of the away club", "number", least=0, most=20),
        Field("name", "Your name"),
        Field("sure", "How sure are you, in percent", "slider", least=0, most=100, step=10, value="50"),
        submit=PREDICT,
    )
    values = visit.filled(form)
    if values is None:
        side = _games(games, f"Round {PLAYED + 1}")
        return b.Page(
            "Predict a score", (b.Columns(((visit.form(form, match=chosen),), (side,))),), heading="Predict a score"
        )
    visit.memory.record("prediction", values)
    text = f"{values['match']}: {values['home']}–{values['away']}"
    return b.Page("Prediction received", (b.Notice(text, "good", "Prediction received"),), heading="Thank you")
