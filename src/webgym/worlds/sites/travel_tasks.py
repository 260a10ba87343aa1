"""Tasks of the travel site: look up, compare, find what fits, collect, book a room, book a flight."""

from __future__ import annotations

from webgym.worlds.asking import Entered, best_fit, compare, each, look_up, one_best, submitted
from webgym.worlds.making import Draft, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Open, Press, Search, See, SortBy, Tick
from webgym.worlds.sites.travel import kind
from webgym.worlds.sites.travel_content import MONTHS, SEATS, City, Flight, Hotel, Offers
from webgym.worlds.subjects import Known, Topic
from webgym.worlds.words import FAMILY, GIVEN, money


def _hotel(hotel: Hotel) -> Topic:
    """A hotel, as its own page shows it. Facts on the first tab need no pressing."""
    rooms = tuple(Known(f"price a night of a {name.lower()}", money(cents)) for name, cents, _ in hotel.rooms)
    return Topic(
        hotel.name,
        hotel.href,
        f"the {hotel.name}",
        (
            *rooms,
            Known("average rating", f"{hotel.score:.1f}", f"{hotel.score:.1f} ({hotel.votes} reviews)"),
            Known("distance to the centre in metres", str(hotel.metres), f"{hotel.metres:,} m"),
            Known("earliest check-in time", hotel.check_in),
            Known("latest check-out time", hotel.check_out),
            Known("cancellation policy", hotel.policy),
            Known("price of breakfast", money(hotel.breakfast), f"{money(hotel.breakfast)} a person"),
        ),
    )


def _flight(flight: Flight) -> Topic:
    rows = dict(flight.rows)
    return Topic(
        f"Flight {flight.number}",
        flight.href,
        f"flight {flight.number}",
        (
            Known("price", money(flight.cents)),
            Known("airline", flight.airline),
            Known("departure time", rows["Departure"]),
            Known("arrival time", rows["Arrival"]),
            Known("duration", rows["Duration"]),
            Known("checked baggage in kg", str(flight.bag), f"{flight.bag} kg"),
            Known("gate", flight.gate),
        ),
        aliases=(flight.number,),
    )


def _city(city: City) -> Topic:
    warm = tuple(
        Known(f"average temperature in {month} in °C", str(degrees), f"{degrees} °C")
        for month, degrees in zip(MONTHS[1:4], city.warmth[1:4], strict=True)
    )
    knowns = (
        Known("airport code", city.code),
        Known("language", city.tongue),
        Known("number of minutes from the airport", str(city.transfer), f"{city.transfer} minutes"),
        *warm,
    )
    return Topic(f"{city.name} guide", city.href, f"the destination {city.name}", knowns)


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Offers]) -> Draft:
    content = make.content
    topics = [*map(_hotel, content.hotels), *map(_flight, content.flights), *map(_city, content.cities)]
    openings = (
        "Find {}.",
        f"On {make.site.brand}, look up {{}}.",
        "I am planning a trip. Tell me {}.",
        "Check this travel site for {}.",
    )
    return look_up(make, topics, lambda topic: topic, openings)


@kind.task("compare", [(3, 5)])
def compared(make: Maker[Offers]) -> Draft:
    if make.chance.random() < 0.5:
        flights = make.content.flights
        return compare(make, flights, _flight, "price", lambda flight: flight.cents, "cheapest flight", most=False)
    asked = "distance to the centre in metres"
    return compare(make, make.content.hotels, _hotel, asked, lambda hotel: hotel.metres, "closest to the centre", most=False)


@kind.task("filter", [(1, 4)])
def narrow(make: Maker[Offers]) -> Draft:
    """The cheapest or nearest hotel of a city and a class."""
    city = make.one(make.content.cities).name
    inside = make.content.in_city(city)
    by, side = make.one((("Hotel class", "stars"), ("Cancellation", "policy")))
    values = sorted({_side(hotel, side) for hotel in inside})
    value = make.one(values)
    fitting = [hotel for hotel in inside if _side(hotel, side) == value]
    what, order, near = make.one(
        (("cheapest", "Price: low to high", False), ("most central", "Closest to the centre", True))
    )
    best = one_best(make, fitting, lambda hotel: hotel.metres if near else hotel.cents, most=False)
    way = (Open("Hotels"), Filter("City", city), Filter(by, value), SortBy(order), Open(best.name))
    said = f"class {value}" if side == "stars" else f"the cancellation policy “{value}”"
    ask = f"the {what} hotel in {city} with {said}"
    return best_fit(
        make,
        _hotel(best),
        map(_hotel, fitting),
        ask,
        way,
        ("Find {}.", "Use the filters to find {}.", "I want to stay at {}."),
    )


