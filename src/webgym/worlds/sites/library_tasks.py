"""Tasks of the library: books and branches, copies, the account behind the log-in, holds, renewals, seats at events."""

from __future__ import annotations

from webgym.worlds.account import credentials, login_moves
from webgym.worlds.checks import Says, Shown
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.route import Choose, Fill, Filter, Move, Open, Press, See, SortBy
from webgym.worlds.sites.library import kind
from webgym.worlds.sites.library_content import FORMATS, Book, House, Shelves
from webgym.worlds.subjects import Topic, about, compared, each, fact, named, seen
from webgym.worlds.words import FAMILY, GIVEN, listed


def _subject(thing: Book | House) -> Topic:
    if isinstance(thing, Book):
        return Topic(thing.title, thing.href, f"the book “{thing.title}”")
    return Topic(thing.name, thing.href, f"the branch {thing.name}")


@kind.task("lookup", [(1, 4), (0, 4), (0, 3), (0, 3)])
def lookup(make: Maker[Shelves]) -> Draft:
    things: list[Book | House] = [*make.content.books, *make.content.branches]
    chosen = make.some(things, len(make.shape))
    groups = tuple(about(make, _subject(thing), thing.known, size) for thing, size in zip(chosen, make.shape, strict=True))
    return Draft(
        ("Find {}.", f"In the catalogue of {make.site.brand}, look up {{}}.", "Tell me {}.", "A reader asks for {}."), groups
    )


@kind.task("compare", [(3, 5)])
def compare(make: Maker[Shelves]) -> Draft:
    books = make.some(make.content.books, make.shape[0] - 1)
    if make.chance.random() < 0.5:
        things = [(_subject(book), book.known[3], float(book.pages)) for book in books]
        group = compared(make, "numbers of pages", "longest", things, least=False)
    else:
        things = [(_subject(book), book.known[1], float(book.year)) for book in books]
        group = compared(make, "years of publication", "oldest", things, least=True)
    return Draft(("Find out {}.", "Compare {}.", "For my reading list I need {}."), (group,))


@kind.task("narrow", [(2, 4)])
def narrow(make: Maker[Shelves]) -> Draft:
    """The newest, oldest or shortest book of a subject."""
    subject_name = make.one(sorted({book.subject for book in make.content.books}))
    fitting = [book for book in make.content.books if book.subject == subject_name]
    word = make.one(("newest", "oldest", "shortest"))
    ranked = sorted(fitting, key=lambda book: book.pages if word == "shortest" else book.year, reverse=word == "newest")
    if len(ranked) < 2 or (ranked[0].pages if word == "shortest" else ranked[0].year) == (
        ranked[1].pages if word == "shortest" else ranked[1].year
    ):
        raise CannotMake("not one that fits best")
    subject = _subject(ranked[0])
    chosen = make.some(ranked[0].known, make.shape[0] - 1)
    known = tuple(fact(make, subject, one) for one in chosen)
    text = f"The {word} book of the subject {subject_name} is {subject.name}."
    facts = (named(make, subject, map(_subject, fitting), text, known), *known)
    order: tuple[Move, ...] = (SortBy(f"{word.capitalize()} first"), Open(subject.name))
    route = (Open("Catalogue"), Filter("Subject", subject_name), *order, *seen(facts))
    ask = f"the {word} book of the subject {subject_name}: its title and its {listed([one.name for one in chosen])}"
    return Draft(
        ("Find {}.", "Use the filters of the catalogue to find {}.", f"Which book of {make.site.brand} is it? I mean {{}}."),
        (Group(ask, "The book that fits", facts, route),),
    )


@kind.task("collect", [(4, 8)])
def collect(make: Maker[Shelves]) -> Draft:
    place = make.one((0, 4, 5))
    books = make.some(make.content.books, make.shape[0])
    facts, route = each(make, [(_subject(book), book.known[place]) for book in books])
    ask = f"the {books[0].known[place].name} of each of these books: {listed([book.title for book in books])}"
    return Draft(("Make a list of {}.", "Collect {}.", "I need {}."), (Group(ask, "The list", facts, route),))


@kind.task("copies", [(1, 3), (0, 3)])
def copies(make: Maker[Shelves]) -> Draft:
    """Whether a branch has a book in, or when it is due back: behind a tab."""
    groups = []
    for size in make.shape:
        fitting = [book for book in make.content.books if sum("Due" in status for _, status in book.copies) >= size]
        book = make.one(fitting)
        late = make.some([copy for copy in book.copies if "Due" in copy[1]], size)
        facts = []
        for branch, status in late:
            day = status.removeprefix("Due back on ")
            shown = Shown(make.host, book.href, (branch, status), book.title)
            short = day.removesuffix(" 2026")
            says = Says(day, (short, " ".join(reversed(short.split()))))
            facts.append(
                Fact(f"The copy of {book.title} at {branch} is due back on {day}.", (shown, says), f"{branch}: {day}")
            )
        ask = f"when the copies of “{book.title}” at {listed([branch for branch, _ in late])} are due back"
        route = (*_subject(book).way, Press("Copies"), *seen(facts))
        groups.append(Group(ask, f"Copies of {book.title}", tuple(facts), route))
    return Draft(("Find out {}.", "Please check {}.", "I would like to know {}."), tuple(groups))


