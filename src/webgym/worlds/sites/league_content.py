"""What a league holds: clubs, squads, a round-robin of matches, and the table that follows from the results.

Everything agrees: a club's points are those of its matches, a match is played where its home club plays, and the goals of a
club's players are those the club has scored.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, phrases

SUFFIXES: Final = phrases("United|Rovers|Athletic|Wanderers|City|Harriers|Albion|Rangers|Town|Falcons")
GROUNDS: Final = phrases("Park|Road|Lane|Arena|Field|Meadow|Stadium|Gardens")
COLOURS: Final = phrases("red and white|navy|green and gold|sky blue|black and white|claret|orange|purple|yellow and blue")
POSITIONS: Final = ("Goalkeeper", "Defender", "Midfielder", "Forward")
_PLACES: Final = (0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3)
CLUBS: Final = 14
PLAYED: Final = 8
FIRST_DAY: Final = date(2026, 2, 7)


@dataclass(frozen=True)
class Player:
    slug: str
    name: str
    club: str
    number: int
    position: str
    age: int
    height: int
    goals: int
    minutes: int

    @property
    def href(self) -> str:
        return f"/players/{self.slug}"


@dataclass(frozen=True)
class Club:
    slug: str
    name: str
    town: str
    ground: str
    seats: int
    founded: int
    coach: str
    colours: str
    players: tuple[Player, ...]

    @property
    def href(self) -> str:
        return f"/clubs/{self.slug}"


@dataclass(frozen=True)
class Match:
    number: int
    round: int
    day: date
    time: str
    home: Club
    away: Club
    goals: tuple[int, int] | None  # None: still to be played
    crowd: int
    referee: str

    @property
    def href(self) -> str:
        return f"/matches/{self.number}"

    @property
    def name(self) -> str:
        return f"{self.home.name} v {self.away.name}"

    @property
    def score(self) -> str:
        return f"{self.goals[0]}–{self.goals[1]}" if self.goals else self.time


@dataclass(frozen=True)
class Standing:
    club: Club
    won: int
    drawn: int
    lost: int
    scored: int
    conceded: int

    @property
    def points(self) -> int:
        return 3 * self.won + self.drawn


@dataclass(frozen=True)
class Season:
    clubs: tuple[Club, ...]
    matches: tuple[Match, ...]
    table: tuple[Standing, ...]

    def players(self) -> list[Player]:
        return [player for club in self.clubs for player in club.players]

    def of(self, club: Club) -> list[Match]:
        return [match for match in self.matches if club in (match.home, match.away)]

    def round(self, number: int) -> list[Match]:
        return [match for match in self.matches if match.round == number]

    @property
    def rounds(self) -> int:
        return self.matches[-1].round


def season(site: Site) -> Season:
    chance = site.draw("league")
    pairs = _pairs(chance.sample(range(CLUBS), CLUBS))
    results = {pair: (_goals(chance, 1.6), _goals(chance, 1.2)) for pairing in pairs[:PLAYED] for pair in pairing}
    scored = [0] * CLUBS
    for (home, away), (mine, yours) in results.items():
        scored[home] += mine
        scored[away] += yours
    clubs = _clubs(chance, scored)
    matches: list[Match] = []
    for number, pairing in enumerate(pairs, 1):
        for place, (home, away) in enumerate(pairing):
            crowd = int(clubs[home].seats * chance.uniform(0.35, 0.98))
            matches.append(
                Match(
                    len(matches) + 1,
                    number,
                    FIRST_DAY + timedelta(7 * (number - 1) + place % 2),
                    f"{(13, 15, 17, 19)[place % 4]}:{chance.choice(('00', '30'))}",
                    clubs[home],
                    clubs[away],
                    results.get((home, away)),
                    crowd,
                    f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
                )
            )
    return Season(clubs, tuple(matches), _table(clubs, matches))


def _pairs(order: list[int]) -> list[list[tuple[int, int]]]:
    """A single round-robin by the circle method; who is at home alternates."""
    rounds = []
    for number in range(len(order) - 1):
        half = len(order) // 2
        met = [(order[n], order[-1 - n]) for n in range(half)]
        rounds.append([(b, a) if (number + place) % 2 else (a, b) for place, (a, b) in enumerate(met)])
        order = [order[0], order[-1], *order[1:-1]]
    return rounds


def _goals(chance: random.Random, mean: float) -> int:
    return sum(chance.random() < mean / 5 for _ in range(5))


def _clubs(chance: random.Random, scored: list[int]) -> tuple[Club, ...]:
    towns, taken = chance.sample(CITIES, CLUBS), set[str]()
    clubs = []
    for town, goals in zip(towns, scored, strict=True):
        name = f"{town} {chance.choice(SUFFIXES)}"
        shares = [0] * len(_PLACES)
        for _ in range(goals):
            shares[chance.choice((3, 5, 6, 7, 8, 9, 10, 10, 11, 11, 11, 11))] += 1
        numbers = chance.sample(range(2, 40), len(_PLACES) - 1)
        players = []
        for place, share in enumerate(shares):
            who = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
            while who in taken:
                who = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
            taken.add(who)
            players.append(
                Player(
                    who.lower().replace(" ", "-"),
                    who,
                    name,
                    numbers[place - 1] if place else 1,
                    POSITIONS[_PLACES[place]],
                    chance.randrange(18, 37),
                    chance.randrange(165, 204),
                    share,
                    chance.randrange(90, 90 * PLAYED + 1) if place else 90 * PLAYED,
                )
            )
        clubs.append(
            Club(
                town.lower(),
                name,
                town,
                f"{chance.choice(FAMILY)} {chance.choice(GROUNDS)}",
                chance.randrange(40, 480) * 100,
                chance.randrange(1876, 1975),
                f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
                chance.choice(COLOURS),
                tuple(players),
            )
        )
    return tuple(clubs)


def _table(clubs: tuple[Club, ...], matches: list[Match]) -> tuple[Standing, ...]:
    rows = {club.slug: [0, 0, 0, 0, 0] for club in clubs}
    for match in matches:
        if match.goals is None:
            continue
        for club, mine, yours in ((match.home, *match.goals), (match.away, *match.goals[::-1])):
            row = rows[club.slug]
            row[0 if mine > yours else 1 if mine == yours else 2] += 1
            row[3] += mine
            row[4] += yours
    standings = [Standing(club, *rows[club.slug]) for club in clubs]
    return tuple(
        sorted(standings, key=lambda row: (-row.points, row.conceded - row.scored, -row.scored, row.club.name)),
    )
