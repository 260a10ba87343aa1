"""MiniWoB++ in a real browser: every task starts by itself, ends, and leaves its reward where the verifier finds it."""

import asyncio
import random
import re
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from tests.browser.conftest import House, Visit, mark_called, picture
from tests.conftest import KEY, Driver, FleetMaker, WorkerMaker
from webgym import types as t
from webgym.judging.programmatic import WorldsJudge
from webgym.rollout.client import Client, Session
from webgym.server.protocol import NewSession, StorageState, Viewport
from webgym.server.worker import Worker
from webgym.store import Run
from webgym.tasks.files import write_tasks
from webgym.worlds.miniwob import record, suite
from webgym.worlds.miniwob.server import MiniWobServer, MiniWobSettings, Zoom, viewport
from webgym.worlds.miniwob.verify import verify

pytestmark = pytest.mark.asyncio(loop_scope="session")

SOME = (
    "ascending-numbers", "bisect-angle", "book-flight", "chase-circle", "choose-date", "click-button", "drag-box",
    "email-inbox", "flight.AA", "flight.Alaska-auto", "moving-items", "terminal",
)  # fmt: skip
AT_ONCE = 3


@pytest_asyncio.fixture(loop_scope="session")
async def miniwob() -> AsyncIterator[MiniWobServer]:
    async with MiniWobServer() as server:
        yield server


def size_of(name: str, zoom: int = 1) -> Viewport:
    width, height = viewport(name, zoom=zoom)
    return Viewport(width=width, height=height)


def kept_in(state: StorageState) -> str | None:
    """What the rollout puts into `Episode.state` for the host."""
    found = [c.value for c in state.cookies if c.name == record.COOKIE and c.domain == record.HOST]
    return found[0] if found else None


async def kept(driver: Driver) -> str | None:
    return kept_in(await driver.worker.sessions.storage(driver.started.id, driver.started.lease.token))


async def recorded(driver: Driver) -> record.Record:
    value = await kept(driver)
    assert value is not None, "the page kept no record"
    return record.read(value)


def judged(task: t.Task, value: str | None) -> t.Scored:
    episode = t.Episode(
        id="0" * 32, run="test", iteration=0, task=task, agent="script", width=160, height=210, steps=(),
        state={} if value is None else {record.HOST: value}, outcome=t.Answered(), started=0, ended=1,
    )  # fmt: skip
    verdict = verify(episode)
    assert isinstance(verdict, t.Scored)
    return verdict


# ── Every task ───────────────────────────────────────────────────────────────────────────────────────────────────


async def played_at_random(worker: Worker, server: MiniWobServer, name: str) -> record.Record:
    """Clicks at random until the page or the clock ends the task; the agent must not learn from the screen how it went."""
    chance, size, task = random.Random(name), size_of(name), suite.task(name, 7, origin=server.origin)
    request = NewSession(url=task.website, viewport=size, look=t.Look(image="none"), wait=60)
    driver = Driver(worker, await worker.sessions.create(request, None))
    try:
        before = await recorded(driver)
        assert before.starts == 1
        assert len(before.utterance) > 8, f"{name} asks for nothing"
        for _ in range(40):
            x, y = chance.uniform(0, size.width - 1), chance.uniform(50, size.height - 1)
            seen = await driver.step(t.Click(x=x, y=y), image="none", text=True)
            if "The task has ended." in (seen.text or ""):
                break
        else:
            raise AssertionError(f"{name} does not end")
        after = await recorded(driver)
        assert after.done
        assert (after.task, after.seed, after.starts) == (name, 7, 1)
        assert after.utterance == before.utterance
        assert judged(task, await kept(driver)).reward == (after.raw is not None and after.raw > 0)
        return after
    finally:
        await driver.release()


async def all_played(worker: Worker, names: Sequence[str]) -> list[record.Record]:
    free = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> record.Record:
        async with free:
            return await played_at_random(worker, server, name)

    async with MiniWobServer(MiniWobSettings(seconds=3)) as server, asyncio.TaskGroup() as group:
        running = [group.create_task(one(name), name=name) for name in names]
    return [task.result() for task in running]


async def test_some_tasks_of_every_sort_start_end_and_report_a_reward(house: House):
    ends = await all_played(house.worker, SOME)
    assert any(end.reason == "timed out" and end.raw == -1 for end in ends)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_task_starts_ends_and_reports_a_reward(new_worker: WorkerMaker):
    # A worker of its own: so many sessions would wear out the browser that the other tests share.
    async with new_worker(egress={"allow": ["*.localhost"]}) as worker:
        ends = await all_played(worker, suite.names())
    assert [end.task for end in ends] == list(suite.names())


# ── Solved through the whole server ──────────────────────────────────────────────────────────────────────────────


def called(seen: t.Observation, name: str, role: str | None = None) -> t.Mark:
    return next(mark for mark in seen.marks or () if mark.name == name and role in (None, mark.role))


