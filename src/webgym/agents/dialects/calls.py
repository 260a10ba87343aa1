"""A tool call in a reply: found, taken apart, and its arguments read by name and type.

Two spellings, both between `<tool_call>` and `</tool_call>` (the last may be missing, since servers stop at it):

    JSON   {"name": "computer_use", "arguments": {"action": "wait"}}
    XML    <function=computer_use><parameter=action>wait</parameter></function>

Exactly one call: a reply with none or with two is unreadable. Where a server parses calls itself, its `tool_calls` reach
us as JSON calls in the same tags, so that there is one form to read and one to store.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from webgym.agents.dialects.dialect import Inexpressible, Unreadable, shown
from webgym.endpoint.replies import strict_json

OPEN: Final = "<tool_call>"
CLOSE: Final = "</tool_call>"
MAX_PARAMETERS: Final = 32
Spelling = Literal["json", "xml"]

# Inside JSON these may be spelled otherwise, so that text which names a tag is not taken for one.
_TAG: Final = re.compile(r"<(?=/?(?:think|tool_call)>)")
_PARAMETER, _END_PARAMETER = "<parameter=", "</parameter>"
_FUNCTION, _END_FUNCTION = "<function=", "</function>"


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call. With `spelled`, every value came as text and what is not wanted as text is JSON."""

    values: Mapping[str, object]
    spelled: bool = False

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        found = self._must(name)
        if not isinstance(found, str):
            raise Unreadable(f"{name} is {shown(found)}, but must be a text")
        return found

    def choice(self, name: str, options: tuple[str, ...]) -> str:
        found = self.text(name)
        if found not in options:
            raise Unreadable(f"{name} is {shown(found)}, but must be one of {', '.join(options)}")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        if default is not None and not self.has(name):
            return default
        return as_number(name, self._value(name))

    def whole(self, name: str) -> int:
        found = self.number(name)
        if found != int(found):
            raise Unreadable(f"{name} is {shown(found)}, but must be a whole number")
        return int(found)

    def flag(self, name: str, default: bool) -> bool:
        if not self.has(name):
            return default
        found = self._must(name)
        if self.spelled and isinstance(found, str) and found.lower() in ("true", "false"):
            return found.lower() == "true"
        if not isinstance(found, bool):
            raise Unreadable(f"{name} is {shown(found)}, but must be true or false")
        return found

    def items(self, name: str) -> list[object]:
        found = self._value(name)
        if not isinstance(found, list):
            raise Unreadable(f"{name} is {shown(found)}, but must be a list")
        return found

    def texts(self, name: str) -> list[str]:
        found = self.items(name)
        texts = [item for item in found if isinstance(item, str) and item]
        if not texts or len(texts) != len(found):
            raise Unreadable(f"{name} is {shown(found)}, but must be a list of texts")
        return texts

    def point(self, name: str) -> tuple[float, float]:
        found = self.items(name)
        if len(found) != 2:
            raise Unreadable(f"{name} is {shown(found)}, but must be [x, y]")
        return as_number(f"{name} x", found[0]), as_number(f"{name} y", found[1])

    def _must(self, name: str) -> object:
        if not self.has(name):
            raise Unreadable(f"the argument {name} is missing")
        return self.values[name]

    def _value(self, name: str) -> object:
        found = self._must(name)
        if not self.spelled or not isinstance(found, str):
            return found
        try:
            return strict_json(found)
        except ValueError:
            raise Unreadable(f"{name} is {shown(found)}, which is not JSON") from None


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Arguments


def as_number(name: str, value: object) -> float:
    """A finite number; a text that looks like one is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{name} is {shown(value)}, but must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unreadable(f"{name} must be a finite number")
    return number


def find(text: str, spellings: tuple[Spelling, ...]) -> Call:
    """The one call of a reply."""
    count = text.count(OPEN)
    if count != 1:
        raise Unreadable(f"the reply has {count or 'no'} calls between {OPEN} tags, but needs exactly one")
    inside = text.partition(OPEN)[2].partition(CLOSE)[0].strip()
    if inside.startswith(_FUNCTION) and "xml" in spellings:
        return _xml(inside)
    if "json" in spellings:
        return _json(inside)
    raise Unreadable(f"the call must begin with {_FUNCTION}NAME>")


def json_call(name: str, arguments: Mapping[str, object]) -> str:
    """A call in JSON."""
    text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, allow_nan=False)
    return f"{OPEN}\n{_TAG.sub(_escaped, text)}\n{CLOSE}"


def xml_call(name: str, arguments: Mapping[str, object]) -> str:
    """A call in XML; raises Inexpressible if a value holds a closing tag, for which XML of this kind has no escape."""
    lines = [OPEN, f"{_FUNCTION}{name}>"]
    for key, value in arguments.items():
        written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
        if _END_PARAMETER in written or _TAG.search(written):
            raise Inexpressible(f"{key} holds a tag of the call itself")
        lines += [f"{_PARAMETER}{key}>", written, _END_PARAMETER]
    return "\n".join([*lines, _END_FUNCTION, CLOSE])


def _escaped(_: re.Match[str]) -> str:
    return "\\u003c"


def _json(inside: str) -> Call:
    try:
        found = strict_json(inside)
    except ValueError as e:
        raise Unreadable(f"the call is not JSON: {shown(str(e))}") from None
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise Unreadable('the call must look like {"name": ..., "arguments": {...}}')
    arguments: Any = found.get("arguments", {})
    if not isinstance(arguments, dict):
        raise Unreadable(f"arguments are {shown(arguments)}, but must be an object")
    return Call(found["name"], Arguments(arguments))


def _xml(inside: str) -> Call:
    name, closed, rest = inside.removeprefix(_FUNCTION).partition(">")
    values: dict[str, object] = {}
    while closed and (rest := rest.lstrip()).startswith(_PARAMETER):
        key, _, rest = rest.removeprefix(_PARAMETER).partition(">")
        value, closed, rest = rest.partition(_END_PARAMETER)
        if key in values:
            raise Unreadable(f"the parameter {shown(key)} appears twice")
        if len(values) == MAX_PARAMETERS:
            raise Unreadable(f"the call has more than {MAX_PARAMETERS} parameters")
        values[key] = value.removeprefix("\n").removesuffix("\n")
    if not closed or rest.strip() != _END_FUNCTION:
        raise Unreadable(f"the call does not end with {_END_PARAMETER} and {_END_FUNCTION}")
    return Call(name.strip(), Arguments(values, spelled=True))
