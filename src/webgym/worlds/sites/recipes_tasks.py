"""Tasks of the cookery site: look up, compare, narrow down, gather ingredients, save recipes."""

from __future__ import annotations

from webgym.worlds.asking import best_fit, compare, each, look_up, one_best
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Filter, Open, Press, See, SortBy
from webgym.worlds.saved import save_some
from webgym.worlds.sites.recipes import kind
from webgym.worlds.sites.recipes_content import Cook, Cookery, Recipe
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import listed

_MODAL = (Press("Nutrition facts"),)


def _recipe(recipe: Recipe) -> Topic:
    return Topic(
        recipe.name,
        recipe.href,
        f"the {recipe.name}",
        (
            Known("preparation time in minutes", str(recipe.prep), f"{recipe.prep} min"),
            Known("cooking time in minutes", str(recipe.cooking), f"{recipe.cooking} min"),
            Known("number of people it serves", str(recipe.serves), f"{recipe.serves} people"),
            Known("effort", recipe.effort),
            Known("cuisine", recipe.cuisine),
            Known("average rating", f"{recipe.stars:.1f}"),
            Known("author", recipe.cook.name),
            Known("energy in kcal per serving", str(recipe.kcal), f"{recipe.kcal} kcal", opener=_MODAL, at_once=True),
            Known("protein in grams per serving", str(recipe.protein), f"{recipe.protein} g", opener=_MODAL, at_once=True),
        ),
    )


def _cook(content: Cookery, cook: Cook) -> Topic:
    written = str(len(content.by(cook)))
    known = (
        Known("speciality", cook.speciality),
        Known("year of joining the site", str(cook.since)),
        Known("number of recipes on the site", written),
    )
    return Topic(cook.name, cook.href, f"the cook {cook.name}", known, (Open("Our cooks"), Open(cook.name)))


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Cookery]) -> Draft:
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I am planning a dinner. Tell me {}.",
        "What does this cookery site give as {}?",
    )
    return look_up(make, make.content.recipes, _recipe, openings)


@kind.task("cooks", [(1, 3), (0, 3)])
def cooks(make: Maker[Cookery]) -> Draft:
    openings = ("Find {}.", f"Look up {{}} on {make.site.brand}.", "I would like to know {}.")
    return look_up(make, make.content.cooks, lambda cook: _cook(make.content, cook), openings)


@kind.task("compare", [(3, 5)])
def light(make: Maker[Cookery]) -> Draft:
    if make.chance.random() < 0.5:
        return compare(
            make,
            make.content.recipes,
            _recipe,
            "energy in kcal per serving",
            lambda recipe: recipe.kcal,
            "lightest",
            most=False,
        )
    return compare(
        make, make.content.recipes, _recipe, "cooking time in minutes", lambda recipe: recipe.cooking, "slowest to cook"
    )


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Cookery]) -> Draft:
    """The quickest or best rated recipe of a course and a diet, or of a cuisine."""
    by, value_of = make.one((("Cuisine", "cuisine"), ("Course", "course"), ("Diet", "diet")))
    value = make.one(sorted({getattr(recipe, value_of) for recipe in make.content.recipes}))
    inside = [recipe for recipe in make.content.recipes if getattr(recipe, value_of) == value]
    if make.chance.random() < 0.5:
        best, what, order = (
            one_best(make, inside, lambda r: r.total, most=False),
            "takes the least time in all",
            "Quickest first",
        )
    else:
        best, what, order = (
            one_best(make, inside, lambda r: r.kcal, most=False),
            "has the fewest calories",
            "Fewest calories",
        )
    route = (Open("Recipes"), Filter(by, value), SortBy(order), Open(best.name))
    ask = f"the recipe that {what} among those whose {by.lower()} is “{value}”"
    return best_fit(
        make,
        _recipe(best),
        map(_recipe, inside),
        ask,
        route,
        ("Find {}.", "Use the filters of the recipe list to find {}.", "Show me {}."),
    )


@kind.task("collect", [(4, 9)])
def gather(make: Maker[Cookery]) -> Draft:
    """Amounts of ingredients, or one side of several recipes."""
    count = make.shape[0]
    if count > 6 or make.chance.random() < 0.5:
        topics = [_recipe(recipe) for recipe in make.some(make.content.recipes, count)]
        return each(make, topics, make.one(("author", "cuisine", "effort")))
    recipe = make.one(make.content.recipes)
    wanted = make.some(recipe.ingredients, count)
    facts = tuple(
        Fact(
            f"The {recipe.name} needs {amount} of {thing}.",
            (Shown(make.host, recipe.href, (thing, amount), recipe.name), Says(amount)),
            f"{thing}: {amount}",
        )
        for thing, amount in wanted
    )
    ask = f"how much of {listed([thing for thing, _ in wanted])} the {recipe.name} needs, with the units"
    route = (*_recipe(recipe).way, *(See(pair) for pair in wanted))
    return Draft(("Find out {}.", "For my shopping list: {}.", "Tell me {}."), (Group(ask, "Ingredients", facts, route),))


@kind.task("save", [(1, 4)])
def save(make: Maker[Cookery]) -> Draft:
    return save_some(
        make,
        make.content.recipes,
        _recipe,
        lambda recipe: recipe.slug,
        "Save to recipe box",
        "My recipe box",
        ("Save {} to my recipe box.", "Put {} into the recipe box, and nothing else.", "Please keep {} in my recipe box."),
    )
