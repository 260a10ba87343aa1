"""Downloads as Chromium reports them, one report at a time: what is refused leaves nothing, what is kept is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from webgym.server import surprises
from webgym.server.cdp import Connection
from webgym.server.surprises import MAX_DOWNLOADS, MAX_NAME, DownloadBegins, DownloadProgress, Surprises, safe_name

KB = 1024


class Orders:
    """A browser's channel that notes what it is told."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def post(self, method: str, params: dict[str, Any]) -> None:
        assert method == "Browser.cancelDownload"
        self.cancelled.append(params["guid"])


@pytest.fixture
def orders() -> Orders:
    return Orders()


@pytest.fixture
def session(tmp_path: Path, orders: Orders) -> Surprises:
    made = Surprises(Connection().root, "context", tmp_path, 50 * KB)
    made.root = orders  # type: ignore[assignment]
    return made


def begins(session: Surprises, guid: str, name: str = "file.bin") -> bool:
    return session.download_begins(DownloadBegins(guid, "http://site.localhost/x", name))


def reports(session: Surprises, guid: str, state: str, received: int = 0) -> bool:
    return session.download_progress(DownloadProgress(guid, 0, received, state))


def growing(session: Surprises, guid: str, size: int) -> None:
    (session.folder / f"{guid}.crdownload").write_bytes(bytes(size))


def whole(session: Surprises, guid: str, size: int) -> None:
    (session.folder / f"{guid}.crdownload").unlink(missing_ok=True)
    (session.folder / guid).write_bytes(bytes(size))


async def looked() -> None:
    await asyncio.sleep(2.5 * surprises.LOOK_SECONDS)


def files(session: Surprises) -> list[str]:
    return sorted(file.name for file in session.folder.iterdir())


async def test_between_two_reports_the_largest_is_refused(session: Surprises, orders: Orders):
    for guid, size in (("small", 10 * KB), ("large", 45 * KB)):
        begins(session, guid)
        growing(session, guid, size)
    await looked()
    assert set(orders.cancelled) == {"large"}
    assert len(orders.cancelled) > 1  # until Chromium says that it has ended
    (session.folder / "large.crdownload").unlink()
    assert reports(session, "large", "canceled")
    told = len(orders.cancelled)
    await looked()
    assert len(orders.cancelled) == told
    assert [one.state for one in session.take_downloads()] == ["running", "refused"]


async def test_one_that_is_whole_is_not_refused_for_another(session: Surprises):
    begins(session, "first", "first.bin")
    growing(session, "first", 40 * KB)
    begins(session, "second", "second.bin")
    await looked()
    whole(session, "first", 40 * KB)  # its report is still on the way
    growing(session, "second", 11 * KB)
    await looked()
    reports(session, "first", "completed", 40 * KB)
    assert {one.name: one.state for one in session.take_downloads()} == {"first.bin": "done", "second.bin": "refused"}
    assert "first.bin" in files(session)


async def test_what_was_refused_too_late_is_removed(session: Surprises, orders: Orders):
    for n in range(MAX_DOWNLOADS):
        assert begins(session, f"g{n}")
    assert not begins(session, "one-more")
    assert orders.cancelled == ["one-more"]
    assert not reports(session, "one-more", "inProgress")
    assert orders.cancelled == ["one-more", "one-more"]
    whole(session, "one-more", KB)
    assert reports(session, "one-more", "completed", KB)
    assert files(session) == []


async def test_a_stray_that_ended_before_the_order_is_removed(session: Surprises, orders: Orders):
    growing(session, "stray", KB)
    session.refuse_strays()
    assert orders.cancelled == []  # its event may be on the way
    whole(session, "stray", KB)
    session.refuse_strays()
    assert files(session) == []


async def test_more_than_can_be_told_at_once_are_told_the_next_time(session: Surprises):
    count = MAX_DOWNLOADS + 10
    for n in range(count):
        begins(session, f"g{n}", f"{n}.txt")
        whole(session, f"g{n}", 10)
        reports(session, f"g{n}", "completed", 10)
    first = session.take_downloads()
    assert session.truncated == {"downloads"}
    session.truncated.clear()
    second = session.take_downloads()
    assert not session.truncated
    assert [one.name for one in (*first, *second)] == [f"{n}.txt" for n in range(count)]


@pytest.mark.parametrize("name", ["x" * 300 + ".tar", "ä" * 300, "no-ending" * 40, "a.b"])
async def test_a_second_file_of_a_name_has_a_safe_name_too(session: Surprises, name: str):
    for n in range(3):
        begins(session, f"g{n}", name)
        whole(session, f"g{n}", 10)
        reports(session, f"g{n}", "completed", 10)
    names = [one.name for one in session.take_downloads()]
    assert len(set(names)) == 3
    assert sorted(names) == files(session)
    assert all(one == safe_name(one) and len(one.encode()) <= MAX_NAME for one in names)