@kind.task("loans", [(1, 4), (0, 1)])
def loans(make: Maker[Shelves]) -> Draft:
    """One's own loans: behind the log-in."""
    account = make.site.account
    chosen = make.some(make.content.loans, make.shape[0])
    facts = tuple(
        Fact(
            f"The barcode of my copy of {loan.book.title} is {loan.barcode}.",
            (Shown(make.host, "/account", (loan.barcode,), loan.book.title), Says(loan.barcode)),
            f"{loan.book.title}: {loan.barcode}",
        )
        for loan in chosen
    )
    titles = listed([f"“{loan.book.title}”" for loan in chosen])
    groups = [Group(f"the barcodes of {titles}", "My loans", facts, (Open("My account"), *seen(facts)))]
    if len(make.shape) > 1:
        card = make.find("/account", make.site.account.name, "card number", make.content.card)
        groups.append(Group("my card number", "My card", (card,), (Open("My account"), *seen([card]))))
    return Draft(
        (
            f"Sign in ({credentials(account)}) and tell me {{}}.",
            f"My library log-in is {credentials(account)}. From my account I need {{}}.",
        ),
        tuple(groups),
        login_moves(account),
    )


@kind.task("hold", [(1, 3)])
def hold(make: Maker[Shelves]) -> Draft:
    account, book = make.site.account, make.one(make.content.books)
    branch, form = make.one(make.content.branches).name, make.one(FORMATS)
    facts = (
        make.done(f"A hold is placed on {book.title}.", "hold", ("book", book.title)),
        make.done(f"It is picked up at {branch}.", "hold", ("pickup", branch)),
        make.done(f"The preferred format is {form}.", "hold", ("format", form)),
    )[: make.shape[0]]
    asked = (f"a hold on “{book.title}”", f"to be picked up at the {branch}", f"in the format {form}")[: make.shape[0]]
    route = (
        *login_moves(account),
        *_subject(book).way,
        Open("Place a hold"),
        Choose("Pick-up branch", branch),
        Choose("Preferred format", form),
        Press("Confirm hold"),
        See(("My account",)),
    )
    return Draft(
        (
            f"Sign in with {credentials(account)} and place {{}}. Anything else is up to you.",
            f"Please place {{}}. My log-in: {credentials(account)}. Choose the rest as you like.",
        ),
        (Group(", ".join(asked), "The hold", facts, route),),
    )


@kind.task("renew", [(1, 2)])
def renew(make: Maker[Shelves]) -> Draft:
    account, loan = make.site.account, make.one(make.content.loans)
    facts = (
        make.done(f"The loan of {loan.book.title} is renewed.", "renewal", ("book", loan.book.title)),
        make.find("/account", loan.book.title, "barcode", loan.barcode),
    )[: make.shape[0]]
    ask = f"the loan of “{loan.book.title}”" + (" and tell me its barcode" if make.shape[0] == 2 else "")
    moves: tuple[Move, ...] = (*login_moves(account), Open("My account"), *seen(facts))
    route = (*moves, Press(f"Renew {loan.book.title}"), See(("renewed",)))
    return Draft(
        (f"Log in as {credentials(account)} and renew {{}}.", f"Renew {{}}. My log-in is {credentials(account)}."),
        (Group(ask, "The renewal", facts, route),),
    )


@kind.task("event", [(1, 4)])
def event(make: Maker[Shelves]) -> Draft:
    chance, chosen = make.chance, make.one(make.content.events)
    name = f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}"
    given = (
        ("event", "Event", chosen.title),
        ("seats", "Number of seats", str(chance.randrange(1, 7))),
        ("name", "Your name", name),
        ("email", "E-mail", f"{name.split()[0].lower()}@example.com"),
    )
    kept = given[: make.shape[0]]
    facts = tuple(
        make.done(f"Seats are reserved with {label.lower()} {value}.", "event", (key, value)) for key, label, value in kept
    )
    values = {key: value for key, _, value in given}
    route = (
        Open("Events"),
        Choose("Event", values["event"]),
        Fill("Your name", name),
        Fill("E-mail", values["email"]),
        Fill("Number of seats", values["seats"]),
        Press("Reserve seats"),
        See(("Seats reserved",)),
    )
    words = (
        f"the event “{chosen.title}”",
        f"{values['seats']} seat(s)",
        f"in the name of {name}",
        f"e-mail {values['email']}",
    )
    ask = ", ".join(words[: make.shape[0]])
    return Draft(
        ("Reserve seats: {}. Invent the rest.", f"At {make.site.brand}, reserve for {{}}; fill in the rest freely."),
        (Group(ask, "The reservation", facts, route),),
    )
