"""A package registry with documentation: a manual for each version, with code in tabs and a sidebar; maintainers, reports.

Tasks: look up packages, settings of old versions and functions, compare downloads, filter, collect, report a problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from webgym.worlds.blocks import (
    Accordion,
    Block,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Facts,
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
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.software_content import CATEGORIES, SETTINGS, Package, Registry, Release, registry

SECTIONS: Final = {"overview": "Overview", "install": "Installation", "settings": "Settings", "functions": "Functions"}


@dataclass(frozen=True)
class Code(Block):
    text: str

    template = "software/code.html"


@dataclass(frozen=True)
class Manual(Block):
    """A page of documentation: a sidebar with the version and the sections, and the text."""

    switch: str
    section: str
    version: str
    versions: tuple[str, ...]
    links: tuple[Link, ...]
    blocks: tuple[Block, ...]

    template = "software/manual.html"


def menu(site: Site, content: Registry) -> tuple[Link, ...]:
    inside = tuple(Link(name, f"/packages?{urlencode({'category': name})}") for name in CATEGORIES)
    return (
        Link("All packages", "/packages", inside),
        Link("Releases", "/releases"),
        Link("Maintainers", "/people"),
        Link("Getting started", "/start"),
        Link("Report a problem", "/report"),
    )


def findable(content: Registry) -> tuple[Entry, ...]:
    people = [Entry(person.name, person.href, "Maintainer") for person in content.people]
    return (*(Entry(one.name, one.href, f"{one.category} package") for one in content.packages), *people)


def tagline(site: Site, content: Registry) -> str:
    return f"{len(content.packages)} packages, documented version by version."


kind: Final = Kind(
    "software",
    subdomain="Technology & Science",
    words=("docs", "packages", "software", "registry", "modules", "devhub"),
    content=registry,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(package: Package) -> Card:
    return Card(
        package.name,
        package.href,
        meta=(package.category, package.licence, f"v{package.releases[0].version}"),
        text=f"{package.category} for people who like small tools. Maintained by {package.maintainer}.",
        price=f"{package.downloads:,} weekly downloads",
    )


def _install(name: str, version: str) -> Tabs:
    return Tabs(
        (
            ("pip", (Code(f"pip install {name}=={version}"),)),
            ("uv", (Code(f"uv add '{name}=={version}'"),)),
            ("conda", (Code(f"conda install {name}={version}"),)),
        )
    )


@kind.page("/")
def home(visit: Visit[Registry]) -> Response:
    site, content = visit.site, visit.content
    chance = site.draw("home")
    top = sorted(content.packages, key=lambda package: -package.downloads)
    title = chance.choice(("Small packages, well documented", "Build on solid parts", "Find the right package"))
    hero = Hero(title, tagline(site, content), Picture("laptop", "hero", 900, 600), Link("Browse packages", "/packages"))
    ways = Tiles(
        "By category",
        tuple(
            (
                Link(name, f"/packages?{urlencode({'category': name})}"),
                f"{sum(package.category == name for package in content.packages)} packages",
                None,
            )
            for name in CATEGORIES
        ),
    )
    figures = Stats(
        (
            ("Packages", str(len(top))),
            ("Maintainers", str(len(content.people))),
            ("Downloads a week", f"{sum(p.downloads for p in top):,}"),
        )
    )
    rows = tuple(
        (Cell(p.name, p.href), p.category, p.releases[0].version, Cell(f"{p.downloads:,}", number=True)) for p in top[:8]
    )
    table = Table("Most downloaded", ("Package", "Category", "Version", "Weekly downloads"), rows)
    quick = Columns(
        (
            (Prose("In one line", ("Every package installs the same way.",)),),
            (_install(top[0].name, top[0].releases[0].version),),
        )
    )
    rest: tuple[Block, ...] = (ways, quick, table, figures)
    at = site.style.layout % len(rest)
    return Page("Home", (hero, *rest[at:], *rest[:at]))


@kind.page("/packages")
def packages(visit: Visit[Registry]) -> Response:
    listing = Listing(
        visit.content.packages,
        _card,
        lambda package: f"{package.name} {package.category}",
        (
            Facet("category", "Category", lambda package: package.category),
            Facet("licence", "Licence", lambda package: package.licence),
            Facet("python", "Requires", lambda package: f"Python {package.least}"),
        ),
        (Limit("least", "Minimum downloads", lambda package: package.downloads, 0, 2_000_000, 100_000, lowest=True),),
        (
            Sort("used", "Most downloaded", lambda package: package.downloads, down=True),
            Sort("issues", "Fewest open issues", lambda package: package.issues),
            Sort("name", "Name", lambda package: package.name),
        ),
        per_page=10,
    )
    return Page("Packages", (visit.listing(listing, "All packages"),))


def _manual(visit: Visit[Registry], package: Package, release: Release, section: str, blocks: tuple[Block, ...]) -> Page:
    links = tuple(
        Link(text, package.href if name == "overview" else package.at(release.version, name))
        for name, text in SECTIONS.items()
    )
    versions = tuple(one.version for one in package.releases)
    manual = Manual(
        f"{package.href}/switch",
        section,
        release.version,
        versions,
        (*links, Link("Changelog", f"{package.href}/changelog")),
        blocks,
    )
    crumbs = (Link("All packages", "/packages"), Link(package.name, package.href))
    lead = "" if section == "overview" else f"{SECTIONS[section]} for version {release.version}"
    return Page(f"{package.name} {SECTIONS[section].lower()}", (manual,), crumbs, heading=package.name, lead=lead)


@kind.page("/packages/{name}")
def package_page(visit: Visit[Registry]) -> Response:
    package = visit.content.by_name.get(visit.argument("name"))
    if package is None:
        return NOT_FOUND
    newest = package.releases[0]
    needs = tuple(
        (Cell(name, visit.content.by_name[name].href), visit.content.by_name[name].licence) for name in package.needs
    )
    first = package.functions[0].name
    example = Code(f"import {package.name.replace('-', '_')} as lib\n\nresult = lib.{first}()\nprint(result)")
    side: tuple[Block, ...] = (Facts("About", package.rows),)
    if needs:
        side = (*side, Table("Dependencies", ("Package", "Licence"), needs))
    main = (
        Prose("", (f"{package.name} is a {package.category.lower()} package with {package.stars:,} stars.",)),
        _install(package.name, newest.version),
        example,
    )
    blocks: tuple[Block, ...] = (*main, *side) if visit.site.style.layout in (1, 3, 5) else (Columns((main, side)),)
    return _manual(visit, package, newest, "overview", blocks)


@kind.page("/packages/{name}/switch")
def switch(visit: Visit[Registry]) -> Response:
    package = visit.content.by_name.get(visit.argument("name"))
    if package is None:
        return NOT_FOUND
    version, section = visit.query.get("version", ""), visit.query.get("section", "")
    if version not in [release.version for release in package.releases]:
        return Redirect(package.href)
    return Redirect(package.at(version, section if section in SECTIONS and section != "overview" else "install"))


@kind.page("/packages/{name}/changelog")
def changelog(visit: Visit[Registry]) -> Response:
    package = visit.content.by_name.get(visit.argument("name"))
    if package is None:
        return NOT_FOUND
    rows = tuple((one.version, one.day, Cell(f"{one.kilobytes:,} kB", number=True), one.change) for one in package.releases)
    sizes = Chart("Size in kB", tuple((one.version, float(one.kilobytes)) for one in reversed(package.releases)))
    blocks = (Table("", ("Version", "Released", "Size", "Main change"), rows), sizes)
    crumbs = (Link("All packages", "/packages"), Link(package.name, package.href))
    return Page(f"{package.name} changelog", blocks, crumbs, heading=f"{package.name} changelog")


@kind.page("/packages/{name}/{version}/{section}")
def section_page(visit: Visit[Registry]) -> Response:
    package = visit.content.by_name.get(visit.argument("name"))
    section = visit.argument("section")
    release = next((r for r in package.releases if r.version == visit.argument("version")), None) if package else None
    if package is None or release is None or section not in ("install", "settings", "functions"):
        return NOT_FOUND
    blocks: tuple[Block, ...]
    if section == "install":
        size = f"Version {release.version} was released on {release.day} and takes {release.kilobytes:,} kB."
        blocks = (
            _install(package.name, release.version),
            Prose("Before you start", (size, f"It needs Python {package.least} or newer.")),
        )
    elif section == "settings":
        rows = tuple((name, value, SETTINGS[name][0]) for name, value in release.settings)
        code = "\n".join(f"{name} = {value}" for name, value in release.settings)
        blocks = (
            Table("Settings", ("Setting", "Default", "Meaning"), rows),
            Prose("As a file", ("Put this beside your program:",)),
            Code(code),
        )
    else:
        blocks = tuple(
            Facts(
                f"{one.name}()",
                (("What it does", one.text), ("Returns", one.returns), ("Raises", one.raises), ("Since version", one.since)),
            )
            for one in package.functions
        )
    return _manual(visit, package, release, section, blocks)


@kind.page("/releases")
def releases(visit: Visit[Registry]) -> Response:
    newest = sorted(visit.content.packages, key=lambda package: package.releases[0].day, reverse=True)
    rows = tuple((p.releases[0].day, Cell(p.name, p.href), p.releases[0].version, p.releases[0].change) for p in newest)
    return Page(
        "Releases", (Table("", ("Day", "Package", "Version", "Main change"), rows, sortable=True),), heading="Releases"
    )


@kind.page("/people")
def people(visit: Visit[Registry]) -> Response:
    cards = tuple(
        Card(
            one.name, one.href, Picture("face", one.name.replace(" ", "-"), 400, 300), meta=(one.city, f"since {one.joined}")
        )
        for one in visit.content.people
    )
    return Page("Maintainers", (CardRow("", cards),), heading="Maintainers")


@kind.page("/people/{slug}")
def person_page(visit: Visit[Registry]) -> Response:
    one = next((one for one in visit.content.people if one.href == visit.path), None)
    if one is None:
        return NOT_FOUND
    own = [package for package in visit.content.packages if package.maintainer == one.name]
    rows = (
        ("Region", one.city),
        ("Member since", str(one.joined)),
        ("Commits", f"{one.commits:,} commits"),
        ("Packages", f"{len(own)} in all"),
    )
    blocks: tuple[Block, ...] = (Facts("", rows), CardRow("Packages", tuple(map(_card, own)))) if own else (Facts("", rows),)
    return Page(one.name, blocks, (Link("Maintainers", "/people"), Link(one.name, one.href)), heading=one.name)


@kind.page("/start")
def start(visit: Visit[Registry]) -> Response:
    steps = (
        ("Which interpreter do I need?", "Each package says so on its page, under Requires."),
        ("How are versions numbered?", "Major, minor, patch. Only a major version may break your code."),
        ("Where are settings kept?", "In a file beside your program; each manual shows the defaults of its version."),
    )
    code = Code("python -m venv .venv\nsource .venv/bin/activate\npip install --upgrade pip")
    return Page(
        "Getting started",
        (Prose("First steps", ("Make a place for your packages:",)), code, Accordion("Questions", steps)),
        heading="Getting started",
    )


SEVERITY: Final = ("Low", "Normal", "High", "Critical")


def report_form(content: Registry) -> Form:
    what = (
        Field("package", "Package", "select", tuple(package.name for package in content.packages)),
        Field("version", "Affected version", pattern=r"\d+\.\d+\.\d+", hint="Such as 1.4.2"),
        Field("severity", "Severity", "radio", SEVERITY),
    )
    how = (
        Field("title", "Title"),
        Field("text", "What happened", "textarea"),
        Field("email", "E-mail", "email"),
        Field("log", "Log file", "file", required=False, hint="Optional"),
    )
    return Form("report", (FormStep("What is affected", what), FormStep("The problem", how)), submit="Send report")


@kind.page("/report")
def report(visit: Visit[Registry]) -> Response:
    form = report_form(visit.content)
    values = visit.filled(form)
    if values is None:
        return Page("Report a problem", (visit.form(form),), heading="Report a problem")
    visit.memory.record("report", values)
    return Page("Report sent", (Notice("The maintainers have been told.", "good", "Report sent"),), heading="Thank you")
