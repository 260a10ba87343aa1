"""Browsers that die, freeze, do not start or grow old (rows 1, 3 and 5): only their own sessions notice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import KEY, SANDBOX, WorkerMaker
from tests.faults.injection import (
    FIRST,
    held,
    of_type,
    opened,
    renderer_of,
    renderer_that_runs,
    taking,
    undisturbed,
    until,
)
from tests.processes import running
from tests.site.server import Site
from webgym.errors import BrowserError, BrowserGone, StaleLease, Unavailable
from webgym.server import chromium, display
from webgym.server.browser import Browser, start_browser
from webgym.server.cdp import Channel, ConnectionClosed
from webgym.server.chromium import Chromium
from webgym.server.folders import WorkerFolder
from webgym.server.page import Page
from webgym.server.pool import Pool
from webgym.server.process import ChromiumProcess, is_small
from webgym.server.settings import BrowserLimits
from webgym.server.tabs import Context
from webgym.server.worker import Worker
from webgym.types import Navigate, Wait

# row 1


async def test_a_killed_renderer_ends_its_session_though_nobody_asks(worker: Worker, site: Site):
    async with undisturbed(worker, site):
        driver = await opened(worker, site.url("/counter"))
        leased = held(driver)
        (await renderer_of(driver)).kill()
        await until(lambda: leased not in worker.sessions.leases.all(), within=5)
        with pytest.raises(BrowserGone):
            worker.sessions.renew(driver.started.id, driver.started.lease.token, None)
        await until(lambda: worker.sessions.available == 3, within=5)


async def test_a_renderer_killed_under_a_call_fails_that_call_at_once(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    renderer = await renderer_of(driver)
    pending = asyncio.create_task(driver.step(Wait(seconds=20)))
    await asyncio.sleep(0.3)
    assert not pending.done()
    renderer.kill()
    with pytest.raises(BrowserGone):
        async with taking(5):
            await pending


async def test_the_helpers_of_a_browser_may_die(worker: Worker, site: Site):
    """Chromium starts its GPU and network processes again by itself; sessions go on."""
    driver = await opened(worker, site.url("/counter"))
    for kind in ("gpu-process", "utility"):
        for process in of_type(held(driver).browser.process, kind):
            process.kill()
        async with taking(15):
            seen = await driver.step(FIRST)
        assert seen.screenshot is not None
        async with taking(15):
            assert (await driver.step(Navigate(url=site.url("/counter")))).title == "count 0"


async def test_a_session_taken_away_under_a_call_says_why(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    calls = [asyncio.create_task(driver.step(Wait(seconds=20))), asyncio.create_task(driver.step(FIRST))]
    await asyncio.sleep(0.3)
    await driver.release()
    for call in calls:
        with pytest.raises(StaleLease, match="released"):
            async with taking(5):
                await call
    assert site.count("click") == 0


# row 3


async def test_a_killed_browser_takes_only_its_own_sessions_and_is_replaced(new_worker: WorkerMaker, site: Site):
    async with new_worker(sessions=4, browsers=2) as worker, undisturbed(worker, site) as neighbour:
        theirs = held(neighbour).browser
        both = [await opened(worker, site.url("/counter")) for _ in range(2)]
        mine = [driver for driver in both if held(driver).browser is not theirs]
        assert mine
        dead = held(mine[0]).browser
        os.kill(dead.process.pid, signal.SIGKILL)
        for driver in mine:
            with pytest.raises(BrowserGone):
                async with taking(5):
                    await driver.step(FIRST)
        await until(lambda: sum(one.alive and not one.draining for one in worker.pool.browsers) == 2, within=10)
        assert worker.pool.retired["died"] == 1
        assert not dead.process.folder.exists()
        await until(lambda: worker.sessions.available == 4 - len(worker.sessions.leases.all()), within=5)
        fresh = [await opened(worker, site.url("/counter")) for _ in range(worker.sessions.available)]
        assert {held(driver).browser for driver in fresh} >= {b for b in worker.pool.browsers if b is not theirs}


async def test_the_files_of_a_session_are_gone_with_its_browser(worker: Worker):
    driver = await opened(worker, None)
    leased = held(driver)
    note = (driver.started.id, driver.started.lease.token, "note.txt")
    worker.sessions.put_file(*note, b"what it says")
    os.kill(leased.browser.process.pid, signal.SIGKILL)
    async with taking(5):
        await leased.context.connection.closed.wait()
    for _ in range(2):  # before the sweep finds out, and after
        with pytest.raises(BrowserGone):
            worker.sessions.put_file(*note, b"what it says now")
        with pytest.raises(BrowserGone):
            worker.sessions.file(*note)
        await until(lambda: leased not in worker.sessions.leases.all(), within=5)


async def test_pages_may_have_as_many_connections_as_their_sessions_are_counted_for(new_worker: WorkerMaker):
    async with new_worker(sessions=100, browsers=1) as worker:
        assert held(await opened(worker, None)).egress.max_connections >= 4000


async def test_a_frozen_browser_is_found_out_and_replaced_while_nobody_asks(new_worker: WorkerMaker, site: Site):
    async with new_worker(sessions=4, browsers=2) as worker, undisturbed(worker, site) as neighbour:
        worker.pool.patience = worker.pool.inspect_every = 1.5
        (frozen,) = [one for one in worker.pool.browsers if one is not held(neighbour).browser]
        driver = await opened(worker, site.url("/counter"))
        assert held(driver).browser is frozen
        members = [process.pid for process in frozen.process.members()]
        os.kill(frozen.process.pid, signal.SIGSTOP)
        await until(lambda: frozen not in worker.pool.browsers, within=10)
        with pytest.raises(BrowserGone):
            await driver.step(FIRST)
        assert worker.pool.retired == {"frozen": 1}
        assert not any(running(pid) for pid in members)
        await until(lambda: len(worker.pool.browsers) == 2, within=10)


async def test_a_browser_that_lets_go_of_a_context_late_keeps_its_other_sessions(new_worker: WorkerMaker, site: Site):
    async with new_worker(sessions=4, browsers=1, limits={"warm": 0}) as worker:
        stays, goes = [await opened(worker, site.url("/counter")) for _ in range(2)]
        (busy,) = worker.pool.browsers
        os.kill(busy.process.pid, signal.SIGSTOP)
        try:
            released = asyncio.create_task(goes.release())
            await asyncio.sleep(6)
        finally:
            os.kill(busy.process.pid, signal.SIGCONT)
        await released
        seen = await stays.step(FIRST)
        assert seen.screenshot is not None
        assert held(stays).browser is busy
        assert worker.pool.browsers == [busy]


async def test_a_frozen_browser_does_not_hold_up_the_replacement_of_another(new_worker: WorkerMaker, site: Site):
    async with new_worker(sessions=4, browsers=2, limits={"warm": 0}) as worker:
        frozen, dead = worker.pool.browsers
        os.kill(frozen.process.pid, signal.SIGSTOP)
        refused = asyncio.create_task(worker.pool.take())  # it waits for the frozen one
        await asyncio.sleep(0.2)
        os.kill(dead.process.pid, signal.SIGKILL)
        await until(lambda: worker.pool.launched == 3, within=10)
        os.kill(frozen.process.pid, signal.SIGKILL)
        with pytest.raises(Unavailable):
            await refused


async def test_a_spare_page_that_dies_while_it_is_made_ends_no_neighbour(
    new_worker: WorkerMaker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    async with new_worker(limits={"warm": 1}) as worker, undisturbed(worker, site):
        (browser,) = worker.pool.browsers
        await until(lambda: len(browser.spares) == 1, within=10)
        open_tab, died = Context.open_tab, 0

        async def dying(self: Context, **options: Any) -> Page:
            nonlocal died
            page = await open_tab(self, **options)
            if not died:
                died += 1
                page.channel.post("Page.crash")
                await page.channel.call("Runtime.evaluate", {"expression": "0"}, within=10)
            return page

        monkeypatch.setattr(Context, "open_tab", dying)
        await opened(worker, site.url("/counter"))
        await until(lambda: died == 1 and len(browser.spares) == 1, within=10)
        assert worker.pool.browsers == [browser]
        assert not worker.pool.retired


async def test_a_browser_whose_every_page_dies_is_replaced_and_its_sessions_go_on(
    new_worker: WorkerMaker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    async with new_worker(limits={"warm": 1}) as worker:
        driver = await opened(worker, site.url("/counter"))
        (old,) = worker.pool.browsers
        open_tab = Context.open_tab

        async def dying(self: Context, **options: Any) -> Page:
            if self.connection is old.connection:
                raise ConnectionClosed("the page went away")
            return await open_tab(self, **options)

        await until(lambda: bool(old.spares), within=10)
        monkeypatch.setattr(Context, "open_tab", dying)
        await old.drop(old.spares.popleft())
        await until(lambda: any(browser is not old and browser.spares for browser in worker.pool.browsers), within=20)
        assert worker.pool.retired == {"stillborn pages": 1}
        assert (await driver.step(FIRST)).title == "count 1"


async def test_a_browser_that_retires_while_a_session_begins_in_it_is_kept_for_that_session(
    new_worker: WorkerMaker, site: Site, monkeypatch: pytest.MonkeyPatch
):
    async with new_worker(limits={"warm": 0}) as worker:
        (old,) = worker.pool.browsers
        call = Channel.call

        async def slow(self: Channel, method: str, *given: Any, **options: Any) -> Any:
            if method == "Target.createBrowserContext" and not old.draining:
                old.draining = True
                old.news.set()
                await until(lambda: worker.pool.launched == 2, within=20)
            return await call(self, method, *given, **options)

        monkeypatch.setattr(Channel, "call", slow)
        driver = await opened(worker, site.url("/counter"))
        assert held(driver).browser is old
        assert (await driver.step(FIRST)).title == "count 1"
        await driver.release()
        await until(lambda: old not in worker.pool.browsers, within=10)


# row 5


def fake(folder: Path, script: str) -> Chromium:
    """An executable that is no browser, or only sometimes one."""
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Chromium(path=path, version="0", kind="headless-shell", why="a test wants it")


@asynccontextmanager
async def pool_of(found: Chromium, root: Path) -> AsyncIterator[Pool]:
    folder = WorkerFolder(root)
    pool = Pool(found, folder, 1, BrowserLimits(warm=0), SANDBOX, [])
    try:
        yield pool
    finally:
        await pool.close()
        folder.close()


def descriptors() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/fd").iterdir()}


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
async def test_a_chromium_that_dies_at_start_is_quoted_and_leaves_nothing(tmp_path: Path):
    async with pool_of(fake(tmp_path, "echo 'no usable sandbox!' >&2; exit 1"), tmp_path / "root") as pool:
        before = descriptors()
        with pytest.raises(BrowserError, match="no usable sandbox!") as refusal:
            async with taking(5):
                await pool.start()
        assert "user namespaces" in str(refusal.value)
        assert "WEBGYM_NO_SANDBOX=1" in str(refusal.value)
        pool.chromium = Chromium(path=tmp_path / "missing", version="0", kind="headless-shell", why="")
        with pytest.raises(BrowserError, match="No such file"):
            await pool.start()
        await asyncio.sleep(0.1)
        assert len(descriptors()) == len(before)
        assert not list(pool.folder.path.glob("browser-*"))


async def test_a_browsers_temporary_files_go_with_its_folder_unless_their_names_would_be_too_long(tmp_path: Path):
    found = fake(tmp_path, 'echo "temporary: $TMPDIR." >&2; exit 1')
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as short:
        for folder in (Path(short) / "browser", tmp_path / ("x" * 60)):
            folder.mkdir()
            with pytest.raises(BrowserError) as refusal:
                await ChromiumProcess.start(found, folder, sandbox=SANDBOX, switches=[])
            assert (f"temporary: {folder}." in str(refusal.value)) is (folder.parent == Path(short))


async def test_a_start_that_is_cancelled_leaves_nothing(tmp_path: Path):
    async with pool_of(fake(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60"), tmp_path / "root") as pool:
        starting = asyncio.create_task(pool.start())
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip() != "", within=5)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert not running(int((tmp_path / "pid").read_text()))
        assert not list(pool.folder.path.glob("browser-*"))


async def test_a_pool_that_cannot_launch_says_why_and_recovers_alone(tmp_path: Path):
    real = chromium.find(None).path
    broken = tmp_path / "broken"
    found = fake(tmp_path, f'if [ -e {broken} ]; then echo "out of order" >&2; exit 1; fi; exec {real} "$@"')
    async with pool_of(found, tmp_path / "root") as pool:
        await pool.start()
        keeping = asyncio.create_task(pool.maintain())
        broken.touch()
        os.kill(pool.browsers[0].process.pid, signal.SIGKILL)
        await until(lambda: bool(pool._problem), within=10)
        with pytest.raises(Unavailable, match=r"no browser is running: Chromium did not start.*out of order") as refusal:
            await pool.take()
        assert refusal.value.retry_after is not None
        broken.unlink()
        await until(lambda: any(browser.alive for browser in pool.browsers), within=10)
        browser, context = await pool.take()
        await pool.give_back(browser, context)
        keeping.cancel()


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
async def test_without_file_handles_a_launch_fails_and_the_next_one_works(tmp_path: Path):
    async with pool_of(chromium.find(None), tmp_path / "root") as pool:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken: list[int] = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(descriptors()) + 1, hard))
        try:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.dup(0))
            with pytest.raises((BrowserError, OSError), match="Too many open files"):
                await pool.start()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in taken:
                os.close(descriptor)
        assert not list(pool.folder.path.glob("browser-*"))
        await pool.start()


async def test_a_server_with_too_few_file_handles_refuses_to_start_and_says_so():
    serve = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        f"ulimit -n 200; exec {sys.executable} -m webgym.cli serve --port 0 --sessions 4",
        env={**os.environ, "WEBGYM_API_KEY": KEY},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(30):
        said, _ = await serve.communicate()
    assert serve.returncode not in (0, None)
    assert b"file handles" in said
    assert b"Traceback" not in said


def test_a_small_or_missing_shared_memory_is_not_used(tmp_path: Path):
    assert is_small(tmp_path / "missing")
    assert is_small(tmp_path, least=2**62)
    assert not is_small(tmp_path, least=1)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no mount namespaces here")
async def test_pages_are_drawn_with_next_to_no_shared_memory(tmp_path: Path):
    """In a mount namespace of its own, with 64 kB at /dev/shm, as containers have it."""
    code = (
        "import asyncio, pathlib\n"
        "from webgym.server import chromium\n"
        "from webgym.server.browser import start_browser\n"
        "from webgym.server.process import ChromiumProcess\n"
        "async def main():\n"
        f"    folder = pathlib.Path({str(tmp_path)!r}) / 'browser'; folder.mkdir()\n"
        f"    process = await ChromiumProcess.start(chromium.find(None), folder, sandbox={SANDBOX}, switches=[])\n"
        "    browser = await start_browser(process, max_download=0, warm=0)\n"
        "    page = (await browser.take()).active\n"
        "    shot = await page.channel.call('Page.captureScreenshot', {}, dict, within=20)\n"
        "    print('drawn', len(shot['data']) > 1000)\n"
        "    await browser.close()\n"
        "asyncio.run(main())\n"
    )
    run = await asyncio.create_subprocess_exec(
        "unshare",
        "--mount",
        "--map-root-user",
        "/bin/sh",
        "-c",
        f'mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77; exec {sys.executable} -c "$CODE"',
        env={**os.environ, "CODE": code},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        said, complaint = await run.communicate()
    if run.returncode == 77 or b"unshare failed" in complaint:
        pytest.skip("no mount namespaces here")
    assert said == b"drawn True\n", complaint.decode()


async def test_a_browser_whose_display_is_taken_for_long_is_not_a_frozen_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(display, "TURN_SECONDS", 0.5)
    async with pool_of(chromium.find(None), tmp_path / "root") as pool:
        pool.switches, pool.patience, pool.limits = display.ON_COMMAND, 5.0, BrowserLimits(warm=1)
        await pool.start()
        (browser,) = pool.browsers
        keeping = asyncio.create_task(pool.maintain())
        try:
            async with browser.display.undisturbed():  # as a page does that is being drawn
                await browser.drop(browser.spares.popleft())
                await asyncio.sleep(7)  # longer than its keeper waits for an answer
                assert browser.alive
                assert len(browser.contexts) <= 1, "what could not be made is not kept"
            await until(lambda: len(browser.spares) == 1, within=5)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)


# many browsers on few cores


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux schedules in batches")
async def test_every_thread_of_a_browser_lets_others_finish_and_ours_do_not_wait_for_them(worker: Worker, site: Site):
    driver = await opened(worker, site.url("/counter"))
    members = held(driver).browser.process.members()
    threads = [thread.id for one in members for thread in one.threads()]
    assert len(members) > 3
    assert {os.sched_getscheduler(thread) for thread in threads} == {os.SCHED_BATCH}
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


# a cross-site frame in its own process


async def test_a_frame_whose_process_died_is_no_longer_asked(site: Site, tmp_path: Path):
    folder = tmp_path / "browser"
    folder.mkdir()
    process = await ChromiumProcess.start(
        chromium.find(None),
        folder,
        sandbox=SANDBOX,
        switches=["--site-per-process", "--host-resolver-rules=MAP * 127.0.0.1"],
    )
    browser: Browser = await start_browser(process, max_download=0, warm=0)
    try:
        context = await browser.take()
        page = context.active
        await page.channel.call("Page.navigate", {"url": site.url("/counter")}, within=10)
        await page.until(lambda: page.url.endswith("/counter") and page.loaded, within=5)
        other = site.url("/counter", host="other.localhost")
        code = f"document.body.append(Object.assign(document.createElement('iframe'), {{src: {other!r}}}))"
        await page.channel.call("Runtime.evaluate", {"expression": code}, within=5)
        await until(lambda: len(page.children) == 1, within=5)
        (child,) = page.children.values()
        (await renderer_that_runs(process, lambda code: child.run(code, int, within=5))).kill()
        await until(lambda: not page.children, within=5)
        assert child.channel.detached
        assert context.alive
    finally:
        await browser.close()


# growing old


@pytest.mark.parametrize(("limits", "reason"), [({"max_sessions": 2}, "use"), ({"max_age": 1.5}, "age")])
async def test_a_browser_is_retired_without_disturbing_a_session(
    new_worker: WorkerMaker, site: Site, limits: dict[str, float], reason: str
):
    async with new_worker(sessions=3, limits=limits) as worker:
        old = worker.pool.browsers[0]
        stays = await opened(worker, site.url("/counter"))
        goes = await opened(worker, site.url("/counter"))
        assert held(stays).browser is held(goes).browser is old
        await goes.release()
        await until(lambda: worker.pool.retired[reason] >= 1, within=5)
        await until(lambda: any(not one.draining for one in worker.pool.browsers), within=10)
        assert old.alive
        assert (await stays.step(FIRST)).title == "count 1"
        assert held(await opened(worker, site.url("/counter"))).browser is not old
        await stays.release()
        await until(lambda: old not in worker.pool.browsers, within=10)
        assert not running(old.process.pid)


async def test_a_browser_is_retired_for_its_memory(new_worker: WorkerMaker, site: Site):
    async with new_worker(sessions=2, limits={"max_memory": 256}) as worker:
        old = worker.pool.browsers[0]
        worker.pool.inspect_every = 0.5
        stays = await opened(worker, site.url("/counter"))
        leased = held(stays)
        code = "window.kept = Array.from({length: 40}, (_, n) => new Array(1e6).fill(n + 0.5)).length"
        await leased.context.active.channel.call("Runtime.evaluate", {"expression": code}, within=20)
        await until(lambda: worker.pool.retired["memory"] == 1, within=10)
        assert (await stays.step(FIRST)).title == "count 1"
        await stays.release()
        await until(lambda: old not in worker.pool.browsers, within=10)


async def test_draining_gives_running_sessions_their_time(new_worker: WorkerMaker, site: Site):
    async with new_worker() as worker:
        await (await opened(worker, site.url("/counter"))).release()  # there was a moment without sessions before
        driver = await opened(worker, site.url("/counter"))
        draining = asyncio.create_task(worker.sessions.drain(10))
        await asyncio.sleep(0.3)
        assert (await driver.step(FIRST)).title == "count 1"
        with pytest.raises(Unavailable, match="shutting down"):
            await opened(worker, None)
        began = time.monotonic()
        await driver.release()
        await draining
        assert time.monotonic() - began < 3
