"""From what a model said to a checked record, or a typed failure. Nothing is guessed.

A reply is usable iff it ended by itself, is one JSON object without doubled names or numbers that are none, fits the schema
to the letter, and passes the caller's check. Two wrappings are taken off because models add them whatever they are told: a
leading `<think>` block, and one code fence around the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from webgym.endpoint.cache import StoredReply
from webgym.endpoint.messages import Message
from webgym.errors import UnusableReply
from webgym.types import CUT

M = TypeVar("M", bound=BaseModel)
Check = Callable[[M], str | None]

QUOTED: Final = 4_000  # of a bad reply, shown to the model again
REFUSALS: Final = ("content_filter", "refusal")
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED: Final = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)


def text_of(reply: StoredReply) -> str:
    """The words of a reply that ended by itself."""
    if reply.refusal or reply.finish in REFUSALS:
        raise UnusableReply(f"the model refused: {reply.refusal[:200] or reply.finish}", fault="refused")
    if reply.finish in CUT:
        raise UnusableReply(f"the reply was cut at {reply.output} tokens", fault="cut")
    if not reply.text.strip():
        raise UnusableReply(f"the reply is empty (finish reason {reply.finish[:40]!r})", fault="empty")
    return reply.text


def read(reply: StoredReply, kind: type[M], check: Check[M] | None = None) -> M:
    """The record that a reply holds."""
    text = _THOUGHT.sub("", text_of(reply), count=1)
    if fenced := _FENCED.match(text):
        text = fenced[1]
    try:
        strict_json(text)
        record = kind.model_validate_json(text, strict=True)
    except ValidationError as e:
        raise UnusableReply(_places(e), fault="schema") from None
    except ValueError as e:
        raise UnusableReply(f"the reply is not one JSON object: {type(e).__name__}: {e}"[:300], fault="malformed") from None
    if check is not None and (problem := check(record)) is not None:
        raise UnusableReply(problem, fault="content")
    return record


def repair(messages: tuple[Message, ...], reply: StoredReply, problem: UnusableReply) -> tuple[Message, ...]:
    """The one re-ask: the same question, what came, and what is wrong with it."""
    said = [Message("assistant", reply.text[:QUOTED])] if reply.text.strip() else []
    request = (
        f"That reply cannot be used: {problem} "
        "Reply again with exactly one JSON object in the requested form, complete, and with nothing before or after it."
    )
    return (*messages, *said, Message("user", request))


def strict_json(text: str) -> object:
    """The value of a JSON text; ValueError for doubled names, NaN, infinities and what is nested beyond reason."""
    try:
        found: object = _STRICT.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return found


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_STRICT: Final = json.JSONDecoder(object_pairs_hook=_no_doubles, parse_constant=_no_constant)


def _places(error: ValidationError) -> str:
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    listed = "; ".join(f"{'.'.join(map(_name, p['loc'])) or 'all of it'}: {p['msg']}" for p in problems[:5])
    return f"the reply does not fit the schema: {listed}"[:600]


def _name(place: object) -> str:
    """A field as we would name one: a reply may have fields that are whole sentences, and this is said in our own name."""
    return re.sub(r"\W+", "_", str(place))[:40]
