"""What an image file is, from its first bytes: PNG or JPEG, and how large. Nothing is decoded."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
# Markers of a JPEG's frame, in which its size stands; those between that are none: tables and arithmetic conditioning.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class Shape:
    format: Literal["png", "jpeg"]
    width: int
    height: int


def shape_of(data: bytes) -> Shape | None:
    """The form and size of an image; None for anything that is neither PNG nor JPEG, or ends before it says."""
    if data.startswith(_PNG):
        if len(data) < 24 or data[12:16] != b"IHDR":
            return None
        width, height = struct.unpack(">II", data[16:24])
        return Shape("png", width, height) if width and height else None
    if data.startswith(_JPEG):
        return _jpeg(data)
    return None


def _jpeg(data: bytes) -> Shape | None:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Shape("jpeg", width, height) if width and height else None
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:  # a marker without a length
            at += 2
            continue
        length = int.from_bytes(data[at + 2 : at + 4])
        if length < 2:
            return None
        at += 2 + length
    return None