async def click_test(session: Session, right: bool) -> None:
    asked = re.search(r"Click button (ONE|TWO)", session.observation.text or "")
    wanted = asked[1] if asked else "Click Me!"
    name = wanted if right else "TWO" if wanted == "ONE" else "ONE"
    await session.step(t.Click(element=called(session.observation, name).id))


async def click_button(session: Session, right: bool) -> None:
    asked = re.search(r'Click on the "(.+?)" button', session.observation.text or "")
    assert asked is not None
    buttons = [mark for mark in session.observation.marks or () if mark.role == "button"]
    await session.step(t.Click(element=next(mark.id for mark in buttons if (mark.name == asked[1]) == right)))


async def enter_text(session: Session, right: bool) -> None:
    asked = re.search(r'Enter "(.+?)" into', session.observation.text or "")
    assert asked is not None
    field = next(mark for mark in session.observation.marks or () if mark.role == "textbox")
    typed = t.Type(element=field.id, text=asked[1] if right else "something else")
    seen = await session.step(typed, t.Look(marks=True))
    await session.step(t.Click(element=called(seen, "Submit", "button").id))


async def test_easy_tasks_are_solved_by_marks_and_failed_by_wrong_moves(new_fleet: FleetMaker, miniwob: MiniWobServer):
    plays = [("click-test", click_test, (True,)), ("click-test-2", click_test, (True, False))]
    plays += [("click-button", click_button, (True, False)), ("enter-text", enter_text, (True, False))]
    allowed = {"allow": [f"*.localhost:{miniwob.port}"]}
    async with new_fleet(workers=1, egress=allowed) as fleet, Client(fleet.url, key=KEY) as client:
        for name, solve, ways in plays:
            for right in ways:
                # With this seed click-button has several buttons to be wrong with.
                task = suite.task(name, 5, origin=miniwob.origin)
                look = t.Look(marks=True, text=True)
                async with client.open(url=task.website, viewport=size_of(name), look=look) as session:
                    assert judged(task, kept_in(await session.storage())).reward == 0, "nothing was done yet"
                    await solve(session, right)
                    value = kept_in(await session.storage())
                    assert value is not None
                    raw = record.read(value).raw
                    assert raw is not None
                    assert raw == 1 if right else raw <= 0, name
                    assert judged(task, value).reward == right


# ── Coordinates and zoom ─────────────────────────────────────────────────────────────────────────────────────────


def middle_of(seen: t.Observation, colour: tuple[int, int, int]) -> tuple[float, float]:
    """The middle of what has this colour."""
    shot = picture(seen)
    same = [(x, y) for y in range(shot.height) for x in range(shot.width) if shot.getpixel((x, y)) == colour]
    assert same, f"nothing is {colour}"
    xs, ys = [x for x, _ in same], [y for _, y in same]
    return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2


@pytest.mark.parametrize(("zoom", "times"), [(1, 1), (2, 2), ("fit", 3)])
async def test_a_drag_by_pixels_does_the_same_at_every_zoom(visit: Visit, miniwob: MiniWobServer, zoom: Zoom, times: int):
    url, options = miniwob.url("drag-box", 3, zoom=zoom), {"viewport": size_of("drag-box", times)}
    driver = await visit(url, options=options, image="png")
    red, blue = middle_of(driver.first, (255, 0, 0)), middle_of(driver.first, (0, 0, 255))
    await driver.step(t.Drag(x=red[0], y=red[1], to_x=blue[0], to_y=blue[1]))
    # The button has no colour of its own; its place comes from the marks of the page at zoom 1.
    plain = await visit(miniwob.url("drag-box", 3), options={"viewport": size_of("drag-box")}, marks=True)
    submit = mark_called(plain.first, "Submit").box
    await driver.step(t.Click(x=(submit.x + submit.width / 2) * times, y=(submit.y + submit.height / 2) * times))
    assert (await recorded(driver)).raw == 1


# ── Seeds, and one try only ──────────────────────────────────────────────────────────────────────────────────────


async def test_the_same_seed_is_the_same_problem_and_another_seed_is_not(visit: Visit, miniwob: MiniWobServer):
    seen = []
    for seed in (11, 11, 12):
        driver = await visit(miniwob.url("enter-text", seed), options={"viewport": size_of("enter-text")}, image="png")
        assert driver.first.screenshot is not None
        seen.append((driver.first.screenshot.sha256, (await recorded(driver)).utterance))
        await driver.release()
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]
    assert seen[0][1] != seen[2][1]


async def test_test_data_differs_where_a_task_keeps_some_apart(visit: Visit, miniwob: MiniWobServer):
    asked = []
    for seed in (4, suite.TEST_SEEDS + 4):
        task = suite.task("click-test-transfer", seed, origin=miniwob.origin)
        asked.append((await recorded(await visit(task.website))).utterance)
    assert asked == ["Click button ONE.", "Click button TWO."]


