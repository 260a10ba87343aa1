"""What a package registry holds: packages, versions, settings whose defaults change with them, functions, maintainers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import FAMILY, GIVEN, phrases

_FRONTS: Final = phrases("lumen|tidy|swift|quartz|pico|nimbus|cobalt|iron|maple|orbit|raven|hollow|ember|delta|fjord|argon")
CATEGORIES: Final = {
    "Networking": phrases("router|socket|proxy|fetch"),
    "Data": phrases("frame|schema|query|cache"),
    "Testing": phrases("mock|bench|assert|fuzz"),
    "Graphics": phrases("canvas|chart|shader|pixel"),
    "Security": phrases("vault|token|cipher|guard"),
    "Tooling": phrases("lint|build|watch|pack"),
}
LICENCES: Final = ("MIT", "Apache-2.0", "BSD-3-Clause", "MPL-2.0")
SETTINGS: Final = {
    "timeout": ("Seconds before a call is given up", (5, 10, 15, 20, 30, 45, 60, 90)),
    "retries": ("How often a failed call is tried again", (0, 1, 2, 3, 4, 5, 6, 8)),
    "batch_size": ("How many items go together", (16, 32, 50, 64, 100, 128, 200, 256)),
    "max_depth": ("How deep nested values may be", (3, 4, 7, 9, 12, 24, 33, 48)),
    "workers": ("How many threads are started", (1, 2, 4, 6, 8, 11, 14, 16)),
    "log_level": ("What is written to the log", ("debug", "info", "warning", "error", "silent")),
    "buffer_kb": ("Size of the buffer in kilobytes", (25, 75, 250, 512, 750, 1024, 1500, 2048)),
}
FUNCTIONS: Final = {
    "open_session": "Opens a session and keeps it until it is closed.",
    "read_all": "Reads everything at once.",
    "stream": "Gives one item after another.",
    "validate": "Checks a value and names what is wrong.",
    "merge": "Joins two values into one.",
    "snapshot": "Keeps the present state under a name.",
    "rollback": "Goes back to a snapshot.",
    "describe": "Says what a value is made of.",
}
RETURNS: Final = ("Session", "bytes", "Iterator", "Report", "dict", "Snapshot", "bool", "str")
ERRORS: Final = ("TimeoutError", "ValueError", "KeyError", "PermissionError", "StateError", "ClosedError")
CHANGES: Final = (
    "Faster start",
    "Clearer error messages",
    "Support for proxies",
    "New command line",
    "Smaller memory use",
    "Types for every function",
    "Drops old interpreters",
)


@dataclass(frozen=True)
class Release:
    version: str
    day: str
    kilobytes: int
    change: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Function:
    name: str
    text: str
    returns: str
    raises: str
    since: str


@dataclass(frozen=True)
class Package:
    name: str
    category: str
    licence: str
    downloads: int
    stars: int
    issues: int
    maintainer: str
    least: str  # version of the language
    releases: tuple[Release, ...]  # newest first
    functions: tuple[Function, ...]
    needs: tuple[str, ...]

    @property
    def href(self) -> str:
        return f"/packages/{self.name}"

    def at(self, version: str, section: str) -> str:
        return f"{self.href}/{version}/{section}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Latest version", self.releases[0].version),
            ("Licence", self.licence),
            ("Weekly downloads", f"{self.downloads:,}"),
            ("Open issues", f"{self.issues} open"),
            ("Requires", f"Python {self.least} or newer"),
            ("Maintainer", self.maintainer),
        )


@dataclass(frozen=True)
class Maintainer:
    name: str
    joined: int
    commits: int
    city: str

    @property
    def href(self) -> str:
        return f"/people/{self.name.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class Registry:
    packages: tuple[Package, ...]
    people: tuple[Maintainer, ...]
    by_name: dict[str, Package]


def registry(site: Site) -> Registry:
    chance = site.draw("registry")
    people = tuple(
        Maintainer(
            f"{given} {family}",
            chance.randrange(2009, 2024),
            chance.randrange(120, 9400),
            chance.choice(("Europe", "Asia", "Americas", "Africa")),
        )
        for given, family in zip(chance.sample(GIVEN, 9), chance.sample(FAMILY, 9), strict=True)
    )
    names = [f"{front}-{back}" for front, back in zip(chance.sample(_FRONTS * 2, 28), _backs(chance), strict=False)]
    kept = sorted(set(names))
    category = {back: name for name, backs in CATEGORIES.items() for back in backs}
    packages = []
    for name in kept:
        releases = _releases(chance)
        needs = tuple(sorted(chance.sample([other for other in kept if other != name], chance.randrange(0, 4))))
        packages.append(
            Package(
                name,
                category[name.rpartition("-")[2]],
                chance.choice(LICENCES),
                chance.randrange(900, 2_400_000),
                chance.randrange(40, 38_000),
                chance.randrange(1, 420),
                chance.choice(people).name,
                f"3.{chance.randrange(8, 14)}",
                releases,
                _functions(chance, releases),
                needs,
            )
        )
    return Registry(tuple(packages), people, {package.name: package for package in packages})


def _backs(chance: random.Random) -> list[str]:
    backs = [back for backs in CATEGORIES.values() for back in backs]
    return chance.sample(backs * 2, 28)


def _releases(chance: random.Random) -> tuple[Release, ...]:
    major, minor = chance.randrange(0, 4), chance.randrange(0, 5)
    names = chance.sample(sorted(SETTINGS), 4)
    current = {name: str(chance.choice(SETTINGS[name][1])) for name in names}
    releases = []
    year, month = 2023, chance.randrange(1, 5)
    for _ in range(chance.randrange(3, 6)):
        day = f"{year}-{month:02d}-{chance.randrange(1, 28):02d}"
        version = f"{major}.{minor}.{chance.randrange(0, 4)}"
        releases.append(Release(version, day, chance.randrange(18, 2900), chance.choice(CHANGES), tuple(current.items())))
        changed = chance.choice(names)
        current = {**current, changed: str(chance.choice([v for v in SETTINGS[changed][1] if str(v) != current[changed]]))}
        minor, major = (minor + 1, major) if chance.random() < 0.8 else (0, major + 1)
        month += chance.randrange(3, 8)
        year, month = (year + 1, month - 12) if month > 12 else (year, month)
    return tuple(reversed(releases))


def _functions(chance: random.Random, releases: tuple[Release, ...]) -> tuple[Function, ...]:
    return tuple(
        Function(name, FUNCTIONS[name], chance.choice(RETURNS), chance.choice(ERRORS), chance.choice(releases).version)
        for name in sorted(chance.sample(sorted(FUNCTIONS), 4))
    )
