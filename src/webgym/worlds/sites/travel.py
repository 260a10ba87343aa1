"""A travel site: hotels and flights, destinations, a booking in steps with dates, guests and rooms.

Tasks: look up hotels, flights and cities, compare prices, find what fits, book a room, book a seat.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from webgym.worlds.blocks import (
    Accordion,
    Card,
    CardRow,
    Cell,
    Chart,
    Columns,
    Detail,
    Facts,
    Frame,
    Hero,
    Link,
    Map,
    Notice,
    Page,
    Picture,
    Place,
    Prose,
    Redirect,
    Response,
    Review,
    Reviews,
    Table,
    Tabs,
    Tiles,
)
from webgym.worlds.forms import Field, Form
from webgym.worlds.kind import NOT_FOUND, Entry, Kind, Site, Visit
from webgym.worlds.listing import Facet, Limit, Listing, Sort
from webgym.worlds.sites.travel_content import MONTHS, Hotel, Offers, booking_form, offers, seat_form
from webgym.worlds.words import money, person


def menu(site: Site, content: Offers) -> tuple[Link, ...]:
    inside = tuple(Link(city.name, city.href) for city in content.cities)
    return (
        Link("Hotels", "/hotels"),
        Link("Flights", "/flights"),
        Link("Destinations", "/destinations", inside),
        Link("Help", "/help"),
    )


def findable(content: Offers) -> tuple[Entry, ...]:
    hotels = [Entry(hotel.name, hotel.href, f"Hotel in {hotel.city}") for hotel in content.hotels]
    flights = [Entry(f"Flight {flight.number}", flight.href, f"{flight.start} – {flight.end}") for flight in content.flights]
    return (*(Entry(f"{city.name} guide", city.href, "Destination") for city in content.cities), *hotels, *flights)


def tagline(site: Site, content: Offers) -> str:
    return f"{len(content.hotels)} hotels and {len(content.flights)} flights in {len(content.cities)} cities."


kind: Final = Kind(
    "travel",
    subdomain="Travel & Accommodation",
    words=("travel", "stays", "hotels", "flights", "trips", "voyages", "holidays"),
    content=offers,
    nav=menu,
    entries=findable,
    tagline=tagline,
)


def _card(hotel: Hotel) -> Card:
    return Card(
        hotel.name,
        hotel.href,
        Picture("city" if hotel.metres < 1500 else "house", hotel.slug),
        f"from {money(hotel.cents)}",
        meta=(hotel.city, f"{hotel.stars}-star"),
        badge="Pool" if hotel.pool else "",
        stars=hotel.score,
        votes=hotel.votes,
    )


def _stay(content: Offers) -> Form:
    return Form.of(
        "stay",
        Field("city", "Destination", "select", tuple(city.name for city in content.cities)),
        Field("arrive", "Check-in", "date"),
        Field("leave", "Check-out", "date"),
        Field("adults", "Adults", "stepper", least=1, most=8, value="2"),
        submit="Search hotels",
    )


@kind.page("/")
def home(visit: Visit[Offers]) -> Response:
    site, content = visit.site, visit.content
    chance, form = site.draw("home"), _stay(content)
    values = visit.filled(form)
    if values is not None:
        return Redirect(f"/hotels?{urlencode({'city': values['city']})}")
    title = chance.choice(("Where to next?", "See more of the world", "Stay somewhere you will remember", "Pack your bags"))
    scene = chance.choice(("landscape", "city"))
    hero = Hero(title, tagline(site, content), Picture(scene, "hero", 900, 600), Link("Find a flight", "/flights"))
    places = Tiles(
        "Popular destinations",
        tuple(
            (Link(city.name, city.href), f"Known for {city.known_for}", Picture("city", f"city-{city.name}", 300, 200))
            for city in content.cities
        ),
    )
    picks = CardRow("Guests love these", tuple(map(_card, chance.sample(content.hotels, 6))), Link("All hotels", "/hotels"))
    cheap = sorted(content.flights, key=lambda flight: flight.cents)[:6]
    rows = tuple((Cell(f.number, f.href), f.start, f.end, Cell(money(f.cents), number=True)) for f in cheap)
    deals = Table("Flight deals", ("Flight", "From", "To", "Price"), rows)
    search = visit.form(form)
    orders = {
        0: (hero, search, places, picks),
        1: (Columns(((search,), (deals,))), picks, places),
        2: (search, deals, places),
        3: (hero, picks, Columns(((deals,), (search,)))),
        4: (Columns(((hero,), (search,))), places, deals),
    }
    return Page("Home", orders.get(site.style.layout, (hero, places, search, picks)))


@kind.page("/hotels")
def hotels(visit: Visit[Offers]) -> Response:
    listing = Listing(
        visit.content.hotels,
        _card,
        lambda hotel: f"{hotel.name} {hotel.city}",
        (
            Facet("city", "City", lambda hotel: hotel.city),
            Facet("stars", "Hotel class", lambda hotel: f"{hotel.stars}-star"),
            Facet("cancel", "Cancellation", lambda hotel: hotel.policy),
            Facet("pool", "Pool", lambda hotel: "With a pool" if hotel.pool else "Without a pool"),
        ),
        (Limit("max", "Maximum price", lambda hotel: hotel.cents / 100, 0, 400, 20, "$"),),
        (
            Sort("cheap", "Price: low to high", lambda hotel: hotel.cents),
            Sort("score", "Best rated", lambda hotel: hotel.score * 10_000 + hotel.votes, down=True),
            Sort("near", "Closest to the centre", lambda hotel: hotel.metres),
        ),
        per_page=8,
        endless=visit.site.number("endless") % 3 == 0,
    )
    return Page("Hotels", (visit.listing(listing, "Hotels"),))


@kind.page("/hotels/{slug}")
def hotel_page(visit: Visit[Offers]) -> Response:
    hotel = next((hotel for hotel in visit.content.hotels if hotel.href == visit.path), None)
    if hotel is None:
        return NOT_FOUND
    scenes = ("city" if hotel.metres < 1500 else "house", "sofa", "lamp", "food")
    detail = Detail(
        hotel.name,
        tuple(Picture(scene, hotel.slug if n == 0 else f"{hotel.slug}-{n}", 720, 540) for n, scene in enumerate(scenes)),
        f"from {money(hotel.cents)} a night",
        stars=hotel.score,
        votes=hotel.votes,
        badge=f"{hotel.stars}-star hotel",
        lead=f"A {hotel.stars}-star house in {hotel.city}, {hotel.metres:,} m from the centre, led by {hotel.manager}.",
        links=(
            Link("Book a room", f"/book/{hotel.slug}"),
            Link(f"{hotel.city} guide", f"/destinations/{hotel.city.lower()}"),
        ),
    )
    rooms = Table(
        "Rooms",
        ("Room", "Size", "Price a night"),
        tuple((name, f"{size} m²", Cell(money(cents), number=True)) for name, cents, size in hotel.rooms),
    )
    where = Map("", f"near-{hotel.slug}", (Place(hotel.name, hotel.x, hotel.y), Place("City centre", 50, 50)))
    said = tuple(_review(visit.site, hotel, n) for n in range(3))
    tabs = Tabs((("Good to know", (Facts("", hotel.rows),)), ("Map", (where,)), ("Reviews", (Reviews("", said),))))
    crumbs = (Link("Hotels", "/hotels"), Link(hotel.name, hotel.href))
    blocks = (detail, rooms, tabs) if visit.site.style.layout % 2 else (detail, tabs, rooms)
    return Page(hotel.name, blocks, crumbs)


def _review(site: Site, hotel: Hotel, n: int) -> Review:
    chance = site.draw("review", hotel.slug, n)
    title = chance.choice(("Lovely stay", "Good value", "Quiet nights", "Would come again", "Fine, but small"))
    text = chance.choice(("The breakfast was worth getting up for.", "Friendly people at the desk.", "Close to everything."))
    return Review(person(chance.randrange(500), chance.randrange(500)), chance.randrange(3, 6), title, text)


@kind.page("/book/{slug}")
def book(visit: Visit[Offers]) -> Response:
    hotel = next((hotel for hotel in visit.content.hotels if hotel.slug == visit.argument("slug")), None)
    if hotel is None:
        return NOT_FOUND
    form = booking_form(hotel)
    values = visit.filled(form)
    if values is not None and values["leave"] <= values["arrive"]:
        notice = Notice("The check-out date must be after the check-in date.", "bad", "Please check the dates")
        return Page("Book", (notice, visit.form(form, **values)), heading=f"Book {hotel.name}")
    if values is None:
        side = (Facts(hotel.name, tuple((room, money(cents)) for room, cents, _ in hotel.rooms)), Facts("", hotel.rows[2:5]))
        return Page("Book", (Columns(((visit.form(form),), side)),), heading=f"Book {hotel.name}")
    visit.memory.record("booking", {"hotel": hotel.slug, **values})
    number = f"{visit.site.number('booking', hotel.slug, values['arrive']) % 900_000 + 100_000}"
    rows = (
        ("Booking number", number),
        ("Room", values["room"]),
        ("Check-in", values["arrive"]),
        ("Check-out", values["leave"]),
    )
    thanks = Notice(f"A confirmation goes to {values['email']}.", "good", "Your room is booked")
    return Page("Booked", (thanks, Facts(hotel.name, rows)), heading="Your room is booked")


def _route(content: Offers) -> Form:
    names = tuple(city.name for city in content.cities)
    fields = (
        Field("start", "From", "select", names),
        Field("end", "To", "select", names),
        Field("day", "Date", "date", required=False),
    )
    return Form.of("route", *fields, submit="Search flights")


@kind.page("/flights")
def flights(visit: Visit[Offers]) -> Response:
    form = _route(visit.content)
    values = visit.filled(form)
    if values is not None:
        return Redirect(f"/flights?{urlencode({'start': values['start'], 'end': values['end']})}")
    start, end = visit.query.get("start", ""), visit.query.get("end", "")
    chosen = [f for f in visit.content.flights if (not start or f.start == start) and (not end or f.end == end)]
    rows = tuple(
        (
            Cell(f.number, f.href),
            f.airline,
            f.start,
            f.end,
            f.rows[3][1],
            f.rows[5][1],
            f.rows[6][1],
            Cell(money(f.cents), number=True),
        )
        for f in chosen
    )
    columns = ("Flight", "Airline", "From", "To", "Departure", "Duration", "Stops", "Price")
    table = Table(f"{len(rows)} flights", columns, rows, sortable=True, note="Every flight leaves daily.")
    return Page("Flights", (visit.form(form, start=start, end=end), table), heading="Flights")


@kind.page("/flights/{number}")
def flight_page(visit: Visit[Offers]) -> Response:
    flight = next((flight for flight in visit.content.flights if flight.href == visit.path), None)
    if flight is None:
        return NOT_FOUND
    detail = Detail(
        f"Flight {flight.number}",
        (Picture("landscape", flight.number, 720, 480),),
        money(flight.cents),
        lead=f"{flight.start} to {flight.end}, every day.",
        rows=flight.rows,
        links=(Link("Book this flight", f"{flight.href}/book"), Link("All flights", "/flights")),
    )
    rules = Frame("Baggage rules", "/rules", 190)
    return Page(f"Flight {flight.number}", (detail, rules), (Link("Flights", "/flights"), Link(flight.number, flight.href)))


@kind.page("/rules")
def rules(visit: Visit[Offers]) -> Response:
    return Page(
        "Rules",
        (Prose("", ("One piece of hand luggage of 8 kg is free.", "Skis and prams travel for nothing.")),),
        bare=True,
    )


@kind.page("/flights/{number}/book")
def fly(visit: Visit[Offers]) -> Response:
    flight = next((one for one in visit.content.flights if f"{one.href}/book" == visit.path), None)
    if flight is None:
        return NOT_FOUND
    form = seat_form()
    values = visit.filled(form)
    if values is None:
        blocks = (Columns(((visit.form(form),), (Facts(f"Flight {flight.number}", flight.rows),))),)
        return Page("Book a flight", blocks, heading=f"Book flight {flight.number}")
    visit.memory.record("seat", {"flight": flight.number, **values})
    total = money(flight.cents * int(values["people"]))
    return Page(
        "Booked", (Notice(f"Total: {total}. Have a good trip.", "good", "Your flight is booked"),), heading="Thank you"
    )


@kind.page("/destinations")
def destinations(visit: Visit[Offers]) -> Response:
    cards = tuple(
        Card(city.name, city.href, Picture("city", f"city-{city.name}"), text=f"Known for {city.known_for}.")
        for city in visit.content.cities
    )
    return Page("Destinations", (CardRow("", cards, big=True),), heading="Destinations")


@kind.page("/destinations/{name}")
def city_page(visit: Visit[Offers]) -> Response:
    city = next((city for city in visit.content.cities if city.href == visit.path), None)
    if city is None:
        return NOT_FOUND
    text = Prose(
        f"Why go to {city.name}",
        (f"{city.name} is known for {city.known_for}.", "Come for a weekend and walk; everything worth seeing is near."),
    )
    rows = (
        ("Airport code", city.code),
        ("Language", city.tongue),
        ("Inhabitants", f"{city.people},000"),
        ("From the airport", f"{city.transfer} minutes"),
    )
    chart = Chart("Average temperature", tuple((m, float(t)) for m, t in zip(MONTHS, city.warmth, strict=True)), unit=" °C")
    inside = CardRow(f"Hotels in {city.name}", tuple(map(_card, visit.content.in_city(city.name)[:4])))
    picture = Hero(f"{city.name} guide", f"Known for {city.known_for}.", Picture("city", f"city-{city.name}", 900, 600))
    return Page(f"{city.name} guide", (picture, Columns(((text, chart), (Facts("At a glance", rows),))), inside))


@kind.page("/help")
def assistance(visit: Visit[Offers]) -> Response:
    chance = visit.site.draw("help")
    answers = (
        ("Can I change a booking?", f"Yes, up to {chance.choice((12, 24, 48))} hours before arrival."),
        ("Are pets allowed?", f"In {chance.randrange(20, 80)} percent of our hotels."),
        ("When do I pay?", "At the hotel, unless you choose otherwise."),
    )
    return Page("Help", (Accordion("Questions and answers", answers),), heading="Help")
