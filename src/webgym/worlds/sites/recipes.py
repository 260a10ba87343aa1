"""A cookery site: recipes with ingredients, method, nutrition and reviews; cooks; kitchen guides; a recipe box of one's own.

The list of recipes goes on as one scrolls. Tasks: look up particulars, compare, filter, gather, save.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.sites.recipes_content import DISHES, GUIDES, STEPS, Cook, Cookery, Recipe, cookery
from webgym.worlds.words import FAMILY, GIVEN


def menu(site: Site, content: Cookery) -> tuple[b.Link, ...]:
    inside = tuple(b.Link(f"All {course.lower()}", f"/recipes?course={course}") for course in DISHES)
    return (
        b.Link("Recipes", "/recipes", inside),
        b.Link("Our cooks", "/cooks"),
        b.Link("Kitchen guides", "/guides"),
        b.Link("My recipe box", "/box"),
    )


def findable(content: Cookery) -> tuple[Entry, ...]:
    dishes = [Entry(recipe.name, recipe.href, f"{recipe.course}, by {recipe.cook.name}") for recipe in content.recipes]
    return (*dishes, *(Entry(cook.name, cook.href, f"Cook, {cook.speciality}") for cook in content.cooks))


def tagline(site: Site, content: Cookery) -> str:
    return f"{len(content.recipes)} tested recipes from {len(content.cooks)} cooks who eat what they write."


kind: Final = Kind(
    "recipes",
    subdomain="Food & Cooking",
    words=("recipes", "kitchen", "cookbook", "pantry", "supper", "bakes", "spoon", "eats"),
    content=cookery,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(recipe: Recipe) -> b.Card:
    return b.Card(
        recipe.name,
        recipe.href,
        b.Picture(recipe.scene, recipe.slug),
        badge=recipe.diet if recipe.diet == "Vegan" else "",
        meta=(recipe.cuisine, f"{recipe.total} min in all", recipe.effort),
        stars=recipe.stars,
        votes=recipe.votes,
    )


saves(kind, "/box", "My recipe box", lambda content, slug: _card(content.by_slug[slug]) if slug in content.by_slug else None)


@kind.page("/")
def home(visit: Visit[Cookery]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    picks = chance.sample(content.recipes, 8)
    star = picks[0]
    hero = b.Hero(
        f"Today: {star.name}",
        f"{star.cook.name} serves {star.serves} with it, in {star.total} minutes. {tagline(site, content)}",
        b.Picture(star.scene, star.slug, 900, 600),
        b.Link("Cook this today", star.href),
        b.Link("All recipes", "/recipes"),
    )
    courses = b.Tiles(
        "What are you in the mood for?",
        tuple(
            (b.Link(course, f"/recipes?course={course}"), "", b.Picture("food", f"c-{course}", 300, 200))
            for course in DISHES
        ),
    )
    fast = sorted(content.recipes, key=lambda recipe: (recipe.total, recipe.slug))[:4]
    quick = b.CardRow("On the table in no time", tuple(map(_card, fast)))
    loved = b.CardRow("Our readers love", tuple(map(_card, picks[1:7])), b.Link("See everything", "/recipes"), big=True)
    people = b.CardRow("Meet the cooks", tuple(map(_cook_card, content.cooks[:4])), b.Link("All our cooks", "/cooks"))
    figures = b.Stats((("Recipes", str(len(content.recipes))), ("Cooks", str(len(content.cooks))), ("Cuisines", "10")))
    tips = b.Accordion("Tips of the week", tuple(GUIDES.items())[:3])
    orders = (
        (hero, courses, loved, tips),
        (loved, hero, people, quick),
        (hero, quick, people, courses),
        (loved, b.Columns(((courses,), (tips,))), people),
        (courses, loved, figures, people),
        (hero, figures, quick, loved),
    )
    return b.Page("Home", orders[site.style.layout])


def _listing(recipes: tuple[Recipe, ...]) -> Listing[Recipe]:
    return Listing(
        recipes,
        _card,
        lambda recipe: f"{recipe.name} {recipe.course} {recipe.cuisine} {recipe.diet} {recipe.cook.name}",
        (
            Facet("course", "Course", lambda recipe: recipe.course),
            Facet("cuisine", "Cuisine", lambda recipe: recipe.cuisine),
            Facet("diet", "Diet", lambda recipe: recipe.diet),
        ),
        (Limit("time", "Minutes at most", lambda recipe: recipe.total, 10, 160, 10),),
        (
            Sort("fast", "Quickest first", lambda recipe: recipe.total),
            Sort("stars", "Best rated", lambda recipe: recipe.stars * 10_000 + recipe.votes, down=True),
            Sort("light", "Fewest calories", lambda recipe: recipe.kcal),
        ),
        endless=True,
    )


@kind.page("/recipes")
def recipes_page(visit: Visit[Cookery]) -> b.Response:
    return b.Page("Recipes", (visit.listing(_listing(visit.content.recipes), "All recipes"),))


@kind.page("/recipe/{slug}")
def recipe_page(visit: Visit[Cookery]) -> b.Response:
    recipe = visit.content.by_slug.get(visit.argument("slug"))
    if recipe is None:
        return NOT_FOUND
    chance = visit.site.draw("recipe", recipe.slug)
    detail = b.Detail(
        recipe.name,
        tuple(b.Picture(recipe.scene, f"{recipe.slug}{f'-{n}' if n else ''}", 720, 540) for n in range(3)),
        stars=recipe.stars,
        votes=recipe.votes,
        badge=recipe.course,
        lead=f"{recipe.cook.name} brought this one from {recipe.cook.town}. {chance.choice(STEPS)}",
        rows=recipe.rows,
        buttons=(keep_button(recipe.slug, "Save to recipe box"),),
        links=(b.Link(f"By {recipe.cook.name}", recipe.cook.href),),
    )
    amounts = tuple((thing, b.Cell(amount, number=True)) for thing, amount in recipe.ingredients)
    needed = b.Table("", ("Ingredient", "Amount"), amounts)
    method = b.Prose("", tuple(f"{n}. {step}" for n, step in enumerate(chance.sample(STEPS, 5), 1)))
    said = b.Reviews("", tuple(_review(visit, recipe, n) for n in range(4)))
    nutrition = b.Facts("", nutrition_rows(recipe))
    parts = b.Tabs((("Ingredients", (needed,)), ("Method", (method,)), ("Reviews", (said,))))
    others = [other for other in visit.content.recipes if other.course == recipe.course and other is not recipe]
    more = b.CardRow(f"More {recipe.course.lower()}", tuple(map(_card, chance.sample(others, min(4, len(others))))))
    crumbs = (b.Link("Recipes", "/recipes"), b.Link(recipe.name, recipe.href))
    per_serving = b.Modal("Nutrition facts", "Nutrition per serving", (nutrition,))
    return b.Page(recipe.name, (detail, per_serving, parts, more), crumbs)


def nutrition_rows(recipe: Recipe) -> tuple[tuple[str, str], ...]:
    return (("Energy", f"{recipe.kcal} kcal"), ("Protein", f"{recipe.protein} g"), ("Fibre", f"{recipe.fibre} g"))


def _review(visit: Visit[Cookery], recipe: Recipe, number: int) -> b.Review:
    chance = visit.site.draw("review", recipe.slug, number)
    title = chance.choice(
        ("A keeper", "The children asked for more", "Too salty for me", "Easy and good", "Sunday favourite")
    )
    text = chance.choice(
        (
            "I doubled the garlic and regret nothing.",
            "Took me a little longer than stated, but worth it.",
            "Used what was in the fridge and it still worked.",
            "We eat this every other week now.",
        )
    )
    return b.Review(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.randrange(3, 6), title, text)


def _cook_card(cook: Cook) -> b.Card:
    return b.Card(
        cook.name, cook.href, b.Picture("face", cook.slug), meta=(f"With us since {cook.since}",), text=cook.speciality
    )


@kind.page("/cooks")
def cooks(visit: Visit[Cookery]) -> b.Response:
    return b.Page("Our cooks", (b.CardRow("", tuple(map(_cook_card, visit.content.cooks))),), heading="Our cooks")


@kind.page("/cooks/{slug}")
def cook_page(visit: Visit[Cookery]) -> b.Response:
    cook = next((cook for cook in visit.content.cooks if cook.href == visit.path), None)
    if cook is None:
        return NOT_FOUND
    written = visit.content.by(cook)
    rows = (("Speciality", cook.speciality), ("With us since", str(cook.since)), ("Recipes here", str(len(written))))
    lead = f"{cook.name} cooks in {cook.town} and writes down only what has worked three times."
    detail = b.Detail(cook.name, (b.Picture("face", cook.slug, 480, 480),), lead=lead, rows=rows)
    crumbs = (b.Link("Our cooks", "/cooks"), b.Link(cook.name, cook.href))
    return b.Page(cook.name, (detail, b.CardRow(f"Recipes by {cook.name}", tuple(map(_card, written)))), crumbs)


@kind.page("/guides")
def guides(visit: Visit[Cookery]) -> b.Response:
    spoons = (("1 tsp", "5 ml"), ("1 tbsp", "15 ml"), ("1 cup", "240 ml"), ("1 oz", "28 g"))
    return b.Page(
        "Kitchen guides",
        (b.Accordion("How it is done", tuple(GUIDES.items())), b.Table("Measures", ("This", "is this"), spoons)),
        heading="Kitchen guides",
        lead="Small skills that make every recipe better.",
    )
