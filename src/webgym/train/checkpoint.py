"""Checkpoints on disk: a folder that is whole, or that nobody sees.

A checkpoint is written under a staging name. When every file is on the disk, `complete.json` is written with the size of
each, and the folder gets its name. A folder without that file, or whose files are not the ones it lists, is no checkpoint
(`is_complete`).

    model.safetensors, config.json, tokenizer and processor files    what a model server loads
    optimizer/     the optimiser's state, for the next job
    adapter/       with LoRA: the adapter alone; the weights above have it merged in
    train.json     what the job that made it measured
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pydantic import Field, ValidationError

from webgym.errors import StoreError
from webgym.store.files import trouble
from webgym.types import Wire

COMPLETE: Final = "complete.json"
OPTIMIZER: Final = "optimizer"
ADAPTER: Final = "adapter"
VERSION: Final = 1


class Complete(Wire):
    """The last file of a checkpoint: what the others are."""

    version: int = VERSION
    iteration: int = Field(ge=0)
    files: dict[str, int] = Field(description="The size of each file, by its path in the folder.")


@contextmanager
def publishing(final: Path, *, iteration: int) -> Iterator[Path]:
    """A folder to write a checkpoint into; it gets its name if the block ends well, and is removed if not."""
    if is_complete(final):
        raise StoreError(f"{final} is a checkpoint already: choose another folder")
    staging = final.with_name(f".{final.name}.{secrets.token_hex(4)}.staging")
    try:
        with trouble(f"writing {final}"):
            staging.mkdir(parents=True)
        yield staging
        with trouble(f"writing {final}"):
            seal(staging, iteration=iteration)
            if final.exists():  # what a crash left under this name is no checkpoint
                shutil.rmtree(final)
            staging.rename(final)
            _sync(final.parent)
    finally:
        with suppress(OSError):
            shutil.rmtree(staging)


def seal(folder: Path, *, iteration: int) -> None:
    """Bring every file of a folder to the disk, then say in `complete.json` that they are all there."""
    files = {str(path.relative_to(folder)): path.stat().st_size for path in _files(folder)}
    for name in files:
        _sync(folder / name)
    complete = folder / COMPLETE
    complete.write_text(Complete(iteration=iteration, files=files).model_dump_json(indent=2) + "\n")
    _sync(complete)
    for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        _sync(path)


def read_complete(folder: Path) -> Complete | None:
    """What a checkpoint says of itself; None if the folder is no whole checkpoint."""
    try:
        found = Complete.model_validate_json((folder / COMPLETE).read_bytes())
        sizes = {name: (folder / name).stat().st_size for name in found.files}
    except (OSError, ValidationError):
        return None
    return found if sizes == found.files and found.version <= VERSION else None


def is_complete(folder: Path) -> bool:
    return read_complete(folder) is not None


def sweep(folder: Path) -> int:
    """Remove what writers that died left in a folder of checkpoints; nobody may be writing there. Returns how many."""
    left = [path for path in folder.glob(".*.staging") if path.is_dir()] if folder.is_dir() else []
    with trouble(f"clearing {folder}"):
        for path in left:
            shutil.rmtree(path)
    return len(left)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / COMPLETE)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
