"""What a game store holds: games with prices and requirements, and the studios that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, phrases

GENRES: Final = phrases("Strategy|Role-playing|Puzzle|Racing|Simulation|Platformer|Survival|Card game")
FIRST: Final = phrases("Star|Iron|Neon|Rune|Pixel|Void|Ember|Storm|Cloud|Shadow|Crystal|Turbo|Quantum|Dragon|Tiny")
SECOND: Final = phrases(
    "forge|rider|keep|drift|quest|haven|breaker|tactics|valley|garden|circuit|legends|frontier|odyssey|racers"
)
PLATFORMS: Final = phrases("Windows|Linux|Console One|Pocket Deck|Cloud Play")
STUDIOS: Final = phrases(
    "Lantern Works|Moth & Moon|Nine Rooks|Paper Kite Games|Salt Lake Pixels|Tin Robot|Velvet Badger|Hexagon Bay|Owl Post"
)
AGES: Final = ("3", "7", "12", "16", "18")


@dataclass(frozen=True)
class Studio:
    slug: str
    name: str
    town: str
    founded: int
    staff: int

    @property
    def href(self) -> str:
        return f"/studios/{self.slug}"


@dataclass(frozen=True)
class Game:
    slug: str
    name: str
    genre: str
    platform: str
    studio: Studio
    cents: int
    was: int
    released: str
    age: str
    players: int
    gigabytes: int
    hours: int
    memory: int
    achievements: int
    stars: float
    votes: int

    @property
    def href(self) -> str:
        return f"/games/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Studio", self.studio.name),
            ("Released on", self.released),
            ("Platform", self.platform),
            ("Players", f"up to {self.players}"),
            ("Playing time", f"{self.hours} hours"),
            ("Age rating", f"{self.age}+"),
        )

    @property
    def needs(self) -> tuple[tuple[str, str], ...]:
        return (("Memory", f"{self.memory} GB of memory"), ("Disk space", f"{self.gigabytes} GB on disk"))


@dataclass(frozen=True)
class Shelf:
    games: tuple[Game, ...]
    studios: tuple[Studio, ...]
    by_slug: dict[str, Game]


def shelf(site: Site) -> Shelf:
    chance = site.draw("games")
    studios = tuple(
        Studio(
            name.lower().replace(" & ", "-").replace(" ", "-"),
            name,
            chance.choice(CITIES),
            chance.randrange(1991, 2023),
            chance.randrange(3, 420),
        )
        for name in chance.sample(STUDIOS, 8)
    )
    games = []
    for combo in chance.sample(range(len(FIRST) * len(SECOND)), 66):
        name = f"{FIRST[combo // len(SECOND)]}{SECOND[combo % len(SECOND)]}"
        cents = chance.randrange(3, 70) * 100 + chance.choice((49, 95, 99))
        games.append(
            Game(
                name.lower(),
                name,
                chance.choice(GENRES),
                chance.choice(PLATFORMS),
                chance.choice(studios),
                cents,
                int(cents * 1.6) // 100 * 100 + 99 if chance.random() < 0.25 else 0,
                f"{chance.randrange(2014, 2026)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}",
                chance.choice(AGES),
                chance.choice((1, 2, 4, 8, 16, 32, 64)),
                chance.randrange(1, 140),
                chance.randrange(3, 180),
                chance.choice((4, 8, 12, 16, 32)),
                chance.randrange(8, 90),
                chance.randrange(24, 51) / 10,
                chance.randrange(9, 9000),
            )
        )
    return Shelf(tuple(games), studios, {game.slug: game for game in games})
