"""State: signed for one host, split over cookies, refused when touched; forms, carts and log-ins leave their records."""

from __future__ import annotations

import re

import pytest

from webgym.worlds import state
from webgym.worlds.answers import Answer, Asked, answer
from webgym.worlds.names import host_of, site_of
from webgym.worlds.sites import KINDS
from webgym.worlds.state import BadState, Record, State

SHOP = host_of(0, KINDS["shop"], 3)
BANK = host_of(0, KINDS["bank"], 3)


class Browser:
    """The cookies of one session on one host."""

    def __init__(self, host: str) -> None:
        self.host, self.cookies = host, dict[str, str]()

    def ask(self, path: str, posted: dict[str, str] | None = None) -> Answer:
        found = answer(Asked(0, self.host, path, {}, posted, self.cookies))
        for name, value in found.headers:
            if name == "set-cookie":
                pair, _, rest = value.partition(";")
                key, _, text = pair.partition("=")
                if "Max-Age=0" in rest:
                    self.cookies.pop(key, None)
                else:
                    self.cookies[key] = text
        return found

    @property
    def state(self) -> State:
        return state.read(0, self.host, state.joined(self.cookies))


def test_a_state_is_read_as_it_was_written():
    kept = State(user="Ada", cart={"lamp": 2}, records=(Record(kind="order", fields={"city": "Dover"}),))
    assert state.read(0, SHOP, state.write(0, SHOP, kept)) == kept


@pytest.mark.parametrize("place", [0, 5, 30, -1])
def test_a_touched_state_is_refused(place: int):
    value = state.write(0, SHOP, State(user="Ada"))
    touched = list(value)
    touched[place] = "A" if touched[place] != "A" else "B"
    with pytest.raises(BadState):
        state.read(0, SHOP, "".join(touched)[: len(value)] + ("" if place >= 0 else "AA"))


def test_a_state_is_of_one_host_and_one_seed():
    value = state.write(0, SHOP, State(user="Ada"))
    for seed, host in ((0, BANK), (1, SHOP)):
        with pytest.raises(BadState):
            state.read(seed, host, value)


def test_a_site_takes_a_touched_state_for_none():
    found = answer(Asked(0, SHOP, "/cart", {}, None, {state.COOKIE: "nonsense"}))
    assert found.status == 200
    assert b"nothing in your cart" in found.body


def test_a_long_value_travels_in_several_cookies():
    value = "x" * 9_000
    carried = dict(state.chunks(value))
    assert list(carried) == ["webgym_state", "webgym_state_2", "webgym_state_3"]
    assert state.joined(carried) == value
    assert state.by_host([(SHOP, name, part) for name, part in carried.items()]) == {SHOP: value}


def test_an_order_is_recorded_with_what_it_holds():
    browser = Browser(SHOP)
    product = KINDS["shop"].content(site_of(0, SHOP)).products[0]
    assert browser.ask("/cart/add", {"sku": product.slug, "count": "3"}).status == 303
    assert product.name.encode() in browser.ask("/cart").body
    assert b"Cart (3)" in browser.ask("/").body
    form = {"_form": "checkout"}
    first = {"name": "Ada Vega", "email": "a@example.com", "street": "1 Mill Street", "city": "Dover", "postcode": "12345"}
    wrong = browser.ask("/checkout", {**form, "_step": "0", **first, "postcode": "12"})
    assert b"Five digits" in wrong.body
    assert b'value="Ada Vega"' in wrong.body
    assert b"Delivery method" in browser.ask("/checkout", {**form, "_step": "0", **first}).body
    assert b"Payment method" in browser.ask("/checkout", {**form, "_step": "1", "delivery": "Express"}).body
    assert browser.ask("/checkout", {**form, "_step": "2", "payment": "Invoice"}).status == 303
    (order,) = browser.state.records
    assert order.fields[f"item:{product.slug}"] == "3"
    assert (order.fields["city"], order.fields["delivery"], order.fields["lines"]) == ("Dover", "Express", "1")
    assert browser.state.cart == {}


def test_a_step_that_was_skipped_is_asked_for():
    browser = Browser(SHOP)
    product = KINDS["shop"].content(site_of(0, SHOP)).products[0]
    browser.ask("/cart/add", {"sku": product.slug})
    found = browser.ask("/checkout", {"_form": "checkout", "_step": "2", "payment": "Invoice"})
    assert b"Full name" in found.body
    assert browser.state.records == ()


def test_members_pages_ask_for_the_right_password():
    browser, account = Browser(BANK), site_of(0, BANK).account
    assert dict(browser.ask("/my").headers)["location"] == "/login?next=/my"
    wrong = browser.ask("/login", {"_form": "login", "user": account.user, "password": "guess"})
    assert b"is not right" in wrong.body
    assert b"guess" not in wrong.body
    assert browser.ask("/login", {"_form": "login", "user": account.user, "password": account.password}).status == 303
    assert re.search(rb"Total of all accounts", browser.ask("/my").body)
    browser.ask("/logout")
    assert browser.ask("/my").status == 303


def test_sessions_do_not_share_anything():
    one, other = Browser(SHOP), Browser(SHOP)
    one.ask("/cart/add", {"sku": KINDS["shop"].content(site_of(0, SHOP)).products[0].slug})
    assert b"nothing in your cart" in other.ask("/cart").body
