"""What an encyclopedia knows of an invented country: towns, rivers, people and animals that refer to one another.

An article has rows for its box, and facts that stand only in the running text of one of its sections. Filler text is made
when a page is shown; everything that can be asked for is made here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import CITIES, FAMILY, GIVEN, phrases

CATEGORIES: Final = ("Towns", "Rivers", "People", "Animals")
_RIVERS: Final = phrases("Aldra|Brenn|Calder Water|Dovan|Esk Minor|Ferrow|Gellan|Hespin|Isling|Jorran|Kestor|Lune Beck")
_CALLINGS: Final = phrases("architect|astronomer|botanist|composer|engineer|explorer|painter|physician|poet|printer")
_COLOURS: Final = phrases("Copper|Ashen|Crested|Spotted|Marsh|Golden|Lesser|Northern|Hooded|Striped")
_BEASTS: Final = phrases("heron|otter|marten|plover|newt|lynx|grouse|vole|kingfisher|hare")
_MOTTOS: Final = phrases(
    "Patience builds|By water and stone|Always forward|Light for all|We remember|Work and song|Hold fast"
)
_WORKS: Final = phrases(
    "the Atlas of Winds|the Harbour Symphony|the Stone Arcade|the Garden Letters|the Great Sluice|the Silver Catalogue|"
    "the Night Tables|the Lantern Frescoes|the Mountain Almanac|the Old Viaduct"
)


@dataclass(frozen=True)
class Row:
    """A line of the box: its name there, the value as written, and the article it refers to, if any."""

    name: str
    value: str
    href: str = ""


@dataclass(frozen=True)
class Deep:
    """A fact in the text of a section: the sentence, and what is known by it."""

    section: str
    sentence: str
    known: Known


@dataclass(frozen=True)
class Lemma:
    slug: str
    title: str
    category: str
    lead: str
    rows: tuple[Row, ...]
    known: tuple[Known, ...]
    deep: tuple[Deep, ...]
    refers: tuple[str, ...]  # slugs of other articles
    size: int  # what lists can be sorted by: population, length, year of birth, weight
    translators: tuple[tuple[str, str], ...]  # language, who

    @property
    def href(self) -> str:
        return f"/wiki/{self.slug}"


@dataclass(frozen=True)
class Volume:
    topics: tuple[Lemma, ...]

    def find(self, slug: str) -> Lemma | None:
        return next((topic for topic in self.topics if topic.slug == slug), None)

    def of(self, category: str) -> tuple[Lemma, ...]:
        return tuple(topic for topic in self.topics if topic.category == category)


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")


def _person(chance: random.Random) -> str:
    return f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"


def _translators(chance: random.Random) -> tuple[tuple[str, str], ...]:
    return tuple((code, _person(chance)) for code in ("de", "fr", "es"))


def volume(site: Site) -> Volume:
    chance = site.draw("encyclopedia")
    towns, rivers = chance.sample(CITIES, 14), chance.sample(_RIVERS, 7)
    people = chance.sample([f"{given} {family}" for given in GIVEN[::5] for family in FAMILY[::7]], 14)
    beasts = chance.sample([f"{colour} {beast}" for colour in _COLOURS for beast in _BEASTS], 9)
    return Volume(
        (
            *(_river(chance, f"River {name}", towns) for name in rivers),
            *(_town(chance, name, rivers, people) for name in towns),
            *(_human(chance, name, towns, people) for name in people),
            *(_animal(chance, name, people) for name in beasts),
        )
    )


def _town(chance: random.Random, name: str, rivers: list[str], people: list[str]) -> Lemma:
    population, area, height = chance.randrange(4_000, 900_000), chance.randrange(11, 480), chance.randrange(3, 1400)
    founded, hall, rail = chance.randrange(980, 1720), chance.randrange(1725, 1850), chance.randrange(1852, 1920)
    mayor, architect, motto = _person(chance), chance.choice(people), chance.choice(_MOTTOS)
    river, festival = f"River {chance.choice(rivers)}", chance.choice(("apple", "lantern", "salt", "kite", "bell"))
    guests = chance.randrange(3, 90) * 1000
    rows = (
        Row("Population", f"{population:,}"),
        Row("Area", f"{area} km²"),
        Row("Elevation", f"{height} m"),
        Row("Founded", str(founded)),
        Row("Mayor", mayor),
        Row("River", river, f"/wiki/{_slug(river)}"),
        Row("Motto", f"“{motto}”"),
    )
    known = (
        Known("population", str(population), f"{population:,}"),
        Known("area in square kilometres", str(area), f"{area} km²"),
        Known("elevation in metres", str(height), f"{height} m"),
        Known("year of foundation", str(founded)),
        Known("mayor", mayor),
    )
    deep = (
        Deep(
            "History",
            f"The town hall was completed in {hall}.",
            Known("year in which the town hall was completed", str(hall)),
        ),
        Deep("Transport", f"The railway reached the town in {rail}.", Known("year in which the railway arrived", str(rail))),
        Deep(
            "Culture",
            f"The {festival} festival draws {guests:,} visitors every year.",
            Known(f"yearly number of visitors of the {festival} festival", str(guests), f"{guests:,} visitors"),
        ),
    )
    lead = f"{name} is a town of {population:,} people on the {river}."
    refers = (_slug(river), _slug(architect))
    return Lemma(_slug(name), name, "Towns", lead, rows, known, deep, refers, population, _translators(chance))


def _river(chance: random.Random, name: str, towns: list[str]) -> Lemma:
    length, height, flow = chance.randrange(38, 920), chance.randrange(210, 2600), chance.randrange(4, 900)
    source, mouth = chance.sample(towns, 2)
    bridge, span, dam = chance.randrange(1610, 1890), chance.randrange(40, 900), chance.randrange(1902, 1985)
    rows = (
        Row("Length", f"{length} km"),
        Row("Height of the source", f"{height} m"),
        Row("Average flow", f"{flow} m³/s"),
        Row("Rises near", source, f"/wiki/{_slug(source)}"),
        Row("Ends near", mouth, f"/wiki/{_slug(mouth)}"),
    )
    known = (
        Known("length in kilometres", str(length), f"{length} km"),
        Known("height of the source in metres", str(height), f"{height} m"),
        Known("average flow in cubic metres a second", str(flow), f"{flow} m³/s"),
        Known("town near its source", source),
        Known("town near its mouth", mouth),
    )
    deep = (
        Deep(
            "Crossings",
            f"The oldest bridge still in use dates from {bridge}.",
            Known("year of the oldest bridge still in use", str(bridge), f"dates from {bridge}"),
        ),
        Deep(
            "Crossings",
            f"The longest bridge has a span of {span} metres.",
            Known("span of the longest bridge in metres", str(span), f"{span} metres"),
        ),
        Deep("Use", f"Its only dam was closed in {dam}.", Known("year in which its only dam was closed", str(dam))),
    )
    lead = f"The {name} is a river of {length} km that rises near {source} and ends near {mouth}."
    refers = (_slug(source), _slug(mouth))
    return Lemma(_slug(name), name, "Rivers", lead, rows, known, deep, refers, length, _translators(chance))


def _human(chance: random.Random, name: str, towns: list[str], people: list[str]) -> Lemma:
    born, age, calling = chance.randrange(1740, 1930), chance.randrange(41, 94), chance.choice(_CALLINGS)
    town, teacher = chance.choice(towns), chance.choice([other for other in people if other != name])
    work, pages, prize = chance.choice(_WORKS), chance.randrange(60, 900), born + chance.randrange(28, 40)
    friend = _person(chance)
    rows = (
        Row("Born", str(born)),
        Row("Birthplace", town, f"/wiki/{_slug(town)}"),
        Row("Died", str(born + age)),
        Row("Occupation", calling.capitalize()),
        Row("Known for", work.removeprefix("the ").strip()),
        Row("Teacher", teacher, f"/wiki/{_slug(teacher)}"),
    )
    known = (
        Known("year of birth", str(born)),
        Known("birthplace", town),
        Known("year of death", str(born + age)),
        Known("occupation", calling),
        Known("teacher", teacher),
    )
    deep = (
        Deep("Life", f"The Academy's medal came in {prize}.", Known("year of the Academy's medal", str(prize))),
        Deep("Life", f"The closest friend of these years was {friend}.", Known("closest friend", friend)),
        Deep(
            "Legacy",
            f"The surviving letters fill {pages} pages.",
            Known("number of pages of surviving letters", str(pages), f"{pages} pages"),
        ),
    )
    lead = f"{name} ({born}–{born + age}) was a {calling} from {town}, known for {work}."
    lead = lead.replace("was a a", "was an a").replace("was a e", "was an e")
    refers = (_slug(town), _slug(teacher))
    return Lemma(_slug(name), name, "People", lead, rows, known, deep, refers, born, _translators(chance))


def _animal(chance: random.Random, name: str, people: list[str]) -> Lemma:
    weight, length, year = chance.randrange(60, 9_000), chance.randrange(12, 160), chance.randrange(1760, 1930)
    finder, young, top = chance.choice(people), chance.randrange(1, 9), chance.randrange(200, 2400)
    count = chance.randrange(2, 90) * 100
    rows = (
        Row("Weight", f"{weight} g"),
        Row("Length", f"{length} cm"),
        Row("Described by", finder, f"/wiki/{_slug(finder)}"),
        Row("Described in", str(year)),
        Row("Young a year", f"{young} young"),
    )
    known = (
        Known("weight in grams", str(weight), f"{weight} g"),
        Known("length in centimetres", str(length), f"{length} cm"),
        Known("first describer", finder),
        Known("year of first description", str(year)),
    )
    deep = (
        Deep(
            "Habitat",
            f"It is found up to {top} metres above the sea.",
            Known("greatest height of its habitat in metres", str(top), f"{top} metres"),
        ),
        Deep(
            "Protection",
            f"The last census counted {count:,} animals.",
            Known("number of animals in the last census", str(count), f"{count:,} animals"),
        ),
    )
    lead = f"The {name.lower()} is an animal of about {length} cm, first described by {finder} in {year}."
    return Lemma(_slug(name), name, "Animals", lead, rows, known, deep, (_slug(finder),), weight, _translators(chance))
