"""The coordinates a family speaks in, to CSS pixels and back.

Invariants. A number that is not finite or lies off the grid is refused, never moved onto it; the far edge of a grid that
includes it (1000 of 0–1000) is the last pixel, size − 1. What is written is the grid point nearest to the pixel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from webgym.agents.dialects.dialect import Screen, Unreadable, shown


class Grid(Protocol):
    """A family's coordinate system for a screen."""

    def extent(self, screen: Screen) -> tuple[int, int]:
        """Grid units across and down the whole screen."""
        ...

    def last(self, screen: Screen) -> tuple[int, int]:
        """The largest coordinates that may be said."""
        ...


@dataclass(frozen=True)
class Relative:
    """The same grid whatever the screen: `units` across and down, of which `largest` is the last that may be said."""

    units: int = 1000
    largest: int = 1000

    def extent(self, screen: Screen) -> tuple[int, int]:
        return self.units, self.units

    def last(self, screen: Screen) -> tuple[int, int]:
        return self.largest, self.largest


@dataclass(frozen=True)
class Pixels:
    """The pixels of the screenshot itself."""

    def extent(self, screen: Screen) -> tuple[int, int]:
        return screen.width, screen.height

    def last(self, screen: Screen) -> tuple[int, int]:
        return screen.width - 1, screen.height - 1


@dataclass(frozen=True)
class Resized:
    """The pixels of the image as the model's processor makes it: sides that are multiples of `factor`, an area between
    `min_pixels` and `max_pixels`, the shape kept as well as that allows. They must equal the server's processor settings."""

    factor: int = 28
    min_pixels: int = 56 * 56
    max_pixels: int = 14 * 14 * 4 * 16384

    def extent(self, screen: Screen) -> tuple[int, int]:
        width, height, factor = screen.width, screen.height, self.factor
        wide, high = (max(factor, round(side / factor) * factor) for side in (width, height))
        if wide * high > self.max_pixels:
            shrink = math.sqrt(width * height / self.max_pixels)
            wide, high = (max(factor, math.floor(side / shrink / factor) * factor) for side in (width, height))
        elif wide * high < self.min_pixels:
            stretch = math.sqrt(self.min_pixels / (width * height))
            wide, high = (math.ceil(side * stretch / factor) * factor for side in (width, height))
        return wide, high

    def last(self, screen: Screen) -> tuple[int, int]:
        return self.extent(screen)


def to_pixel(grid: Grid, x: float, y: float, screen: Screen) -> tuple[float, float]:
    """The CSS pixel that a grid point names."""
    (wide, high), (last_x, last_y) = grid.extent(screen), grid.last(screen)
    for name, value, last in (("x", x, last_x), ("y", y, last_y)):
        if not math.isfinite(value) or not 0 <= value <= last:
            raise Unreadable(f"{name} is {shown(value)}, but must lie between 0 and {last}")
    return min(x * screen.width / wide, screen.width - 1), min(y * screen.height / high, screen.height - 1)


def to_grid(grid: Grid, x: float, y: float, screen: Screen) -> tuple[int, int]:
    """The grid point nearest to a CSS pixel."""
    (wide, high), (last_x, last_y) = grid.extent(screen), grid.last(screen)
    return min(round(x * wide / screen.width), last_x), min(round(y * high / screen.height), last_y)
