"""The checks behind a fact: it was shown, it was said, it was done. Each fails closed and says what it missed.

Text is compared after normalisation (case, white space, thousands separators, currency signs), numbers by value and as
whole numbers: "12" is not in "112", and "$1,240.50" is in "it costs 1240.5 dollars".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from webgym.types import Episode
from webgym.worlds.state import State

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w]|\.\d)")
_CURRENCY = re.compile(r"[$€£¥]\s?")


def plain(text: str) -> str:
    """Text as it is compared."""
    text = text.casefold().replace("\N{NO-BREAK SPACE}", " ").replace("’", "'").replace("−", "-")
    text = _THOUSANDS.sub("", _CURRENCY.sub("", text))
    return " ".join(text.split())


def number(text: str) -> float | None:
    """The value of a text that is a number and nothing else."""
    bare = plain(text).removesuffix("%").strip()
    return float(bare) if re.fullmatch(r"[-+]?\d+(\.\d+)?", bare) else None


def contains(where: str, what: str) -> bool:
    """Whether plain text `where` contains `what`, as whole words, or as a number of the same value."""
    wanted = plain(what)
    if not wanted:
        return False
    value = number(what)
    if value is not None:
        numbers = (float(found) for found in _NUMBER.findall(where.replace("%", " ")))
        return any(abs(found - value) < 1e-9 for found in numbers)
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", where) is not None


@dataclass(frozen=True)
class Glimpse:
    """One look at a page: where it was and what was on screen, in plain text."""

    host: str
    path: str
    text: str
    screenshot: str | None


def glimpses(episode: Episode) -> list[Glimpse]:
    """Everything the agent looked at, with the outline of what was on screen."""
    looks = [(step.url, step.visible, step.screenshot) for step in episode.steps]
    looks.append((episode.final_url, episode.final_visible, episode.final_screenshot))
    found = []
    for url, visible, screenshot in looks:
        if visible:
            parts = urlsplit(url)
            found.append(Glimpse(parts.hostname or "", parts.path, plain(visible), screenshot))
    return found


@dataclass(frozen=True)
class Shown:
    """These texts were on screen on this page; or, all at once and together with the subject, anywhere on the site."""

    host: str
    page: str
    texts: tuple[str, ...]
    subject: str = ""

    def problem(self, seen: Iterable[Glimpse]) -> tuple[str | None, str | None]:
        """(What was missed, the screenshot that shows it)."""
        missing, last = list(self.texts), None
        for glimpse in seen:
            if glimpse.host != self.host:
                continue
            if glimpse.path == self.page:
                left = [text for text in missing if not contains(glimpse.text, text)]
                if len(left) < len(missing):
                    missing, last = left, glimpse.screenshot
                if not missing:
                    return None, last
            if self.subject and all(contains(glimpse.text, text) for text in (self.subject, *self.texts)):
                return None, glimpse.screenshot
        return f"never on screen at {self.host}{self.page}: {', '.join(map(repr, missing))}", None


@dataclass(frozen=True)
class Says:
    """The answer contains the text, or one of the other ways to say it. Whether it is short enough to be an answer at all
    is asked once for all checks of a task, in `verify`."""

    text: str
    others: tuple[str, ...] = ()

    def problem(self, answer: str | None) -> str | None:
        said = plain(answer or "")
        if not said:
            return "there is no answer"
        if any(contains(said, text) for text in (self.text, *self.others)):
            return None
        return f"the answer does not say {self.text!r}"


@dataclass(frozen=True)
class Reached:
    """The site's state holds exactly one record of this kind, and it has these fields."""

    host: str
    record: str
    fields: tuple[tuple[str, str], ...]

    def problem(self, states: Mapping[str, State]) -> str | None:
        state = states.get(self.host)
        found = [record for record in state.records if record.kind == self.record] if state is not None else []
        if len(found) != 1:
            return f"{len(found)} records of {self.record!r} at {self.host}, not one"
        for name, wanted in self.fields:
            got = found[0].fields.get(name)
            if got is None or plain(got) != plain(wanted):
                return f"{self.record} at {self.host}: {name} is {got!r}, not {wanted!r}"
        return None
