"""The monitor in a real browser: cells follow events, a click shows the episode, and nothing a page said executes."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from PIL import Image
from playwright.async_api import Browser, Error, async_playwright, expect
from playwright.async_api import Page as Tab

from tests.conftest import SANDBOX
from tests.unit.ui.playing import Page, Play, make_task
from webgym.server import chromium
from webgym.store import Run
from webgym.types import Cancelled, Infra
from webgym.ui.archive import Archive
from webgym.ui.folder import FolderBoard
from webgym.ui.serving import monitoring
from webgym.watching import watching

pytestmark = pytest.mark.asyncio(loop_scope="module")

FRAME_MS = 1000 / 60
HOSTILE = (
    '"\'></title></script><img src=x onerror="window.owned=1"><svg onload=window.owned=1><script>window.owned=1</script>'
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        found = chromium.find().path
        launched = await playwright.chromium.launch(executable_path=found, chromium_sandbox=SANDBOX)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: Browser) -> AsyncIterator[Tab]:
    """A window that fails the test for any error of the page's script."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    page.set_default_timeout(15_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    yield page
    await context.close()
    assert wrong == []


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run") as made:
        yield made


def picture(run: Run, colour: str) -> str:
    out = io.BytesIO()
    Image.new("RGB", (640, 384), colour).save(out, "JPEG")
    return run.images.put(out.getvalue(), "jpeg")


async def test_cells_change_when_events_come(run: Run, tab: Tab):
    play = Play(run, [make_task(n) for n in range(30)])
    first, second = play.lives[0], play.lives[1]
    async with watching(play.events, run) as address:
        await tab.goto(address)
        await expect(tab.locator("#total")).to_have_text("of 30")
        before = await tab.evaluate(_PIXELS)
        await tab.locator("#grid").focus()
        await tab.keyboard.press("Home")
        await expect(tab.locator("#said")).to_contain_text("planned, step 0")
        play.events.begin(first.id, first.task, 0, limit=10)
        play.events.doing(first.id, "model", step=4)
        play.events.end(second.id, Infra(reason="the browser died"))
        await expect(tab.locator(".chip", has_text="model").locator("b")).to_have_text("1")
        await expect(tab.locator("#tip")).to_contain_text("model · step 4 of at most")
        assert await tab.evaluate(_PIXELS) != before
        await tab.keyboard.press("ArrowRight")
        await expect(tab.locator("#said")).to_contain_text("failed, step 0")
        await expect(tab.locator("#tip")).to_contain_text("the browser died")
        play.events.say("draining")
        await expect(tab.locator("#notice")).to_have_text("draining")


async def test_the_bar_of_a_run_that_is_done_reaches_the_end(run: Run, tab: Tab):
    play = Play(run, [make_task(0)])
    async with watching(play.events, run) as address:
        play.events.end(play.lives[0].id, Infra(reason="the browser died"))
        await tab.goto(address)
        await expect(tab.locator("#progress")).to_have_attribute("aria-label", "1 of 1 ended")
        assert await tab.evaluate(_LEFT_OF_BAR) < 0.5


async def test_a_click_shows_the_screenshot_and_the_history_as_it_grows(run: Run, tab: Tab):
    pages = [
        Page(f"http://shop.localhost/{n}", f"Page {n}", picture(run, colour)) for n, colour in enumerate(("red", "blue"))
    ]
    play = Play(run, [make_task(0)], pages=pages)
    life = play.lives[0]
    async with watching(play.events, run, task=play.tasks.get) as address:
        for _ in range(5):
            play.move(1)
        assert len(life.steps) == 1
        await tab.goto(address)
        await expect(tab.locator("#total")).to_have_text("of 1")
        await tab.locator("#cells").click(position={"x": 10, "y": 10})
        await expect(tab.locator("#instruction")).to_have_text(life.task.instruction)
        await expect(tab.locator("#panel")).to_contain_text("the price is named")
        await expect(tab.locator(".history button")).to_have_count(1)
        image = tab.locator(".screen img")
        await expect(image).to_have_attribute("src", f"/images/{play.events.view(life.id).screenshot}")
        await expect(image).to_have_js_property("naturalWidth", 640)
        while len(life.steps) < 2:
            play.move(1)
        await expect(tab.locator(".history button")).to_have_count(2)
        await tab.locator(".history button").first.click()
        await expect(image).to_have_attribute("src", f"/images/{life.steps[0].screenshot}")
        await tab.keyboard.press("Escape")
        await expect(tab.locator("#panel")).to_be_hidden()


