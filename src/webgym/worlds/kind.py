"""A kind of site: what its content is, which pages it has, which tasks can be asked about it.

A kind is one file under `sites/` that makes a `Kind` called `kind` and hangs functions on it:

    kind = Kind("shop", subdomain="Shopping", words=("market", "outlet"), content=stock, nav=menu, entries=findable)

    @kind.page("/p/{slug}")
    def product(visit: Visit[Stock]) -> Response: ...

    @kind.task("lookup", [(1, 4), (0, 4)])
    def lookup(make: Maker[Stock]) -> Draft: ...

Content is a pure function of the site (seed and host) and is cached; handlers and generators are pure functions of it, of
the request and of the session's memory. Nothing else is allowed to matter.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from urllib.parse import quote

from webgym.worlds import listing as lists
from webgym.worlds.blocks import Link, Page, Redirect, Response
from webgym.worlds.chance import draw, stable
from webgym.worlds.forms import STEP, Form, FormView, entered
from webgym.worlds.listing import Listing, ListingView
from webgym.worlds.state import Memory
from webgym.worlds.style import Style, style_of
from webgym.worlds.words import FAMILY, GIVEN

if TYPE_CHECKING:
    from webgym.worlds.making import Draft, Maker

C = TypeVar("C")
T = TypeVar("T")
Handler = Callable[["Visit[C]"], Response]
Limits = Sequence[tuple[int, int]]

# Which domain each subdomain belongs to; the names are those of the task set.
DOMAIN_OF: Final[Mapping[str, str]] = {
    subdomain: domain
    for domain, inside in {
        "Lifestyle & Leisure": "Shopping|Food & Cooking|Sports & Fitness|Health & Medicine|Pets & Animal Welfare|"
        "Fashion & Beauty|Hobbies & DIY",
        "Entertainment": "Films & TV Shows|Gaming & Virtual Worlds|Live Shows & Performances|Music|Books & Reading",
        "Misc.": "General Info.|News|Legal & Government Services|Real Estate|Finance & Investment",
        "Science & Research": "Research & Academia|Technology & Science",
        "Career & Education": "Education & Learning|Jobs & Career",
        "Travel & Transportation": "Travel & Accommodation|Outdoor & Recreation|Ticketed Activities",
    }.items()
    for subdomain in inside.split("|")
}


@dataclass(frozen=True)
class Account:
    """The one account a site knows; tasks that need it give its credentials."""

    name: str
    user: str
    password: str
    email: str


@dataclass(frozen=True)
class Site:
    """A website: everything about it follows from the seed and its host name."""

    seed: int
    host: str
    kind: str
    brand: str

    def draw(self, *purpose: object) -> random.Random:
        return draw(self.seed, self.host, *purpose)

    def number(self, *purpose: object) -> int:
        """A stable number for one purpose, for draws too small for a generator."""
        return stable(self.seed, self.host, *purpose)

    @cached_property
    def style(self) -> Style:
        return style_of(self.seed, self.host)

    @cached_property
    def account(self) -> Account:
        chance = self.draw("account")
        given, family = chance.choice(GIVEN), chance.choice(FAMILY)
        user = f"{given}.{family}".lower()
        secret = f"{chance.choice(('Maple', 'River', 'Comet', 'Tulip', 'Canyon', 'Velvet'))}-{chance.randrange(1000, 9999)}"
        return Account(f"{given} {family}", user, secret, f"{user}@example.com")


@dataclass(frozen=True)
class Entry:
    """Something the site's search knows."""

    title: str
    href: str
    text: str = ""


