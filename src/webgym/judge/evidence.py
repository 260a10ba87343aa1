"""The distinct screenshots of an episode: what a judge is shown, each once.

Screenshots with equal hashes are one. So are screenshots that no eye tells apart: their perceptual hash is a small picture
in grey, no spot of which may differ by more than a few levels. The usual hashes of 64 bits take a page for unchanged when a
price on it has changed; this one sees a single digit of small print, and the noise of compression still passes.

Invariants. The last screenshot is always there, and last. Screenshots are read one at a time and only their small versions
are kept, so an episode costs little memory however long it is. Everything here blocks: a coroutine uses a thread.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from PIL import Image as Pillow
from PIL import ImageChops, UnidentifiedImageError

from webgym.endpoint import Image
from webgym.errors import Damaged
from webgym.judge.settings import EvidenceSettings
from webgym.types import Episode

SPOTS: Final = (320, 200)  # on a screen of 1280 × 800 a spot has 4 × 4 pixels, less than any digit
MOST_PIXELS: Final = 50_000_000
QUALITY: Final = 85

ReadImage = Callable[[str], bytes]


@dataclass(frozen=True)
class Shot:
    """A screenshot and the steps that began with it; the number of steps stands for the end of the episode."""

    number: int
    sha256: str
    seen_at: tuple[int, ...]
    small: Image = field(repr=False)


@dataclass(frozen=True)
class _Seen:
    sha256: str
    seen_at: tuple[int, ...]
    size: tuple[int, int]
    spots: Pillow.Image
    small: Image


def gather(episode: Episode, read: ReadImage, settings: EvidenceSettings) -> tuple[Shot, ...]:
    """The distinct screenshots in the order they were first seen, the last one at the end."""
    looks = [step.screenshot for step in episode.steps] + [episode.final_screenshot]
    times: dict[str, tuple[int, ...]] = {}
    for place, sha256 in enumerate(looks):
        if sha256 is not None:
            times[sha256] = (*times.get(sha256, ()), place)
    kept: list[_Seen] = []
    for sha256, seen_at in times.items():
        _merge(kept, _examine(sha256, seen_at, read(sha256), settings.look_width), settings.tolerance)
    if not kept:
        return ()
    last = max(kept, key=lambda seen: seen.seen_at[-1])
    kept.remove(last)
    final = next(sha256 for sha256 in reversed(looks) if sha256 is not None)
    if final != last.sha256:  # of screenshots that look alike the very last stands for all of them
        again = _examine(final, last.seen_at, read(final), settings.look_width)
        last = replace(last, sha256=final, small=again.small)
    return tuple(Shot(number, seen.sha256, seen.seen_at, seen.small) for number, seen in enumerate((*kept, last), start=1))


def enlarged(shot: Shot, read: ReadImage, width: int | None) -> Image:
    """A screenshot for close reading."""
    data = read(shot.sha256)
    with _opened(shot.sha256, data) as picture:
        return _sized(picture, data, width)


def _merge(kept: list[_Seen], found: _Seen, tolerance: int) -> None:
    for place, seen in enumerate(kept):
        if tolerance and _look_alike(seen, found, tolerance):
            kept[place] = replace(seen, seen_at=tuple(sorted((*seen.seen_at, *found.seen_at))))
            return
    kept.append(found)


def _look_alike(one: _Seen, other: _Seen, tolerance: int) -> bool:
    if one.size != other.size:
        return False
    _, most = ImageChops.difference(one.spots, other.spots).getextrema()
    return isinstance(most, int | float) and most <= tolerance


def _examine(sha256: str, seen_at: tuple[int, ...], data: bytes, width: int | None) -> _Seen:
    with _opened(sha256, data) as picture:
        small = _sized(picture, data, width)
        try:
            spots = picture.convert("L").resize(SPOTS, Pillow.Resampling.BOX)
        except (OSError, ValueError, SyntaxError) as e:
            raise _unreadable(sha256) from e
        return _Seen(sha256, seen_at, picture.size, spots, small)


def _opened(sha256: str, data: bytes) -> Pillow.Image:
    try:
        picture = Pillow.open(io.BytesIO(data), formats=("JPEG", "PNG"))
        if picture.width * picture.height > MOST_PIXELS:
            raise Damaged(f"screenshot {sha256[:12]} has {picture.width} × {picture.height} pixels")
        picture.load()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Pillow.DecompressionBombError) as e:
        raise _unreadable(sha256) from e
    return picture


def _unreadable(sha256: str) -> Damaged:
    return Damaged(f"screenshot {sha256[:12]} cannot be read as a picture")


def _sized(picture: Pillow.Image, data: bytes, width: int | None) -> Image:
    """The bytes as they are if they are not too wide, else a JPEG of that width."""
    if width is None or picture.width <= width:
        return Image(data, "jpeg" if picture.format == "JPEG" else "png")
    height = max(1, round(picture.height * width / picture.width))
    out = io.BytesIO()
    picture.convert("RGB").resize((width, height), Pillow.Resampling.BOX, reducing_gap=2.0).save(
        out, "JPEG", quality=QUALITY
    )
    return Image(out.getvalue(), "jpeg")
