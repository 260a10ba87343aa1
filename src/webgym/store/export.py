"""A run for those who want plain files: a line of JSON an episode, its judgements beside it, and the images it refers to.

The jsonl file appears last and whole, so a folder that has one has every image it names, but for those that a line tells are
missing: an image that is damaged or gone is left out, as a damaged episode is, and costs nothing else.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

from pydantic import Field

from webgym.errors import StoreError
from webgym.store.episodes import images_of
from webgym.store.files import trouble
from webgym.store.run import Run
from webgym.types import Episode, Judgement, Split, Wire

log = logging.getLogger(__name__)

FILE = "episodes.jsonl"


class Exported(Wire):
    """A line of an export. An image is `images/<sha256>.jpg` or `.png`."""

    episode: Episode
    judgements: tuple[Judgement, ...] = ()
    missing: tuple[str, ...] = Field((), description="Hashes of images that were damaged or gone, and are not here.")


def export(run: Run, out: Path, *, split: Split | None = None, iteration: int | None = None) -> int:
    """Write a run's episodes to a folder; returns how many. One that holds an export already is refused."""
    final, staging = out / FILE, out / f".{FILE}.staging"
    if final.exists():
        raise StoreError(f"{final} exists: choose another folder")
    said: dict[str, list[Judgement]] = {}
    for judgement in run.judgements():
        said.setdefault(judgement.episode, []).append(judgement)
    count = 0
    with trouble(f"writing {out}"):
        (out / "images").mkdir(parents=True, exist_ok=True)
        try:
            with staging.open("wb") as lines:
                for episode in run.episodes(iteration):
                    if split is not None and episode.task.split != split:
                        continue
                    missing = tuple(one for one in sorted(images_of(episode)) if not _copy(run, one, out / "images"))
                    line = Exported(episode=episode, judgements=tuple(said.get(episode.id, ())), missing=missing)
                    lines.write(line.model_dump_json().encode() + b"\n")
                    count += 1
                lines.flush()
                os.fsync(lines.fileno())
            staging.replace(final)
        finally:
            staging.unlink(missing_ok=True)
    return count


def _copy(run: Run, sha256: str, folder: Path) -> bool:
    """Bytes checked on the way; an image that several episodes share is copied once. False: there is nothing to copy."""
    try:
        target = folder / run.images.path(sha256).name
        data = None if target.exists() else run.images.get(sha256)
    except StoreError as e:
        log.warning("left out: %s", e)
        return False
    if data is not None:
        partial = target.with_name(f".{target.name}.staging")
        partial.write_bytes(data)
        shutil.move(partial, target)
    return True
