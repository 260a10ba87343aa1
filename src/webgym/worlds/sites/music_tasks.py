"""Tasks of the music service: albums and artists looked up and compared, credits, the chart, a track played, a playlist."""

from __future__ import annotations

from webgym.worlds.making import CannotMake, Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, Search, See, SortBy
from webgym.worlds.sites.music import MOODS, kind
from webgym.worlds.sites.music_content import Album, Artist, Catalogue, Track
from webgym.worlds.subjects import Known, Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import listed


def _album(album: Album) -> Topic:
    return Topic(album.title, album.href, f"the album “{album.title}”")


def _artist(artist: Artist) -> Topic:
    return Topic(artist.name, artist.href, f"the band {artist.name}")


def _tracks(make: Maker[Catalogue], count: int) -> list[tuple[Track, Album]]:
    return make.some([(track, album) for album in make.content.albums for track in album.tracks], count)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Catalogue]) -> Draft:
    things: list[Album | Artist] = [*make.content.albums, *make.content.artists]
    groups = tuple(
        about(make, _album(thing) if isinstance(thing, Album) else _artist(thing), thing.known, size)
        for thing, size in zip(make.some(things, len(make.shape)), make.shape, strict=True)
    )
    return Draft(
        ("Find {}.", f"On {make.site.brand}, look up {{}}.", "I am writing liner notes. Tell me {}.", "Please report {}."),
        groups,
    )


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Catalogue]) -> Draft:
    if make.chance.random() < 0.5:
        artists = make.some(make.content.artists, make.shape[0] - 1)
        bands = [(_artist(one), one.known[2], float(one.listeners)) for one in artists]
        group = compared(make, "numbers of monthly listeners", "most popular", bands, least=False)
    else:
        albums = make.some(make.content.albums, make.shape[0] - 1)
        discs = [(_album(one), one.known[0], float(one.year)) for one in albums]
        group = compared(make, "years of release", "oldest", discs, least=True)
    return Draft(("Find out {}.", "Compare {}.", "Settle an argument for me: I need {}."), (group,))


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[Catalogue]) -> Draft:
    """The newest or oldest album of a genre or on a label."""
    by = make.one(("Genre", "Label"))
    value = make.one(sorted({album.genre if by == "Genre" else album.label for album in make.content.albums}))
    fitting = [album for album in make.content.albums if value == (album.genre if by == "Genre" else album.label)]
    word = make.one(("newest", "oldest"))
    ranked = sorted(fitting, key=lambda album: album.year, reverse=word == "newest")
    if len(ranked) < 2 or ranked[0].year == ranked[1].year:
        raise CannotMake("not one that fits best")
    subject = _album(ranked[0])
    chosen = make.some([one for one in ranked[0].known if one.name != by.lower()], make.shape[0] - 1)
    known = tuple(fact(make, subject, one) for one in chosen)
    text = f"The {word} album with {by.lower()} {value} is {subject.name}."
    facts = (named(make, subject, map(_album, fitting), text, known), *known)
    order = f"{word.capitalize()} first"
    route: tuple[Move, ...] = (Open("Albums"), Filter(by, value), SortBy(order), Open(subject.name), *seen(facts))
    ask = f"the {word} album with the {by.lower()} {value}: its title and its {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", f"Use the filters of {make.site.brand} to find {{}}.", "I am looking for {}."),
        (Group(ask, "The album that fits", facts, route),),
    )


@kind.task("credits", [(1, 5), (0, 5)])
def credit(make: Maker[Catalogue]) -> Draft:
    """Who wrote which song: behind a tab of the album's page."""
    groups = []
    for album, size in zip(make.some(make.content.albums, len(make.shape)), make.shape, strict=True):
        tracks = make.some(album.tracks, size)
        facts = tuple(fact(make, _album(album), Known(f"writer of the song “{one.title}”", one.writer)) for one in tracks)
        ask = f"who wrote {listed([f'“{one.title}”' for one in tracks])} on the album “{album.title}”"
        groups.append(Group(ask, f"Credits of {album.title}", facts, (*_album(album).way, Press("Credits"), *seen(facts))))
    return Draft(("Find out {}.", "Check the credits and tell me {}.", "I need to know {}."), tuple(groups))


