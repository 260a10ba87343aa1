"""What tasks are about: 24 subdomains in 6 domains. A subdomain belongs to exactly one domain."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

DOMAINS: Final = MappingProxyType(
    {
        "Lifestyle & Leisure": (
            "Shopping",
            "Food & Cooking",
            "Sports & Fitness",
            "Health & Medicine",
            "Pets & Animal Welfare",
            "Fashion & Beauty",
            "Hobbies & DIY",
        ),
        "Entertainment": (
            "Films & TV Shows",
            "Gaming & Virtual Worlds",
            "Live Shows & Performances",
            "Music",
            "Books & Reading",
        ),
        "Misc.": (
            "General Info.",
            "News",
            "Legal & Government Services",
            "Real Estate",
            "Finance & Investment",
        ),
        "Science & Research": ("Research & Academia", "Technology & Science"),
        "Career & Education": ("Education & Learning", "Jobs & Career"),
        "Travel & Transportation": ("Travel & Accommodation", "Outdoor & Recreation", "Ticketed Activities"),
    }
)

DOMAIN_OF: Final = MappingProxyType({subdomain: domain for domain, inside in DOMAINS.items() for subdomain in inside})


def _bare(name: str) -> str:
    return re.sub(r"[^a-z]+", "", name.lower().replace("&", "and"))


_SPELLING: Final = MappingProxyType({_bare(name): name for name in (*DOMAINS, *DOMAIN_OF)})


def spelled(name: str) -> str:
    """The taxonomy's own spelling of a name (`misc` is `Misc.`); a name it does not know comes back as it was."""
    return _SPELLING.get(_bare(name), name.strip())


def mistake(domain: str, subdomain: str) -> str | None:
    """What is wrong with a pair of names, or None."""
    if domain not in DOMAINS:
        return f"there is no domain {domain!r}"
    if subdomain not in DOMAIN_OF:
        return f"there is no subdomain {subdomain!r}"
    if DOMAIN_OF[subdomain] != domain:
        return f"subdomain {subdomain!r} belongs to {DOMAIN_OF[subdomain]!r}, not to {domain!r}"
    return None
