"""Tasks of the league: look up clubs, players and matches, compare, read the table, follow a club, predict a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, Search, See, Slide, SortBy
from webgym.worlds.sites.league import PREDICT, kind
from webgym.worlds.sites.league_content import PLAYED, POSITIONS, Club, Match, Player, Season, Standing
from webgym.worlds.subjects import Known, Topic, alone
from webgym.worlds.words import FAMILY, GIVEN, listed


def _club(club: Club) -> Topic:
    known = (
        Known("ground", club.ground),
        Known("number of seats of the ground", str(club.seats)),
        Known("year of foundation", str(club.founded)),
        Known("head coach", club.coach),
        Known("colours", club.colours),
    )
    return Topic(club.name, club.href, club.name, known, (Open("Clubs"), Open(club.name)))


def _player(player: Player) -> Topic:
    known = (
        Known("club", player.club),
        Known("shirt number", str(player.number)),
        Known("age", str(player.age), f"{player.age} years"),
        Known("height in centimetres", str(player.height), f"{player.height} cm"),
        Known("position", player.position),
        Known("number of minutes played", str(player.minutes), f"{player.minutes} min"),
    )
    return Topic(player.name, player.href, f"the player {player.name}", known)


def _other_scores(match: Match) -> tuple[str, ...]:
    """The score as others write it: 2-1, 2:1, with spaces or without."""
    return tuple(match.score.replace("–", sign) for sign in ("-", ":", " - ", " : ", " – "))


def _match(match: Match) -> Topic:
    known = [Known("referee", match.referee), Known("date", match.day.isoformat()), Known("kick-off time", match.time)]
    if match.goals:
        score = Known("final score", match.score, others=_other_scores(match))
        known += [Known("number of spectators", str(match.crowd)), score]
    name = f"the match {match.name}"
    return Topic(match.name, match.href, name, tuple(known), (Search(match.name), Open(match.name)))


def _topic(thing: Club | Player | Match) -> Topic:
    match thing:
        case Club():
            return _club(thing)
        case Player():
            return _player(thing)
        case Match():
            return _match(thing)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Season]) -> Draft:
    sort: tuple[Club | Player | Match, ...] = make.one(
        (make.content.clubs, tuple(make.content.players()), make.content.matches[: PLAYED * 7])
    )
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "For my match report I need {}.",
        "What does the league's site give as {}?",
    )
    return look_up(make, sort, _topic, openings)


@kind.task("compare", [(3, 5)])
def grounds(make: Maker[Season]) -> Draft:
    clubs, players = make.content.clubs, make.content.players()
    turn = make.chance.randrange(3)
    if turn == 0:
        return compare(
            make, clubs, _club, "number of seats of the ground", lambda club: club.seats, "one with the most seats"
        )
    if turn == 1:
        return compare(make, clubs, _club, "year of foundation", lambda club: club.founded, "oldest", most=False)
    return compare(make, players, _player, "height in centimetres", lambda player: player.height, "tallest")


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Season]) -> Draft:
    """The tallest or youngest player of a club, or of a position."""
    by = make.one(("Position", "Club"))
    value = make.one(POSITIONS if by == "Position" else [club.name for club in make.content.clubs])
    inside = [player for player in make.content.players() if value in (player.position, player.club)]
    if make.chance.random() < 0.5:
        best, what, order = one_best(make, inside, lambda player: player.height), "tallest", "Tallest first"
    else:
        best, what, order = one_best(make, inside, lambda player: player.age, most=False), "youngest", "Youngest first"
    ask = f"the {what} {value.lower()} of the league" if by == "Position" else f"the {what} player of {value}"
    route = (Open("Players"), Filter(by, value), SortBy(order), Open(best.name))
    return best_fit(
        make,
        _player(best),
        map(_player, inside),
        ask,
        route,
        ("Find {}.", "Use the list of players to find {}.", "Look for {}."),
        its="their",
    )


_SIDES: Final[Mapping[str, Callable[[Standing], int]]] = {
    "points": lambda row: row.points,
    "wins": lambda row: row.won,
    "goals scored": lambda row: row.scored,
    "goals conceded": lambda row: row.conceded,
}


@kind.task("table", [(1, 6)])
def standings(make: Maker[Season]) -> Draft:
    """Points, wins and goals of clubs, from the table."""
    side = make.one(sorted(_SIDES))
    rows: list[Standing] = make.some(make.content.table, make.shape[0])
    facts = tuple(
        Fact(
            f"{row.club.name}: {side} {_SIDES[side](row)}.",
            (
                Shown(make.host, "/table", (row.club.name, str(_SIDES[side](row))), row.club.name),
                Says(str(_SIDES[side](row))),
            ),
            f"{row.club.name}: {_SIDES[side](row)} {side}",
        )
        for row in rows
    )
    ask = f"the number of {side} of {listed([row.club.name for row in rows])}"
    route: tuple[Move, ...] = (Open("Table"), *(See((row.club.name,)) for row in rows))
    return Draft(
        ("Find {} in the league table.", f"After round {PLAYED}, report {{}}.", "Read off the table {}."),
        (Group(ask, "The table", facts, route),),
    )


@kind.task("most", [(2, 3)])
def most(make: Maker[Season]) -> Draft:
    """The club that leads a column of the table, which has to be sorted or searched for it."""
    side, column = make.one((("goals scored", "GF"), ("goals conceded", "GA"), ("wins", "W")))
    value = _SIDES[side]
    best: Standing = one_best(make, make.content.table, lambda row: value(row))
    shown = Shown(make.host, "/table", (best.club.name, str(value(best))), best.club.name)
    facts = [Fact(f"It has {value(best)} {side}.", (shown, Says(str(value(best)))), f"{side}: {value(best)}")]
    route: list[Move] = [Open("Table"), Press(column), Press(column), See((best.club.name, str(value(best))))]
    ask = f"which club has the most {side} so far, and how many"
    if make.shape[0] == 3:
        facts.append(make.find(best.club.href, best.club.name, "head coach", best.club.coach))
        route += [Open(best.club.name), See((best.club.coach,))]
        ask += ", and who its head coach is"
    text = f"Most {side}: {best.club.name}."
    says = alone(make, best.club.name, [row.club.name for row in make.content.table], text, facts)
    facts.insert(0, Fact(text, (shown, says), f"the club is {best.club.name}"))
    return Draft(("Find out {}.", "Tell me {}.", "I wonder {}."), (Group(ask, f"Most {side}", tuple(facts), tuple(route)),))


@kind.task("collect", [(4, 8)])
def follow(make: Maker[Season]) -> Draft:
    """The results of a club, or one side of several clubs or players."""
    count = make.shape[0]
    if make.chance.random() < 0.4:
        clubs = make.some(make.content.clubs, count)
        return each(make, [_club(club) for club in clubs], make.one(("ground", "head coach", "year of foundation")))
    club = make.one(make.content.clubs)
    games = make.some([match for match in make.content.of(club) if match.goals], count)
    if len(games) < count:
        raise CannotMake("too few matches")
    facts = []
    for match in games:
        says = Says(match.score, _other_scores(match))
        shown = Shown(make.host, club.href, (match.name, match.score), match.name)
        facts.append(Fact(f"{match.name} ended {match.score}.", (shown, says), f"{match.name}: {match.score}"))
    names = listed([match.name for match in games])
    route = (*_club(club).way, Press("Results"), *(See((match.name, match.score)) for match in games))
    return Draft(
        ("What were {}?", "Find {}.", "List {}."),
        (Group(f"the final scores of these matches of {club.name}: {names}", "Results", tuple(facts), route),),
    )


@kind.task("predict", [(1, 4)])
def predict(make: Maker[Season]) -> Draft:
    chance, match = make.chance, make.one(make.content.round(PLAYED + 1))
    home, away, sure = chance.randrange(6), chance.randrange(6), chance.randrange(11) * 10
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    ask, facts = submitted(
        make,
        "prediction",
        "The prediction",
        (
            Entered("match", match.name, f"for the match {match.name}"),
            Entered("home", str(home), f"with {home} goals of the home club"),
            Entered("away", str(away), f"{away} goals of the away club"),
            Entered("sure", str(sure), f"being {sure} percent sure"),
        ),
    )
    route = (
        Open("Predict a score"),
        Choose("Match", match.name),
        Fill("Goals of the home club", str(home)),
        Fill("Goals of the away club", str(away)),
        Fill("Your name", name),
        Slide("How sure are you, in percent", float(sure)),
        Press(PREDICT),
        See(("Prediction received",)),
    )
    openings = (
        "Send a prediction {}. Invent what else the form asks for.",
        f"On {make.site.brand}, predict a score {{}}; the rest is up to you.",
    )
    return Draft(openings, (Group(ask, "The prediction", facts, route),))
