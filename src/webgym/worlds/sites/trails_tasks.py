"""Tasks of the guide to trails: look up, read the profile, compare, filter, collect, ask for a permit, save."""

from __future__ import annotations

from dataclasses import replace

from webgym.worlds.account import credentials, login_moves
from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.kind import Site
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Open, Press, See, SortBy, Tick
from webgym.worlds.saved import save_some
from webgym.worlds.sites.trails import kind, tabbed
from webgym.worlds.sites.trails_content import Land, Park, Trail
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN


def _trail(trail: Trail) -> Topic:
    return Topic(
        trail.name,
        trail.href,
        f"the {trail.name}",
        (
            Known("length in km", trail.km, f"{trail.km} km"),
            Known("ascent in metres", str(trail.ascent), f"{trail.ascent:,} m up"),
            Known("walking time", trail.time),
            Known("route type", trail.form),
            Known("surface", trail.surface),
            Known("rule for dogs", trail.dogs),
            Known("present condition", trail.state),
        ),
    )


def _profile(site: Site, trail: Trail) -> Topic:
    """What the elevation chart tells."""
    opener = (Press("Elevation"),) if tabbed(site) else ()
    step = trail.metres / 1000 / (len(trail.profile) - 1)
    knowns = tuple(
        Known(f"height in metres at km {n * step:.1f}", str(trail.profile[n]), f"{trail.profile[n]:,} m", opener=opener)
        for n in (0, 2, 3, 5, 6)
    )
    return Topic(trail.name, trail.href, f"the {trail.name}", knowns)


def _park(park: Park) -> Topic:
    knowns = (
        Known("area in hectares", str(park.hectares), f"{park.hectares:,} hectares"),
        Known("founding year", str(park.founded)),
        Known("entrance fee for a car", f"${park.fee}", f"${park.fee} a car"),
        Known("head ranger", park.ranger),
        Known("telephone number of the ranger station", park.phone),
    )
    return Topic(park.name, park.href, park.name, knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Land]) -> Draft:
    topics = [*map(_trail, make.content.trails), *map(_park, make.content.parks)]
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I want to go walking. Tell me {}.",
        "Check this guide for {}.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


@kind.task("profile", [(1, 4)])
def profile(make: Maker[Land]) -> Draft:
    """Heights, from the elevation chart of a trail."""
    openings = ("Find {}.", "Read the elevation chart and tell me {}.", "How steep is it? Report {}.")
    return look_up(make, make.content.trails, lambda trail: _profile(make.site, trail), openings)


@kind.task("compare", [(3, 5)])
def compared(make: Maker[Land]) -> Draft:
    if make.chance.random() < 0.5:
        return compare(
            make, make.content.trails, _trail, "ascent in metres", lambda t: t.ascent, "trail with the most ascent"
        )
    return compare(make, make.content.trails, _trail, "length in km", lambda trail: trail.metres, "longest trail")


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[Land]) -> Draft:
    by = make.one(("Park", "Route type", "Dogs"))
    level = make.one(sorted({trail.level for trail in make.content.trails}))
    inside = [trail for trail in make.content.trails if trail.level == level]
    value = make.one(sorted({_side(trail, by) for trail in inside}))
    fitting = [trail for trail in inside if _side(trail, by) == value]
    what, order, short = make.one((("shortest", "Shortest first", True), ("steepest", "Most ascent", False)))
    best = one_best(make, fitting, lambda trail: -trail.metres if short else trail.ascent)
    way = (Open("All trails"), Filter("Difficulty", level), Filter(by, value), SortBy(order), Open(best.name))
    said = "shortest" if short else "one with the most ascent"
    ask = f"among the trails of difficulty “{level}” with {by.lower()} “{value}”, the {said}"
    return best_fit(
        make,
        _trail(best),
        map(_trail, fitting),
        ask,
        way,
        ("Find, {}.", f"I want the {what} one. Find, {{}}.", "Use the filters and find, {}."),
    )


def _side(trail: Trail, by: str) -> str:
    return {"Park": trail.park, "Route type": trail.form, "Dogs": trail.dogs}[by]


@kind.task("collect", [(4, 10)])
def collect(make: Maker[Land]) -> Draft:
    trails = make.some(make.content.trails, make.shape[0])
    asked = make.one(("length in km", "walking time", "ascent in metres", "present condition"))
    return each(make, list(map(_trail, trails)), asked, ("Collect {}.", "For a walking plan, note {}.", "List {}."))


@kind.task("permit", [(1, 6)])
def permit(make: Maker[Land]) -> Draft:
    chance, park = make.chance, make.one(make.content.parks)
    day = f"2026-{chance.randrange(6, 10):02d}-{chance.randrange(1, 29):02d}"
    nights, people = str(chance.randrange(1, 9)), str(chance.randrange(1, 10))
    camp, name = chance.choice(("Tent", "Shelter", "Open air")), f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    entered = (
        Entered("park", park.name, f"for {park.name}"),
        Entered("day", day, f"entering on {day}"),
        Entered("nights", nights, f"number of nights {nights}"),
        Entered("people", people, f"number of people {people}"),
        Entered("camp", camp, f"kind of camp “{camp}”"),
        Entered("name", name, f"led by {name}"),
    )
    ask, facts = submitted(make, "permit", "A permit is asked for", entered)
    route = (
        Open("Permits"),
        Choose("Park", park.name),
        Fill("Date of entry", day),
        Fill("Nights", nights),
        Fill("People", people),
        Choose("Kind of camp", camp),
        Press("Continue"),
        Fill("Leader of the group", name),
        Fill("Telephone", "555-3030"),
        Tick("We carry our waste out"),
        Press("Ask for the permit"),
        See(("Your permit is ready",)),
    )
    openings = ("Get an overnight permit {}. The rest is up to you.", "Ask for a permit {}; invent what else is needed.")
    return Draft(openings, (Group(ask, "The permit", facts, route),))


@kind.task("save", [(1, 4)])
def save(make: Maker[Land]) -> Draft:
    account = make.site.account
    openings = (
        f"Sign in ({credentials(account)}) and add {{}} to my list, and nothing else.",
        f"Put exactly this on my list: {{}}. My log-in is {credentials(account)}.",
    )
    saved = save_some(make, make.content.trails, _trail, lambda trail: trail.slug, "Add to my list", "My list", openings)
    return replace(saved, start=login_moves(account))