def _side(hotel: Hotel, side: str) -> str:
    return f"{hotel.stars}-star" if side == "stars" else hotel.policy


@kind.task("fly", [(2, 4)])
def fly(make: Maker[Offers]) -> Draft:
    """The cheapest flight between two cities, by the flight search."""
    pairs = sorted({(flight.start, flight.end) for flight in make.content.flights})
    start, end = make.one(pairs)
    between = [flight for flight in make.content.flights if (flight.start, flight.end) == (start, end)]
    best = one_best(make, between, lambda flight: flight.cents, most=False)
    topic = _flight(best)
    way = (Open("Flights"), Choose("From", start), Choose("To", end), Press("Search flights"), Open(best.number))
    what = f"the cheapest flight from {start} to {end}"
    return best_fit(
        make, topic, map(_flight, between), what, way, ("Find {}.", "Search for {}.", "I have to get away. Look for {}.")
    )


@kind.task("collect", [(4, 10)])
def collect(make: Maker[Offers]) -> Draft:
    openings = ("Collect {}.", "For a comparison, note {}.", "List {}.")
    if make.chance.random() < 0.4:
        flights = make.some(make.content.flights, make.shape[0])
        return each(make, list(map(_flight, flights)), make.one(("price", "arrival time", "gate")), openings)
    hotels = make.some(make.content.hotels, make.shape[0])
    return each(make, list(map(_hotel, hotels)), make.one(("price of breakfast", "earliest check-in time")), openings)


@kind.task("book", [(2, 6)])
def book(make: Maker[Offers]) -> Draft:
    chance, hotel = make.chance, make.one(make.content.hotels)
    month, day = chance.randrange(6, 11), chance.randrange(1, 20)
    arrive, leave = f"2026-{month:02d}-{day:02d}", f"2026-{month:02d}-{day + chance.randrange(1, 8):02d}"
    room, adults, children = chance.choice(hotel.rooms)[0], str(chance.randrange(1, 6)), str(chance.randrange(0, 4))
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    entered = (
        Entered("hotel", hotel.slug, f"at the {hotel.name}"),
        Entered("arrive", arrive, f"arriving on {arrive}"),
        Entered("leave", leave, f"leaving on {leave}"),
        Entered("room", room, f"room type {room}"),
        Entered("adults", adults, f"number of adults {adults}"),
        Entered("children", children, f"number of children {children}"),
    )
    ask, facts = submitted(make, "booking", "A room is booked", entered)
    route = (
        Search(hotel.name),
        Open(hotel.name),
        Open("Book a room"),
        Fill("Check-in date", arrive),
        Fill("Check-out date", leave),
        Fill("Adults", adults),
        Fill("Children", children),
        Choose("Room", room),
        Press("Continue"),
        Fill("Full name", name),
        Fill("E-mail", "guest@example.com"),
        Press("Continue"),
        Choose("Payment", "Pay at the hotel"),
        Tick("I accept the cancellation terms"),
        Press("Confirm booking"),
        See(("Your room is booked",)),
    )
    openings = ("Book a room {}. Anything else is up to you.", f"Reserve on {make.site.brand}, {{}}; invent the rest.")
    return Draft(openings, (Group(ask, "The booking", facts, route),))


@kind.task("seat", [(1, 5)])
def seat(make: Maker[Offers]) -> Draft:
    chance, flight = make.chance, make.one(make.content.flights)
    day = f"2026-{chance.randrange(6, 12):02d}-{chance.randrange(1, 29):02d}"
    people, where = str(chance.randrange(1, 7)), chance.choice(SEATS)
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    entered = (
        Entered("flight", flight.number, f"flight {flight.number}"),
        Entered("day", day, f"on {day}"),
        Entered("people", people, f"number of passengers {people}"),
        Entered("seat", where, f"seat {where.lower()}"),
        Entered("name", name, f"in the name of {name}"),
    )
    ask, facts = submitted(make, "seat", "A flight is booked", entered)
    route = (
        Search(flight.number),
        Open(f"Flight {flight.number}"),
        Open("Book this flight"),
        Fill("Travel date", day),
        Fill("Passengers", people),
        Choose("Seat", where),
        Press("Continue"),
        Fill("Full name", name),
        Fill("E-mail", "flyer@example.com"),
        Press("Book flight"),
        See(("Your flight is booked",)),
    )
    return Draft(
        ("Book {}. Choose the rest yourself.", "Please book {}; whatever else is asked is up to you."),
        (Group(ask, "The flight", facts, route),),
    )
