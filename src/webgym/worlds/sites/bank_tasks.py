"""Tasks of the bank: look up offers and branches, compare rates, read own accounts, transfer, apply for a loan."""

from __future__ import annotations

from webgym.worlds.account import credentials, login_moves
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Move, Open, Press, Search, See, Slide, Tick
from webgym.worlds.sites.bank import branch_rows, kind
from webgym.worlds.sites.bank_content import PURPOSES, Branch, House, Offer
from webgym.worlds.subjects import best_of
from webgym.worlds.words import FAMILY, GIVEN, listed, money


def _seen(facts: tuple[Fact, ...]) -> tuple[Move, ...]:
    return tuple(See(check.texts) for fact in facts for check in fact.checks if isinstance(check, Shown))


def _offer_group(make: Maker[House], offer: Offer, count: int) -> Group:
    facts = []
    for name, value in make.some(offer.rows, count):
        says = value.removesuffix(" months")
        asked = "minimum term in months" if says != value else name.lower()
        facts.append(make.find(offer.href, offer.name, asked, says, shown=value if says != value else ""))
    names = listed([fact.answer.partition(" of ")[0] for fact in facts])
    return Group(
        f"the {names} of the {offer.name}",
        f"Terms of the {offer.name}",
        tuple(facts),
        (Search(offer.name), Open(offer.name), *_seen(tuple(facts))),
    )


def _branch_group(make: Maker[House], branch: Branch, count: int) -> Group:
    subject = f"{branch.city} branch"
    facts = tuple(
        make.find(branch.href, subject, name.lower(), value) for name, value in make.some(branch_rows(branch), count)
    )
    names = listed([fact.answer.partition(" of ")[0] for fact in facts])
    return Group(f"the {names} of the {subject}", f"The {subject}", facts, (Search(subject), Open(subject), *_seen(facts)))


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[House]) -> Draft:
    known: tuple[Offer | Branch, ...] = (*make.content.offers, *make.content.branches)
    subjects = make.some(known, len(make.shape))
    groups = tuple(
        _offer_group(make, subject, count) if isinstance(subject, Offer) else _branch_group(make, subject, count)
        for subject, count in zip(subjects, make.shape, strict=True)
    )
    return Draft(
        (
            "Find {}.",
            f"What does {make.site.brand} say about {{}}?",
            "I may become a customer of this bank. Tell me {}.",
            "Look up {}.",
        ),
        groups,
    )


@kind.task("rates", [(3, 5)])
def compare(make: Maker[House]) -> Draft:
    """The interest rates of several products, and which is the lowest."""
    offers = make.some(make.content.offers, make.shape[0] - 1)
    verdict, lowest = best_of("one with the lowest rate", [(offer.name, offer.rate) for offer in offers], least=True)
    rates = tuple(
        Fact(
            f"The interest rate of the {offer.name} is {offer.rate:.2f}%.",
            (Shown(make.host, "/rates", (offer.name, f"{offer.rate:.2f}%"), offer.name), Says(f"{offer.rate:.2f}")),
            f"{offer.name}: {offer.rate:.2f}%",
        )
        for offer in offers
    )
    ask = f"the interest rates of {listed([f'the {offer.name}' for offer in offers])}, and, {verdict}"
    route: tuple[Move, ...] = (Open("Rates"), *(See((offer.name, f"{offer.rate:.2f}%")) for offer in offers))
    return Draft(
        ("Find out {}.", "Use the table of rates to tell me {}.", "Report {}."),
        (Group(ask, "Rates compared", (*rates, lowest), route),),
    )


