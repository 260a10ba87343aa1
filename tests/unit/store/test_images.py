"""Which folders of images a commit brings to the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from webgym.errors import StoreError
from webgym.store.files import Disk
from webgym.store.images import Images


class Watched(Disk):
    """A disk that tells what was brought to it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.synced: list[str] = []

    def sync(self, path: str) -> None:
        super().sync(path)
        self.synced.append(path)

    def sync_all(self, paths: Sequence[str]) -> None:
        super().sync_all(paths)
        self.synced += paths

    def told(self) -> set[str]:
        """The names of what was brought there since this was asked."""
        found, self.synced = {Path(path).name for path in self.synced}, []
        return found


def shard_mates(count: int) -> list[bytes]:
    """Images whose hashes begin alike."""
    found: dict[str, list[bytes]] = {}
    for number in range(100_000):
        data = b"%d" % number
        mates = found.setdefault(hashlib.sha256(data).hexdigest()[:2], [])
        mates.append(data)
        if len(mates) == count:
            return mates
    raise AssertionError("no such images")


def test_images_come_to_the_disk_with_their_folders_and_a_new_folder_with_the_one_above(tmp_path: Path) -> None:
    disk = Watched(tmp_path)
    images = Images(tmp_path / "images", disk)
    first = images.put(b"first", "jpeg")
    disk.told()
    images.sync([first])
    assert disk.told() == {f"{first}.jpg", first[:2], "images"}


def test_a_folder_synced_since_an_image_was_put_there_is_not_synced_again(tmp_path: Path) -> None:
    disk = Watched(tmp_path)
    images = Images(tmp_path / "images", disk)
    one, other, later = shard_mates(3)
    ours, theirs = images.put(one, "jpeg"), images.put(other, "png")
    images.sync([theirs])
    disk.told()
    images.sync([ours])
    assert disk.told() == {f"{ours}.jpg"}
    last = images.put(later, "jpeg")
    disk.told()
    images.sync([last])
    assert disk.told() == {f"{last}.jpg", last[:2]}


def test_the_folder_of_an_image_that_others_may_have_put_is_always_synced(tmp_path: Path) -> None:
    disk = Watched(tmp_path)
    images, others = Images(tmp_path / "images", disk), Images(tmp_path / "images", Disk(tmp_path))
    one, other = shard_mates(2)
    images.sync([images.put(one, "jpeg")])
    theirs = others.put(other, "jpeg")
    disk.told()
    for _ in range(2):
        images.sync([theirs])
        assert disk.told() == {f"{theirs}.jpg", theirs[:2]}


def test_an_image_that_is_there_already_is_synced_with_its_folder(tmp_path: Path) -> None:
    """Whoever put it may not have come to sync it."""
    disk = Watched(tmp_path)
    Images(tmp_path / "images", Disk(tmp_path)).put(b"seen", "jpeg")
    images = Images(tmp_path / "images", disk)
    seen = images.put(b"seen", "jpeg")
    disk.told()
    images.sync([seen])
    assert disk.told() == {f"{seen}.jpg", seen[:2], "images"}


def test_more_images_than_may_be_open_at_once_are_synced(tmp_path: Path) -> None:
    disk = Watched(tmp_path)
    images = Images(tmp_path / "images", disk)
    put = [images.put(b"%d" % number, "jpeg") for number in range(150)]
    before = psutil.Process().num_fds()
    images.sync(put)
    assert {f"{one}.jpg" for one in put} <= disk.told()
    assert psutil.Process().num_fds() == before


def test_an_image_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no image"):
        Images(tmp_path / "images", Disk(tmp_path)).sync(["0" * 64])
