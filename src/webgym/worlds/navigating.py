"""The shortest tasks of the offline web: open a page of a site that its menu leads to, and say so.

    worlds-0:oakfield-market.localhost:navigate.1:2      open the third page of the menu that can be opened

Every kind of site has them. They are not part of the full set, which stays as it is: they are for agents that are only
learning to find their way, and for proofs that an agent does learn. A page counts as opened when it was on screen at its
own address, so only menu entries with an address of their own are asked for, and only those that open for a stranger.
"""

from __future__ import annotations

from typing import Any, Final

from webgym.worlds.blocks import Link, Page
from webgym.worlds.checks import Shown
from webgym.worlds.kind import Kind, Site, Visit
from webgym.worlds.making import CannotMake, Draft, Fact, Group, Maker
from webgym.worlds.names import kind_of
from webgym.worlds.route import Open
from webgym.worlds.state import Memory, State

NAVIGATE: Final = "navigate"
OPENINGS: Final = (
    'Open the page "{}".',
    'Go to "{}".',
    'Show me "{}".',
    'I want to see "{}".',
    'Take me to the page "{}" of this site.',
    'Find "{}" and open it.',
)


def draft(make: Maker[Any]) -> Draft:
    """The task to open one page of the menu."""
    if make.shape != (1,):
        raise CannotMake("a page is opened or not: one group of one fact")
    link = make.one(destinations(make.site))
    fact = Fact(f"The page {link.text} of {make.site.brand} was opened.", (Shown(make.host, link.href, ()),))
    group = Group(link.text, f"The page {link.text}", (fact,), (Open(link.text),))
    return Draft(OPENINGS, (group,))


def destinations(site: Site) -> tuple[Link, ...]:
    """The entries of a site's menu that lead anybody to a page of their own."""
    kind = kind_of(site.seed, site.host)
    menu = kind.nav(site, kind.content(site))
    addresses = [link.href.partition("?")[0] for link in menu]
    return tuple(link for link in menu if addresses.count(link.href) == 1 and _shows(kind, site, link.href))


def _shows(kind: Kind[Any], site: Site, path: str) -> bool:
    response = kind.answer(Visit(site, kind.content(site), path, {}, None, Memory.of(State())))
    return isinstance(response, Page) and response.status == 200
