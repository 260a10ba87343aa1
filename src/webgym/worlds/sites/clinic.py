"""A clinic: doctors, treatments, leaflets in four languages, opening hours, and appointments with a calendar.

Tasks: look up doctors and treatments, compare, find a doctor by field and language, read a leaflet in another language,
gather, book an appointment.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds import blocks as b
from webgym.worlds.faults import LatePicture
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.clinic_content import SPEECHES, TIMES, Doctor, House, Leaflet, Treatment, house
from webgym.worlds.words import FAMILY, GIVEN, money

BOOK: Final = "Book appointment"
PREPARE: Final = "How do I prepare?"
AFTER: Final = "What happens afterwards?"
COVER: Final = "How many visits are needed?"
NEXT_STEP: Final = "We will confirm by telephone within one working day."


def menu(site: Site, content: House) -> tuple[b.Link, ...]:
    return (
        b.Link("Doctors", "/doctors"),
        b.Link("Treatments", "/treatments"),
        b.Link("Leaflets", "/leaflets"),
        b.Link("Your visit", "/visit"),
        b.Link("Make an appointment", "/book"),
    )


def findable(content: House) -> tuple[Entry, ...]:
    doctors = [Entry(doctor.name, doctor.href, doctor.field) for doctor in content.doctors]
    treatments = [Entry(treatment.name, treatment.href, treatment.field) for treatment in content.treatments]
    return (*doctors, *treatments, *(Entry(leaflet.titles["en"], leaflet.href, "Leaflet") for leaflet in content.leaflets))


def tagline(site: Site, content: House) -> str:
    return f"{len(content.doctors)} doctors in {len(content.fields)} fields, under one roof and close to home."


kind: Final = Kind(
    "clinic",
    subdomain="Health & Medicine",
    words=("clinic", "health", "medical", "hospital", "care", "wellness", "doctors"),
    content=house,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _doctor_card(doctor: Doctor) -> b.Card:
    meta = (doctor.field, f"Speaks {doctor.speaks}")
    face = b.Picture("face", doctor.slug)
    return b.Card(doctor.name, doctor.href, face, meta=meta, stars=doctor.stars, votes=doctor.votes)


def _treatment_card(treatment: Treatment) -> b.Card:
    text = f"Takes about {treatment.minutes} minutes."
    return b.Card(treatment.name, treatment.href, price=money(treatment.cents), meta=(treatment.field,), text=text)


@kind.page("/")
def home(visit: Visit[House]) -> b.Response:
    site, content, chance = visit.site, visit.content, visit.site.draw("home")
    hero = b.Hero(
        chance.choice(
            ("Care that takes its time", "Good to see you", "Your health, in good hands", "Here when you need us")
        ),
        tagline(site, content),
        b.Picture(chance.choice(("house", "city", "landscape")), "clinic", 900, 600),
        b.Link("Make an appointment", "/book"),
        b.Link("Find a doctor", "/doctors"),
    )
    fields = b.Tiles(
        "Our departments",
        tuple((b.Link(f"Department of {field.lower()}", _field_way(field)), "", None) for field in content.fields),
    )
    staff = b.CardRow("Meet our doctors", tuple(map(_doctor_card, chance.sample(content.doctors, 4))))
    hours = b.Facts("Opening hours", content.hours)
    help_line = b.Notice("In an emergency call the ambulance. We are not an emergency room.", "bad", "Emergency?")
    asked = b.Accordion("Questions", _questions(visit))
    orders: tuple[tuple[b.Block, ...], ...] = (
        (hero, fields, b.Columns(((asked,), (hours,))), staff),
        (help_line, hero, staff, fields),
        (hero, b.Columns(((fields,), (hours, help_line))), staff),
        (hero, staff, b.Columns(((hours,), (help_line,))), asked),
        (b.Columns(((staff,), (help_line, hours))), fields, asked),
        (hero, hours, fields, asked),
    )
    return b.Page("Home", orders[site.style.layout])


def _field_way(field: str) -> str:
    return f"/doctors?field={field.replace(' ', '+')}"


def _questions(visit: Visit[House]) -> tuple[tuple[str, str], ...]:
    chance = visit.site.draw("questions")
    return (
        ("Where can I park?", f"There are {chance.randrange(30, 300)} spaces behind the house."),
        ("How do I cancel?", f"Call us at least {chance.choice((12, 24, 48))} hours before."),
        ("Do you accept my insurance?", f"We work with {chance.randrange(8, 40)} insurers."),
    )


@kind.page("/doctors")
def doctors(visit: Visit[House]) -> b.Response:
    listing = Listing(
        visit.content.doctors,
        _doctor_card,
        lambda doctor: f"{doctor.name} {doctor.field} {doctor.speaks}",
        (
            Facet("field", "Field", lambda doctor: doctor.field),
            Facet("speaks", "Language", lambda doctor: doctor.speaks),
            Facet("late", "Late surgery", lambda doctor: doctor.day),
        ),
        (),
        (
            Sort("fee", "Lowest fee", lambda doctor: doctor.fee),
            Sort("since", "Most experienced", lambda doctor: doctor.since),
            Sort("stars", "Best rated", lambda doctor: doctor.stars * 10_000 + doctor.votes, down=True),
        ),
        per_page=9,
    )
    return b.Page("Doctors", (visit.listing(listing, "Our doctors"),))


@kind.page("/doctors/{slug}")
def doctor_page(visit: Visit[House]) -> b.Response:
    doctor = next((doctor for doctor in visit.content.doctors if doctor.href == visit.path), None)
    if doctor is None:
        return NOT_FOUND
    detail = b.Detail(
        doctor.name,
        (b.Picture("face", doctor.slug, 480, 480),),
        badge=doctor.field,
        stars=doctor.stars,
        votes=doctor.votes,
        lead=f"{doctor.name} works in {doctor.field.lower()} and listens before prescribing.",
        rows=doctor.rows,
        links=(b.Link(f"Book with {doctor.name}", f"/book?doctor={doctor.slug}"),),
    )
    offered = [treatment for treatment in visit.content.treatments if treatment.field == doctor.field]
    said = b.Reviews("What patients say", tuple(_review(visit, doctor, n) for n in range(3)))
    crumbs = (b.Link("Doctors", "/doctors"), b.Link(doctor.name, doctor.href))
    return b.Page(doctor.name, (detail, b.CardRow("Treatments", tuple(map(_treatment_card, offered))), said), crumbs)


def _review(visit: Visit[House], doctor: Doctor, number: int) -> b.Review:
    chance = visit.site.draw("review", doctor.slug, number)
    text = chance.choice(
        ("I was seen on time.", "Everything was explained twice.", "Friendly at the desk.", "Clear advice.")
    )
    title = chance.choice(("Patient and kind", "Thorough", "Recommended", "A long wait, a good visit"))
    return b.Review(f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.randrange(3, 6), title, text)


@kind.page("/treatments")
def treatments(visit: Visit[House]) -> b.Response:
    listing = Listing(
        visit.content.treatments,
        _treatment_card,
        lambda treatment: f"{treatment.name} {treatment.field}",
        (Facet("field", "Field", lambda treatment: treatment.field),),
        (Limit("minutes", "Minutes at most", lambda treatment: treatment.minutes, 10, 120, 10),),
        (
            Sort("cheap", "Price: low to high", lambda treatment: treatment.cents),
            Sort("short", "Shortest first", lambda treatment: treatment.minutes),
        ),
    )
    return b.Page("Treatments", (visit.listing(listing, "Treatments and prices"),))


@kind.page("/treatments/{slug}")
def treatment_page(visit: Visit[House]) -> b.Response:
    treatment = next((treatment for treatment in visit.content.treatments if treatment.href == visit.path), None)
    if treatment is None:
        return NOT_FOUND
    rows = (("Duration", f"{treatment.minutes} minutes"), ("Price", money(treatment.cents)), ("Department", treatment.field))
    detail = b.Detail(
        treatment.name,
        (b.Picture("abstract", treatment.slug, 720, 420),),
        lead=f"Our {treatment.field.lower()} team offers this on weekdays.",
        rows=rows,
        links=(b.Link("Make an appointment", "/book"),),
    )
    asked = b.Accordion(
        "Good to know",
        (
            (PREPARE, f"Do not eat for {treatment.fast} hours before you come."),
            (AFTER, f"Stay with us for {treatment.rest} minutes, then take it easy."),
            (COVER, f"Most patients come {treatment.visits} times."),
        ),
    )
    staff = tuple(_doctor_card(doctor) for doctor in visit.content.doctors if doctor.field == treatment.field)
    crumbs = (b.Link("Treatments", "/treatments"), b.Link(treatment.name, treatment.href))
    return b.Page(treatment.name, (detail, asked, b.CardRow("Who does it", staff)), crumbs)


@kind.page("/leaflets")
def leaflets(visit: Visit[House]) -> b.Response:
    tiles = tuple(
        (b.Link(leaflet.titles["en"], leaflet.href), "In four languages", b.Picture("abstract", leaflet.slug, 300, 180))
        for leaflet in visit.content.leaflets
    )
    return b.Page("Leaflets", (b.Tiles("", tiles),), heading="Leaflets for patients")


@kind.page("/leaflets/{slug}")
def leaflet_page(visit: Visit[House]) -> b.Response:
    return _leaflet(visit, "en")


@kind.page("/leaflets/{slug}/{speech}")
def leaflet_in(visit: Visit[House]) -> b.Response:
    return _leaflet(visit, visit.argument("speech"))


def _leaflet(visit: Visit[House], speech: str) -> b.Response:
    leaflet = next((one for one in visit.content.leaflets if one.slug == visit.argument("slug")), None)
    if leaflet is None or speech not in dict(SPEECHES):
        return NOT_FOUND
    versions = tuple(b.Link(f"{name} version", leaflet_way(leaflet, code)) for code, name in SPEECHES if code != speech)
    title = leaflet.titles[speech]
    text = b.Prose("", leaflet.text(speech))
    return b.Page(title, (text, b.Buttons(links=versions)), (b.Link("Leaflets", "/leaflets"),), heading=title)


def leaflet_way(leaflet: Leaflet, speech: str) -> str:
    return leaflet.href if speech == "en" else f"{leaflet.href}/{speech}"


@kind.page("/visit")
def your_visit(visit: Visit[House]) -> b.Response:
    plan = b.CardRow("The way in", (b.Card("Floor plan", "/visit", LatePicture("map", "plan", 600, 300, "Floor plan")),))
    places = tuple(
        b.Place(field, 12 + 15 * n, 25 + 50 * (n % 2), _field_way(field)) for n, field in enumerate(visit.content.fields)
    )
    site_map = b.Map("Departments", "clinic", places)
    columns = b.Columns(((b.Accordion("Questions", _questions(visit)),), (b.Facts("Opening hours", visit.content.hours),)))
    return b.Page("Your visit", (columns, site_map, plan), heading="Your visit")


@kind.page("/book")
def book(visit: Visit[House]) -> b.Response:
    form = booking(visit.content)
    values = visit.filled(form)
    if values is None:
        chosen = next((one.name for one in visit.content.doctors if one.slug == visit.query.get("doctor")), "")
        side = b.Prose("Before you come", ("Bring your insurance card.", "Come ten minutes early.", NEXT_STEP))
        shown = b.Columns(((visit.form(form, doctor=chosen),), (side,)))
        return b.Page("Make an appointment", (shown,), heading="Make an appointment")
    visit.memory.record("appointment", values)
    text = f"{values['day']} at {values['time']} with {values['doctor']}. {NEXT_STEP}"
    return b.Page("Appointment booked", (b.Notice(text, "good", "Appointment booked"),), heading="Thank you")


def booking(content: House) -> Form:
    summer = Field(
        "day",
        "Day",
        "date",
        pattern=r"2026-(06|07|08)-(0[1-9]|[12]\d|3[01])",
        hint="From June to August 2026, as YYYY-MM-DD",
    )
    about = (
        Field("name", "Full name"),
        Field("born", "Date of birth", "date"),
        Field("phone", "Telephone", "tel"),
        Field("note", "Anything we should know", "textarea", required=False),
        Field("agree", "I agree to the terms", "checkbox"),
    )
    return Form(
        "book",
        (
            FormStep(
                "Doctor and day", (Field("doctor", "Doctor", "select", tuple(one.name for one in content.doctors)), summer)
            ),
            FormStep("Time", (Field("time", "Time", "radio", TIMES),)),
            FormStep("About you", about),
        ),
        submit=BOOK,
    )