async def test_nothing_executes_that_a_page_a_model_or_a_task_said(run: Run, tab: Tab):
    tasks = [make_task(n, HOSTILE, website=f"http://x{HOSTILE}") for n in range(3)]
    hostile = Page(
        f"javascript:window.owned=1//{HOSTILE}", HOSTILE, run.images.put(b"<svg onload='window.owned=1'/>", "png")
    )
    play = Play(run, tasks, pages=[hostile])
    under_way, failed, kept = play.lives
    play.run.record(failed.id, Cancelled(reason="straggler", detail=HOSTILE))
    play.events.end(failed.id, Cancelled(reason="straggler", detail=HOSTILE))
    play.lives = [kept]
    while kept.doing not in ("done", "failed", "cancelled"):
        play.move(1, keep=True)
    play.lives = [under_way]
    for _ in range(5):
        play.move(1)
    play.events.say(HOSTILE)
    async with watching(play.events, run, agent=HOSTILE, task=play.tasks.get) as address:
        for view in ("", "view=episodes&"):
            for life in (under_way, failed, kept):
                await tab.goto("about:blank")
                await tab.goto(f"{address}#{view}episode={life.id}")
                await expect(tab.locator("#panel h2")).to_be_visible()
                await expect(tab.locator("#notice")).to_have_text(HOSTILE)
        await expect(tab.locator("#lines button", has_text="onerror")).to_have_text(HOSTILE)
        await tab.locator(".history button").first.click()
        await expect(tab.locator(".reply")).to_have_text(f"I see {HOSTILE}")
        await asyncio.sleep(0.5)
        assert await tab.evaluate("window.owned") is None
        assert await tab.locator("main script, #panel script, #panel svg[onload], [onerror], #lines img").count() == 0
        assert await tab.locator("a[href^='javascript']").count() == 0
        # And had something been parsed, the policy would have held it.
        with pytest.raises(Error, match="TrustedHTML"):
            await tab.evaluate("document.body.innerHTML = '<img src=x onerror=window.owned=1>'")
        await tab.evaluate("() => { try { document.body.setAttribute('onclick', 'window.owned=1') } catch {} }")
        await tab.locator("#run").click()
        assert await tab.evaluate("window.owned") is None


async def test_a_finished_run_is_listed_filtered_and_stepped_through(run: Run, tab: Tab):
    pages = [
        Page(f"http://shop.localhost/{n}", f"Page {n}", picture(run, colour)) for n, colour in enumerate(("red", "blue"))
    ]
    play = Play(run, [make_task(n) for n in range(60)], pages=pages)
    while any(life.doing not in ("done", "failed", "cancelled") for life in play.lives):
        play.move(60, keep=True)
    passed = play.events.counts().rewarded
    archive = Archive(Run.open(run.path, read_only=True))
    async with monitoring(FolderBoard(archive), archive, read=True) as address:
        await tab.goto(address)
        await expect(tab.locator("#link")).to_have_text("recorded")
        await expect(tab.locator("#judged")).to_contain_text(f"{passed} of ")
        await tab.locator("#to-episodes").click()
        await expect(tab.locator("#page")).to_have_text("page 1 of 2")
        await tab.locator("#by-reward").select_option("1")
        await expect(tab.locator("#found")).to_have_text(f"{passed} of 60 episodes")
        await tab.locator("#lines button").first.click()
        await expect(tab.locator("#panel")).to_contain_text("Verdict of stand-in: success")
        await expect(tab.locator(".fact.met")).to_have_count(2)
        await tab.locator("[data-keep=back]").click()
        await tab.keyboard.press("ArrowLeft")
        await expect(tab.locator(".screen .aim")).to_be_visible()


async def test_two_thousand_episodes_update_within_a_frame(run: Run, tab: Tab):
    play = Play(run, [make_task(n) for n in range(2000)])
    for _ in range(20):
        play.move(150)
    async with watching(play.events, run) as address:
        await tab.goto(address)
        await expect(tab.locator("#total")).to_have_text("of 2,000")
        await asyncio.sleep(1)
        cdp = await tab.context.new_cdp_session(tab)
        # The processor's time, not the clock's: a busy machine makes frames late, not costly.
        await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        await tab.evaluate(_COUNT_UPDATES)
        before = await _task_seconds(cdp)
        for _ in range(20):  # 600 changes a second
            play.move(120)
            await asyncio.sleep(0.2)
        spent = await _task_seconds(cdp) - before
        updates = await tab.evaluate("window.updates")
    assert updates >= 8
    each = 1000 * spent / updates
    print(f"{each:.1f} ms of the page's thread an update, {updates} updates of 2,000 episodes")  # noqa: T201
    assert each < FRAME_MS


async def _task_seconds(cdp: object) -> float:
    metrics = (await cdp.send("Performance.getMetrics"))["metrics"]  # type: ignore[attr-defined]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


_LEFT_OF_BAR = """() => {
  const bar = document.querySelector('#progress'), full = [...bar.children].map((part) => part.getBoundingClientRect().width)
  return bar.getBoundingClientRect().width - full.reduce((sum, width) => sum + width, 0)
}"""
_PIXELS = "[...document.getElementById('cells').getContext('2d').getImageData(0, 0, 20, 20).data].join()"
_COUNT_UPDATES = """() => {
  window.updates = 0
  new MutationObserver(() => { window.updates += 1 }).observe(
    document.getElementById('legend'), {subtree: true, childList: true, characterData: true})
}"""
