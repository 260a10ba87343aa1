"""The numbers and boxes of Set-of-Marks, drawn on the picture and not on the page.

The page is left alone: nothing is added to it that its scripts could see, nothing is laid out or drawn again, and no dialog
or style of the page can lie above the numbers. A picture read, drawn on and written again takes less of the processor than
Chromium needs to draw the same over the page.
"""

from __future__ import annotations

import asyncio
import colorsys
import io
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from webgym import types as t
from webgym.server.display import Picture

# Pillow gives the memory of each picture back to the system, unless told to keep so many blocks of it: to get it anew, page
# by page, would take longer than to read the picture. One picture at a time, so that one block is enough.
Image.core.set_blocks_max(1)  # type: ignore[attr-defined]


class _Desk(threading.local):
    """The canvas of the last JPEG: the next one of its size is read into it, which saves blanking millions of bytes."""

    canvas: Image.Image | None = None


_desk = _Desk()
_pen = ThreadPoolExecutor(1, thread_name_prefix="numbers")

HUES = (210, 0, 130, 280, 30, 330, 170, 50)
LABEL_HEIGHT = 14
LINE = 2
FONT_SIZE = 12


@dataclass(frozen=True)
class Numbered:
    """A picture with numbers, and what it was made of: many a step changes nothing, and the same need not be drawn again."""

    plain: bytes
    boxes: tuple[t.Box, ...]
    data: bytes

    def of(self, plain: bytes, boxes: tuple[t.Box, ...]) -> bool:
        return self.plain == plain and self.boxes == boxes


async def with_numbers(plain: bytes, boxes: Sequence[t.Box], wanted: Picture) -> bytes:
    """The same as `draw_numbers`, beside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_pen, draw_numbers, plain, boxes, wanted)


def draw_numbers(plain: bytes, boxes: Sequence[t.Box], wanted: Picture) -> bytes:
    """The picture with a coloured frame around each box and its number, from one on, above it."""
    if not boxes:
        return plain
    image = _read(plain)
    canvas = ImageDraw.Draw(image)
    for number, box in enumerate(boxes, 1):
        left, top = round(box.x), round(box.y)
        right, bottom = max(left, round(box.x + box.width) - 1), max(top, round(box.y + box.height) - 1)
        canvas.rectangle((left, top, right, bottom), outline=_colour(number % len(HUES)), width=LINE)
    for number, box in enumerate(boxes, 1):
        label = _label(number)
        left = max(0, min(round(box.x), image.width - label.width))
        top = round(box.y)
        image.paste(label, (left, top - LABEL_HEIGHT if top >= LABEL_HEIGHT else top))
    if wanted.format == "jpeg":
        # With the tables of the first writing: what nothing was drawn on stays as good as it was.
        return image.tobytes("jpeg", "RGB", wanted.quality)
    written = io.BytesIO()
    image.save(written, "PNG", compress_level=1)
    return written.getvalue()


def _read(plain: bytes) -> Image.Image:
    with Image.open(io.BytesIO(plain), formats=("JPEG", "PNG")) as image:
        if image.format == "PNG":
            image.load()  # or what draws on it takes it for a picture to be copied first
            return image
    # Only its head was read, for the size: the decoder does not ask whether the canvas is large enough.
    if _desk.canvas is None or _desk.canvas.size != image.size:
        _desk.canvas = Image.new("RGB", image.size)
    _desk.canvas.frombytes(plain, "jpeg", "RGB", "")
    return _desk.canvas


@lru_cache(maxsize=len(HUES))
def _colour(hue: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hls_to_rgb(HUES[hue] / 360, 0.38, 0.8)
    return round(255 * red), round(255 * green), round(255 * blue)


@lru_cache(maxsize=512)
def _label(number: int) -> Image.Image:
    text, font = str(number), _font()
    label = Image.new("RGB", (round(font.getlength(text)) + 5, LABEL_HEIGHT), _colour(number % len(HUES)))
    for left in (2, 3):  # twice, a pixel apart: bold, which a model reads more easily
        ImageDraw.Draw(label).text((left, LABEL_HEIGHT / 2), text, fill="white", font=font, anchor="lm")
    return label


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(FONT_SIZE)