async def test_a_failed_task_cannot_be_tried_again(visit: Visit, miniwob: MiniWobServer):
    url, options = miniwob.url("click-test-2", 5), {"viewport": size_of("click-test-2")}
    driver = await visit(url, options=options, marks=True)
    await driver.step(t.Click(element=mark_called(driver.first, "TWO").id))
    lost = await recorded(driver)
    assert lost.done
    assert lost.raw == -1
    other = miniwob.url("click-test", 5)
    for action, said in (
        (t.Reload(), "The task has ended."),
        (t.Navigate(url=other), "This session plays another task."),
        (t.Navigate(url=url), "The task has ended."),
    ):
        seen = await driver.step(action, marks=True, text=True)
        assert seen.marks == (), "there is nothing left to click on"
        assert said in (seen.text or "")
        assert "-1" not in (seen.text or ""), "the screen does not tell the reward"
        assert await recorded(driver) == lost


async def test_the_first_end_of_two_tabs_stands(visit: Visit, miniwob: MiniWobServer):
    url = miniwob.url("click-test-2", 5)
    driver = await visit(url, options={"viewport": size_of("click-test-2")}, marks=True)
    second = await driver.step(t.NewTab(url=url), marks=True)
    await driver.step(t.Click(element=mark_called(second, "TWO").id))
    lost = await recorded(driver)
    assert (lost.raw, lost.starts) == (-1, 2)
    first = next(tab.id for tab in second.tabs if not tab.active)
    seen = await driver.step(t.SwitchTab(tab=first), marks=True)
    seen = await driver.step(t.Click(element=mark_called(seen, "ONE").id), text=True)
    assert seen.text == "The task has ended."
    assert await recorded(driver) == lost


async def test_another_task_cannot_be_played_instead(visit: Visit, miniwob: MiniWobServer):
    driver = await visit(miniwob.url("click-test-2", 5), options={"viewport": size_of("click-test")})
    begun = await recorded(driver)
    seen = await driver.step(t.Navigate(url=miniwob.url("click-test", 5)), text=True)
    assert "This session plays another task." in (seen.text or "")
    assert await recorded(driver) == begun
    await driver.step(t.Navigate(url=miniwob.url("click-test-2", 5)))
    assert (await recorded(driver)).starts == 2


# ── Settings ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_with_the_cover_an_episode_begins_when_it_is_clicked(visit: Visit):
    async with MiniWobServer(MiniWobSettings(cover=True)) as server:
        driver = await visit(server.url("click-test", 5), options={"viewport": size_of("click-test")}, text=True)
        assert "START" in (driver.first.text or "")
        assert await kept(driver) is None
        await driver.step(t.Click(x=80, y=105))
        assert (await recorded(driver)).starts == 1


async def test_time_and_reward_are_shown_and_decay_only_if_asked_for(visit: Visit, miniwob: MiniWobServer):
    shown = MiniWobSettings(timer=True, decay=True, show_reward=True, seconds=60)
    async with MiniWobServer(shown) as server:
        for one, all_of_it in ((server, True), (miniwob, False)):
            width, height = viewport("click-test", timer=all_of_it)
            options = {"viewport": Viewport(width=width, height=height)}
            driver = await visit(one.url("click-test", 5), options=options, marks=True, text=True)
            assert ("60sec" in (driver.first.text or "")) == all_of_it
            assert "Last reward" not in (driver.first.text or "")
            seen = await driver.step(t.Click(element=mark_called(driver.first, "Click Me!").id), text=True)
            end = await recorded(driver)
            assert end.raw == 1
            assert end.reward is not None
            assert (end.reward < 1) == all_of_it
            assert ("Reward: 1" in (seen.text or "")) == all_of_it


async def test_a_rollout_of_miniwob_is_judged_by_the_pages_own_record(tmp_path: Path, miniwob: MiniWobServer) -> None:
    """`webgym rollout` as a user calls it: what the pages kept must reach the verifier."""
    names, port = ("click-test", "click-button", "click-test-2"), urlsplit(miniwob.origin).port
    write_tasks(tmp_path / "tasks.parquet", [suite.task(name, 1, origin=miniwob.origin) for name in names])
    command = [
        sys.executable, "-m", "webgym.cli", "rollout", f"--run={tmp_path}/run", f"--tasks={tmp_path}/tasks.parquet",
        f"--count={len(names)}", "--agent=random", "--engine.slots=2", f"--serve.egress.allow=*.localhost:{port}",
        "--engine.caps.train.easy=4", "--engine.caps.train.medium=4", "--engine.caps.train.hard=4",
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == 0, said.decode()
    with Run.open(tmp_path / "run", read_only=True) as run:
        verdicts = {one.episode: one.verdict for one in run.verdicts.read(WorldsJudge.name)}
        assert {one.id for one in run.planned(0)} == verdicts.keys()
    assert [verdict.kind for verdict in verdicts.values()] == ["scored"] * len(names), verdicts
