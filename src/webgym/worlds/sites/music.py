"""A music service: albums with embedded players, artists with concerts, a chart, playlists of one's own.

Mechanics: players drawn in SVG inside frames (pressing play leaves the record `play` with `track` and `album`), tabs, a
sortable chart, endless lists, and a playlist that is collected over several pages and then saved: the record `playlist` has
`name`, `mood`, `count` and `track:<slug>` for each track.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.blocks import (
    Block,
    Button,
    Buttons,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Detail,
    Facts,
    Frame,
    Hero,
    Link,
    Notice,
    Page,
    Picture,
    Prose,
    Redirect,
    Response,
    Stats,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.fronts import arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.music_content import GENRES, Album, Artist, Catalogue, Track, catalogue
from webgym.worlds.words import listed

MOODS: Final = ("Calm", "Happy", "Focused", "Wild")
MOST: Final = 20  # tracks of a playlist
PLAYER: Final = 160  # a frame that need not scroll, so that turning the wheel over it moves the page
_PLAYLIST: Final = Form.of(
    "playlist",
    Field("name", "Playlist name"),
    Field("mood", "Mood", "radio", MOODS),
    submit="Save playlist",
)


def _menu(site: Site, content: Catalogue) -> tuple[Link, ...]:
    inside = tuple(Link(genre, f"/albums?genre={genre.replace(' ', '+')}") for genre in GENRES)
    return (
        Link("Albums", "/albums", inside),
        Link("Artists", "/artists"),
        Link("Top 20", "/chart"),
        Link("On tour", "/tour"),
        Link("My playlist", "/playlist"),
    )


def _findable(content: Catalogue) -> tuple[Entry, ...]:
    artists = [Entry(artist.name, artist.href, f"{artist.genre} from {artist.city}") for artist in content.artists]
    return (
        *artists,
        *(Entry(album.title, album.href, f"Album by {album.artist}, {album.year}") for album in content.albums),
    )


kind: Final = Kind(
    "music",
    subdomain="Music",
    words=("music", "records", "tunes", "audio", "sounds", "vinyl", "melody", "radio"),
    content=catalogue,
    nav=_menu,
    entries=_findable,
    tagline=lambda site, content: f"{len(content.albums)} albums by {len(content.artists)} artists worth your evening.",
)


@dataclass(frozen=True)
class Player(Block):
    """A player drawn in SVG. Its button posts; `wave` holds the heights of its bars."""

    title: str
    by: str
    length: str
    wave: tuple[int, ...]
    action: str
    playing: bool

    template = "music/player.html"


def _cover(album: Album, size: int = 500) -> Picture:
    return Picture("abstract", album.slug, size, size)


def _card(album: Album) -> Card:
    return Card(
        album.title,
        album.href,
        _cover(album),
        meta=(album.artist, str(album.year), album.genre),
        stars=album.stars,
        votes=album.votes,
    )


def _artist_card(artist: Artist) -> Card:
    picture = Picture("face", artist.slug, 480, 360)
    return Card(artist.name, artist.href, picture, meta=(artist.genre, artist.city), text=f"{artist.listeners:,} listeners")


def _chart_rows(content: Catalogue, count: int) -> tuple[tuple[Cell | str, ...], ...]:
    return tuple(
        (
            Cell(str(n), number=True),
            Cell(track.title, f"/album/{album.slug}/{track.slug}"),
            Cell(album.artist, f"/artist/{album.artist_slug}"),
            track.length,
            Cell(f"{track.plays:,}", number=True),
        )
        for n, (track, album) in enumerate(content.chart()[:count], 1)
    )


@kind.page("/")
def home(visit: Visit[Catalogue]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    picks = chance.sample(content.albums, 9)
    star = picks[0]
    hero = Hero(
        chance.choice(("Listen closer", "Music for the whole day", "Press play", f"New on {visit.site.brand}")),
        f"Album of the week: {star.title} by {star.artist}.",
        _cover(star, 800),
        Link("Listen now", star.href),
        Link("Browse albums", "/albums"),
    )
    player = Frame("Track of the day", f"/embed/{star.slug}/{star.tracks[0].slug}", PLAYER)
    chart = Table("Top 5", ("", "Track", "Artist", "Length", "Plays"), _chart_rows(content, 5))
    albums = CardRow("Fresh albums", tuple(map(_card, picks[1:7])), Link("All albums", "/albums"))
    artists = CardRow(
        "Artists to know", tuple(map(_artist_card, chance.sample(content.artists, 4))), Link("All artists", "/artists")
    )
    genres = Tiles("Genres", tuple((Link(genre, f"/albums?genre={genre.replace(' ', '+')}"), "", None) for genre in GENRES))
    return Page("Home", arranged(visit.site.style.layout, hero, player, albums, chart, artists, genres))


@kind.page("/albums")
def albums(visit: Visit[Catalogue]) -> Response:
    listing = Listing(
        visit.content.albums,
        _card,
        lambda album: f"{album.title} {album.artist} {album.genre} {album.label}",
        (
            Facet("genre", "Genre", lambda album: album.genre),
            Facet("label", "Label", lambda album: album.label),
            Facet("decade", "Decade", lambda album: f"{album.year // 10 * 10}s"),
        ),
        (Limit("from", "Released since", lambda album: album.year, 1980, 2025, 1, lowest=True),),
        (
            Sort("new", "Newest first", lambda album: album.year, down=True),
            Sort("old", "Oldest first", lambda album: album.year),
            Sort("title", "Title", lambda album: album.title),
        ),
        per_page=12,
        endless=visit.site.number("endless") % 2 == 0,
    )
    return Page("Albums", (visit.listing(listing, "Albums"),))


@kind.page("/album/{slug}")
def album_page(visit: Visit[Catalogue]) -> Response:
    album = visit.content.album(visit.argument("slug"))
    if album is None:
        return NOT_FOUND
    minutes = sum(track.seconds for track in album.tracks) // 60
    detail = Detail(
        album.title,
        (_cover(album, 640),),
        stars=album.stars,
        votes=album.votes,
        lead=f"{minutes} minutes by {album.artist}: {album.genre.lower()} that takes its time.",
        rows=album.rows,
        links=(Link(f"More by {album.artist}", f"/artist/{album.artist_slug}"),),
    )
    rows = tuple(
        (
            Cell(str(track.number), number=True),
            Cell(track.title, f"{album.href}/{track.slug}"),
            track.length,
            f"{track.plays:,}",
        )
        for track in album.tracks
    )
    songs = Table("", ("", "Track", "Length", "Plays"), rows)
    credits_ = Table("", ("Track", "Written by"), tuple((track.title, track.writer) for track in album.tracks))
    tabs = Tabs((("Tracks", (songs,)), ("Credits", (credits_,)), ("About", (_story(visit, album),))))
    player = Frame("Listen", f"/embed/{album.slug}/{album.tracks[0].slug}", PLAYER)
    blocks = (detail, tabs, player) if visit.site.style.layout in (2, 4) else (detail, player, tabs)
    return Page(album.title, blocks, (Link("Albums", "/albums"), Link(album.title, album.href)))


def _story(visit: Visit[Catalogue], album: Album) -> Prose:
    chance = visit.site.draw("story", album.slug)
    where = chance.choice(("a former cinema", "a boathouse", "the producer's kitchen", "a village hall", "two hotel rooms"))
    return Prose(
        "",
        (
            f"{album.artist} recorded {album.title} in {where}, mostly at night, with {album.producer} at the desk.",
            f"It came out on {album.label} in {album.year} and has been in print ever since.",
        ),
    )


def _track(visit: Visit[Catalogue]) -> tuple[Album, Track] | None:
    album = visit.content.album(visit.argument("album"))
    found = [track for track in album.tracks if track.slug == visit.argument("track")] if album else []
    return (album, found[0]) if album and found else None


@kind.page("/album/{album}/{track}")
def track_page(visit: Visit[Catalogue]) -> Response:
    found = _track(visit)
    if found is None:
        return NOT_FOUND
    album, track = found
    facts = Facts(
        "",
        (
            ("Artist", album.artist),
            ("Album", album.title),
            ("Length", track.length),
            ("Tempo", f"{track.bpm} bpm"),
            ("Written by", track.writer),
            ("Plays", f"{track.plays:,}"),
        ),
    )
    add = Button("Add to playlist", "/playlist/add", (("track", f"{album.slug}/{track.slug}"),))
    player = Frame("Player", f"/embed/{album.slug}/{track.slug}", PLAYER)
    side = (facts, Buttons((add,), (Link(f"Album {album.title}", album.href),)))
    blocks = (Columns(((player, _story(visit, album)), side)),)
    crumbs = (Link(album.title, album.href), Link(track.title, visit.path))
    return Page(track.title, blocks, crumbs, heading=track.title, lead=f"by {album.artist}")


@kind.page("/embed/{album}/{track}")
def embedded(visit: Visit[Catalogue]) -> Response:
    found = _track(visit)
    if found is None:
        return NOT_FOUND
    album, track = found
    playing = visit.memory.choices.get("playing") == f"{album.slug}/{track.slug}"
    if visit.posted is not None:
        if playing:
            del visit.memory.choices["playing"]
        else:
            visit.memory.choices["playing"] = f"{album.slug}/{track.slug}"
            visit.memory.record("play", {"track": track.title, "album": album.title})
        playing = not playing
    chance = visit.site.draw("wave", album.slug, track.slug)
    wave = tuple(chance.randrange(4, 34) for _ in range(60))
    return Page(track.title, (Player(track.title, album.artist, track.length, wave, visit.path, playing),), bare=True)


@kind.page("/artists")
def artists(visit: Visit[Catalogue]) -> Response:
    listing = Listing(
        visit.content.artists,
        _artist_card,
        lambda artist: f"{artist.name} {artist.genre} {artist.city}",
        (Facet("genre", "Genre", lambda artist: artist.genre), Facet("city", "Home town", lambda artist: artist.city)),
        (),
        (
            Sort("heard", "Most listeners", lambda artist: artist.listeners, down=True),
            Sort("name", "Name", lambda artist: artist.name),
        ),
        per_page=9,
    )
    return Page("Artists", (visit.listing(listing, "Artists"),))


@kind.page("/artist/{slug}")
def artist_page(visit: Visit[Catalogue]) -> Response:
    artist = next((artist for artist in visit.content.artists if artist.href == visit.path), None)
    if artist is None:
        return NOT_FOUND
    detail = Detail(
        artist.name,
        (Picture("face", artist.slug, 640, 480),),
        lead=f"{listed([who for _, who in artist.members])} have made {artist.genre.lower()} since {artist.formed}.",
        rows=(("Genre", artist.genre), ("Home town", artist.city), ("Founded in", str(artist.formed))),
    )
    line_up = Table("", ("Part", "Played by"), tuple((part.capitalize(), who) for part, who in artist.members))
    tour = Table("", ("Date", "City", "Hall"), tuple((one.date, one.city, one.hall) for one in artist.concerts))
    chance = visit.site.draw("listeners", artist.slug)
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun")
    points = tuple((month, float(artist.listeners // 1000 * chance.randrange(60, 120) // 100)) for month in months)
    discs = CardRow("Albums", tuple(map(_card, artist.albums)))
    tabs = Tabs((("Line-up", (line_up,)), ("Concerts", (tour,)), ("Listeners", (Chart("", points, "line", " k"),))))
    figures = Stats((("Monthly listeners", f"{artist.listeners:,}"), ("Albums", str(len(artist.albums)))))
    blocks = (detail, discs, tabs, figures) if visit.site.style.layout in (1, 3) else (detail, figures, tabs, discs)
    return Page(artist.name, blocks, (Link("Artists", "/artists"), Link(artist.name, artist.href)))


@kind.page("/chart")
def chart(visit: Visit[Catalogue]) -> Response:
    table = Table("", ("Place", "Track", "Artist", "Length", "Plays"), _chart_rows(visit.content, 20), sortable=True)
    return Page("Top 20", (table,), heading="Top 20", lead="The most played tracks of all time on this service.")


@kind.page("/tour")
def tour(visit: Visit[Catalogue]) -> Response:
    rows = tuple(
        (one.date, Cell(artist.name, artist.href), one.city, one.hall)
        for artist in visit.content.artists
        for one in artist.concerts
    )
    return Page("On tour", (Table("", ("Date", "Artist", "City", "Hall"), rows, sortable=True),), heading="On tour")


def _collected(visit: Visit[Catalogue]) -> list[tuple[str, Track, Album]]:
    """The tracks that were added and not yet saved, with their keys."""
    found = []
    for key in filter(None, visit.memory.choices.get("tracks", "").split(",")):
        slug, _, name = key.partition("/")
        album = visit.content.album(slug)
        found += [(key, track, album) for track in (album.tracks if album else ()) if album and track.slug == name]
    return found


@kind.page("/playlist/add")
def add_track(visit: Visit[Catalogue]) -> Response:
    keys = [key for key, _, _ in _collected(visit)]
    wanted = (visit.posted or {}).get("track", "")
    if wanted and wanted not in keys and len(keys) < MOST and "," not in wanted:
        visit.memory.choices["tracks"] = ",".join((*keys, wanted))
    return Redirect("/playlist")


@kind.page("/playlist/remove")
def remove_track(visit: Visit[Catalogue]) -> Response:
    gone = (visit.posted or {}).get("track", "")
    visit.memory.choices["tracks"] = ",".join(key for key, _, _ in _collected(visit) if key != gone)
    return Redirect("/playlist")


@kind.page("/playlist")
def playlist(visit: Visit[Catalogue]) -> Response:
    chosen = _collected(visit)
    values = visit.filled(_PLAYLIST) if chosen else None
    if values is not None:
        tracks = {f"track:{track.slug}": "yes" for _, track, _ in chosen}
        visit.memory.record("playlist", {**values, "count": str(len(tracks)), **tracks})
        del visit.memory.choices["tracks"]
        text = f"“{values['name']}” has {len(tracks)} tracks."
        return Page("Playlist saved", (Notice(text, "good", "Playlist saved"),), heading="My playlist")
    if not chosen:
        empty = Notice("Your playlist is empty. Open a track and add it.", link=Link("Browse albums", "/albums"))
        return Page("My playlist", (empty,), heading="My playlist")
    rows = tuple((Cell(track.title, f"/album/{key}"), album.artist, track.length) for key, track, album in chosen)
    removal = tuple(
        Button(f"Remove {track.title}", "/playlist/remove", (("track", key),), quiet=True) for key, track, _ in chosen
    )
    left = (Table("", ("Track", "Artist", "Length"), rows), Buttons(removal))
    return Page("My playlist", (Columns((left, (visit.form(_PLAYLIST),))),), heading="My playlist")
