"""A county's administration: services, forms in several steps that check what is entered, offices, cases, public notices.

Mechanics: an application in four steps with patterns, dates, radio buttons and a declaration, which ends with a reference
number (record `application` with `service` and the form's fields); a status query by reference and surname; appointments
(record `appointment`); an accordion, tabs, a sortable table of fees, a map of offices.
"""

from __future__ import annotations

from typing import Final

from webgym.worlds.blocks import (
    Accordion,
    Card,
    CardRow,
    Cell,
    Columns,
    Detail,
    Facts,
    Link,
    Map,
    Notice,
    Page,
    Picture,
    Place,
    Prose,
    Response,
    Stats,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.fronts import Finder, arranged
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.government_content import CONTACTS, DISTRICTS, TOPICS, County, Service, county
from webgym.worlds.words import listed, money

SLOTS: Final = ("9:00", "10:30", "13:00", "14:30", "16:00")


def _menu(site: Site, content: County) -> tuple[Link, ...]:
    inside = tuple(Link(topic, f"/services?topic={topic.replace(' ', '+')}") for topic in TOPICS)
    return (
        Link("Services", "/services", inside),
        Link("Fees", "/fees"),
        Link("Offices", "/offices"),
        Link("Appointments", "/appointment"),
        Link("Check a status", "/status"),
        Link("Public notices", "/notices"),
    )


def _findable(content: County) -> tuple[Entry, ...]:
    services = [Entry(service.name, service.href, f"{service.topic}, form {service.form}") for service in content.services]
    offices = [Entry(office.name, office.href, office.street) for office in content.offices]
    return (*services, *offices, *(Entry(notice.title, notice.href, "Public notice") for notice in content.notices))


kind: Final = Kind(
    "government",
    subdomain="Legal & Government Services",
    words=("gov", "council", "county", "borough", "township", "municipality", "civic", "district"),
    content=county,
    nav=_menu,
    entries=_findable,
    tagline=lambda site, content: f"{len(content.services)} services, {len(content.offices)} offices, one administration.",
)


def reference(site: Site, service: Service, name: str) -> str:
    """The number an application gets: it follows from who applies for what."""
    return f"{service.form}-{site.number('reference', service.slug, ' '.join(name.casefold().split())) % 900_000 + 100_000}"


def _card(service: Service) -> Card:
    badge = "Online" if service.online else ""
    meta = (service.topic, f"{service.days} working days", f"Form {service.form}")
    return Card(service.name, service.href, None, money(service.cents), badge=badge, meta=meta)


@kind.page("/")
def home(visit: Visit[County]) -> Response:
    content, chance = visit.content, visit.site.draw("home")
    panel = Finder(
        chance.choice(
            ("How can we help you?", "What do you need to do?", f"Welcome to {visit.site.brand}", "Services and forms")
        ),
        "/services",
        (("topic", "Topic", tuple(TOPICS)), ("office", "Office", tuple(sorted(office.name for office in content.offices)))),
        "Show services",
    )
    tasks = Tiles(
        "Most used",
        tuple(
            (Link(service.name, service.href), f"{service.days} working days", None)
            for service in chance.sample(content.services, 8)
        ),
    )
    alert = Notice(
        "Offices close at noon on the last Friday of every month.", "info", "Changed hours", Link("All offices", "/offices")
    )
    rows = tuple((notice.date, Cell(notice.title, notice.href), notice.place) for notice in content.notices[:4])
    side = Columns(
        (
            (Table("Public notices", ("Date", "Notice", "District"), rows),),
            (Facts("Call us", tuple((office.name, office.phone) for office in content.offices[:4])),),
        )
    )
    figures = Stats(
        (
            ("Services", str(len(content.services))),
            ("Offices", str(len(content.offices))),
            ("Open cases", str(len(content.cases))),
        )
    )
    return Page("Home", arranged(visit.site.style.layout, panel, tasks, alert, side, figures))


@kind.page("/services")
def services(visit: Visit[County]) -> Response:
    listing = Listing(
        visit.content.services,
        _card,
        lambda service: f"{service.name} {service.topic} {service.form}",
        (
            Facet("topic", "Topic", lambda service: service.topic),
            Facet("office", "Office", lambda service: service.office),
            Facet("online", "Online", lambda service: "Yes" if service.online else "No"),
        ),
        (Limit("fee", "Maximum fee", lambda service: service.cents / 100, 0, 100, 5, "$"),),
        (
            Sort("fee", "Lowest fee", lambda service: service.cents),
            Sort("fast", "Fastest first", lambda service: service.days),
            Sort("name", "Name", lambda service: service.name),
        ),
        per_page=8,
    )
    return Page("Services", (visit.listing(listing, "Services"),))


@kind.page("/services/{slug}")
def service_page(visit: Visit[County]) -> Response:
    service = visit.content.find(visit.argument("slug"))
    if service is None:
        return NOT_FOUND
    how = "online or at the office" if service.online else "at the office; the form can be sent from here"
    detail = Detail(
        service.name,
        (Picture("abstract", service.slug, 640, 300),),
        lead=f"You can apply {how}. Have these papers at hand: {listed([paper.lower() for paper in service.papers])}.",
        rows=service.rows,
        links=(Link("Start application", f"/apply/{service.slug}"), Link("Book an appointment", "/appointment")),
    )
    papers = Table("", ("Paper", "How many"), tuple((paper, "1 copy") for paper in service.papers))
    law = Prose(
        "",
        (f"The fee is set by the county's schedule, section {len(service.name)}.", "Appeals are possible within 30 days."),
    )
    answers = Accordion(
        "",
        (
            ("Can somebody else apply for me?", "Yes, with a signed letter and a copy of your identity card."),
            ("What if I am late?", "Call the responsible office. We usually find a way."),
        ),
    )
    tabs = Tabs((("Papers", (papers,)), ("Questions", (answers,)), ("Legal basis", (law,))))
    return Page(service.name, (detail, tabs), (Link("Services", "/services"), Link(service.name, service.href)))


_FORM: Final = Form(
    "application",
    (
        FormStep(
            "About you",
            (
                Field("name", "Full name"),
                Field("born", "Date of birth", "date"),
                Field("id", "Identity number", pattern=r"[A-Z]{2}\d{6}", hint="Two capital letters and six digits"),
            ),
        ),
        FormStep(
            "Address",
            (
                Field("street", "Street and number"),
                Field("city", "Town"),
                Field("postcode", "Postal code", pattern=r"\d{5}", hint="Five digits"),
                Field("district", "District", "select", DISTRICTS),
            ),
        ),
        FormStep(
            "Contact",
            (
                Field("email", "E-mail", "email"),
                Field("phone", "Telephone", "tel", required=False),
                Field("contact", "How shall we reach you?", "radio", CONTACTS),
            ),
        ),
        FormStep("Declaration", (Field("declared", "Everything I have entered is true", "checkbox"),)),
    ),
    submit="Submit application",
)


@kind.page("/apply/{slug}")
def apply(visit: Visit[County]) -> Response:
    service = visit.content.find(visit.argument("slug"))
    if service is None:
        return NOT_FOUND
    values = visit.filled(_FORM)
    crumbs = (Link(service.name, service.href), Link("Application", visit.path))
    if values is None:
        facts = Facts("This application", (("Service", service.name), ("Form", service.form), ("Fee", money(service.cents))))
        return Page("Application", (Columns(((visit.form(_FORM),), (facts,))),), crumbs, f"Apply: {service.name}")
    visit.memory.record("application", {"service": service.name, **values})
    rows = (
        ("Reference number", reference(visit.site, service, values["name"])),
        ("Service", service.name),
        ("Applicant", values["name"]),
        ("Decision within", f"{service.days} working days"),
    )
    done = Notice("Please keep your reference number.", "good", "Application received")
    return Page("Application received", (done, Facts("Your application", rows)), crumbs, "Thank you")


@kind.page("/status")
def status(visit: Visit[County]) -> Response:
    form = Form.of(
        "status",
        Field("reference", "Reference number", pattern=r"[A-Z]{2}-\d{5}", hint="Such as AB-12345"),
        Field("surname", "Surname"),
        submit="Show status",
    )
    values = visit.filled(form)
    if values is None:
        return Page("Check a status", (visit.form(form),), heading="Check the status of an application")
    wanted = (values["reference"], values["surname"].casefold())
    case = next((case for case in visit.content.cases if (case.reference, case.surname.casefold()) == wanted), None)
    if case is None:
        unknown = Notice("No application has this reference and surname.", "bad", "Not found", Link("Try again", "/status"))
        return Page("Not found", (unknown,), heading="Check the status of an application")
    rows = (
        ("Reference", case.reference),
        ("Service", case.service),
        ("Stage", case.stage),
        ("Case officer", case.officer),
        ("Decision expected", case.due),
    )
    return Page("Status", (Facts("", rows),), heading=f"Application {case.reference}")


@kind.page("/appointment")
def appointment(visit: Visit[County]) -> Response:
    form = Form.of(
        "appointment",
        Field("office", "Office", "select", tuple(office.name for office in visit.content.offices)),
        Field("day", "Day", "date"),
        Field("time", "Time", "radio", SLOTS),
        Field("people", "Number of people", "slider", least=1, most=6, value="1"),
        Field("name", "Your name"),
        submit="Book appointment",
    )
    values = visit.filled(form)
    if values is None:
        return Page("Appointments", (visit.form(form),), heading="Book an appointment")
    visit.memory.record("appointment", values)
    text = f"{values['office']}, {values['day']} at {values['time']}."
    return Page("Appointment booked", (Notice(text, "good", "Appointment booked"),), heading="Thank you")


@kind.page("/fees")
def fees(visit: Visit[County]) -> Response:
    rows = tuple(
        (
            Cell(service.name, service.href),
            service.topic,
            Cell(str(service.days), number=True),
            Cell(money(service.cents), number=True),
        )
        for service in visit.content.services
    )
    return Page(
        "Fees", (Table("", ("Service", "Topic", "Working days", "Fee"), rows, sortable=True),), heading="Schedule of fees"
    )


@kind.page("/offices")
def offices(visit: Visit[County]) -> Response:
    places = tuple(Place(office.name, office.x, office.y, office.href) for office in visit.content.offices)
    rows = tuple((Cell(office.name, office.href), office.street, office.phone) for office in visit.content.offices)
    return Page(
        "Offices", (Map("", "county", places), Table("", ("Office", "Address", "Telephone"), rows)), heading="Offices"
    )


@kind.page("/offices/{slug}")
def office_page(visit: Visit[County]) -> Response:
    office = next((office for office in visit.content.offices if office.href == visit.path), None)
    if office is None:
        return NOT_FOUND
    rows = (
        ("Address", office.street),
        ("Telephone", office.phone),
        ("Opening hours", office.hours),
        ("Head of office", office.head),
    )
    here = tuple(_card(service) for service in visit.content.services if service.office == office.name)
    detail = Detail(
        office.name,
        (Picture("house", office.name.split()[0], 720, 480),),
        rows=rows,
        links=(Link("Book an appointment", "/appointment"),),
    )
    return Page(office.name, (detail, CardRow("Handled here", here)) if here else (detail,), (Link("Offices", "/offices"),))


@kind.page("/notices")
def notices(visit: Visit[County]) -> Response:
    rows = tuple(
        (notice.date, Cell(notice.title, notice.href), notice.place, notice.closes) for notice in visit.content.notices
    )
    return Page(
        "Public notices", (Table("", ("Date", "Notice", "District", "Comments until"), rows),), heading="Public notices"
    )


@kind.page("/notices/{slug}")
def notice_page(visit: Visit[County]) -> Response:
    notice = next((notice for notice in visit.content.notices if notice.href == visit.path), None)
    if notice is None:
        return NOT_FOUND
    text = (
        f"The administration plans the project “{notice.title}” in the district {notice.place}.",
        "The plans can be seen at every office during opening hours. Everybody may comment in writing.",
    )
    rows = (
        ("Published", notice.date),
        ("District", notice.place),
        ("Comments until", notice.closes),
        ("Contact", notice.contact),
    )
    return Page(
        notice.title,
        (Columns(((Prose("", text),), (Facts("", rows),))),),
        (Link("Public notices", "/notices"),),
        notice.title,
    )
