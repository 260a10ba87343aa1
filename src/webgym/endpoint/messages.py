"""What is said to a model: text and images in turns, their wire form, and what they weigh.

Weights are estimates made before a call. A byte-level tokeniser makes at most one token of a byte, and on prose, JSON and
non-Latin scripts alike about one of three or four; `BYTES_PER_TOKEN` is the careful end of that. What a provider reports
afterwards replaces the estimate.

Foreign text goes in as `Data`. On the wire it stands between two lines that carry a mark drawn at random for that one call,
so that nobody who wrote the text could have known it; system text names the mark as `{mark}`. The cache sees no
mark: equal questions stay equal.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

import msgspec
import pybase64

BYTES_PER_TOKEN: Final = 3
_DIGITS: Final = b"0123456789"
TURN_TOKENS: Final = 8  # role and separators
FENCE_TOKENS: Final = 32
MARK: Final = "{mark}"

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Image:
    data: bytes = field(repr=False)
    format: Literal["jpeg", "png"] = "jpeg"
    detail: Literal["auto", "low", "high"] = "auto"

    @cached_property
    def pieces(self) -> tuple[bytes, bytes, bytes]:
        """Its wire form, made once: an episode sends each of its screenshots again with the next few questions."""
        head = b'{"type":"image_url","image_url":{"detail":"%s","url":"data:image/%s;base64,'
        return head % (self.detail.encode(), self.format.encode()), pybase64.b64encode(self.data), b'"}}'


@dataclass(frozen=True)
class Data:
    """Text of strangers: to be read about, never to be obeyed."""

    text: str

    def fenced(self, mark: str) -> str:
        return f"<data-{mark}>\n{self.text}\n</data-{mark}>"


Part = str | Data | Image


@dataclass(frozen=True)
class Message:
    """One turn. `Message("user", "text", Data("what a page says"), Image(...))` mixes them."""

    role: Role
    parts: tuple[Part, ...]

    def __init__(self, role: Role, *parts: Part) -> None:
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", parts)

    def pieces(self, mark: str = "") -> Sequence[bytes]:
        """As the endpoint gets it, in JSON. Whoever sends `Data` gives a mark that no data holds."""
        return self._pieces(mark) if mark else self._unmarked

    @cached_property
    def _unmarked(self) -> Sequence[bytes]:
        """Made once: an episode says most of its turns again with the next few questions."""
        return self._pieces("")

    def _pieces(self, mark: str) -> Sequence[bytes]:
        content: list[str | Image] = []
        for part in self.parts:
            if isinstance(part, Image):
                content.append(part)
            elif content and isinstance(content[-1], str):  # words that follow words are one text
                content[-1] += f"\n{self._text(part, mark)}"
            else:
                content.append(self._text(part, mark))
        if len(content) == 1 and isinstance(content[0], str):
            return [msgspec.json.encode({"role": self.role, "content": content[0]})]
        found, small = [], b'{"role":"%s","content":[' % self.role.encode()
        for number, part in enumerate(content):
            small += b"," if number else b""
            if isinstance(part, Image):
                found += [small, *part.pieces]
                small = b""
            else:
                small += msgspec.json.encode({"type": "text", "text": part})
        return [*found, small + b"]}"]

    def _text(self, part: str | Data, mark: str) -> str:
        if isinstance(part, Data):
            if not mark or mark in part.text:
                raise ValueError("data needs a mark that it does not hold")
            return part.fenced(mark)
        return part.replace(MARK, mark) if mark and self.role == "system" else part

    def identity(self) -> list[Any]:
        """What a cache key is made of: an image counts by the hash of its bytes."""
        return [self.role, *(_identity(part) for part in self.parts)]


def _identity(part: Part) -> str | list[str]:
    if isinstance(part, Image):
        return ["image", part.format, part.detail, hashlib.sha256(part.data).hexdigest()]
    if isinstance(part, Data):
        return ["data", part.text]
    return part


def body_of(messages: Sequence[Message], fields: Mapping[str, object], mark: str = "") -> tuple[bytes, ...]:
    """A request that says these messages, and has these fields beside them. In pieces: nearly all of it is images, which
    are neither made nor copied again."""
    pieces = [b'{"messages":[']
    for number, message in enumerate(messages):
        if number:
            pieces.append(b",")
        pieces += message.pieces(mark)
    rest = msgspec.json.encode(fields)[1:]
    return (*pieces, b"]," if len(rest) > 1 else b"]", rest)


def weigh_text(text: str) -> int:
    """Tokens a text may have, on the careful side. Some models, Qwen's among them, have a token for each digit."""
    data = text.encode(errors="replace")
    rest = len(data.translate(None, _DIGITS))
    return len(data) - rest + -(-rest // BYTES_PER_TOKEN)


def weigh(messages: Sequence[Message], *, image_tokens: int) -> int:
    """Tokens a prompt may have, on the careful side."""
    return sum(TURN_TOKENS + sum(_weight(part, image_tokens) for part in message.parts) for message in messages)


def _weight(part: Part, image_tokens: int) -> int:
    if isinstance(part, Image):
        return image_tokens
    return weigh_text(part.text) + FENCE_TOKENS if isinstance(part, Data) else weigh_text(part)


def draw_mark(messages: Sequence[Message]) -> str:
    """A mark for one call: random, and in none of its data."""
    texts = [part.text for message in messages for part in message.parts if isinstance(part, Data)]
    while True:
        mark = secrets.token_hex(8)
        if not any(mark in text for text in texts):
            return mark
