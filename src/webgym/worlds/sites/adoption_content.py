"""What a rescue organisation holds: animals that look for a home, and the shelters where they wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from webgym.worlds.kind import Site
from webgym.worlds.words import CITIES, FAMILY, GIVEN, STREETS, phrases

BREEDS: Final = {
    "Dog": phrases("Labrador mix|Beagle|Greyhound|Terrier mix|Border Collie|Spaniel|Dachshund|Shepherd mix"),
    "Cat": phrases("Domestic shorthair|Maine Coon|Siamese mix|British shorthair|Tabby|Ragdoll"),
    "Rabbit": phrases("Dwarf lop|Lionhead|Rex|Angora"),
    "Bird": phrases("Budgerigar|Cockatiel|Canary"),
}
WEIGHTS: Final = {"Dog": (40, 420), "Cat": (25, 75), "Rabbit": (12, 45), "Bird": (1, 4)}  # in tenths of a kilogram
NAMES: Final = phrases(
    "Biscuit|Pepper|Luna|Mochi|Rufus|Olive|Ziggy|Hazel|Bruno|Waffles|Juno|Pippin|Nala|Otto|Clover|Figaro|Maple|Scout|Tilly|"
    "Gus|Willow|Bandit|Coco|Felix|Ginger|Hopper|Indie|Jasper|Kiwi|Lottie|Merlin|Nutmeg|Oscar|Poppy|Quincy|Rosie|Sammy|Teddy|"
    "Ursa|Violet|Winston|Ximena|Yoshi|Zelda|Archie|Bella|Cleo|Dexter|Echo|Fern|Gizmo|Hugo|Ivy|Jelly|Koda|Loki|Milo|Nico|Opal|"
    "Panda|Remy|Sasha|Toffee|Umber|Velvet|Whisky|Yara|Zorro"
)
TEMPERS: Final = phrases("Playful|Calm|Shy|Curious|Affectionate|Independent|Energetic")
COMPANY: Final = phrases("Children and other pets|Older children|Other cats|Other dogs|Adults only")
COATS: Final = phrases("Black|White|Brown|Grey|Golden|Spotted|Ginger|Cream")


@dataclass(frozen=True)
class Shelter:
    slug: str
    name: str
    street: str
    phone: str
    opens: str
    head: str
    places: int
    x: int
    y: int

    @property
    def href(self) -> str:
        return f"/shelters/{self.slug}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Address", self.street),
            ("Telephone", self.phone),
            ("Visiting hours", self.opens),
            ("Head of the shelter", self.head),
            ("Capacity", f"{self.places} animals"),
        )


@dataclass(frozen=True)
class Animal:
    slug: str
    name: str
    species: str
    breed: str
    sex: str
    years: int
    weight: str
    coat: str
    temper: str
    company: str
    fee: int
    arrived: str
    chip: str
    vaccines: int
    shelter: Shelter

    @property
    def href(self) -> str:
        return f"/animals/{self.slug}"

    @property
    def age(self) -> str:
        return f"{self.years} year{'' if self.years == 1 else 's'}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        return (
            ("Breed", self.breed),
            ("Sex", self.sex),
            ("Age", self.age),
            ("Weight", f"{self.weight} kg"),
            ("Coat", self.coat),
            ("Shelter", self.shelter.name),
        )

    @property
    def health(self) -> tuple[tuple[str, str], ...]:
        return (("Microchip", self.chip), ("Vaccinations", f"{self.vaccines} given"), ("Arrived on", self.arrived))


@dataclass(frozen=True)
class Rescue:
    animals: tuple[Animal, ...]
    shelters: tuple[Shelter, ...]
    by_slug: dict[str, Animal]


def rescue(site: Site) -> Rescue:
    chance = site.draw("adoption")
    shelters = tuple(
        Shelter(
            town.lower(),
            f"{town} Shelter",
            f"{chance.randrange(1, 180)} {chance.choice(STREETS)} Street",
            f"555-{chance.randrange(1000, 9999)}",
            f"{chance.choice((9, 10, 11))}:00 to {chance.choice((15, 16, 17, 18))}:00",
            f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
            chance.randrange(20, 140),
            15 + 25 * (place % 3) + chance.randrange(12),
            25 + 40 * (place // 3) + chance.randrange(12),
        )
        for place, town in enumerate(chance.sample(CITIES, 6))
    )
    animals = []
    for name in chance.sample(NAMES, chance.randrange(46, 62)):
        species = chance.choice(("Dog", "Dog", "Dog", "Cat", "Cat", "Cat", "Rabbit", "Bird"))
        low, high = WEIGHTS[species]
        animals.append(
            Animal(
                name.lower(),
                name,
                species,
                chance.choice(BREEDS[species]),
                chance.choice(("Female", "Male")),
                chance.randrange(1, 15 if species in ("Dog", "Cat") else 8),
                f"{chance.randrange(low, high) / 10:.1f}",
                chance.choice(COATS),
                chance.choice(TEMPERS),
                chance.choice(COMPANY),
                chance.randrange(2, 30) * 1000,
                f"2026-{chance.randrange(1, 6):02d}-{chance.randrange(1, 29):02d}",
                f"98{chance.randrange(10**7, 10**8)}",
                chance.randrange(1, 7),
                chance.choice(shelters),
            )
        )
    return Rescue(tuple(animals), shelters, {animal.slug: animal for animal in animals})
