"""A contact sheet of the offline web: `python -m benchmarks.sheet docs/images/worlds.png`.

Two sites of each kind, of different layouts: the start page of one, a page behind the first menu entry of the other. They
are photographed as an agent sees them, through `webgym serve`, cookie banners and all.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import uvloop
from PIL import Image

from benchmarks.children import server
from benchmarks.offline import SEED, Address, offline_web
from webgym.rollout.client import Client
from webgym.server.protocol import Viewport
from webgym.types import Look
from webgym.worlds.names import host_of, site_of
from webgym.worlds.sites import KINDS
from webgym.worlds.style import LAYOUTS

WIDTH, HEIGHT = 1280, 800
SMALL = (400, 250)
COLUMNS, GAP = 6, 12
PAPER = (236, 238, 241)
SESSIONS = 4
LOOK = Look(image="png")


def shown() -> Iterator[Address]:
    """The pages of the sheet, kind by kind; neighbours have different layouts."""
    for place, kind in enumerate(KINDS.values()):
        taken = 0
        for half in range(2):
            layout = (2 * place + half + place // 3) % LAYOUTS
            while site_of(SEED, host_of(SEED, kind, taken)).style.layout != layout:
                taken += 1
            host = host_of(SEED, kind, taken)
            site = site_of(SEED, host)
            path = kind.nav(site, kind.content(site))[0].href if half else "/"
            yield Address(kind.name, host, path)


async def photograph(addresses: list[Address], folder: Path | None) -> list[Image.Image]:
    """A small picture of each page; whole ones go to the folder."""
    pictures: dict[int, Image.Image] = {}
    waiting = iter(enumerate(addresses))
    async with offline_web() as site, server(site.url, SESSIONS) as served, Client(served.url, key=served.key) as client:
        port = int(site.url.rpartition(":")[2])

        async def work() -> None:
            for place, address in waiting:
                viewport = Viewport(width=WIDTH, height=HEIGHT)
                async with client.open(url=address.url(port), viewport=viewport, look=LOOK) as session:
                    shot = session.observation.screenshot
                assert shot is not None
                picture = Image.open(io.BytesIO(shot.data)).convert("RGB")
                if folder is not None:
                    picture.save(folder / f"{place:02d}-{address.kind}.png")
                pictures[place] = picture.resize(SMALL, Image.Resampling.LANCZOS)

        async with asyncio.TaskGroup() as group:
            for _ in range(SESSIONS):
                group.create_task(work())
    return [pictures[place] for place in sorted(pictures)]


def sheet(pictures: list[Image.Image]) -> Image.Image:
    rows = -(-len(pictures) // COLUMNS)
    wide, high = SMALL[0] + GAP, SMALL[1] + GAP
    made = Image.new("RGB", (COLUMNS * wide + GAP, rows * high + GAP), PAPER)
    for place, picture in enumerate(pictures):
        row, column = divmod(place, COLUMNS)
        made.paste(picture, (GAP + column * wide, GAP + row * high))
    return made.point(_coarse)


def _coarse(value: int) -> int:
    """Five bits of a colour: half the bytes of the file, and unlike a palette of 256 every hue stays what it was."""
    return value >> 3 << 3 | value >> 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.sheet", description="A contact sheet of the offline web.")
    parser.add_argument("out", type=Path, help="a PNG file")
    parser.add_argument("--whole", type=Path, help="folder for the pictures in full size")
    options = parser.parse_args()
    for folder in filter(None, (options.out.parent, options.whole)):
        folder.mkdir(parents=True, exist_ok=True)
    sheet(uvloop.run(photograph(list(shown()), options.whole))).save(options.out, optimize=True)
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
