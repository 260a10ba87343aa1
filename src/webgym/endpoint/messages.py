"""What is said to a model: text and images in turns, their wire form, and what they weigh.

Weights are estimates made before a call. A byte-level tokeniser makes at most one token of a byte, and on prose, JSON and
non-Latin scripts alike about one of three or four; `BYTES_PER_TOKEN` is the careful end of that. What a provider reports
afterwards replaces the estimate.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

BYTES_PER_TOKEN: Final = 3
TURN_TOKENS: Final = 8  # role and separators

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Image:
    data: bytes = field(repr=False)
    format: Literal["jpeg", "png"] = "jpeg"
    detail: Literal["auto", "low", "high"] = "auto"

    def wire(self) -> dict[str, Any]:
        url = f"data:image/{self.format};base64,{base64.b64encode(self.data).decode()}"
        return {"type": "image_url", "image_url": {"url": url, "detail": self.detail}}


@dataclass(frozen=True)
class Message:
    """One turn. `Message("user", "text", Image(...))` mixes both."""

    role: Role
    parts: tuple[str | Image, ...]

    def __init__(self, role: Role, *parts: str | Image) -> None:
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", parts)

    def wire(self) -> dict[str, Any]:
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return {"role": self.role, "content": self.parts[0]}
        content = [part.wire() if isinstance(part, Image) else {"type": "text", "text": part} for part in self.parts]
        return {"role": self.role, "content": content}

    def identity(self) -> list[Any]:
        """What a cache key is made of: an image counts by the hash of its bytes."""
        return [self.role, *(_identity(part) for part in self.parts)]


def _identity(part: str | Image) -> str | list[str]:
    if isinstance(part, Image):
        return ["image", part.format, part.detail, hashlib.sha256(part.data).hexdigest()]
    return part


def weigh_text(text: str) -> int:
    """Tokens a text may have, on the careful side."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def weigh(messages: Sequence[Message], *, image_tokens: int) -> int:
    """Tokens a prompt may have, on the careful side."""
    parts = [part for message in messages for part in message.parts]
    return TURN_TOKENS * len(messages) + sum(image_tokens if isinstance(part, Image) else weigh_text(part) for part in parts)
