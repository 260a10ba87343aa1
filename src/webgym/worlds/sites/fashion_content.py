"""What a fashion house shows: pieces and care products of several designers, put together into looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, phrases

# What there is, by category: names, the picture, a price in dollars around which others vary.
CATEGORIES: Final = {
    "Coats": ("Trench|Parka|Overcoat|Cape", "shirt", 320),
    "Knitwear": ("Cardigan|Turtleneck|Pullover|Vest", "shirt", 140),
    "Shirts": ("Blouse|Tunic|Oxford|Polo", "shirt", 90),
    "Footwear": ("Loafers|Boots|Sandals|Trainers", "shoe", 190),
    "Handbags": ("Tote|Clutch|Satchel|Shopper", "bag", 240),
    "Watches": ("Chronograph|Dress Watch|Diver", "watch", 380),
    "Skin care": ("Serum|Night Cream|Cleanser|Sun Lotion", "jar", 45),
    "Fragrance": ("Cologne|Eau de Toilette|Perfume Oil", "bottle", 110),
}
LINES: Final = phrases(
    "Aurelia|Bastien|Cosima|Delphine|Esme|Florian|Ginevra|Honora|Isolde|Jules|Katya|Leontine|Marlowe|Noemi|Octave|Perla|"
    "Quentin|Romy|Sidonie|Tamsin"
)
DESIGNERS: Final = phrases("Maison Orla|Studio Venn|Atelier Brandt|Kestrel & Rowe|Nord Thread|Casa Lumina|Hollis|Ondine")
COLOURS: Final = phrases("Ivory|Ink|Camel|Olive|Rust|Blush|Slate|Plum")
FABRICS: Final = phrases("Organic cotton|Merino wool|Linen|Silk|Recycled polyester|Calf leather|Cashmere|Denim")
SIZES: Final = ("XS", "S", "M", "L", "XL")
SEASONS: Final = ("Spring", "Summer", "Autumn", "Winter")


@dataclass(frozen=True)
class Piece:
    slug: str
    name: str
    category: str
    thing: str
    designer: str
    colour: str
    fabric: str
    season: str
    cents: int
    origin: str
    wash: int
    code: str
    stars: float
    votes: int

    @property
    def href(self) -> str:
        return f"/pieces/{self.slug}"

    @property
    def wearable(self) -> bool:
        """Whether it comes in sizes and can be tried on."""
        return self.thing == "shirt"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Designer", self.designer),
            ("Colour", self.colour),
            ("Material", self.fabric),
            ("Season", self.season),
            ("Article number", self.code),
        )


@dataclass(frozen=True)
class Look:
    slug: str
    name: str
    stylist: str
    occasion: str
    pieces: tuple[Piece, ...]

    @property
    def href(self) -> str:
        return f"/looks/{self.slug}"

    @property
    def cents(self) -> int:
        return sum(piece.cents for piece in self.pieces)


@dataclass(frozen=True)
class Boutique:
    town: str
    street: str
    opens: str


@dataclass(frozen=True)
class Collection:
    pieces: tuple[Piece, ...]
    looks: tuple[Look, ...]
    boutiques: tuple[Boutique, ...]
    by_slug: dict[str, Piece]


def collection(site: Site) -> Collection:
    chance = site.draw("fashion")
    designers = chance.sample(DESIGNERS, 6)
    pieces: dict[str, Piece] = {}
    for category, (names, thing, dollars) in CATEGORIES.items():
        for _ in range(chance.randrange(6, 12)):
            name = f"{chance.choice(LINES)} {chance.choice(phrases(names))}"
            slug = name.lower().replace(" ", "-")
            pieces[slug] = Piece(
                slug,
                name,
                category,
                thing,
                chance.choice(designers),
                chance.choice(COLOURS),
                chance.choice(FABRICS)
                if thing in ("shirt", "shoe", "bag")
                else "Glass and steel"
                if thing == "watch"
                else "Plant oils",
                chance.choice(SEASONS),
                int(dollars * chance.uniform(0.5, 1.9)) * 100 + chance.choice((0, 50, 90)),
                chance.choice(("Portugal", "Italy", "Japan", "Peru", "Scotland", "Turkey")),
                chance.choice((20, 30, 40, 60)),
                f"{chance.choice('ABCDEF')}{chance.randrange(10_000, 99_999)}",
                chance.randrange(30, 51) / 10,
                chance.randrange(2, 600),
            )
    every = tuple(pieces.values())
    moods = chance.sample(
        phrases("Harbour Walk|Late Train|Gallery Night|Sunday Market|First Frost|Long Lunch|Rooftop|Rain Check"), 6
    )
    looks = tuple(
        Look(
            mood.lower().replace(" ", "-"),
            f"Look “{mood}”",
            f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
            chance.choice(("the office", "a wedding", "the weekend", "travelling", "an evening out")),
            tuple(chance.sample(every, 4)),
        )
        for mood in moods
    )
    boutiques = tuple(
        Boutique(
            town, f"{chance.randrange(1, 90)} {chance.choice(STREETS)} Street", f"{chance.choice((9, 10, 11))}:00 to 19:00"
        )
        for town in chance.sample(CITIES, 4)
    )
    return Collection(every, looks, boutiques, pieces)
