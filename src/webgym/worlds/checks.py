"""The checks behind a fact: it was shown, it was said, it was done. Each fails closed and says what it missed.

Text is compared after normalisation (case, white space, thousands separators, currency signs, units apart from their
numbers, one way to write dates, times, durations and sizes), numbers by value and as whole numbers: "12" is not in "112",
and "$1,240.50" is in "it costs 1240.5 dollars".
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
_AFTER_LETTER = re.compile(r"(?<=[^\W\d_])(?=[$€£¥])")  # the sign taken out of "US$45" must leave a number
_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(km²?|m[²³]?|cm|mm|kg|g|ml|l|w|gb|kb|min|h|kcal|tsp|bpm)(?!\w)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_REST = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t|tember", "ober", "ember", "ember")
_MONTH = rf"({'|'.join(f'{month}(?:{rest})?' for month, rest in zip(_MONTHS, _REST, strict=True))})\.?"
_DAY, _YEAR = r"(0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?", r"(1\d{3}|20\d{2})"
_DAY_FIRST = re.compile(rf"(?<![\w.]){_DAY} (?:of )?{_MONTH},? {_YEAR}(?!\w)")
_MONTH_FIRST = re.compile(rf"(?<!\w){_MONTH} {_DAY},? {_YEAR}(?!\w)")
_HALF_DAY = re.compile(r"(?<![\w.:])(0?[1-9]|1[0-2])(?::([0-5]\d))? ?(?:(a)|p)\.?m(?!\w)\.?")
_CLOCK = r"(?<![\w.:])(?:[01]?\d|2[0-4]):[0-5]\d(?![\w:])"
_EARLY = re.compile(r"(?<![\w.:])0(?=\d:[0-5]\d(?![\w:]))")  # 09:00
_HOURS = re.compile(rf"({_CLOCK}) ?(?:-|–|—|until|till) ?(?={_CLOCK})")
_DURATION = re.compile(r"(?<![\w.])(\d+) ?(?:h|hrs?|hours?),?(?: and)? ?0?(\d|[1-5]\d) ?(?:m|mins?|minutes?)(?!\w)")
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?: ?cm)? ?[x×] ?(?=\d+(?:\.\d+)? ?cm(?!\w))")
_WHOLE_HOURS = re.compile(r"(\d+) h 0 min")
_SLASHED = re.compile(rf"(?<![\w./]){_YEAR}/(0[1-9]|1[0-2])/(0[1-9]|[12]\d|3[01])(?![\w/])")
_ONE_SIGN = str.maketrans({"’": "'", "−": "-", "\u2010": "-", "\u2011": "-"})  # the last two: hyphens that models write
_EMPHASIS = re.compile(r"\b_+|_+\b")  # of Markdown, around words; what joins the parts of a name stays
_DATED = re.compile(r"(?<![\w-])(\d{4})-\d\d-\d\d(?![\w-])")
_TIMED = re.compile(_CLOCK)
Aliases = tuple[tuple[str, str], ...]  # (another way to say a name, the name)
_NUMBERS_IN_A_ROW = re.compile(r"\d+(?:\W+(?:(?:or|and)\W+)?\d+)*")
_SUPERLATIVE = re.compile(r"\b(?:\w+est|most|least|first|last)\b")


def plain(text: str) -> str:
    """Text as it is compared. What has one meaning is written one way; what may have two, as 5/7/2026, stays as it is."""
    text = _EMPHASIS.sub("", " ".join(text.casefold().translate(_ONE_SIGN).split()))
    text = _THOUSANDS.sub("", _CURRENCY.sub("", _AFTER_LETTER.sub(" ", text)))
    text = _DAY_FIRST.sub(lambda found: _date(found[3], found[2], found[1]), text)
    text = _MONTH_FIRST.sub(lambda found: _date(found[3], found[1], found[2]), text)
    text = _SLASHED.sub(r"\1-\2-\3", text)
    text = _HOURS.sub(r"\1 to ", _EARLY.sub("", _HALF_DAY.sub(_time, text)))
    text = _SIZE.sub(r"\1 × ", _DURATION.sub(r"\1 h \2 min", text))
    return " ".join(_UNIT.sub(r"\1 \2", text).split())


def _date(year: str, month: str, day: str) -> str:
    return f"{year}-{_MONTHS.index(month[:3]) + 1:02d}-{int(day):02d}"


def _time(found: re.Match[str]) -> str:
    """A time of the twelve-hour clock on the other: 5 pm is 17:00, and 12:30 am is 0:30."""
    hour = int(found[1]) % 12 + (0 if found[3] else 12)
    return f"{hour}:{found[2] or '00'}"


def number(text: str) -> float | None:
    """The value of a text that is a number and nothing else."""
    bare = plain(text).removesuffix("%").strip()
    return float(bare) if re.fullmatch(r"[-+]?\d+(\.\d+)?", bare) else None


def numbers_in_a_row(text: str) -> int:
    """The most numbers that a text has with nothing but signs, "and" or "or" between them. A date counts as three."""
    return max((len(re.findall(r"\d+", row)) for row in _NUMBERS_IN_A_ROW.findall(plain(text))), default=0)


def contains(where: str, what: str, *, as_text: bool = False) -> bool:
    """Whether plain text `where` contains `what`, as whole words, or as a number of the same value.

    `as_text` is for what only looks like a number, such as a version: 3.10 is neither 3.1 nor in 3.10.2."""
    wanted = plain(what)
    if not wanted:
        return False
    if as_text:
        return re.search(rf"(?<![\w.]){re.escape(wanted)}(?!\w|\.\d)", where) is not None
    value = number(what)
    if value is not None:
        # The fifth of a month and five past nine say no 5; but whoever gives a date says its year.
        counts = _TIMED.sub(" ", _DATED.sub(r" \1 ", where)).replace("%", " ")
        numbers = map(float, _NUMBER.findall(counts))
        return any(abs(found - value) < 1e-9 for found in numbers)
    if re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", where):
        return True
    whole = _WHOLE_HOURS.fullmatch(wanted)  # not so written in `plain`: "2 hours a week" says no 0
    return (
        whole is not None and re.search(rf"(?<![\w.]){whole[1]} ?(?:h|hrs?|hours?)(?!\w| ?\d| and a\b)", where) is not None
    )


@dataclass(frozen=True)
class Mention:
    """Where a text has a name, whichever way it says it."""

    start: int
    end: int
    name: str


def mentions(where: str, names: Iterable[str], aliases: Aliases = ()) -> list[Mention]:
    """Where plain text `where` has these names or their aliases, as whole words; names come back in plain text too."""
    meant = {plain(alias): plain(name) for alias, name in aliases} | {name: name for name in map(plain, names)}
    longest_first = sorted(meant, key=len, reverse=True)  # "oak lamp" is no mention of "oak"
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    return [Mention(*match.span(), meant[match.group()]) for match in re.finditer(pattern, where)]


def chosen(where: str, names: Iterable[str], aliases: Aliases = ()) -> str | None:
    """Which of these names plain text `where` ends with, as its choice among them; names come back in plain text too.

    Whoever compares names all there are, so that only the last can be the one chosen. But a list that names each once
    chooses none, even if it happens to end with the right one: its end must say so, as in "and the lamp is the cheapest".
    """
    found = mentions(where, names, aliases)
    if not found:
        return None
    last = found[-1]
    others = [mention.end for mention in found if mention.name != last.name]
    if others and len(found) == len(others) + 1:
        # A word that every entry of the list has, as in "lowest price of ...", says nothing of its last.
        listed, end = where[: others[-1]], f"{where[others[-1] : last.start]} {where[last.end :]}"
        if not {*_SUPERLATIVE.findall(end)} - {*_SUPERLATIVE.findall(listed)}:
            return None
    return last.name


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
    """The answer contains the text, or one of the other ways to say it; and, if it is one of several names to choose from,
    ends with it or has no other of them. Whether the answer is short enough to be one at all is asked once for all checks of
    a task, in `verify`."""

    text: str
    others: tuple[str, ...] = ()
    over: tuple[str, ...] = ()  # all the names it is chosen from, its own among them, where the answer names others as well
    alone_of: tuple[str, ...] = ()  # the same, where the answer has to name this one and no other
    aliases: Aliases = ()  # other ways to say names of `over` and `alone_of`, its own among them
    as_text: bool = False  # as in `contains`

    def problem(self, answer: str | None) -> str | None:
        said = plain(answer or "")
        if not said:
            return "there is no answer"
        own = (alias for alias, name in self.aliases if name == self.text)
        if not any(contains(said, text, as_text=self.as_text) for text in (self.text, *self.others, *own)):
            return f"the answer does not say {self.text!r}"
        if self.over and (end := chosen(said, self.over, self.aliases)) != plain(self.text):
            return f"the answer ends with {end!r}, not {self.text!r}" if end else f"the answer does not choose {self.text!r}"
        if self.alone_of:
            names = {mention.name for mention in mentions(said, (self.text, *self.alone_of), self.aliases)}
            others = names - {plain(self.text)}
            if others:
                return f"the answer names {min(others)!r} beside {self.text!r}"
        return None


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
