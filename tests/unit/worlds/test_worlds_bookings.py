"""Forms of the booking kinds refuse what makes no sense, members' pages ask for a log-in, manuals switch their version."""

from __future__ import annotations

from collections.abc import Mapping

from webgym.worlds import state
from webgym.worlds.answers import Answer, Asked, answer
from webgym.worlds.forms import Field
from webgym.worlds.names import host_of, site_of
from webgym.worlds.sites import KINDS
from webgym.worlds.state import State


class Browser:
    """Keeps a host's cookies from one request to the next, as a browser does."""

    def __init__(self, kind: str, number: int = 3) -> None:
        self.host = host_of(0, KINDS[kind], number)
        self.content = KINDS[kind].content(site_of(0, self.host))
        self.cookies: dict[str, str] = {}

    def ask(self, path: str, posted: Mapping[str, str] | None = None, **query: str) -> Answer:
        found = answer(Asked(0, self.host, path, query, posted, self.cookies))
        for name, value in found.headers:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return found

    def send(self, path: str, form: str, *steps: Mapping[str, str]) -> Answer:
        """Post the steps of a form, one after another."""
        for place, values in enumerate(steps):
            last = self.ask(path, {"_form": form, "_step": str(place), **values})
        return last

    @property
    def state(self) -> State:
        return state.read(0, self.host, state.joined(self.cookies))


def test_a_stepper_has_bounds_and_takes_whole_numbers():
    stepper = Field("adults", "Adults", "stepper", least=1, most=8)
    assert [stepper.problem(value) is None for value in ("1", "8", "0", "9", "2.5", "-1", "")] == [True, True] + [False] * 5


def test_a_stay_that_ends_before_it_begins_is_not_booked():
    browser = Browser("travel")
    hotel = browser.content.hotels[0]
    guest = {"name": "Ada Vega", "email": "ada@example.com"}
    paying = {"payment": "Credit card", "agree": "yes"}

    def book(arrive: str, leave: str) -> Answer:
        stay = {"arrive": arrive, "leave": leave, "adults": "2", "children": "0", "room": hotel.rooms[0][0]}
        return browser.send(f"/book/{hotel.slug}", "booking", stay, guest, paying)

    assert b"must be after" in book("2026-07-10", "2026-07-08").body
    assert browser.state.records == ()
    assert b"Your room is booked" in book("2026-07-08", "2026-07-10").body
    assert [record.fields["hotel"] for record in browser.state.records] == [hotel.slug]


def test_no_order_is_made_of_no_tickets():
    browser = Browser("museums")
    show = browser.content.shows[0]
    when = {"day": "2026-08-01", "slot": show.slots[0][0]}
    who = {"name": "Ada Vega", "email": "ada@example.com", "payment": "Invoice"}

    def buy(adults: str) -> Answer:
        counts = {"adult": adults, "student": "0", "child": "0", "senior": "0"}
        return browser.send(f"/tickets/{show.slug}", f"tickets-{show.slug}", when, counts, who)

    assert b"No tickets" in buy("0").body
    assert browser.state.records == ()
    assert b"Tickets bought" in buy("2").body
    assert browser.state.records[0].fields["adult"] == "2"


def test_a_quiz_counts_right_answers():
    browser = Browser("courses")
    course = browser.content.courses[0]
    wrong = course.terms[1][0]
    given = [{f"q{n}": wrong if n == 1 else term} for n, (term, _) in enumerate(course.terms, 1)]
    assert b"3 of 4" in browser.send(f"/quiz/{course.slug}", f"quiz-{course.slug}", *given).body
    assert browser.state.records[0].fields["score"] == "3"


def test_only_members_keep_a_list():
    browser = Browser("trails")
    slug = browser.content.trails[0].slug
    assert dict(browser.ask("/keep", {"slug": slug}).headers)["location"].startswith("/login")
    assert browser.state.records == ()
    account = site_of(0, browser.host).account
    browser.send("/login", "login", {"user": account.user, "password": account.password})
    browser.ask("/keep", {"slug": slug})
    assert browser.state.records[0].fields == {slug: "yes", "count": "1"}


def test_a_manual_switches_to_the_version_asked_for_and_to_no_other():
    browser = Browser("software")
    package = browser.content.packages[0]
    old = package.releases[-1]
    turned = browser.ask(f"{package.href}/switch", version=old.version, section="settings")
    where = dict(turned.headers)["location"]
    assert where == package.at(old.version, "settings")
    page = browser.ask(where).body.decode()
    assert all(f">{value}<" in page for _, value in old.settings)
    assert dict(browser.ask(f"{package.href}/switch", version="99.9.9").headers)["location"] == package.href


def test_the_advanced_search_finds_what_fits_and_ignores_nonsense():
    browser = Browser("papers")
    paper = browser.content.papers[0]
    found = browser.ask("/results", field=paper.field, since=str(paper.year), until=str(paper.year)).body.decode()
    assert paper.href in found
    assert paper.href not in browser.ask("/results", until=str(paper.year - 1)).body.decode()
    assert browser.ask("/results", since="never", cited="1e9").status == 200
