"""Chance that is the same everywhere: every draw of the offline web follows from a seed and a purpose.

The hash is blake2b of the parts' text. Python's own `hash` changes from process to process and the clock from moment to
moment, so neither is ever used.
"""

from __future__ import annotations

import random
from hashlib import blake2b


def stable(*parts: object) -> int:
    """A number of 64 bits that depends on the parts alone."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def draw(*parts: object) -> random.Random:
    """A generator of its own for one purpose, such as `draw(seed, host, "products")`."""
    return random.Random(stable(*parts))  # noqa: S311 - content, not secrets
