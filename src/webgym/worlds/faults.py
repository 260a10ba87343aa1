"""Pictures that come late or not at all. A page that shows them must stand all the same."""

from __future__ import annotations

from dataclasses import dataclass

from webgym.worlds.blocks import Picture


@dataclass(frozen=True)
class LatePicture(Picture):
    """It arrives after the rest of the page."""

    @property
    def src(self) -> str:
        return "/_/slow.svg"


@dataclass(frozen=True)
class LostPicture(Picture):
    """It never arrives; its `alt` stands in its place."""

    @property
    def src(self) -> str:
        return "/_/broken.svg"
