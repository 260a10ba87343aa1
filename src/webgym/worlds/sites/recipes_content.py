"""What a cookery site holds: recipes with their amounts, and the cooks who wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import FAMILY, GIVEN, phrases

MANNER: Final = phrases(
    "Smoky|Golden|Rustic|Spiced|Roasted|Creamy|Zesty|Charred|Herbed|Crispy|Slow|Glazed|Tangy|Sunny|Velvety|Peppery"
)
COOLING: Final = phrases("Sparkling|Sunny|Icy|Zesty|Tangy|Spiced|Golden|Fresh")
# What is cooked, by course: the main thing and the dish made of it.
DISHES: Final = {
    "Breakfast": ("Oat|Banana|Berry|Coconut|Apple", "Pancakes|Porridge|Granola|Waffles|Muffins"),
    "Starters": ("Beetroot|Leek|Fennel|Salmon|Goat Cheese", "Salad|Tartlets|Fritters|Crostini|Terrine"),
    "Soups": ("Tomato|Pumpkin|Lentil|Mushroom|Carrot", "Soup|Broth|Chowder|Bisque"),
    "Mains": ("Chickpea|Chicken|Lamb|Aubergine|Cod|Tofu|Beef", "Stew|Curry|Pie|Gratin|Traybake|Risotto"),
    "Desserts": ("Lemon|Chocolate|Almond|Pear|Cherry", "Tart|Cake|Pudding|Crumble|Sorbet"),
    "Drinks": ("Ginger|Mint|Peach|Hibiscus|Cucumber", "Cooler|Lemonade|Iced Tea|Smoothie"),
}
CUISINES: Final = ("Italian", "Moroccan", "Thai", "Mexican", "Nordic", "Indian", "French", "Levantine", "Japanese", "Greek")
DIETS: Final = ("Vegan", "Vegetarian", "Gluten-free", "Contains meat or fish")
EFFORT: Final = ("Easy", "Moderate", "Ambitious")
LARDER: Final = {
    "g": "plain flour|caster sugar|butter|rice|red lentils|yoghurt|cherry tomatoes|spinach|oats|feta|walnuts|couscous",
    "ml": "olive oil|vegetable stock|coconut milk|cream|cider vinegar|soy sauce|apple juice|almond milk",
    "tsp": "cumin|paprika|baking powder|sea salt|cinnamon|turmeric|mustard|vanilla extract",
    "pieces": "onions|garlic cloves|lemons|eggs|carrots|potatoes|bay leaves|limes|spring onions",
}
STEPS: Final = (
    "Heat the oven and line a tin with paper.",
    "Chop everything finely and keep it apart.",
    "Warm the oil and let the spices sizzle until they smell sweet.",
    "Stir in the rest and season well.",
    "Let it simmer without a lid until it thickens.",
    "Fold gently, and stop as soon as no streaks are left.",
    "Rest it for a while before serving.",
    "Taste, adjust, and bring it to the table.",
)
GUIDES: Final = {
    "Sharpening knives": "Draw the blade over the stone at twenty degrees, from heel to tip.",
    "Cooking dried beans": "Soak them overnight and salt the water only near the end.",
    "Tempering chocolate": "Melt two thirds, then cool it with the last third.",
    "Making stock": "Start with cold water and never let it boil hard.",
    "Proving dough": "It is ready when a dent of a finger comes back slowly.",
    "Roasting vegetables": "Leave room between them, or they steam.",
}


@dataclass(frozen=True)
class Cook:
    slug: str
    name: str
    town: str
    since: int
    speciality: str

    @property
    def href(self) -> str:
        return f"/cooks/{self.slug}"


@dataclass(frozen=True)
class Recipe:
    slug: str
    name: str
    course: str
    cuisine: str
    diet: str
    effort: str
    prep: int
    cooking: int
    serves: int
    kcal: int
    protein: int
    fibre: int
    cook: Cook
    stars: float
    votes: int
    ingredients: tuple[tuple[str, str], ...]

    @property
    def href(self) -> str:
        return f"/recipe/{self.slug}"

    @property
    def scene(self) -> str:
        """The subject of its pictures."""
        return "mug" if self.course == "Drinks" else "food"

    @property
    def total(self) -> int:
        return self.prep + self.cooking

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Preparation", f"{self.prep} min"),
            ("Cooking", f"{self.cooking} min"),
            ("Serves", f"{self.serves} people"),
            ("Effort", self.effort),
            ("Cuisine", self.cuisine),
            ("Diet", self.diet),
        )


@dataclass(frozen=True)
class Cookery:
    recipes: tuple[Recipe, ...]
    cooks: tuple[Cook, ...]
    by_slug: dict[str, Recipe]

    def by(self, cook: Cook) -> tuple[Recipe, ...]:
        return tuple(recipe for recipe in self.recipes if recipe.cook is cook)


_LARDER: Final = tuple((unit, name) for unit, names in LARDER.items() for name in names.split("|"))
_AMOUNTS: Final = {"g": (40, 500, 10), "ml": (20, 600, 10), "tsp": (1, 5, 1), "pieces": (1, 7, 1)}


def cookery(site: Site) -> Cookery:
    chance = site.draw("cookery")
    people = zip(chance.sample(GIVEN, 10), chance.sample(FAMILY, 10), strict=True)
    cooks = tuple(
        Cook(
            f"{given}-{family}".lower(),
            f"{given} {family}",
            chance.choice(("a farmhouse", "a houseboat", "a city flat", "a mountain inn", "a bakery", "a school canteen")),
            chance.randrange(1998, 2024),
            chance.choice(("bread", "pickles", "pastry", "street food", "soups", "open fire cooking", "preserves")),
        )
        for given, family in people
    )
    recipes: dict[str, Recipe] = {}
    for course, (mains, dishes) in DISHES.items():
        for _ in range(chance.randrange(8, 15)):
            manner = chance.choice(COOLING if course == "Drinks" else MANNER)
            name = f"{manner} {chance.choice(mains.split('|'))} {chance.choice(dishes.split('|'))}"
            slug = name.lower().replace(" ", "-")
            inside = []
            for unit, thing in chance.sample(_LARDER, chance.randrange(6, 10)):
                inside.append((thing, f"{chance.randrange(*_AMOUNTS[unit])} {unit}"))
            recipes[slug] = Recipe(
                slug,
                name,
                course,
                chance.choice(CUISINES),
                chance.choice(DIETS),
                chance.choice(EFFORT),
                chance.randrange(1, 9) * 5,
                chance.randrange(0, 25) * 5,
                chance.randrange(2, 9),
                chance.randrange(90, 870),
                chance.randrange(2, 60),
                chance.randrange(1, 25),
                chance.choice(cooks),
                chance.randrange(30, 51) / 10,
                chance.randrange(4, 900),
                tuple(inside),
            )
    return Cookery(tuple(recipes.values()), cooks, recipes)
