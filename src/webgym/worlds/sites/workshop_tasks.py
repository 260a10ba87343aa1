"""Tasks of the workshop: look up, compare, narrow down, gather materials, calculate, save projects, borrow a tool."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, Slide, SortBy
from webgym.worlds.saved import save_some
from webgym.worlds.sites.workshop import BORROW, DRYING, KEEP, PICKUP, SURFACES, kind, litres
from webgym.worlds.sites.workshop_content import Bench, Guide, Tool
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, listed, money


def _guide(guide: Guide) -> Topic:
    known = (
        Known("skill level", guide.skill),
        Known("time in hours", str(guide.hours), f"{guide.hours} hours"),
        Known("cost of materials", money(guide.cents)),
        Known("author", guide.maker),
        Known("date of publication", guide.written),
        Known("craft", guide.craft),
        Known("drying time in hours", str(guide.drying), f"for {guide.drying} hours", opener=(Press(DRYING),)),
    )
    return Topic(guide.name, guide.href, f"the guide “{guide.name}”", known)


def _tool(tool: Tool) -> Topic:
    known = (
        Known("deposit", money(tool.deposit)),
        Known("shelf", tool.shelf),
        Known("power in watts", str(tool.watts), f"{tool.watts} W"),
        Known("longest loan in days", str(tool.days), f"{tool.days} days"),
    )
    return Topic(tool.name, tool.href, f"the tool “{tool.name}”", known, (Open("Tool library"), Open(tool.name)))


def _topic(thing: Guide | Tool) -> Topic:
    return _guide(thing) if isinstance(thing, Guide) else _tool(thing)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Bench]) -> Draft:
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I want to build something. Tell me {}.",
        "Please find out {}.",
    )
    things: tuple[Guide | Tool, ...] = (*make.content.guides, *make.content.tools)
    return look_up(make, things, _topic, openings)


@kind.task("compare", [(3, 5)])
def costs(make: Maker[Bench]) -> Draft:
    if make.chance.random() < 0.5:
        return compare(make, make.content.guides, _guide, "cost of materials", lambda one: one.cents, "cheapest", most=False)
    return compare(make, make.content.tools, _tool, "power in watts", lambda one: one.watts, "most powerful")


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Bench]) -> Draft:
    """The quickest or cheapest guide of a craft and a skill, or of an author."""
    by, side = make.one((("Craft", "craft"), ("Skill", "skill"), ("Author", "maker")))
    value = make.one(sorted({getattr(guide, side) for guide in make.content.guides}))
    inside = [guide for guide in make.content.guides if getattr(guide, side) == value]
    if make.chance.random() < 0.5:
        best, what, order = one_best(make, inside, lambda guide: guide.hours, most=False), "quickest", "Quickest first"
    else:
        best, what, order = one_best(make, inside, lambda guide: guide.cents, most=False), "cheapest", "Cheapest first"
    route = (Open("Guides"), Filter(by, value), SortBy(order), Open(best.name))
    ask = f"the {what} guide among those whose {by.lower()} is “{value}”"
    return best_fit(
        make, _guide(best), map(_guide, inside), ask, route, ("Find {}.", "Use the filters to find {}.", "Look for {}.")
    )


@kind.task("collect", [(4, 8)])
def gather(make: Maker[Bench]) -> Draft:
    """Amounts of materials of a guide, or one side of several."""
    count = make.shape[0]
    if count > 4 or make.chance.random() < 0.4:
        if make.chance.random() < 0.5:
            tools = make.some(make.content.tools, count)
            return each(make, [_tool(tool) for tool in tools], make.one(("deposit", "shelf")))
        return each(
            make, [_guide(one) for one in make.some(make.content.guides, count)], make.one(("author", "cost of materials"))
        )
    guide = make.one(make.content.guides)
    wanted = make.some(guide.materials, count)
    facts = tuple(
        Fact(
            f"The {guide.name} needs {amount} of {thing}.",
            (Shown(make.host, guide.href, (thing, amount), guide.name), Says(amount)),
            f"{thing}: {amount}",
        )
        for thing, amount in wanted
    )
    ask = f"how much {listed([thing for thing, _ in wanted])} the {guide.name} needs, with the units"
    route = (*_guide(guide).way, *(See(pair) for pair in wanted))
    return Draft(("Find out {}.", "For my shopping list: {}.", "Tell me {}."), (Group(ask, "Materials", facts, route),))


@kind.task("paint", [(1, 1)])
def paint(make: Maker[Bench]) -> Draft:
    chance = make.chance
    area, coats, surface = chance.randrange(6, 180), chance.randrange(1, 5), chance.choice(sorted(SURFACES))
    need = litres(area, coats, surface)
    shown = Shown(make.host, "/paint", (f"{need} litres of paint",))
    fact = Fact(f"{area} square metres of {surface} need {need} litres.", (shown, Says(need)), f"litres: {need}")
    route = (
        Open("Paint calculator"),
        Fill("Square metres", str(area)),
        Slide("Coats", float(coats)),
        Choose("Surface", surface),
        Press("Calculate"),
        See((f"{need} litres of paint",)),
    )
    words = f"{coats} coat{'s' if coats > 1 else ''} of paint on {area} square metres of the surface “{surface}”"
    openings = (
        "Use the paint calculator: how many litres do I need for {}?",
        "With the site's calculator, find the litres for {}.",
    )
    return Draft(openings, (Group(words, "Paint", (fact,), route),))


@kind.task("save", [(1, 4)])
def save(make: Maker[Bench]) -> Draft:
    openings = ("Save {} to my projects.", "Put {} into my projects, and nothing else.", "I want to keep {} in my projects.")
    return save_some(make, make.content.guides, _guide, lambda guide: guide.slug, KEEP, "My projects", openings)


@kind.task("borrow", [(1, 5)])
def borrow(make: Maker[Bench]) -> Draft:
    chance, tool = make.chance, make.one(make.content.tools)
    name, day = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", f"2026-07-{chance.randrange(1, 29):02d}"
    days, pickup = str(chance.randrange(1, tool.days + 1)), chance.choice(PICKUP)
    ask, facts = submitted(
        make,
        "loan",
        "The loan",
        (
            Entered("tool", tool.name, f"of the {tool.name}"),
            Entered("day", day, f"starting on {day}"),
            Entered("days", days, f"of {days} day{'' if days == '1' else 's'}"),
            Entered("pickup", pickup, f"with pick-up in the {pickup.lower()}"),
            Entered("name", name, f"in the name of {name}"),
        ),
    )
    route: tuple[Move, ...] = (
        *_tool(tool).way,
        Fill("Full name", name),
        Fill("First day", day),
        Fill("Number of days", days),
        Choose("Pick-up", pickup),
        Press(BORROW),
        See(("Loan requested",)),
    )
    openings = (
        "Request a loan {}. The rest is up to you.",
        f"From the tool library of {make.site.brand}, request a loan {{}}.",
    )
    return Draft(openings, (Group(ask, "The loan", facts, route),))