@kind.task("collect", [(4, 8)])
def collect(make: Maker[Catalogue]) -> Draft:
    """The length or the tempo of several tracks, each on a page of its own."""
    pairs = _tracks(make, make.shape[0])
    tempo = make.chance.random() < 0.5
    things = []
    for track, album in pairs:
        way = (Search(album.title), Open(album.title), Open(track.title))
        subject = Topic(track.title, f"{album.href}/{track.slug}", through=way)
        known = Known("tempo in bpm", str(track.bpm), f"{track.bpm} bpm") if tempo else Known("writer", track.writer)
        things.append((subject, known))
    facts, route = each(make, things)
    names = listed([f"“{track.title}” (album “{album.title}”)" for track, album in pairs])
    ask = f"the {'tempo in beats per minute' if tempo else 'writer'} of each of these tracks: {names}"
    return Draft(
        ("List {}.", "For a mix I need {}.", f"Collect from {make.site.brand} {{}}."), (Group(ask, "Tracks", facts, route),)
    )


@kind.task("play", [(1, 2)])
def play(make: Maker[Catalogue]) -> Draft:
    """Start a track in its player, which stands in a frame."""
    ((track, album),) = _tracks(make, 1)
    page = f"{album.href}/{track.slug}"
    facts = (
        make.done(f"{track.title} of {album.title} is played.", "play", ("track", track.title), ("album", album.title)),
        make.find(page, track.title, "tempo in bpm", str(track.bpm), shown=f"{track.bpm} bpm"),
    )[: make.shape[0]]
    ask = f"the track “{track.title}” from the album “{album.title}”"
    ask += "" if make.shape[0] == 1 else " and tell me its tempo in beats per minute"
    route: tuple[Move, ...] = (
        Search(album.title),
        Open(album.title),
        Open(track.title),
        *seen(facts),
        Press(f"Play {track.title}"),
        See(("Now playing",)),
    )
    return Draft(
        ("Play {}.", "Start the player with {}.", f"On {make.site.brand}, press play on {{}}."),
        (Group(ask, "What is played", facts, route),),
    )


@kind.task("playlist", [(1, 5), (0, 1)])
def playlist(make: Maker[Catalogue]) -> Draft:
    """Collect tracks and save them."""
    pairs = _tracks(make, make.shape[0])
    mood = make.one(MOODS)
    name = f"{make.one(('Morning', 'Road', 'Kitchen', 'Winter', 'Running'))} Mix {make.chance.randrange(2, 99)}"
    count = ("count", str(len(pairs)))
    facts = tuple(
        make.done(f"The saved playlist has the track {track.title}.", "playlist", (f"track:{track.slug}", "yes"), count)
        for track, _ in pairs
    )
    moves: list[Move] = []
    for track, album in pairs:
        moves += [Search(album.title), Open(album.title), Open(track.title), Press("Add to playlist"), See(("My playlist",))]
    names = listed([f"“{track.title}” (album “{album.title}”)" for track, album in pairs])
    groups = [Group(f"the following and nothing else: {names}", "The tracks", facts, tuple(moves))]
    if len(make.shape) > 1:
        last = make.done(f"The playlist is called {name}, its mood is {mood}.", "playlist", ("name", name), ("mood", mood))
        groups.append(Group(f"the name “{name}” and the mood “{mood}”", "Its name", (last,)))
    return Draft(
        ("Save a playlist with {}.", f"Make and save a playlist on {make.site.brand} that has {{}}."),
        tuple(groups),
        end=(Fill("Playlist name", name), Choose("Mood", mood), Press("Save playlist"), See(("Playlist saved",))),
    )
