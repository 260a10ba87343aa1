"""Tasks of the film database: look up, compare, narrow down, follow casts and directors, watch list, ratings."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Fill, Filter, Move, Open, Press, See, Slide, SortBy, Tick
from webgym.worlds.saved import save_some
from webgym.worlds.sites.films import KEEP, RATE, kind
from webgym.worlds.sites.films_content import Archive, Person, Title
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN


def _title(title: Title) -> Topic:
    known = [
        Known("year of release", str(title.year)),
        Known("creator" if title.series else "director", title.director.name),
        Known("country", title.country),
        Known("genre", title.genre),
        Known("average rating", f"{title.stars:.1f}"),
        Known(f"actor in the role of {title.cast[0][1]}", title.cast[0][0].name),
        Known(f"actor in the role of {title.cast[3][1]}", title.cast[3][0].name),
    ]
    if title.series:
        number = len(title.seasons)
        name, minutes = title.seasons[-1][1]
        tab = (Press(f"Season {number}"),)
        known.append(Known(f"title of episode 2 of season {number}", name, opener=tab))
        known.append(Known(f"length in minutes of episode 2 of season {number}", str(minutes), f"{minutes} min", opener=tab))
    else:
        known.append(Known("running time in minutes", str(title.minutes), f"{title.minutes} min"))
        known.append(Known("box office in millions of dollars", str(title.gross), f"${title.gross} million"))
    return Topic(title.name, title.href, title.called, tuple(known))


def _person(person: Person) -> Topic:
    known = (
        Known("year of birth", str(person.born)),
        Known("country", person.country),
        Known("number of prizes", str(person.prizes), f"{person.prizes} won"),
    )
    return Topic(person.name, person.href, person.name, known)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Archive]) -> Draft:
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "For a quiz I need {}.",
        "What does this database say about {}?",
    )
    return look_up(make, make.content.titles, _title, openings)


@kind.task("people", [(1, 3), (0, 3)])
def people(make: Maker[Archive]) -> Draft:
    return look_up(make, make.content.people, _person, ("Find {}.", "Look up {}.", "I would like to know {}."))


@kind.task("compare", [(3, 5)])
def lengths(make: Maker[Archive]) -> Draft:
    films = make.content.films
    if make.chance.random() < 0.5:
        return compare(make, films, _title, "running time in minutes", lambda film: film.minutes, "longest")
    asked = "box office in millions of dollars"
    return compare(make, films, _title, asked, lambda film: film.gross, "most successful")


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Archive]) -> Draft:
    """The longest or newest film of a genre or a country, perhaps not older than a year."""
    by, side = make.one((("Genre", "genre"), ("Country", "country")))
    value = make.one(sorted({getattr(film, side) for film in make.content.films}))
    inside = [film for film in make.content.films if getattr(film, side) == value]
    what = f"film of the genre {value}" if by == "Genre" else f"film from {value}"
    route: list[Move] = [Open("Films"), Filter(by, value)]
    if make.chance.random() < 0.4:
        year = make.chance.randrange(1970, 2005)
        inside = [film for film in inside if film.year >= year]
        what += f" released in {year} or later"
        route += [Slide("Not older than", float(year)), Press("Apply")]
    if make.chance.random() < 0.5:
        best, word, order = one_best(make, inside, lambda film: film.minutes), "longest", "Longest first"
    else:
        best, word, order = one_best(make, inside, lambda film: film.votes), "most voted", "Most votes"
    route += [SortBy(order), Open(best.name)]
    return best_fit(
        make,
        _title(best),
        map(_title, inside),
        f"the {word} {what}",
        tuple(route),
        ("Find {}.", "Use the filters to find {}."),
    )


@kind.task("collect", [(4, 8)])
def follow(make: Maker[Archive]) -> Draft:
    """The roles of an actor, the years of a director's titles, or one side of several films."""
    count, turn = make.shape[0], make.chance.randrange(3)
    if turn == 0:
        return each(make, [_title(film) for film in make.some(make.content.films, count)], make.one(("director", "country")))
    if turn == 1:
        person = make.one(make.content.people[12:])
        sides = [(title.name, role) for title, role in make.some(make.content.played(person), count)]
        what = f"the roles that {person.name} plays in"
    else:
        person = make.one(make.content.people[:12])
        sides = [(title.name, str(title.year)) for title in make.some(make.content.directed(person), count)]
        what = f"the years of release of these titles directed or created by {person.name}:"
    facts = tuple(
        Fact(f"{name}: {value}.", (Shown(make.host, person.href, (name, value), name), Says(value)), f"{name}: {value}")
        for name, value in sides
    )
    ask = f"{what} {', '.join(f'“{name}”' for name, _ in sides)}"
    route = (*_person(person).way, *(See(side) for side in sides))
    return Draft(("Find {}.", "List {}.", "Tell me {}."), (Group(ask, person.name, facts, route),))


@kind.task("watchlist", [(1, 4)])
def watch(make: Maker[Archive]) -> Draft:
    openings = ("Add {} to my watch list.", "Put {} on the watch list, and nothing else.", "I want {} on my watch list.")
    return save_some(make, make.content.titles, _title, lambda title: title.slug, KEEP, "My watch list", openings)


@kind.task("rate", [(1, 4)])
def rate(make: Maker[Archive]) -> Draft:
    chance, title = make.chance, make.one(make.content.titles)
    score, name = str(chance.randrange(1, 11)), f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    headline = chance.choice(("Worth it", "Not for me", "A quiet classic", "See it twice"))
    ask, facts = submitted(
        make,
        "rating",
        "The rating",
        (
            Entered("title", title.name, f"for {title.called}"),
            Entered("score", score, f"with a score of {score} out of ten"),
            Entered("headline", headline, f"the headline “{headline}”"),
            Entered("spoiler", "yes", "marked as giving the end away"),
        ),
    )
    last: tuple[Move, ...] = (Tick("My review gives the end away"),) if make.shape[0] == 4 else ()
    route = (
        *_title(title).way,
        Open("Rate this title"),
        Slide("Your score out of ten", float(score)),
        Fill("Headline", headline),
        *last,
        Fill("Your name", name),
        Press(RATE),
        See(("Rating received",)),
    )
    openings = ("Send a rating {}. Invent the rest.", f"On {make.site.brand}, leave a rating {{}}; the rest is up to you.")
    return Draft(openings, (Group(ask, "The rating", facts, route),))
