"""Tasks of the package registry: look up, read old versions' settings, compare, filter, collect, report a problem."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Open, Press, See, SortBy
from webgym.worlds.sites.software import SEVERITY, kind
from webgym.worlds.sites.software_content import Maintainer, Package, Registry, Release
from webgym.worlds.subjects import Known, Topic, fact
from webgym.worlds.words import listed


def _package(package: Package) -> Topic:
    return Topic(
        package.name,
        package.href,
        f"the package {package.name}",
        (
            Known("latest version", package.releases[0].version),
            Known("licence", package.licence),
            Known("number of weekly downloads", str(package.downloads), f"{package.downloads:,}"),
            Known("number of open issues", str(package.issues), f"{package.issues} open"),
            Known("oldest Python version it works with", package.least, f"Python {package.least} or newer", as_text=True),
            Known("maintainer", package.maintainer),
        ),
    )


def _person(one: Maintainer) -> Topic:
    knowns = (
        Known("region", one.city),
        Known("year of joining", str(one.joined)),
        Known("number of commits", str(one.commits), f"{one.commits:,} commits"),
    )
    return Topic(one.name, one.href, f"the maintainer {one.name}", knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Registry]) -> Draft:
    topics = [*map(_package, make.content.packages)]
    if max(make.shape) < 4:
        topics += map(_person, make.content.people)
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I am choosing dependencies. Tell me {}.",
        "Check the registry for {}.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


def _settings(package: Package, release: Release) -> Topic:
    knowns = tuple(Known(f"default of the setting {name}", value) for name, value in release.settings)
    newest = package.releases[0].version == release.version
    turn = () if newest else (Choose("Version", release.version), See((f"Settings for version {release.version}",)))
    way = (*_package(package).way, Open("Settings"), *turn)
    where = package.at(release.version, "settings")
    return Topic(f"{package.name} {release.version}", where, f"{package.name} in version {release.version}", knowns, way)


@kind.task("settings", [(1, 4), (0, 4)])
def settings(make: Maker[Registry]) -> Draft:
    """Defaults in the manual of a given version, by the version switch."""
    groups = []
    for package, count in zip(make.some(make.content.packages, len(make.shape)), make.shape, strict=True):
        release = make.one(package.releases)
        topic = _settings(package, release)
        chosen = make.some(topic.knowns, count)
        names = listed([known.name.rpartition(" ")[2] for known in chosen])
        ask = f"the default of {names} in version {release.version} of {package.name}"
        facts = tuple(fact(make, topic, known) for known in chosen)
        route = (*topic.way, *(move for known in chosen for move in known.way))
        groups.append(Group(ask, f"Settings of {topic.called}", facts, route))
    return Draft(("Find {}.", "Look in the documentation for {}.", "My program misbehaves. Tell me {}."), tuple(groups))


def _functions(package: Package) -> Topic:
    knowns = tuple(
        Known(f"{asked} of the function {one.name}", value)
        for one in package.functions
        for asked, value in (("error raised by a call", one.raises), ("type returned by a call", one.returns))
    )
    way = (*_package(package).way, Open("Functions"))
    where = package.at(package.releases[0].version, "functions")
    return Topic(f"{package.name} functions", where, f"the package {package.name}", knowns, way)


@kind.task("functions", [(1, 3)])
def functions(make: Maker[Registry]) -> Draft:
    openings = ("Find {}.", "According to the manual, give me {}.", "Read the reference and tell me {}.")
    return look_up(make, make.content.packages, _functions, openings)


@kind.task("compare", [(3, 5)])
def compared(make: Maker[Registry]) -> Draft:
    packages = make.content.packages
    if make.chance.random() < 0.5:
        return compare(
            make, packages, _package, "number of open issues", lambda one: one.issues, "package with the most issues"
        )
    asked = "number of weekly downloads"
    return compare(make, packages, _package, asked, lambda one: one.downloads, "most downloaded package")


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[Registry]) -> Draft:
    licence = make.one(sorted({package.licence for package in make.content.packages}))
    category = make.one(sorted({package.category for package in make.content.packages}))
    inside = [one for one in make.content.packages if one.category == category and one.licence == licence]
    what, order, issues = make.one(
        (("most downloaded", "Most downloaded", False), ("least reported", "Fewest open issues", True))
    )
    best = one_best(make, inside, lambda one: -one.issues if issues else one.downloads)
    said = "with the fewest open issues" if issues else "with the most downloads"
    way = (Open("All packages"), Filter("Category", category), Filter("Licence", licence), SortBy(order), Open(best.name))
    ask = f"the {category} package under the licence {licence} {said}"
    return best_fit(
        make,
        _package(best),
        map(_package, inside),
        ask,
        way,
        ("Find {}.", f"I want the {what} one: {{}}.", "Filter the packages for {}."),
    )


@kind.task("collect", [(4, 10)])
def collect(make: Maker[Registry]) -> Draft:
    packages = make.some(make.content.packages, make.shape[0])
    asked = make.one(("latest version", "number of open issues", "number of weekly downloads"))
    openings = ("Collect {}.", "For an audit, note {}.", "List {}.")
    return each(make, list(map(_package, packages)), asked, openings)


@kind.task("report", [(1, 5)])
def report(make: Maker[Registry]) -> Draft:
    chance, package = make.chance, make.one(make.content.packages)
    version, severity = make.one(package.releases).version, chance.choice(SEVERITY)
    title = chance.choice(("Crash on start", "Wrong total", "Slow on large input", "Memory grows", "Typo in the log"))
    email = f"dev{chance.randrange(100, 999)}@example.com"
    entered = (
        Entered("package", package.name, f"about {package.name}"),
        Entered("version", version, f"version {version}"),
        Entered("severity", severity, f"severity {severity}"),
        Entered("title", title, f"titled “{title}”"),
        Entered("email", email, f"from {email}"),
    )
    ask, facts = submitted(make, "report", "A problem is reported", entered)
    route = (
        Open("Report a problem"),
        Choose("Package", package.name),
        Fill("Affected version", version),
        Choose("Severity", severity),
        Press("Continue"),
        Fill("Title", title),
        Fill("What happened", "It happens every time."),
        Fill("E-mail", email),
        Press("Send report"),
        See(("Report sent",)),
    )
    openings = (
        "Report a problem {}. Make up whatever else is needed.",
        "Send the maintainers a report {}; invent the rest.",
    )
    return Draft(openings, (Group(ask, "The report", facts, route),))