@kind.task("balance", [(1, 2), (0, 4)])
def balance(make: Maker[House]) -> Draft:
    """One's own accounts, behind the log-in: balances, and what was booked."""
    account, holdings = make.site.account, make.content.holdings
    chosen = make.some(holdings, make.shape[0])
    first = tuple(make.find("/my", holding.name, "balance", money(holding.cents)) for holding in chosen)
    names = listed([holding.name for holding in chosen])
    way = (Open("My accounts"), *_seen(first))
    groups = [Group(f"the balance of my {names}", "Balances", first, way)]
    if len(make.shape) > 1:
        holding = make.one(holdings)
        booked = make.some(holding.bookings, make.shape[1])
        facts = tuple(
            Fact(
                f"The reference of the booking with {booking.payee} is {booking.reference}.",
                (Shown(make.host, holding.href, (booking.reference,), booking.payee), Says(booking.reference)),
                f"reference {booking.payee}: {booking.reference}",
            )
            for booking in booked
        )
        ask = f"the references of the bookings with {listed([booking.payee for booking in booked])} in my {holding.name}"
        signed_in: tuple[Move, ...] = (Open("My accounts"), Open(holding.name), *_seen(facts))
        groups.append(Group(ask, "Bookings", facts, signed_in))
    return Draft(
        (
            f"Sign in ({credentials(account)}) and tell me {{}}.",
            f"My log-in here is {credentials(account)}. What I need: {{}}.",
        ),
        tuple(groups),
        login_moves(account),
    )


@kind.task("transfer", [(1, 4)])
def send(make: Maker[House]) -> Draft:
    account, chance = make.site.account, make.chance
    source, payee = make.one(make.content.holdings).name, f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    number, amount = f"{chance.randrange(10**11, 10**12 - 1)}", f"{chance.randrange(500, 90_000) / 100:.2f}"
    reference = f"Invoice {chance.randrange(100, 999)}"
    facts = (
        make.done(f"${amount} are transferred to {payee}.", "transfer", ("payee", payee), ("amount", amount)),
        make.done(f"The payee's account number is {number}.", "transfer", ("number", number)),
        make.done(f"The money comes from the {source}.", "transfer", ("source", source)),
        make.done(f"The reference is {reference}.", "transfer", ("reference", reference)),
    )[: make.shape[0]]
    asked = (f"${amount} to {payee}", f"account number {number}", f"from my {source}", f"with the reference {reference}")[
        : make.shape[0]
    ]
    rest = "" if make.shape[0] > 1 else " (any account number of twelve digits will do)"
    route = (
        *login_moves(account),
        Open("My accounts"),
        Open("Make a transfer"),
        Choose("From account", source),
        Fill("Payee", payee),
        Fill("Account number of the payee", number),
        Fill("Amount in dollars", amount),
        Fill("Reference", reference),
        Press("Transfer now"),
        See(("Transfer done",)),
    )
    return Draft(
        (f"Sign in with {credentials(account)} and transfer {{}}.", f"Please send {{}}. My log-in: {credentials(account)}."),
        (Group(", ".join(asked) + rest, "The transfer", facts, route),),
    )


@kind.task("loan", [(1, 6)])
def loan(make: Maker[House]) -> Draft:
    chance = make.chance
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    born = f"{chance.randrange(1960, 2004)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"
    given = (
        ("amount", "Amount in dollars", str(chance.randrange(5, 300) * 100)),
        ("purpose", "Purpose", chance.choice(PURPOSES)),
        ("name", "Full name", name),
        ("months", "Months", str(chance.randrange(1, 20) * 6)),
        ("born", "Date of birth", born),
        ("income", "Monthly income", str(chance.randrange(12, 90) * 100)),
    )
    values = {key: value for key, _, value in given}
    facts = tuple(
        make.done(f"A loan is applied for with {label.lower()} {value}.", "loan", (key, value))
        for key, label, value in given[: make.shape[0]]
    )

    route = (
        Open("Apply for a loan"),
        Choose("Purpose", values["purpose"]),
        Fill("Amount in dollars", values["amount"]),
        Slide("Months", float(values["months"])),
        Press("Continue"),
        Fill("Full name", name),
        Fill("Date of birth", born),
        Fill("Monthly income", values["income"]),
        Press("Continue"),
        Tick("I have read the terms"),
        Press("Send application"),
        See(("Application sent",)),
    )
    ask = listed([f"{label.lower()} {value}" for _, label, value in given[: make.shape[0]]])
    return Draft(
        (
            "Apply for a loan: {}. Anything else the form asks for is up to you.",
            f"Send {make.site.brand} a loan application with {{}}; invent the rest.",
        ),
        (Group(ask, "The application", facts, route),),
    )
