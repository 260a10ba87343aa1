"""What a newspaper has printed: stories by reporters in sections, with the figures they report, markets and weather."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.subjects import Known
from webgym.worlds.words import CITIES, FAMILY, GIVEN, phrases

SECTIONS: Final = ("Politics", "Business", "Culture", "Science", "Sport", "City")
# For each section: a headline, a sentence with the figure, and what the figure is. {n} is the figure, {who} is a person.
_STORIES: Final[dict[str, tuple[tuple[str, str, str, int, int], ...]]] = {
    "Politics": (
        (
            "{city} council votes for new tram line",
            "The line is to cost {n} million dollars.",
            "cost of the line in million dollars",
            20,
            900,
        ),
        (
            "{city} mayor calls early election",
            "The vote is called for in {n} days.",
            "number of days until the vote",
            20,
            120,
        ),
        (
            "Petition against {city} bypass grows",
            "By Monday {n} people had signed.",
            "number of people who signed",
            1200,
            90000,
        ),
        (
            "{city} opens its archives to everyone",
            "The archives hold {n} boxes of papers.",
            "number of boxes of papers",
            300,
            9000,
        ),
    ),
    "Business": (
        (
            "{city} shipyard wins its largest order",
            "The yard will build {n} ferries.",
            "number of ferries to be built",
            3,
            40,
        ),
        (
            "Bakers of {city} found a cooperative",
            "The cooperative has {n} members.",
            "number of members of the cooperative",
            12,
            400,
        ),
        ("{city} glassworks to hire again", "It is looking for {n} workers.", "number of workers sought", 15, 700),
        (
            "Rents in {city} fall for the first time",
            "A flat now costs {n} dollars a month.",
            "monthly rent of a flat in dollars",
            400,
            2400,
        ),
    ),
    "Culture": (
        (
            "{city} museum finds a lost painting",
            "It is insured for {n} thousand dollars.",
            "insured value in thousand dollars",
            80,
            9000,
        ),
        (
            "Choir of {city} sings through the night",
            "The concert lasted {n} minutes.",
            "length of the concert in minutes",
            300,
            700,
        ),
        ("{city} film festival names its winners", "The jury saw {n} films.", "number of films the jury saw", 40, 300),
        ("A library on wheels for {city}", "The bus carries {n} books.", "number of books the bus carries", 900, 6000),
    ),
    "Science": (
        ("Rare heron returns to {city}", "Observers counted {n} pairs.", "number of pairs counted", 3, 90),
        (
            "{city} observatory sees a new comet",
            "It will return in {n} years.",
            "number of years until it returns",
            40,
            3000,
        ),
        (
            "Students of {city} build a solar boat",
            "It reached {n} kilometres an hour.",
            "speed in kilometres an hour",
            12,
            60,
        ),
        (
            "Old bridge of {city} measured by laser",
            "The scan has {n} million points.",
            "number of points in millions",
            20,
            800,
        ),
    ),
    "Sport": (
        (
            "{city} wins the cup after extra time",
            "The match was watched by {n} people.",
            "number of spectators",
            2000,
            60000,
        ),
        ("Marathon of {city} breaks a record", "The winner needed {n} minutes.", "winning time in minutes", 126, 160),
        ("{city} rowers go to the finals", "The crew trained for {n} days.", "number of training days", 60, 300),
        ("A new coach for {city}", "The contract runs for {n} months.", "length of the contract in months", 6, 48),
    ),
    "City": (
        ("{city} market moves indoors", "The hall has room for {n} stalls.", "number of stalls", 20, 240),
        ("Night buses for {city}", "They will run every {n} minutes.", "minutes between night buses", 15, 75),
        ("{city} plants trees along the canal", "There will be {n} trees.", "number of trees", 90, 4000),
        ("Longest bench of {city} is open", "It is {n} metres long.", "length of the bench in metres", 30, 400),
    ),
}
_QUOTES: Final = phrases(
    "This took us longer than anyone thought|We have waited for this for years|It is a beginning, not an end|"
    "Nobody was more surprised than me|We will be judged by what comes next|I would do it again tomorrow"
)


@dataclass(frozen=True)
class Story:
    slug: str
    title: str
    section: str
    author: str
    day: int
    hour: str
    city: str
    figure: int
    sentence: str
    asked: str
    witness: str
    office: str
    quote: str
    minutes: int
    comments: int

    @property
    def href(self) -> str:
        return f"/story/{self.slug}"

    @property
    def date(self) -> str:
        return f"{self.day} May 2026"

    @property
    def author_href(self) -> str:
        return f"/writer/{self.author.lower().replace(' ', '-')}"

    @property
    def known(self) -> tuple[Known, ...]:
        return (
            Known("author", self.author),
            Known("date of publication", self.date, "", (f"May {self.day}", f"{self.day} May", f"2026-05-{self.day:02d}")),
            Known(self.asked, str(self.figure), self.sentence.rstrip(".")),
            Known("name of the person quoted", self.witness),
            Known("number of comments", str(self.comments), f"{self.comments} comments"),
        )


@dataclass(frozen=True)
class Writer:
    name: str
    section: str
    since: int
    email: str

    @property
    def href(self) -> str:
        return f"/writer/{self.name.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class Paper:
    stories: tuple[Story, ...]  # the newest first
    writers: tuple[Writer, ...]
    markets: tuple[tuple[str, int, int], ...]  # name, value in hundredths, change in hundredths of a per cent
    weather: tuple[tuple[str, int, int, str], ...]  # town, high, low, sky

    def of(self, section: str) -> tuple[Story, ...]:
        return tuple(story for story in self.stories if story.section == section)


def _person(chance: random.Random) -> str:
    return f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"


def paper(site: Site) -> Paper:
    chance = site.draw("news")
    names = chance.sample([f"{given} {family}" for given in GIVEN[::4] for family in FAMILY[::6]], 12)
    writers = tuple(
        Writer(name, SECTIONS[n % len(SECTIONS)], chance.randrange(1994, 2025), f"{name.split()[1].lower()}@example.com")
        for n, name in enumerate(names)
    )
    stories: dict[str, Story] = {}
    for section in SECTIONS:
        desk = [writer.name for writer in writers if writer.section == section]
        for kind_of_story in _STORIES[section]:
            for city in chance.sample(CITIES, 2):
                story = _story(chance, section, desk, kind_of_story, city)
                stories[story.slug] = story
    ordered = sorted(stories.values(), key=lambda story: (-story.day, story.slug))
    markets = tuple(
        (name, chance.randrange(4_000, 900_000), chance.randrange(-420, 430))
        for name in ("Northern Index", "Harbour 50", "Green Energy", "Wheat", "Copper", "Gold", "Crude Oil")
    )
    skies = ("Sunny", "Cloudy", "Rain", "Showers", "Fog", "Windy")
    weather = tuple(
        (city, high, high - chance.randrange(4, 13), chance.choice(skies))
        for city in sorted(chance.sample(CITIES, 8))
        for high in (chance.randrange(9, 34),)
    )
    return Paper(tuple(ordered), writers, markets, weather)


def _story(chance: random.Random, section: str, desk: list[str], plan: tuple[str, str, str, int, int], city: str) -> Story:
    headline, sentence, asked, least, most = plan
    title, figure = headline.format(city=city), chance.randrange(least, most)
    office = chance.choice(
        ("a spokeswoman", "the deputy director", "an engineer", "a neighbour", "the treasurer", "a volunteer")
    )
    return Story(
        title.lower().replace(" ", "-"),
        title,
        section,
        chance.choice(desk),
        chance.randrange(1, 31),
        f"{chance.randrange(6, 22)}:{chance.randrange(60):02d}",
        city,
        figure,
        sentence.format(n=f"{figure:,}"),
        asked,
        _person(chance),
        office,
        chance.choice(_QUOTES),
        chance.randrange(2, 11),
        chance.randrange(0, 400),
    )
