"""Selling: cart, checkout in steps, confirmation. A kind that sells calls `sells(kind, article)` and posts to /cart/add.

An order becomes a record `order` with the fields `item:<sku>` (how many), `lines` (how many different articles), those of
the checkout form (`name, email, street, city, postcode, delivery, payment`) and `total`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from webgym.worlds.blocks import (
    Button,
    Buttons,
    Cell,
    Columns,
    Facts,
    Link,
    Notice,
    Page,
    Picture,
    Redirect,
    Response,
    Table,
)
from webgym.worlds.forms import Field, Form, FormStep
from webgym.worlds.kind import Kind, Visit
from webgym.worlds.route import Choose, Fill, Move, Open, Press, See
from webgym.worlds.words import money

C = TypeVar("C")
MAX_EACH: Final = 20
MAX_LINES: Final = 30
DELIVERY: Final = (("Standard", 499), ("Express", 1299), ("Pickup in store", 0))
PAYMENT: Final = ("Invoice", "Pay on delivery", "Gift card")


@dataclass(frozen=True)
class Article:
    sku: str
    title: str
    href: str
    cents: int
    picture: Picture | None = None


@dataclass(frozen=True)
class Buyer:
    """Who orders, for tasks and for the oracle's checkout."""

    name: str
    email: str
    street: str
    city: str
    postcode: str
    delivery: str = "Standard"
    payment: str = "Invoice"


_CHECKOUT: Final = Form(
    "checkout",
    (
        FormStep(
            "Your details",
            (
                Field("name", "Full name"),
                Field("email", "E-mail", "email"),
                Field("street", "Street address"),
                Field("city", "City"),
                Field("postcode", "Postal code", pattern=r"\d{5}", hint="Five digits"),
            ),
        ),
        FormStep("Delivery", (Field("delivery", "Delivery method", "radio", tuple(name for name, _ in DELIVERY)),)),
        FormStep("Payment", (Field("payment", "Payment method", "radio", PAYMENT),)),
    ),
    submit="Place order",
)


def sells(kind: Kind[C], article: Callable[[C, str], Article | None]) -> None:
    """Give a kind a cart and a checkout. `article` finds what is sold under a number."""

    def lines(visit: Visit[C]) -> list[tuple[Article, int]]:
        found = [(article(visit.content, sku), count) for sku, count in visit.memory.cart.items()]
        return [(item, count) for item, count in found if item is not None]

    @kind.page("/cart/add")
    def add(visit: Visit[C]) -> Response:
        posted, cart = visit.posted or {}, visit.memory.cart
        sku, count = posted.get("sku", ""), posted.get("count", "1")
        if article(visit.content, sku) is not None and count.isdecimal() and len(cart) < MAX_LINES:
            cart[sku] = min(MAX_EACH, cart.get(sku, 0) + min(int(count[:4]), MAX_EACH))
            visit.memory.choices["added"] = sku
        return Redirect("/cart")

    @kind.page("/cart/remove")
    def remove(visit: Visit[C]) -> Response:
        visit.memory.cart.pop((visit.posted or {}).get("sku", ""), None)
        return Redirect("/cart")

    @kind.page("/cart")
    def cart(visit: Visit[C]) -> Response:
        inside = lines(visit)
        if not inside:
            link = Link("Continue browsing", "/")
            return Page("Your cart", (Notice("There is nothing in your cart yet.", link=link),), heading="Your cart")
        rows = tuple(
            (Cell(item.title, item.href), Cell(str(count), number=True), Cell(money(item.cents * count), number=True))
            for item, count in inside
        )
        total = sum(item.cents * count for item, count in inside)
        removal = tuple(
            Button(f"Remove {item.title}", "/cart/remove", (("sku", item.sku),), quiet=True) for item, _ in inside
        )
        summary = Facts("Summary", (("Articles", str(sum(count for _, count in inside))), ("Subtotal", money(total))))
        way = Buttons(links=(Link("Go to checkout", "/checkout"), Link("Continue browsing", "/")))
        blocks = (Columns(((Table("", ("Article", "Quantity", "Price"), rows), Buttons(removal)), (summary, way))),)
        return Page("Your cart", blocks, heading="Your cart")

    @kind.page("/checkout")
    def checkout(visit: Visit[C]) -> Response:
        inside = lines(visit)
        if not inside:
            return Redirect("/cart")
        values = visit.filled(_CHECKOUT)
        subtotal = sum(item.cents * count for item, count in inside)
        if values is None:
            rows = tuple((item.title, f"{count} × {money(item.cents)}") for item, count in inside)
            blocks = (Columns(((visit.form(_CHECKOUT),), (Facts("Your order", (*rows, ("Subtotal", money(subtotal)))),))),)
            return Page("Checkout", blocks, heading="Checkout")
        total = money(subtotal + dict(DELIVERY)[values["delivery"]])
        items = {f"item:{item.sku}": str(count) for item, count in inside}
        visit.memory.record("order", {**items, "lines": str(len(items)), **values, "total": total})
        visit.memory.cart.clear()
        return Redirect("/order")

    @kind.page("/order")
    def order(visit: Visit[C]) -> Response:
        placed = visit.memory.all("order")
        if not placed:
            return Redirect("/")
        number = f"{visit.site.number('order', len(placed)) % 900_000 + 100_000}"
        fields = placed[-1].fields
        rows = (
            ("Order number", number),
            ("Delivered to", f"{fields['name']}, {fields['street']}, {fields['postcode']} {fields['city']}"),
            ("Delivery method", fields["delivery"]),
            ("Total with delivery", fields["total"]),
        )
        thanks = Notice(f"We have sent a confirmation to {fields['email']}.", "good", "Thank you for your order")
        return Page("Order placed", (thanks, Facts("Your order", rows)), heading="Order placed")


def checkout_moves(buyer: Buyer) -> tuple[Move, ...]:
    """From the cart to the confirmation, for an oracle's route."""
    return (
        Open("Go to checkout"),
        Fill("Full name", buyer.name),
        Fill("E-mail", buyer.email),
        Fill("Street address", buyer.street),
        Fill("City", buyer.city),
        Fill("Postal code", buyer.postcode),
        Press("Continue"),
        Choose("Delivery method", buyer.delivery),
        Press("Continue"),
        Choose("Payment method", buyer.payment),
        Press("Place order"),
        See(("Order placed",)),
    )
