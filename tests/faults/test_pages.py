"""What pages do to a session (rows 2, 4 and 6 to 12): it is bounded, it is told, and the session next door goes on.

All tests share one worker with one browser, on purpose: what one page leaves behind would show in the next test. In every
test a neighbour in the same browser clicks along and must not miss a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from tests.conftest import Driver, settings_for
from tests.faults.injection import (
    FIFTH,
    FIRST,
    FOURTH,
    SECOND,
    SIXTH,
    THIRD,
    held,
    opened,
    renderer_of,
    script,
    taking,
    undisturbed,
    until,
)
from tests.processes import running
from tests.site.server import Site
from tests.site.tls import TlsSite
from webgym.errors import (
    BadRequest,
    BrowserError,
    BrowserGone,
    NetworkDown,
    Overloaded,
    PageUnresponsive,
    StaleLease,
    Unavailable,
)
from webgym.server import leases, sessions
from webgym.server.actions import navigate, perform
from webgym.server.browser import Browser
from webgym.server.cdp import MAX_MESSAGE, Connection
from webgym.server.egress import Egress
from webgym.server.egress.destinations import Address
from webgym.server.egress.failures import Refusal
from webgym.server.protocol import NewSession, StepRequest, StepResult
from webgym.server.settings import WorkerSettings
from webgym.server.settle import SettleLimits
from webgym.server.surprises import DownloadProgress
from webgym.server.tabs import MAX_TABS, Context
from webgym.server.worker import Worker, running_worker
from webgym.types import Back, CloseTab, Look, Navigate, NewTab, Wait

pytestmark = pytest.mark.asyncio(loop_scope="module")

STOPPED = "the page did not respond; its scripts were stopped"
MB = 1024 * 1024
ESCAPED = Path("/tmp/webgym-escaped.txt")  # where the site's bad file name leads


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with Site() as running_site:
        yield running_site


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tls_site() -> AsyncIterator[TlsSite]:
    async with TlsSite() as running_site:
        yield running_site


@pytest.fixture(scope="module")
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker(site: Site, tls_site: TlsSite, closed_port: int) -> AsyncIterator[Worker]:
    serve = settings_for(
        site,
        sessions=8,
        egress={"allow": [f"*.localhost:{site.port}", f"*.localhost:{tls_site.port}", f"*.localhost:{closed_port}"]},
        limits={"max_download": 2},
    )
    async with running_worker(WorkerSettings(serve=serve, sessions=8, browsers=1)) as running_now:
        yield running_now


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def neighbour(worker: Worker, site: Site) -> AsyncIterator[Driver]:
    async with undisturbed(worker, site) as driver:
        yield driver
    await asyncio.gather(
        *(worker.sessions.end(left, StaleLease("the test is over")) for left in worker.sessions.leases.all())
    )
    assert worker.pool.launched == 1, "the browser was replaced"


# row 2


async def test_endless_scripts_are_stopped_and_the_session_goes_on(worker: Worker, site: Site):
    async def at_load() -> None:
        async with taking(12):
            driver = await opened(worker, site.url("/hang"))
            assert STOPPED in driver.first.notes
            assert driver.first.screenshot is not None
        await driver.release()

    async def on_click() -> None:
        driver = await opened(worker, site.url("/hang-on-click"))
        async with taking(20):
            seen = await driver.step(FIRST)
        assert STOPPED in seen.notes
        async with taking(5):
            assert (await driver.step(Navigate(url=site.url("/counter")))).title == "count 0"
        await driver.release()

    async def after_load() -> None:
        driver = await opened(worker, site.url("/hang?after=400"))
        await asyncio.sleep(0.6)
        async with taking(12):
            seen = await driver.look(marks=True, text=True)
        assert STOPPED in driver.first.notes + seen.notes  # on a busy machine it hung before the first look was over
        assert seen.text is not None
        await driver.release()

    async with asyncio.TaskGroup() as group:
        for case in (at_load, on_click, after_load):
            group.create_task(case())


async def test_a_page_that_hangs_can_be_left(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/hang?after=400"))
    await asyncio.sleep(0.6)
    async with taking(8):
        seen = await driver.step(Navigate(url=site.url("/counter")))
    assert seen.title == "count 0"
    assert STOPPED in driver.first.notes + seen.notes
    await driver.release()


async def test_a_page_that_hangs_again_and_again_loses_its_session(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/hang-again"))
    await asyncio.sleep(2.0)
    context = held(driver).context
    with pytest.raises(PageUnresponsive):
        async with taking(15):
            await driver.look()
    with pytest.raises(PageUnresponsive):
        await driver.look()
    assert not context.folder.exists()


@pytest.mark.slow
async def test_a_page_that_cannot_be_stopped_in_the_middle_of_a_frame_costs_its_own_session_only(worker: Worker, site: Site):
    """A script that waits for an answer without letting go of the page ends at no command; its neighbours are drawn all the
    same, and nothing is done to their pages meanwhile."""
    async with undisturbed(worker, site) as neighbour:
        before = held(neighbour).browser
        driver = await opened(worker, site.url("/counter"))
        while held(driver).browser is not before:  # the two have to share a display
            driver = await opened(worker, site.url("/counter"))
        waits = "const asked = new XMLHttpRequest(); asked.open('GET', '/never', false); asked.send()"
        await script(driver, f"requestAnimationFrame(() => {{ {waits} }}); 0")
        with pytest.raises((BrowserGone, PageUnresponsive)):
            await driver.step(Wait(seconds=12))
        assert before.alive


async def test_a_frozen_renderer_costs_its_own_session_only(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    renderer = await renderer_of(driver)
    renderer.send_signal(signal.SIGSTOP)
    with pytest.raises(PageUnresponsive):
        async with taking(15):
            await driver.look()
    await until(lambda: not running(renderer.pid), within=10)


# row 4


@pytest.mark.slow
async def test_a_renderer_that_runs_out_of_memory_costs_its_own_session_only(worker: Worker, site: Site):
    """Nobody calls meanwhile: a call would find the page busy and stop its script before the memory is full."""
    driver = await opened(worker, site.url("/oom?after=2000"), look=Look(image="none"))
    leased = held(driver)
    await until(lambda: leased not in worker.sessions.leases.all(), within=90)
    with pytest.raises(BrowserGone):
        await driver.look()


# row 6


@pytest.mark.parametrize("path", ["/links-50k", "/million-nodes?n=100000"])
async def test_a_huge_page_is_seen_in_time_and_what_was_cut_is_flagged(worker: Worker, site: Site, path: str):
    async with taking(30):
        driver = await opened(worker, site.url(path), look=Look(marks=True, accessibility=True, text=True))
    seen = driver.first
    assert seen.screenshot is not None
    assert seen.marks is not None
    assert len(seen.marks) <= 400
    if path == "/links-50k":
        assert "text" in seen.truncated
    await driver.release()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/million-nodes", "/giant-canvas"])
async def test_a_page_of_the_largest_kind_is_seen_within_the_usual_limits(site: Site, path: str):
    serve = settings_for(site, settle=SettleLimits())
    async with running_worker(WorkerSettings(serve=serve, sessions=1, browsers=1)) as patient, taking(80):
        driver = await opened(patient, site.url(path), look=Look(marks=True, accessibility=True, text=True))
        assert driver.first.screenshot is not None


# row 7


async def test_answers_that_never_end_meet_their_deadline(worker: Worker, site: Site):
    async def never() -> None:
        async with taking(8):
            driver = await opened(worker, site.url("/never"))
        assert "commit" in driver.first.settled.capped
        assert driver.first.navigation_error == "net::ERR_TIMED_OUT: no answer in 3 s"
        async with taking(5):
            assert (await driver.step(Navigate(url=site.url("/counter")))).navigation_error is None
        await driver.release()

    async def drip(path: str) -> None:
        async with taking(12):
            driver = await opened(worker, site.url(path))
        assert driver.first.settled.capped
        assert driver.first.screenshot is not None
        await driver.release()

    async with asyncio.TaskGroup() as group:
        for case in (never(), drip("/drip"), drip("/drip-image")):
            group.create_task(case)


# row 8


async def test_dialogs_are_dismissed_and_recorded(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/dialog-on-load"))
    assert [dialog.message for dialog in driver.first.dialogs] == ["welcome"]
    assert driver.first.title == "Dialog closed"
    await driver.step(Navigate(url=site.url("/dialogs")))
    for click, kind, title in (
        (FIRST, "alert", "alert closed"),
        (SECOND, "confirm", "confirm false"),
        (THIRD, "prompt", "prompt null"),
    ):
        seen = await driver.step(click)
        assert [dialog.kind for dialog in seen.dialogs] == [kind]
        assert seen.title == title
    assert len((await driver.step(FOURTH)).dialogs) == 3
    await driver.release()


async def test_a_loop_of_dialogs_is_cut_short(worker: Worker, site: Site):
    async with taking(6):
        driver = await opened(worker, site.url("/alert-loop"))
    assert len(driver.first.dialogs) == 20
    assert "dialogs" in driver.first.truncated
    assert any("dialogs" in note for note in driver.first.notes)
    async with taking(3):
        assert not (await driver.look()).dialogs
    await driver.release()


async def test_a_page_that_asks_to_stay_is_left(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/beforeunload"))
    assert (await driver.step(FIRST)).title == "Armed"
    async with taking(5):
        seen = await driver.step(SECOND)
    assert seen.title == "count 0"
    assert [dialog.kind for dialog in seen.dialogs] == ["beforeunload"]
    assert (await driver.step(Back())).title != "count 0"
    await driver.step(FIRST)
    assert (await driver.step(Navigate(url=site.url("/counter")))).title == "count 0"
    await driver.release()


# row 9


async def test_of_a_hundred_popups_a_few_become_tabs(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/popups"))
    async with taking(25):
        seen = await driver.step(FIRST)
    assert len(seen.tabs) == MAX_TABS
    assert sum(tab.active for tab in seen.tabs) == 1
    assert any("tabs" in note for note in seen.notes)
    async with taking(3):
        refused = await driver.step(NewTab())
    assert refused.action_error is not None
    assert f"at most {MAX_TABS} tabs" in refused.action_error
    seen = await driver.step(CloseTab())
    assert len(seen.tabs) == MAX_TABS - 1
    await driver.release()


async def test_tabs_that_close_one_after_another_while_they_are_looked_at(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    restless = "setInterval(() => document.body.append('x'), 20)"
    await script(
        driver,
        f"""for (const after of [2100, 1700, 1300, 900, 500]) {{
            const tab = window.open('about:blank');
            tab.eval({restless!r});
            setTimeout(() => tab.close(), after);
        }}""",
    )
    seen = await driver.look()
    assert seen.title == "count 0"
    assert len(seen.tabs) == 1
    await driver.release()


async def test_a_last_tab_that_closes_itself_is_replaced(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/close-itself"))
    seen = await driver.step(FIRST)
    assert [tab.active for tab in seen.tabs] == [False, True]
    await driver.step(CloseTab(tab=seen.tabs[0].id))
    seen = await driver.step(Wait(seconds=4))
    assert seen.url == "about:blank"
    assert len(seen.tabs) == 1
    assert any("closed itself" in note for note in seen.notes)
    assert (await driver.step(Navigate(url=site.url("/counter")))).title == "count 0"
    await driver.release()


# row 10


async def test_downloads_stay_in_the_sessions_folder_and_go_with_it(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/downloads"))
    folder = held(driver).context.folder
    names = {FIRST: "hello.txt", FOURTH: "_.._.._.._tmp_webgym-escaped.txt", SIXTH: "blob.txt", FIFTH: "file.pdf"}
    for click, name in names.items():
        seen = await driver.step(click)
        seen = seen if seen.downloads else await driver.step(Wait(seconds=0.5))
        assert [(one.name, one.state) for one in seen.downloads] == [(name, "done")]
        assert seen.navigation_error is None
        assert seen.title == "Downloads"
    assert sorted(file.name for file in folder.iterdir()) == sorted(names.values())
    assert not _exists(ESCAPED)
    await driver.release()
    assert not folder.exists()


async def test_a_pdf_as_an_address_is_a_download_and_no_error(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/file.pdf"))
    assert [(one.name, one.state) for one in driver.first.downloads] == [("file.pdf", "done")]
    assert driver.first.navigation_error is None
    await driver.release()


async def test_downloads_over_the_cap_are_refused(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/downloads"))
    folder = held(driver).context.folder
    seen = await driver.step(SECOND)
    big = [one for one in seen.downloads if one.url.endswith("/download-big")]
    assert [(one.name, one.state) for one in big] == [("_._x", "refused")]
    seen, ends = await driver.step(THIRD), time.monotonic() + 10
    while "refused" not in {one.state for one in seen.downloads} and time.monotonic() < ends:
        assert _size(folder) < 6 * MB
        seen = await driver.step(Wait(seconds=0.3), image="none")
    assert "refused" in {one.state for one in seen.downloads}
    await until(lambda: _size(folder) == 0, within=5)
    await driver.release()


async def test_many_downloads_at_a_time_share_one_cap(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    folder = held(driver).context.folder
    await script(driver, "for (let i = 0; i < 8; i++) window.open('/download-endless'); 0")
    await until(lambda: _size(folder) > 0, within=5)
    largest = 0

    def gone() -> bool:
        nonlocal largest
        largest = max(largest, _size(folder))
        return _size(folder) == 0

    assert await until(gone, within=5) < 4
    # 8 × 25 MB/s: by Chromium's reports alone, two a second, it would be a hundred.
    assert largest < 40 * MB
    await asyncio.sleep(1)
    assert _size(folder) == 0
    await driver.release()


async def test_small_downloads_that_are_too_many_leave_nothing(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    folder = held(driver).context.folder
    # Bytes of the page itself: they are whole before anybody can be told to stop.
    await script(
        driver,
        """for (let n = 0; n < 60; n++) {
            const link = Object.assign(document.createElement('a'), {download: `${n}.txt`});
            link.href = URL.createObjectURL(new Blob(['x'.repeat(1000)]));
            link.click();
        } 0""",
    )
    told = set[str]()
    for _ in range(6):
        told |= {one.name for one in (await driver.step(Wait(seconds=0.5), image="none")).downloads if one.state == "done"}
    assert told
    assert {file.name for file in folder.iterdir()} == told
    await driver.release()


async def test_a_tab_that_was_refused_downloads_nothing(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    folder = held(driver).context.folder
    await script(driver, f"for (let i = 1; i < {MAX_TABS}; i++) window.open('/popup-target?n=' + i); 0")
    await until(lambda: len(held(driver).context.tabs) == MAX_TABS, within=10)
    await script(driver, "for (let i = 0; i < 3; i++) window.open('/download-endless'); 0")
    await asyncio.sleep(1.5)
    await until(lambda: _size(folder) == 0, within=5)
    await driver.release()


async def test_a_file_that_nobody_announced_is_stopped(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/downloads"))
    leased = held(driver)
    leased.context.surprises.max_download = 1 << 40
    await driver.step(THIRD, image="none")
    await until(lambda: _size(leased.context.folder) > 0, within=5)
    # As if its tab had been closed before Chromium could tell: no event belongs to the file.
    leased.context.surprises._transfers.clear()
    leased.browser._downloads.clear()
    leased.browser.connection.root.handlers["Browser.downloadProgress"] = []
    try:
        await until(lambda: _size(leased.context.folder) == 0, within=5)
    finally:
        leased.browser.connection.root.on("Browser.downloadProgress", DownloadProgress, leased.browser._download_progress)


def _exists(path: Path) -> bool:
    return path.exists()


def _size(folder: Path) -> int:
    total = 0
    for file in folder.iterdir():
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total


# what is ours is not held against a website


async def test_without_room_for_a_sessions_files_sessions_are_refused_and_the_worker_goes_on(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    process = held(driver).browser.process
    there, process.folder = process.folder, process.folder / "absent"
    try:
        while held(driver).browser.spares:  # the warm ones are still good
            await (await opened(worker, site.url("/counter"))).release()
        with pytest.raises(Unavailable, match="no room for a session's files"):
            await opened(worker, site.url("/counter"))
        await asyncio.sleep(2.5)  # time to try for another warm one
        assert (await driver.step(FIRST)).title == "count 1"
    finally:
        process.folder = there
    await until(lambda: bool(held(driver).browser.spares), within=10)
    await driver.release()


async def test_a_file_for_which_there_is_no_room_is_refused_and_the_one_before_it_stays(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, None)
    name = (driver.started.id, driver.started.lease.token, "note.txt")
    worker.sessions.put_file(*name, b"before")

    def full(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_bytes", full)
        with pytest.raises(Unavailable, match="No space left") as refusal:
            worker.sessions.put_file(*name, b"after")
    assert refusal.value.retry_after
    assert worker.sessions.file(*name).read_bytes() == b"before"
    assert len(list(held(driver).context.folder.iterdir())) == 1
    await driver.release()


async def test_a_session_keeps_so_many_files_and_no_more(worker: Worker):
    driver = await opened(worker, None)
    owner = (driver.started.id, driver.started.lease.token)
    for n in range(sessions.MAX_FILES):
        worker.sessions.put_file(*owner, f"{n}.txt", b"")
    with pytest.raises(BadRequest, match=f"may hold {sessions.MAX_FILES} files"):
        worker.sessions.put_file(*owner, "one more.txt", b"")
    worker.sessions.put_file(*owner, "0.txt", b"another in its place")
    assert worker.sessions.file(*owner, "0.txt").read_bytes() == b"another in its place"
    await driver.release()


async def test_a_session_whose_own_proxy_has_no_place_is_refused_and_one_that_ends_badly_lets_its_proxy_go(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
):
    proxy = "http://proxy.example:3128"
    open_egress = Egress.__aenter__

    async def no_handles(self: Egress) -> Egress:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as handles:
        handles.setattr(Egress, "__aenter__", no_handles)
        with pytest.raises(Unavailable, match="Too many open files") as refusal:
            await opened(worker, None, proxy=proxy)
    assert refusal.value.retry_after
    assert Egress.__aenter__ is open_egress
    driver = await opened(worker, None, proxy=proxy)
    leased = held(driver)

    async def failing(*_: object) -> None:
        raise RuntimeError("a context that cannot be given back")

    with monkeypatch.context() as broken:
        broken.setattr(worker.pool, "give_back", failing)
        with pytest.raises(RuntimeError):
            await driver.release()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", leased.egress.port)
    await worker.pool.give_back(leased.browser, leased.context)


async def no_place(host: object, port: int) -> Refusal:
    return Refusal("overloaded", "this worker already holds all the connections it may")


async def test_a_proxy_of_ours_without_a_free_place_is_no_fault_of_the_website(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, site.url("/counter"))
    egress = held(driver).egress
    with monkeypatch.context() as full:
        full.setattr(egress, "_reach", no_place)
        with pytest.raises(Unavailable, match="connections") as refusal:
            await driver.step(Navigate(url=f"http://elsewhere.localhost:{site.port}/counter"))
        assert refusal.value.retry_after
    assert (await driver.step(Navigate(url=site.url("/counter")))).title == "count 0"
    await driver.release()


async def test_a_step_refused_for_want_of_ours_is_seen_when_it_is_repeated_and_not_done_twice(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, site.url("/counter"))
    egress = held(driver).egress
    there = f"http://elsewhere.localhost:{site.port}/counter"
    await script(driver, f"addEventListener('click', () => setTimeout(() => location = '{there}', 20)); 0")
    performed: list[tuple[Any, ...]] = []

    async def noted(*given: Any) -> None:
        performed.append(given)
        await perform(*given)

    request = StepRequest(action=FIRST, look=Look(image="none"), key="once", seq=1)
    monkeypatch.setattr(sessions, "perform", noted)
    with monkeypatch.context() as full:
        full.setattr(egress, "_reach", no_place)
        for _ in range(2):
            with pytest.raises(Unavailable, match="connections"):
                await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    result = await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    assert (result.seq, result.observation.url, result.observation.title) == (1, there, "count 0")
    assert result.observation.navigation_error is None
    again = await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    assert again.repeated
    assert again.observation == result.observation
    assert len([given for given in performed if given[0] is held(driver).context]) == 1
    await driver.release()


async def test_a_look_after_a_refusal_for_want_of_ours_has_the_page_loaded_again(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, None)
    egress = held(driver).egress
    with monkeypatch.context() as full:
        full.setattr(egress, "_reach", no_place)
        with pytest.raises(Unavailable, match="connections"):
            await driver.step(Navigate(url=f"http://further.localhost:{site.port}/counter"))
    seen = await driver.look(image="none")
    assert (seen.title, seen.navigation_error) == ("count 0", None)
    await driver.release()


async def test_a_failure_of_ours_stays_ours_though_a_neighbour_reaches_the_same_website_meanwhile(
    worker: Worker, site: Site
):
    driver = await opened(worker, site.url("/counter"))
    egress = held(driver).egress
    other = f"http://other.localhost:{site.port}/counter"
    room, egress.max_connections = egress.max_connections, egress.counters.active
    navigating = asyncio.create_task(driver.step(Navigate(url=other)))
    try:
        await until(lambda: egress.why("other.localhost", site.port) is not None, within=5)
        egress._failures.forget("other.localhost", site.port)  # as when a connection of the neighbour's succeeds
        with pytest.raises(Unavailable, match="already holds"):
            await navigating
    finally:
        egress.max_connections = room
    seen = await driver.look(image="none")
    assert (seen.title, seen.navigation_error) == ("count 0", None)
    await driver.release()


async def test_a_page_that_lacks_a_part_for_want_of_ours_says_so_once(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    egress = held(driver).egress
    room = egress.max_connections

    async def asked_for(url: str) -> tuple[str, ...]:
        await script(driver, f"document.body.append(Object.assign(new Image(), {{src: '{url}'}})); 0")
        return (await driver.step(Wait(seconds=0.3), image="none")).notes

    egress.max_connections = egress.counters.active  # those it has stay; one more is one too many
    try:
        (note,) = await asked_for(f"http://pictures.localhost:{site.port}/live/image/1.png")
    finally:
        egress.max_connections = room
    assert note.startswith("parts of the page are missing, by no fault of the website (this worker already holds")
    assert (await driver.step(Wait(seconds=0.1), image="none")).notes == ()
    assert await asked_for(f"http://pictures.localhost:{site.port}/live/image/1.png") == ()
    assert await asked_for("http://10.0.0.1/picture.png") == (), "refused by the policy, not for want of ours"
    await driver.release()


async def test_a_proxy_of_the_sessions_own_that_is_away_is_no_fault_of_the_website(worker: Worker, closed_port: int):
    proxy = f"http://proxy.localhost:{closed_port}"
    with pytest.raises(NetworkDown, match="ERR_PROXY_CONNECTION_FAILED") as refusal:
        await opened(worker, "http://shop.example/", proxy=proxy)
    assert refusal.value.retry_after
    driver = await opened(worker, None, proxy=proxy)
    with pytest.raises(NetworkDown, match=f"the proxy proxy.localhost:{closed_port}"):
        await driver.step(Navigate(url="http://shop.example/"))
    await driver.release()


async def test_what_the_sessions_own_proxy_says_of_a_website_is_an_observation(worker: Worker, closed_port: int):
    async def unreachable(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        await writer.drain()
        writer.close()

    proxy = await asyncio.start_server(unreachable, "127.0.0.1", closed_port)
    async with proxy:
        driver = await opened(worker, "http://shop.example/", proxy=f"http://proxy.localhost:{closed_port}")
        assert "it answered 502" in (driver.first.navigation_error or "")
        await driver.release()


async def test_a_name_server_that_is_silent_is_no_fault_of_the_website(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    async def silent(name: str) -> list[Address]:
        raise socket.gaierror(socket.EAI_AGAIN, "temporary failure in name resolution")

    async def knows_no_such_name(name: str) -> list[Address]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    driver = await opened(worker, site.url("/counter"))
    names = held(driver).egress._names
    monkeypatch.setattr(names, "_resolver", silent)
    monkeypatch.setitem(names._proofs, "known.example", "known.example")  # which had an address before
    with pytest.raises(NetworkDown, match=r"no answer from DNS for shop\.example") as refusal:
        await driver.step(Navigate(url="http://shop.example/"))
    assert refusal.value.retry_after
    await driver.step(Navigate(url=site.url("/counter")))
    await script(driver, "document.body.append(Object.assign(new Image(), {src: 'http://pictures.example/1.png'})); 0")
    (note,) = (await driver.step(Wait(seconds=0.3), image="none")).notes
    assert "no answer from DNS for pictures.example" in note
    monkeypatch.setattr(names, "_resolver", knows_no_such_name)
    seen = await driver.step(Navigate(url="http://shop.example/"))
    assert seen.navigation_error == "net::ERR_NAME_NOT_RESOLVED: no address for shop.example"
    monkeypatch.setattr(names, "_resolver", silent)
    names._proofs.clear()
    seen = await driver.step(Navigate(url="http://shop.example/"))
    assert seen.navigation_error == "net::ERR_NAME_NOT_RESOLVED: no answer from DNS for shop.example", "there never was any"
    await driver.release()


async def test_a_step_that_met_a_bug_fails_in_the_same_way_when_it_is_repeated_and_its_session_goes_on(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, site.url("/counter"))

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    request = StepRequest(action=FIRST, look=Look(image="none"), key="once", seq=1)
    with monkeypatch.context() as bug:
        bug.setattr(sessions, "perform", broken)
        with pytest.raises(ZeroDivisionError):
            await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    with pytest.raises(ZeroDivisionError):
        await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    assert (await driver.step(FIRST)).title == "count 1"
    await driver.release()


async def test_a_session_that_was_not_created_leaves_the_key_to_the_one_that_was(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    request = NewSession(url=site.url("/counter"), look=Look(image="none"), key="wanted-once")
    give_back, ending, go_on = worker.pool.give_back, asyncio.Event(), asyncio.Event()

    async def slow(browser: Browser, context: Context) -> None:
        ending.set()
        await go_on.wait()
        await give_back(browser, context)

    async def broken(*_: object) -> None:
        raise BrowserError("no answer")

    with monkeypatch.context() as sick:
        sick.setattr(worker.pool, "give_back", slow)
        sick.setattr(sessions, "navigate", broken)
        failing = asyncio.create_task(worker.sessions.create(request, None))
        await ending.wait()
        sick.setattr(sessions, "navigate", navigate)
        started = await worker.sessions.create(request, None)
        go_on.set()
        with pytest.raises(PageUnresponsive):
            await failing
    again = await worker.sessions.create(request, None)
    assert again.id == started.id
    await worker.sessions.release(started.id, started.lease.token)


async def test_whoever_leaves_the_line_does_not_end_the_step_that_another_repeats(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, site.url("/counter"))
    egress, there = held(driver).egress, f"http://yonder.localhost:{site.port}/counter"
    request = StepRequest(action=Navigate(url=there), look=Look(image="none"), key="once", seq=1)

    def repeat() -> asyncio.Task[StepResult]:
        return asyncio.create_task(worker.sessions.step(driver.started.id, driver.started.lease.token, request))

    with monkeypatch.context() as full:
        full.setattr(egress, "_reach", no_place)
        with pytest.raises(Unavailable):
            await repeat()
    await held(driver).lock.acquire()
    looking = repeat()
    await asyncio.sleep(0)
    leaving = repeat()
    await asyncio.sleep(0.05)
    held(driver).lock.release()
    await asyncio.sleep(0.05)  # the first looks by now, the second is still in line
    leaving.cancel()
    assert (await looking).observation.url == there
    assert (await repeat()).repeated
    await driver.release()


async def test_standing_in_line_is_refused_after_a_while_and_ends_no_session(
    worker: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    driver = await opened(worker, site.url("/counter"))
    slow = asyncio.create_task(driver.step(Wait(seconds=2)))
    await asyncio.sleep(0.1)
    request = StepRequest(action=FIRST, look=Look(image="none"), key="in-line", seq=2)
    with monkeypatch.context() as short:
        short.setattr(leases, "TURN_SECONDS", 0.2)
        short.setattr(sessions, "CALL_SECONDS", 0.4)
        with pytest.raises(Overloaded) as refusal:
            await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    assert refusal.value.retry_after
    await slow
    result = await worker.sessions.step(driver.started.id, driver.started.lease.token, request)
    assert (result.seq, result.repeated, result.observation.title) == (2, False, "count 1")
    await driver.release()


# row 11


async def test_sites_that_fail_are_observations(worker: Worker, site: Site, tls_site: TlsSite, closed_port: int):
    driver = await opened(worker, None)
    for url, error in (
        (tls_site.url("/counter"), "CERT"),
        (f"http://site.localhost:{closed_port}/", "refused"),
        ("http://no-such-name.invalid/", "no-such-name.invalid"),
        (f"http://127.0.0.1:{site.port}/", "127.0.0.1"),
        (site.url("/redirect-loop"), "REDIRECTS"),
    ):
        async with taking(8):
            seen = await driver.step(Navigate(url=url))
        told = f"{seen.navigation_error} {seen.action_error}"
        assert error.lower() in told.lower(), (url, told)
        assert seen.screenshot is not None
    async with taking(3):
        seen = await driver.step(Navigate(url=site.url("/basic-auth")))
    assert seen.status == 401
    assert (await driver.step(Navigate(url=site.url("/counter")))).navigation_error is None
    await driver.release()


# row 12


async def test_requests_for_permission_are_denied_without_a_stall(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/permissions"))
    async with taking(5):
        seen = await driver.step(Wait(seconds=1), text=True)
    assert seen.title == "done"
    assert seen.text is not None
    assert "granted" not in seen.text
    assert "no answer" not in seen.text
    await driver.release()


async def test_printing_and_choosing_files_do_not_stall(worker: Worker, site: Site):
    async with taking(5):
        driver = await opened(worker, site.url("/print"))
        assert driver.first.title == "Printed 1"
        assert (await driver.step(FIRST)).title == "Printed 2"
    await driver.step(Navigate(url=site.url("/file-chooser")))
    async with taking(5):
        await driver.step(SECOND)
        seen = await driver.step(FIRST)
    assert seen.title == "File chooser"
    assert seen.notes == ("a page asked for a file and was given none: `upload` gives it one",)
    await driver.release()


async def test_full_screen_changes_no_viewport_and_a_locked_pointer_is_let_go(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/fullscreen"))
    async with taking(5):
        seen = await driver.step(FIRST)
    assert seen.screenshot is not None
    assert (seen.screenshot.width, seen.screenshot.height) == (1280, 768)
    assert await script(driver, "innerWidth + '×' + innerHeight") == "1280×768"
    await driver.step(SECOND)
    assert (await driver.step(FIRST)).title == "full screen granted", "the click went to the locked element"
    await driver.release()


# what a page can put into our messages


async def test_broken_characters_hurt_nobody(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    await script(driver, "document.title = 'a\\ud800b'; document.body.append('x\\udc00y \\\\ud800'); alert('q\\ud800')")
    seen = await driver.look(text=True, accessibility=True, marks=True)
    assert seen.title == "a\ufffdb"
    assert seen.text is not None
    assert "x\ufffdy \\ud800" in seen.text
    assert [dialog.message for dialog in seen.dialogs] == ["q\ufffd"]
    await driver.release()


class _Seen(msgspec.Struct):
    n: int


async def test_a_message_that_is_too_long_or_no_message_at_all_is_skipped():
    heard: list[int] = []
    connection = Connection()
    connection.root.on("Page.seen", _Seen, lambda event: heard.append(event.n))
    for n, between in enumerate(
        (b"", b'{"method":"Page.seen","params":{"n":"one"}}\0', b"nonsense\0", b'{"x":"\\ud800"}\0')
    ):
        connection.data_received(between + b'{"method":"Page.seen","params":{"n":%d}}\0' % n)
    piece = b"x" * (8 * MB)
    for _ in range(MAX_MESSAGE // len(piece) + 2):
        connection.data_received(piece)
    connection.data_received(b'"}\0{"method":"Page.seen",')
    connection.data_received(b'"params":{"n":4}}\0')
    assert heard == [0, 1, 2, 3, 4]
    assert not connection.closed.is_set()


@pytest.mark.slow
async def test_a_page_that_sends_a_hundred_megabytes_hurts_nobody(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    channel = held(driver).context.active.channel
    for code in (
        "fetch('/report?what=big', {method: 'POST', body: 'x'.repeat(1e8)})",
        "fetch('data:text/plain,' + 'x'.repeat(1.2e8))",
    ):
        channel.post("Runtime.evaluate", {"expression": code})
    # The page itself may or may not live through this; `neighbour` does.
    with contextlib.suppress(PageUnresponsive):
        async with taking(30):
            await driver.look()


# nothing is left


async def test_a_released_session_leaves_nothing_behind(worker: Worker, site: Site):
    (browser,) = worker.pool.browsers
    driver = await opened(worker, site.url("/popup"))
    await driver.step(FIRST)
    context = held(driver).context
    await driver.release()
    assert context.id not in browser.contexts
    assert all(owner is not context for owner, _ in browser._page_channels.values())
    assert all(owner is not context for owner in browser._downloads.values())
    known = {page.channel.id for each in browser.contexts.values() for page in each.tabs.values()} | {""}
    await until(lambda: set(browser.connection._channels) <= known, within=5)
    assert not context.folder.exists()


async def test_a_context_is_never_used_again(worker: Worker, site: Site):
    seen: set[str] = set()
    for _ in range(4):
        driver = await opened(worker, site.url("/counter"))
        context = held(driver).context
        assert context.id not in seen
        seen.add(context.id)
        assert await script(driver, "document.cookie + localStorage.length") == "0"
        await script(driver, "document.cookie = 'former=1'; localStorage.former = 1")
        await driver.release()
