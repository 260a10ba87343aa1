"""Pet adoption: animals that look for a home, shelters on a map, advice, favourites, donations, an application in steps.

Tasks: look up animals and shelters, compare, narrow down with a slider, gather, keep favourites, apply, donate.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.saved import keep_button, saves
from webgym.worlds.scenery import ANIMALS
from webgym.worlds.sites.adoption_content import BREEDS, Animal, Rescue, Shelter, rescue
from webgym.worlds.words import money

HOMES: Final = ("House with garden", "Terraced house", "Flat", "Farm")
KNOWLEDGE: Final = ("This is my first animal", "I grew up with animals", "I have animals now")
CAUSES: Final = ("Food", "Vet bills", "New kennels", "Where it is needed most")
RHYTHMS: Final = ("Once", "Every month", "Every year")
SEND: Final = "Send application"
KEEP: Final = "Add to favourites"
ADVICE: Final = (
    ("What do I need before the first day?", "A bed, two bowls, a quiet corner, and a vet's telephone number."),
    ("How long does it take to settle in?", "Three days to arrive, three weeks to learn, three months to be at home."),
    ("Can I bring an animal back?", "Always. We would rather have it back than see it unhappy."),
    ("What does the fee cover?", "Vaccinations, the microchip, and the first check at the vet."),
)


def menu(site: Site, content: Rescue) -> tuple[b.Link, ...]:
    inside = tuple(b.Link(f"All {species.lower()}s", f"/animals?species={species}") for species in BREEDS)
    return (
        b.Link("Adopt", "/animals", inside),
        b.Link("Shelters", "/shelters"),
        b.Link("Advice", "/advice"),
        b.Link("My favourites", "/favourites"),
        b.Link("Donate", "/donate"),
    )


def findable(content: Rescue) -> tuple[Entry, ...]:
    animals = [Entry(animal.name, animal.href, f"{animal.species}, {animal.breed}") for animal in content.animals]
    return (*animals, *(Entry(shelter.name, shelter.href, shelter.street) for shelter in content.shelters))


def tagline(site: Site, content: Rescue) -> str:
    return f"{len(content.animals)} animals in {len(content.shelters)} shelters are waiting for somebody like you."


kind: Final = Kind(
    "adoption",
    subdomain="Pets & Animal Welfare",
    words=("adoption", "rescue", "pets", "paws", "shelter", "animals", "tails"),
    content=rescue,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _picture(animal: Animal, number: int = 0, width: int = 600, height: int = 450) -> b.Picture:
    subject = animal.species.lower()
    token = f"{animal.slug}-{animal.coat.lower()}{f'-{number}' if number else ''}"
    return b.Picture(subject if subject in ANIMALS else "abstract", token, width, height, f"{animal.name}, {animal.breed}")


def _card(animal: Animal) -> b.Card:
    meta = (animal.breed, animal.age, animal.sex)
    new = "New here" if animal.arrived >= "2026-05" else ""
    return b.Card(
        animal.name, animal.href, _picture(animal), meta=meta, badge=new, text=f"{animal.temper}. {animal.shelter.name}."
    )


saves(
    kind,
    "/favourites",
    "My favourites",
    lambda content, slug: _card(content.by_slug[slug]) if slug in content.by_slug else None,
)


@kind.page("/")
def home(visit: Visit[Rescue]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    picks = chance.sample(content.animals, 9)
    star = picks[0]
    hero = b.Hero(
        chance.choice((f"{star.name} is looking for a home", "Make room for a friend", "Every animal deserves a sofa")),
        f"{tagline(site, content)} {star.name} has waited since {star.arrived}.",
        _picture(star, 0, 900, 600),
        b.Link(f"Meet {star.name}", star.href),
        b.Link("See all animals", "/animals"),
    )
    sorts = b.Tiles(
        "Who are you looking for?",
        tuple(
            (
                b.Link(f"{species}s", f"/animals?species={species}"),
                f"{sum(animal.species == species for animal in content.animals)} waiting",
                b.Picture(species.lower(), f"tile-{species}", 300, 200),
            )
            for species in BREEDS
        ),
    )
    faces = b.CardRow("Waiting for you", tuple(map(_card, picks[1:7])), b.Link("See everybody", "/animals"), big=True)
    oldest = b.CardRow("The old and wise", tuple(map(_card, sorted(content.animals, key=lambda one: -one.years)[:4])))
    figures = b.Stats(
        (
            ("Animals waiting", str(len(content.animals))),
            ("Shelters", "6"),
            ("Homes found this year", str(chance.randrange(90, 800))),
        )
    )
    advice = b.Accordion("Before you adopt", ADVICE)
    give = b.Notice("Ten dollars feed a cat for a week.", "info", "Cannot adopt? Help.", b.Link("Donate", "/donate"))
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, sorts, faces, give),
        (faces, figures, sorts, advice),
        (hero, figures, faces, oldest),
        (sorts, faces, give, advice),
        (hero, b.Columns(((advice,), (give, figures))), faces),
        (hero, give, oldest, sorts),
    )
    return b.Page("Home", orders[site.style.layout])


@kind.page("/animals")
def animals(visit: Visit[Rescue]) -> b.Response:
    listing = Listing(
        visit.content.animals,
        _card,
        lambda animal: f"{animal.name} {animal.species} {animal.breed} {animal.shelter.name} {animal.temper}",
        (
            Facet("species", "Species", lambda animal: animal.species),
            Facet("temper", "Temperament", lambda animal: animal.temper),
            Facet("shelter", "Shelter", lambda animal: animal.shelter.name),
        ),
        (Limit("age", "Oldest age in years", lambda animal: animal.years, 1, 15),),
        (
            Sort("fee", "Lowest fee", lambda animal: animal.fee),
            Sort("light", "Lightest first", lambda animal: float(animal.weight)),
            Sort("waiting", "Waiting longest", lambda animal: animal.arrived),
        ),
        endless=visit.site.number("endless") % 3 == 0,
    )
    return b.Page("Adopt", (visit.listing(listing, "Animals looking for a home"),))


@kind.page("/animals/{slug}")
def animal_page(visit: Visit[Rescue]) -> b.Response:
    animal = visit.content.by_slug.get(visit.argument("slug"))
    if animal is None:
        return NOT_FOUND
    chance = visit.site.draw("animal", animal.slug)
    story = chance.choice(
        (
            "was found beside a road on a rainy evening",
            "came to us when a family moved abroad",
            "grew up in a barn and met people late",
            "lost an owner who could no longer care",
        )
    )
    detail = b.Detail(
        animal.name,
        tuple(_picture(animal, n, 720, 540) for n in range(4)),
        price=money(animal.fee),
        badge=animal.species,
        lead=f"{animal.name} {story}. {animal.temper} by nature, and fond of company.",
        rows=animal.rows,
        buttons=(keep_button(animal.slug, KEEP),),
        links=(
            b.Link(f"Apply for {animal.name}", f"/apply/{animal.slug}"),
            b.Link("About the shelter", animal.shelter.href),
        ),
    )
    character = b.Facts("", (("Temperament", animal.temper), ("Gets along with", animal.company)))
    parts = b.Tabs(
        (("Character", (character,)), ("Health", (b.Facts("", animal.health),)), ("Advice", (b.Accordion("", ADVICE),)))
    )
    crumbs = (b.Link("Adopt", "/animals"), b.Link(animal.name, animal.href))
    others = [one for one in visit.content.animals if one.species == animal.species and one is not animal]
    friends = b.CardRow("Also waiting", tuple(map(_card, others[:4])))
    return b.Page(animal.name, (detail, parts, friends), crumbs)


@kind.page("/apply/{slug}")
def apply(visit: Visit[Rescue]) -> b.Response:
    animal = visit.content.by_slug.get(visit.argument("slug"))
    if animal is None:
        return NOT_FOUND
    form = application(animal)
    values = visit.filled(form)
    if values is None:
        side = b.Facts(animal.name, (*animal.rows, ("Adoption fee", money(animal.fee))))
        heading = f"Apply for {animal.name}"
        return b.Page(heading, (b.Columns(((visit.form(form),), (side,))),), heading=heading)
    visit.memory.record("application", {"animal": animal.name, **values})
    text = f"We will call you about {animal.name} within three days."
    return b.Page("Application sent", (b.Notice(text, "good", "Application sent"),), heading="Thank you")


def application(animal: Animal) -> Form:
    return Form(
        f"apply-{animal.slug}",
        (
            FormStep(
                "Your home",
                (
                    Field("home", "Where do you live", "radio", HOMES),
                    Field("people", "People in the household", "number", least=1, most=20),
                    Field("alone", "Hours alone a day", "slider", least=0, most=12, value="4"),
                ),
            ),
            FormStep(
                "Experience",
                (
                    Field("experience", "Experience", "select", KNOWLEDGE),
                    Field("why", "Why this animal", "textarea", required=False),
                ),
            ),
            FormStep(
                "About you",
                (
                    Field("name", "Full name"),
                    Field("email", "E-mail", "email"),
                    Field("phone", "Telephone", "tel"),
                    Field("postcode", "Postal code", pattern=r"\d{5}", hint="Five digits"),
                    Field("visit", "Day of your visit", "date"),
                    Field("agree", "I will let the shelter visit my home", "checkbox"),
                ),
            ),
        ),
        submit=SEND,
    )


@kind.page("/shelters")
def shelters(visit: Visit[Rescue]) -> b.Response:
    places = tuple(b.Place(shelter.name, shelter.x, shelter.y, shelter.href) for shelter in visit.content.shelters)
    rows = tuple((b.Cell(one.name, one.href), one.street, one.phone, one.opens) for one in visit.content.shelters)
    listed = b.Table("All shelters", ("Shelter", "Address", "Telephone", "Visiting hours"), rows)
    return b.Page("Shelters", (b.Map("", "shelters", places), listed), heading="Our shelters")


@kind.page("/shelters/{slug}")
def shelter_page(visit: Visit[Rescue]) -> b.Response:
    shelter: Shelter | None = next((one for one in visit.content.shelters if one.href == visit.path), None)
    if shelter is None:
        return NOT_FOUND
    here = tuple(_card(animal) for animal in visit.content.animals if animal.shelter is shelter)
    lead = "Visitors are welcome; please ring the bell twice."
    detail = b.Detail(shelter.name, (b.Picture("house", shelter.slug, 720, 480),), lead=lead, rows=shelter.rows)
    crumbs = (b.Link("Shelters", "/shelters"), b.Link(shelter.name, shelter.href))
    return b.Page(shelter.name, (detail, b.CardRow("Living here", here)), crumbs)


@kind.page("/advice")
def advice(visit: Visit[Rescue]) -> b.Response:
    checks = b.Table("A dog's year", ("Month", "What to do"), (("March", "Ticks"), ("June", "Heat"), ("December", "Noise")))
    return b.Page("Advice", (b.Accordion("Before you adopt", ADVICE), checks), heading="Advice for new owners")


@kind.page("/donate")
def donate(visit: Visit[Rescue]) -> b.Response:
    form = Form.of(
        "donate",
        Field("amount", "Amount in dollars", "slider", least=5, most=200, step=5, value="25"),
        Field("cause", "What is it for", "select", CAUSES),
        Field("rhythm", "How often", "radio", RHYTHMS),
        Field("name", "Full name"),
        Field("email", "E-mail", "email"),
        submit="Donate now",
    )
    values = visit.filled(form)
    if values is None:
        chart = b.Chart("What a year costs", (("Food", 41_200.0), ("Vets", 63_500.0), ("Rent", 22_800.0)), unit=" $")
        return b.Page("Donate", (b.Columns(((visit.form(form),), (chart,))),), heading="Help us help them")
    visit.memory.record("donation", values)
    return b.Page(
        "Donation received", (b.Notice("You will get a receipt by mail.", "good", "Donation received"),), heading="Thank you"
    )
