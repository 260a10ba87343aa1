"""Screenshots, each once, under the hash of its bytes.

An image is written under a staging name and linked to its own, so a name always stands for whole bytes; reading checks
them against the name. Writing does not wait for the disk: committing an episode brings its images there first, which
costs one pass for all of them, and images of abandoned episodes cost nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Final, Literal

from webgym.errors import Damaged, StoreError
from webgym.store.files import Disk, trouble

Format = Literal["jpeg", "png"]
_ENDINGS: Final[dict[Format, str]] = {"jpeg": ".jpg", "png": ".png"}
_HASH: Final = re.compile(r"[0-9a-f]{64}")
REMEMBERED: Final = 50_000  # images


class Images:
    """The image folder of a run. Calls block; they may be made from several threads."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder, self._disk = str(folder), disk
        self._moments = count()
        self._put: dict[str, int] = {}  # when images that are not known to be on the disk were put here
        self._synced: dict[str, int] = {}  # when each folder was last brought to the disk, or before

    def put(self, data: bytes, image_format: Format) -> str:
        """Keep an image; returns its hash."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256, _ENDINGS[image_format])
        if not self._disk.place(path, data):  # it is there already, or a power cut has left its name with missing bytes
            with trouble(f"looking at {path}"):
                size = os.stat(path).st_size  # noqa: PTH116
            if size != len(data):
                self._disk.replace(Path(path), data)
        if len(self._put) >= REMEMBERED:  # of abandoned episodes. To forget is safe: the folders are synced once more
            self._put.clear()
        self._put[sha256] = next(self._moments)
        return sha256

    def get(self, sha256: str) -> bytes:
        """An image's bytes, checked against its hash."""
        path = self.path(sha256)
        with trouble(f"reading {path}"):
            data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Damaged(f"{path}: the bytes are not those of its name")
        return data

    def path(self, sha256: str) -> Path:
        """Where an image is; an unknown one is an error."""
        return Path(self._found(sha256))

    def sync(self, hashes: Iterable[str]) -> None:
        """Bring images to the disk, and the folders that hold them; one that is not here is an error."""
        paths, folders, now = [], set(), next(self._moments)
        for sha256 in hashes:
            paths.append(path := self._found(sha256))
            folder, put = path.rpartition("/")[0], self._put.pop(sha256, None)
            if put is None or put > self._synced.get(folder, -1):  # else it was brought there with another episode's
                folders.add(folder)
        self._disk.sync_all(paths)
        for folder in folders:
            self._disk.sync(folder)
        if not folders <= self._synced.keys():
            self._disk.sync(self._folder)
        self._synced.update(dict.fromkeys(folders, now))

    def __iter__(self) -> Iterator[Path]:
        folder = Path(self._folder)
        if folder.is_dir():
            for shard in sorted(folder.iterdir()):
                yield from sorted(shard.iterdir()) if shard.is_dir() else (shard,)

    def _found(self, sha256: str) -> str:
        for path in self._paths(sha256):
            if os.path.isfile(path):  # noqa: PTH113
                return path
        raise self._unknown(sha256)

    def _paths(self, sha256: str) -> Iterator[str]:
        """Where an image can be."""
        return (self._path(sha256, ending) for ending in _ENDINGS.values() if _HASH.fullmatch(sha256))

    def _path(self, sha256: str, ending: str) -> str:
        return f"{self._folder}/{sha256[:2]}/{sha256}{ending}"

    def _unknown(self, sha256: str) -> StoreError:
        return StoreError(f"there is no image {sha256[:64]!r} in {self._folder}")
