"""What a site of workshop guides holds: guides with tools, materials and steps; a library of tools to borrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import FAMILY, GIVEN, money, phrases

CRAFTS: Final = {
    "Woodwork": ("Oak|Pine|Walnut|Birch|Beech", "Bookshelf|Step Stool|Spice Rack|Bench|Bird House|Coat Rack", "table"),
    "Garden": ("Raised|Cedar|Slate|Willow|Brick", "Planter|Trellis|Compost Bin|Path|Pond|Cold Frame", "plant"),
    "Textiles": ("Linen|Denim|Wool|Canvas|Felt", "Tote|Cushion|Apron|Blanket|Curtain|Bag Organiser", "bag"),
    "Ceramics": ("Glazed|Stoneware|Pinched|Coiled|Speckled", "Mug|Vase|Bowl|Tea Light Holder|Plate Set", "vase"),
    "Electronics": ("Solar|Reclaimed|Dimmable|Copper|Modular", "Lamp|Radio|Door Bell|Speaker Box|Clock", "lamp"),
    "Renovation": (
        "Tiled|Insulated|Painted|Limewashed|Hidden",
        "Backsplash|Attic Hatch|Radiator Cover|Hallway|Shelf",
        "box",
    ),
}
SKILLS: Final = ("Beginner", "Intermediate", "Experienced")
TOOLS: Final = phrases(
    "Cordless Drill|Jigsaw|Orbital Sander|Mitre Saw|Heat Gun|Soldering Station|Sewing Machine|Tile Cutter|Clamp Set|Router|"
    "Laser Level|Pottery Wheel|Hedge Trimmer|Wet Vacuum"
)
MATERIALS: Final = {
    "pieces": phrases("boards|battens|hinges|brackets|tiles|hooks"),
    "g": phrases("wood glue|plaster|clay|wax|grout"),
    "ml": phrases("varnish|primer|linseed oil|paint"),
    "m": phrases("cord|fabric|cable|edging tape|wire"),
}
STEPS: Final = (
    ("Measure and mark", "Measure twice, mark with a sharp pencil, and note which side faces up."),
    ("Cut to size", "Let the tool do the work and keep your fingers behind the line."),
    ("Test the fit", "Put everything together without glue. Now is the time to be unhappy with it."),
    ("Join the parts", "Work from the middle outwards and wipe off what is too much."),
    ("Finish the surface", "Two thin coats beat a thick one. Let each of them dry."),
    ("Put it to use", "Wait a day before you load it."),
)


@dataclass(frozen=True)
class Tool:
    slug: str
    name: str
    deposit: int
    shelf: str
    watts: int
    days: int

    @property
    def href(self) -> str:
        return f"/tools/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Deposit", money(self.deposit)),
            ("Shelf", self.shelf),
            ("Power", f"{self.watts} W"),
            ("Longest loan", f"{self.days} days"),
        )


@dataclass(frozen=True)
class Guide:
    slug: str
    name: str
    craft: str
    skill: str
    hours: int
    cents: int
    maker: str
    written: str
    thing: str
    tools: tuple[Tool, ...]
    materials: tuple[tuple[str, str], ...]
    drying: int
    stars: float
    votes: int

    @property
    def href(self) -> str:
        return f"/guides/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Skill", self.skill),
            ("Time", f"{self.hours} hours"),
            ("Cost of materials", money(self.cents)),
            ("Written by", self.maker),
            ("Published on", self.written),
        )


@dataclass(frozen=True)
class Bench:
    guides: tuple[Guide, ...]
    tools: tuple[Tool, ...]
    by_slug: dict[str, Guide]


_GOODS: Final = tuple((unit, name) for unit, names in MATERIALS.items() for name in names)
_AMOUNTS: Final = {"pieces": (2, 30), "g": (50, 900), "ml": (50, 750), "m": (1, 15)}


def bench(site: Site) -> Bench:
    chance = site.draw("workshop")
    tools = tuple(
        Tool(
            name.lower().replace(" ", "-"),
            name,
            chance.randrange(2, 30) * 500,
            f"{chance.choice('ABCDEF')}{chance.randrange(1, 40)}",
            chance.randrange(20, 240) * 10,
            chance.randrange(2, 22),
        )
        for name in TOOLS
    )
    makers = tuple(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}" for _ in range(9))
    guides: dict[str, Guide] = {}
    for craft, (manners, things, picture) in CRAFTS.items():
        for _ in range(chance.randrange(7, 13)):
            name = f"{chance.choice(phrases(manners))} {chance.choice(phrases(things))}"
            slug = name.lower().replace(" ", "-")
            needed = chance.sample(_GOODS, chance.randrange(4, 7))
            guides[slug] = Guide(
                slug,
                name,
                craft,
                chance.choice(SKILLS),
                chance.randrange(1, 40),
                chance.randrange(5, 240) * 100,
                chance.choice(makers),
                f"{chance.randrange(2017, 2026)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}",
                picture,
                tuple(chance.sample(tools, 3)),
                tuple((thing, f"{chance.randrange(*_AMOUNTS[unit])} {unit}") for unit, thing in needed),
                chance.randrange(2, 49),
                chance.randrange(31, 51) / 10,
                chance.randrange(3, 700),
            )
    return Bench(tuple(guides.values()), tools, guides)
