"""Dates that pass: a task that names a calendar day can be done only until then.

Only absolute dates count (`March 18`, `2025-06-01`, `06/01/2025`, `March 2025`). `tomorrow` and `next week` renew
themselves, a lone year is mostly history, and dates before 2000 have been history all along.
"""

from __future__ import annotations

import re

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?P<{}>(?:1\d|20)\d\d)"
_DATE = re.compile(
    rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}\b(?!\s*%|[.:]\d)(?:,?\s+{_YEAR.format('a')}\b)?"
    rf"|\b{_DAY}\s+(?:of\s+)?{_MONTH}\b(?:,?\s+{_YEAR.format('b')}\b)?"
    rf"|\b{_MONTH},?\s+{_YEAR.format('c')}\b"
    rf"|\b{_YEAR.format('d')}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])\b"
    rf"|\b(?:0?[1-9]|[12]\d|3[01])[-/.](?:0?[1-9]|[12]\d|3[01])[-/.]{_YEAR.format('e')}\b"
)
_HINT = re.compile(r"\d")


def is_date_bound(text: str) -> bool:
    """Whether a text names a calendar date since 2000, or one without a year."""
    if _HINT.search(text) is None:
        return False
    for found in _DATE.finditer(text):
        year = next((value for value in found.groupdict().values() if value is not None), None)
        if year is None or int(year) >= 2000:
            return True
    return False