@dataclass
class Visit(Generic[C]):
    """One request to a site, as its handler sees it."""

    site: Site
    content: C
    path: str
    query: Mapping[str, str]
    posted: Mapping[str, str] | None  # None: nothing was posted
    memory: Memory
    arguments: Mapping[str, str] = field(default_factory=dict)
    _forms: dict[str, FormView] = field(default_factory=dict)

    def argument(self, name: str) -> str:
        """What stands at `{name}` in the address."""
        return self.arguments[name]

    def listing(self, listing: Listing[T], heading: str = "") -> ListingView:
        return lists.view(listing, heading, self.path, self.query)

    def filled(self, form: Form) -> dict[str, str] | None:
        """The values of a form that has just been posted whole and right, else None: then show `form`."""
        posted = self.posted
        if posted is None or posted.get("_form") != form.name:
            return None
        at = posted.get(STEP, "0")
        step = min(int(at) if at.isdecimal() and len(at) < 3 else 0, len(form.steps) - 1)
        prefix = f"{form.name}."
        values, problems = entered(form.steps[step], posted)
        draft = {key.removeprefix(prefix): value for key, value in self.memory.draft.items() if key.startswith(prefix)}
        if "_back" in posted:
            self._forms[form.name] = FormView(form, max(0, step - 1), {**draft, **values}, {}, self.path)
            return None
        if problems:
            self._forms[form.name] = FormView(form, step, {**draft, **values}, problems, self.path)
            return None
        for earlier in range(step):  # a step that was skipped by hand is shown again
            missing = {f.name for f in form.steps[earlier].fields if f.required} - {k for k, v in draft.items() if v}
            if missing:
                self._forms[form.name] = FormView(form, earlier, draft, {}, self.path)
                return None
        if step + 1 < len(form.steps):
            self.memory.draft.update({prefix + key: value for key, value in values.items()})
            self._forms[form.name] = FormView(form, step + 1, {**draft, **values}, {}, self.path)
            return None
        self.memory.draft = {key: value for key, value in self.memory.draft.items() if not key.startswith(prefix)}
        return {**draft, **values}

    def form(self, form: Form, **values: str) -> FormView:
        """A form as it stands after `filled`; `values` are what is entered at first."""
        return self._forms.get(form.name) or FormView(form, 0, values, {}, self.path)


@dataclass(frozen=True)
class Generator(Generic[C]):
    """A way to make tasks: its name, how many facts each of its groups can have, and the function."""

    name: str
    limits: Limits
    make: Callable[[Maker[C]], Draft]

    def can(self, shape: Sequence[int]) -> bool:
        """Whether it can make a task whose groups have these numbers of facts."""
        if not 0 < len(shape) <= len(self.limits):
            return False
        padded = (*shape, *([0] * (len(self.limits) - len(shape))))
        return all(least <= size <= most for size, (least, most) in zip(padded, self.limits, strict=True))


@dataclass(frozen=True)
class Route(Generic[C]):
    path: str
    pattern: re.Pattern[str]
    handler: Handler[C]
    members: bool


class Kind(Generic[C]):
    def __init__(
        self,
        name: str,
        *,
        subdomain: str,
        words: tuple[str, ...],
        content: Callable[[Site], C],
        nav: Callable[[Site, C], tuple[Link, ...]],
        entries: Callable[[C], Sequence[Entry]],
        tagline: Callable[[Site, C], str],
        cart: bool = False,
        login: bool = False,
    ) -> None:
        self.name, self.subdomain, self.domain, self.words = name, subdomain, DOMAIN_OF[subdomain], words
        self.nav, self.entries, self.tagline = nav, entries, tagline
        self.cart, self.login = cart, login
        self.routes: list[Route[C]] = []
        self.generators: dict[str, Generator[C]] = {}
        self.content: Callable[[Site], C] = lru_cache(maxsize=128)(content)

    def page(self, path: str, *, members: bool = False) -> Callable[[Handler[C]], Handler[C]]:
        """Serve an address, also when something is posted to it. `members`: only after logging in."""

        def hang(handler: Handler[C]) -> Handler[C]:
            pattern = re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))
            self.routes.append(Route(path, pattern, handler, members))
            return handler

        return hang

    def task(self, name: str, limits: Limits) -> Callable[[Callable[[Maker[C]], Draft]], Callable[[Maker[C]], Draft]]:
        """Make tasks. `limits` holds the least and most facts of each group; a least of 0 means it may be absent."""

        def hang(make: Callable[[Maker[C]], Draft]) -> Callable[[Maker[C]], Draft]:
            self.generators[name] = Generator(name, tuple(limits), make)
            return make

        return hang

    def answer(self, visit: Visit[C]) -> Response | None:
        """The page at a visit's address, or None if there is none."""
        for route in self.routes:
            if (match := route.pattern.fullmatch(visit.path)) is None:
                continue
            if route.members and visit.memory.user is None:
                return Redirect(f"/login?next={quote(visit.path)}")
            visit.arguments = match.groupdict()
            response = route.handler(visit)
            if isinstance(response, Page) and response.status == 404:
                return None
            return response
        return None


NOT_FOUND: Final = Page("Not found", (), status=404)
