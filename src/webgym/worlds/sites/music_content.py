"""What a music service knows: artists, their albums and tracks, charts, and the concerts they give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import CITIES, FAMILY, GIVEN, phrases

GENRES: Final = ("Folk", "Electronic", "Jazz", "Indie Rock", "Soul", "Classical", "Hip-Hop", "Ambient")
_LABELS: Final = phrases("Tin Roof|Blue Door Music|Ninth Street|Parallel Sound|Harbour Audio|Quiet Machine|Paper Lion")
_FRONT: Final = phrases("Neon|Paper|Velvet|Static|Copper|Lunar|Hollow|Electric|Wooden|Distant|Silver|Marble|Coastal|Feral")
_BACK: Final = phrases("Harbours|Foxes|Engines|Tides|Parade|Choir|Letters|Antlers|Satellites|Gardens|Wolves|Hotel|Assembly")
_TITLES: Final = phrases(
    "Slow Light|After the Rain|Northbound|Glass Houses|Kitchen Songs|Half Awake|Small Hours|Red Dust|Undertow|Long Shadow|"
    "Open Water|First Snow|Night Bus|Telegraph|Low Tide|Borrowed Time|Salt and Smoke|Wild Clover|Paper Moon|Second Nature|"
    "Static Bloom|Over the Wire|Sleepwalking|Golden Mile|The Quiet Part|Empty Rooms|Compass|Better Weather|Old Maps|Signal|"
    "Marble Arcade|Winter Garden|Loose Change|Harbour Lights|Field Notes|Velvet Rope"
)
_SONGS: Final = phrases(
    "Amber|Backroads|Carousel|Daylight|Echoes|Firefly|Gravity|Homeward|Islands|Jasmine|Kites|Lanterns|Mirage|November|Orbit|"
    "Pollen|Quicksand|Radio|Silhouette|Thunder|Umbrella|Voyager|Waterline|Xylophone|Yesteryear|Zenith|Avalanche|Bluebird|"
    "Cinders|Driftwood|Embers|Feathers|Ghostlight|Hurricane|Ivory|Juniper|Labyrinth|Meridian|Nightfall|Overpass"
)
ARTISTS: Final = 11
ALBUMS: Final = (2, 2, 3)  # of an artist, as often as it stands there
# No title may begin with another whole title, for links are found by how they begin.
_TURNS: Final = ("{} Again", "Without {}", "{} at Dawn", "Dear {}", "{} Pt. II", "No More {}")


@dataclass(frozen=True)
class Track:
    """`number` is its place on the album."""

    slug: str
    title: str
    number: int
    seconds: int
    plays: int
    writer: str
    bpm: int

    @property
    def length(self) -> str:
        return f"{self.seconds // 60}:{self.seconds % 60:02d}"


@dataclass(frozen=True)
class Album:
    slug: str
    title: str
    artist: str
    artist_slug: str
    genre: str
    year: int
    label: str
    producer: str
    number: str
    stars: float
    votes: int
    tracks: tuple[Track, ...]

    @property
    def href(self) -> str:
        return f"/album/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Artist", self.artist),
            ("Genre", self.genre),
            ("Released in", str(self.year)),
            ("Label", self.label),
            ("Producer", self.producer),
            ("Catalogue number", self.number),
            ("Tracks", f"{len(self.tracks)} tracks"),
        )

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("year of release", str(self.year)),
            Known("label", self.label),
            Known("producer", self.producer),
            Known("catalogue number", self.number),
            Known("number of tracks", str(len(self.tracks)), f"{len(self.tracks)} tracks"),
            Known("average rating", f"{self.stars:.1f}"),
        )


@dataclass(frozen=True)
class Concert:
    date: str
    city: str
    hall: str


@dataclass(frozen=True)
class Artist:
    slug: str
    name: str
    genre: str
    city: str
    formed: int
    listeners: int
    members: tuple[tuple[str, str], ...]
    albums: tuple[Album, ...]
    concerts: tuple[Concert, ...]

    @property
    def href(self) -> str:
        return f"/artist/{self.slug}"

    @property
    def known(self) -> tuple[Known, ...]:
        players = tuple(Known(f"{part} player" if part != "vocals" else "singer", who) for part, who in self.members)
        return (
            Known("home town", self.city),
            Known("year of foundation", str(self.formed)),
            Known("number of monthly listeners", str(self.listeners), f"{self.listeners:,}"),
            *players,
        )


@dataclass(frozen=True)
class Catalogue:
    artists: tuple[Artist, ...]

    @property
    def albums(self) -> tuple[Album, ...]:
        return tuple(album for artist in self.artists for album in artist.albums)

    def album(self, slug: str) -> Album | None:
        return next((album for album in self.albums if album.slug == slug), None)

    def chart(self) -> list[tuple[Track, Album]]:
        """The twenty most played tracks."""
        everything = [(track, album) for album in self.albums for track in album.tracks]
        return sorted(everything, key=lambda pair: -pair[0].plays)[:20]


def catalogue(site: Site) -> Catalogue:
    chance = site.draw("music")
    names = chance.sample([f"{front} {back}" for front in _FRONT for back in _BACK], ARTISTS)
    titles = iter(chance.sample(_TITLES, ARTISTS * max(ALBUMS)))
    songs = iter(chance.sample([turn.format(song) for song in _SONGS for turn in _TURNS], 200))
    return Catalogue(tuple(_artist(chance, name, titles, songs) for name in names))


def _person(chance: random.Random) -> str:
    return f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"


def _artist(chance: random.Random, name: str, titles: Iterator[str], songs: Iterator[str]) -> Artist:
    formed, genre, slug = chance.randrange(1984, 2019), chance.choice(GENRES), name.lower().replace(" ", "-")
    years = sorted(chance.sample(range(formed, 2026), chance.choice(ALBUMS)), reverse=True)
    albums = []
    for year in years:
        title = next(titles)
        place = title.lower().replace(" ", "-")
        tracks = tuple(_track(chance, next(songs), n) for n in range(1, chance.randrange(5, 8)))
        number = f"{chance.choice('ABCDEFGH')}{chance.choice('KLMNPRST')}-{chance.randrange(1000, 9999)}"
        label, producer = chance.choice(_LABELS), _person(chance)
        stars, votes = round(chance.uniform(3.0, 5.0), 1), chance.randrange(40, 4000)
        albums.append(Album(place, title, name, slug, genre, year, label, producer, number, stars, votes, tracks))
    days = sorted(chance.sample(range(1, 29), 3))
    halls = chance.sample(("Riverside Hall", "The Boiler Room", "Old Market Stage", "Northern Lights Arena", "Cellar 9"), 3)
    concerts = tuple(
        Concert(f"{day} {chance.choice(('June', 'July', 'August'))} 2026", city, hall)
        for day, city, hall in zip(days, chance.sample(CITIES, 3), halls, strict=True)
    )
    parts = ("vocals", *chance.sample(("guitar", "bass", "keyboard", "saxophone", "violin"), 2))
    members = tuple((part, _person(chance)) for part in parts)
    listeners = chance.randrange(8_000, 4_000_000)
    return Artist(slug, name, genre, chance.choice(CITIES), formed, listeners, members, tuple(albums), concerts)


def _track(chance: random.Random, title: str, number: int) -> Track:
    slug = title.lower().replace(" ", "-").replace(".", "")
    plays, writer = chance.randrange(9_000, 90_000_000), _person(chance)
    return Track(slug, title, number, chance.randrange(95, 420), plays, writer, chance.randrange(62, 176))
