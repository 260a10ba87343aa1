"""Tasks of the rescue: look up, compare, narrow down with a slider, gather, keep favourites, apply, donate."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, Slide, SortBy, Tick
from webgym.worlds.saved import save_some
from webgym.worlds.sites.adoption import CAUSES, HOMES, KEEP, KNOWLEDGE, RHYTHMS, SEND, kind
from webgym.worlds.sites.adoption_content import Animal, Rescue, Shelter
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, money


def _animal(animal: Animal) -> Topic:
    health = (Press("Health"),)
    known = (
        Known("breed", animal.breed),
        Known("age in years", str(animal.years), animal.age),
        Known("weight in kilograms", animal.weight, f"{animal.weight} kg"),
        Known("coat colour", animal.coat),
        Known("adoption fee", money(animal.fee)),
        Known("shelter", animal.shelter.name),
        Known("microchip number", animal.chip, opener=health),
        Known("date of arrival", animal.arrived, opener=health),
        Known("number of vaccinations", str(animal.vaccines), f"{animal.vaccines} given", opener=health),
    )
    return Topic(animal.name, animal.href, f"the {animal.species.lower()} {animal.name}", known)


def _shelter(shelter: Shelter) -> Topic:
    known = (
        Known("address", shelter.street),
        Known("telephone number", shelter.phone),
        Known("visiting hours", shelter.opens),
        Known("head", shelter.head),
        Known("capacity in animals", str(shelter.places), f"{shelter.places} animals"),
    )
    return Topic(shelter.name, shelter.href, f"the {shelter.name}", known, (Open("Shelters"), Open(shelter.name)))


def _topic(thing: Animal | Shelter) -> Topic:
    return _animal(thing) if isinstance(thing, Animal) else _shelter(thing)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Rescue]) -> Draft:
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "We are thinking of adopting. Tell me {}.",
        "Please find out {}.",
    )
    things: tuple[Animal | Shelter, ...] = (*make.content.animals, *make.content.shelters)
    return look_up(make, things, _topic, openings)


@kind.task("compare", [(3, 5)])
def fees(make: Maker[Rescue]) -> Draft:
    animals = make.content.animals
    if make.chance.random() < 0.5:
        return compare(make, animals, _animal, "adoption fee", lambda one: one.fee, "one with the lowest fee", most=False)
    return compare(make, animals, _animal, "weight in kilograms", lambda one: float(one.weight), "heaviest")


@kind.task("filter", [(2, 4)])
def narrow(make: Maker[Rescue]) -> Draft:
    """The cheapest or lightest animal of a species, at a shelter or of a temperament, often below some age."""
    species = make.one(("Dog", "Cat"))
    years = make.chance.randrange(3, 13)
    inside = [one for one in make.content.animals if one.species == species]
    route: list[Move] = [Open("Adopt"), Filter("Species", species)]
    if make.chance.random() < 0.6:
        inside = [one for one in inside if one.years <= years]
        ask = f"{species.lower()} aged {years} years or less"
        route += [Slide("Oldest age in years", float(years)), Press("Apply")]
    else:
        temper = make.one(sorted({one.temper for one in inside}))
        inside = [one for one in inside if one.temper == temper]
        ask = f"{species.lower()} of {temper.lower()} temperament"
        route += [Filter("Temperament", temper)]
    if make.chance.random() < 0.5:
        best, what, order = one_best(make, inside, lambda one: one.fee, most=False), "lowest fee", "Lowest fee"
    else:
        best = one_best(make, inside, lambda one: float(one.weight), most=False)
        what, order = "lowest weight", "Lightest first"
    route += [SortBy(order), Open(best.name)]
    openings = ("Find {}.", "Use the filters to find {}.", "Look for {}.")
    return best_fit(make, _animal(best), map(_animal, inside), f"the {ask} with the {what}", tuple(route), openings)


@kind.task("collect", [(4, 9)])
def gather(make: Maker[Rescue]) -> Draft:
    count = make.shape[0]
    if count <= len(make.content.shelters) and make.chance.random() < 0.4:
        shelters = make.some(make.content.shelters, count)
        return each(make, [_shelter(one) for one in shelters], make.one(("telephone number", "head", "visiting hours")))
    animals = make.some(make.content.animals, count)
    return each(make, [_animal(one) for one in animals], make.one(("breed", "adoption fee", "shelter", "microchip number")))


@kind.task("favourites", [(1, 4)])
def favourites(make: Maker[Rescue]) -> Draft:
    openings = (
        "Add {} to my favourites.",
        "Put {} among the favourites, and nobody else.",
        "Please keep {} in my favourites.",
    )
    return save_some(make, make.content.animals, _animal, lambda one: one.slug, KEEP, "My favourites", openings)


@kind.task("apply", [(1, 7)])
def apply(make: Maker[Rescue]) -> Draft:
    chance, animal = make.chance, make.one(make.content.animals)
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    home, knows = chance.choice(HOMES), chance.choice(KNOWLEDGE)
    people, alone = str(chance.randrange(1, 7)), str(chance.randrange(13))
    postcode, day = f"{chance.randrange(10000, 99999)}", f"2026-06-{chance.randrange(1, 29):02d}"
    ask, facts = submitted(
        make,
        "application",
        "The application",
        (
            Entered("animal", animal.name, animal.name),
            Entered("name", name, f"in the name of {name}"),
            Entered("home", home, f"living in a place of the kind “{home}”"),
            Entered("people", people, f"{people} in the household"),
            Entered("alone", alone, f"with the animal alone for {alone} hours a day"),
            Entered("visit", day, f"visiting on {day}"),
            Entered("experience", knows, f"with the experience “{knows}”"),
        ),
    )
    route = (
        *_animal(animal).way,
        Open(f"Apply for {animal.name}"),
        Choose("Where do you live", home),
        Fill("People in the household", people),
        Slide("Hours alone a day", float(alone)),
        Press("Continue"),
        Choose("Experience", knows),
        Press("Continue"),
        Fill("Full name", name),
        Fill("E-mail", f"{name.split()[0].lower()}@example.com"),
        Fill("Telephone", f"555-{chance.randrange(1000, 9999)}"),
        Fill("Postal code", postcode),
        Fill("Day of your visit", day),
        Tick("I will let the shelter visit my home"),
        Press(SEND),
        See(("Application sent",)),
    )
    openings = (
        "Send an application to adopt {}. Invent what else the form asks for.",
        f"On {make.site.brand}, apply to adopt {{}}; anything else is up to you.",
    )
    return Draft(openings, (Group(ask, "The application", facts, route),))


@kind.task("donate", [(1, 4)])
def donate(make: Maker[Rescue]) -> Draft:
    chance = make.chance
    amount, cause, rhythm = str(chance.randrange(1, 41) * 5), chance.choice(CAUSES), chance.choice(RHYTHMS)
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    ask, facts = submitted(
        make,
        "donation",
        "The donation",
        (
            Entered("amount", amount, f"of {amount} dollars"),
            Entered("cause", cause, f"for the purpose “{cause}”"),
            Entered("rhythm", rhythm, f"with the frequency “{rhythm}”"),
            Entered("name", name, f"in the name of {name}"),
        ),
    )
    route = (
        Open("Donate"),
        Slide("Amount in dollars", float(amount)),
        Choose("What is it for", cause),
        Choose("How often", rhythm),
        Fill("Full name", name),
        Fill("E-mail", f"{name.split()[0].lower()}@example.com"),
        Press("Donate now"),
        See(("Donation received",)),
    )
    openings = ("Make a donation {}. The rest of the form is up to you.", f"Donate to {make.site.brand}: a gift {{}}.")
    return Draft(openings, (Group(ask, "The donation", facts, route),))
