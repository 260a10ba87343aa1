"""Settling: an observation shows what a person would see once the page has come to rest, and no page can hold it up."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.browser.conftest import House, Visit, colour_at
from tests.site import images
from webgym import types as t
from webgym.server import actions, cdp, display
from webgym.server.cdp import Channel, Connection
from webgym.server.display import Display
from webgym.server.page import Page
from webgym.server.settle import SettleLimits, settle

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUIET_CAP = 2.0  # tests.conftest.QUICK


async def test_lazy_images_are_in_the_picture_after_a_scroll(visit: Visit, house: House):
    page = await visit("/live/lazy-images", image="png")
    seen = await page.step(t.Scroll(dy=3500), image="png")
    shown = await house.ask(
        page,
        """[...document.images].map((image, n) => [n, image.getBoundingClientRect()])
           .filter(([n, box]) => box.top > 0 && box.bottom < innerHeight)
           .map(([n, box]) => [n, Math.round(box.x + 30), Math.round(box.y + 30)])""",
        list[tuple[int, int, int]],
    )
    assert shown
    for n, x, y in shown:
        assert colour_at(seen, x, y) == images.colour(n)


async def test_a_transition_has_ended(visit: Visit):
    page = await visit("/live/transition", image="png")
    assert colour_at(page.first, 380, 500) == (11, 92, 173), "the panel has slid in"
    seen = await page.step(t.Click(x=100, y=40), image="png")
    assert colour_at(seen, 715, 210) == (40, 160, 80), "the box has arrived and is green"
    assert colour_at(seen, 70, 210) == (255, 255, 255)


async def test_an_animation_by_frames_has_counted_to_its_end(visit: Visit):
    page = await visit("/live/raf-counter")
    assert page.first.title == "100"
    assert (await page.step(t.Click(x=100, y=40))).title == "100"


async def test_an_endless_animation_costs_one_cap(visit: Visit):
    page = await visit("/live/raf-forever")
    began = time.monotonic()
    seen = await page.step(t.Click(x=100, y=40), text=True)
    assert time.monotonic() - began < QUIET_CAP + 3
    assert seen.settled.ms < QUIET_CAP * 1000 + 1000
    assert seen.settled.capped == ("quiet",)
    assert "Clicks: 1" in (seen.text or "")


async def test_what_is_fetched_is_rendered(visit: Visit):
    page = await visit("/live/fetch-render")
    assert page.first.title == "Arrived"
    assert (await page.step(t.Click(x=100, y=40))).title == "Arrived"


async def test_content_appears_when_it_is_scrolled_into_view(visit: Visit):
    page = await visit("/live/intersection")
    assert page.first.title == "20 items"
    assert (await page.step(t.Scroll(dy=100_000))).title == "40 items"


async def test_what_came_while_a_slow_machine_drew_is_shown_too(visit: Visit, monkeypatch: pytest.MonkeyPatch):
    """The page said that it rested and was drawn long after; by then its request had ended: it gets time to show that."""
    frame = Display._frame

    async def slowly(*given: Any, **more: Any) -> Any:
        drawn = await frame(*given, **more)
        await asyncio.sleep(0.3)
        return drawn

    page = await visit("/live/intersection")
    assert page.first.title == "20 items"
    monkeypatch.setattr(Display, "_frame", slowly)
    assert (await page.step(t.Scroll(dy=100_000))).title == "40 items"


async def test_a_page_is_asked_whether_it_is_busy_unless_it_answered_just_now(
    visit: Visit, house: House, monkeypatch: pytest.MonkeyPatch
):
    """Every frame that a page has to be asked for first costs a way there and back; input may make it busy any time."""
    page = await visit("/docs-long")
    channel = house.worker.sessions.leases.find(page.started.id, page.started.lease.token).context.active.channel
    asked: list[str] = []
    send = Connection.send

    def spy(self: Connection, to: Channel, method: str, params: dict[str, Any] | None) -> Any:
        if to is channel and method == "Runtime.evaluate" and params and params["expression"] == "0":
            asked.append(method)
        return send(self, to, method, params)

    monkeypatch.setattr(Connection, "send", spy)
    monkeypatch.setattr(cdp, "AWAKE_SECONDS", 60.0)
    await page.step(t.Scroll(dy=100))
    assert len(asked) == 0
    await page.step(t.Click(x=900, y=500))
    assert len(asked) == 1
    monkeypatch.setattr(cdp, "AWAKE_SECONDS", 0.0)
    await page.step(t.Scroll(dy=100))
    assert len(asked) > 3


@asynccontextmanager
async def neighbours_of(page: Page) -> AsyncIterator[None]:
    """As with many sessions: some other page is always being drawn."""

    async def draw() -> None:
        while True:
            async with page._display.undisturbed():
                await asyncio.sleep(0.02)

    drawing = asyncio.create_task(draw())
    try:
        yield
    finally:
        drawing.cancel()
        await asyncio.gather(drawing, return_exceptions=True)


async def test_whatever_moves_has_come_to_rest_beside_neighbours_that_are_drawn_too(visit: Visit, house: House):
    slides, counts, grows = [
        await visit(f"/live/{name}", image="png") for name in ("transition", "raf-counter", "intersection")
    ]
    async with neighbours_of(house.context(slides).active):
        seen = await slides.step(t.Click(x=100, y=40), image="png")
    assert colour_at(seen, 715, 210) == (40, 160, 80), "the box has arrived and is green"
    async with neighbours_of(house.context(counts).active):
        assert (await counts.step(t.Click(x=100, y=40))).title == "100"
    async with neighbours_of(house.context(grows).active):
        assert (await grows.step(t.Scroll(dy=100_000))).title == "40 items"


async def test_where_neighbours_wait_for_frames_a_calm_page_takes_few(
    visit: Visit, house: House, monkeypatch: pytest.MonkeyPatch
):
    """An agent alone gets a picture that is taken while the page is watched, which costs two more frames; among others,
    each of them would wait for those."""
    page = await visit("/docs-long")
    context = house.context(page)
    taken: list[bool] = []
    send = Connection.send

    def spy(self: Connection, to: Channel, method: str, params: dict[str, Any] | None) -> Any:
        if to is context.active.channel and method == "HeadlessExperimental.beginFrame":
            taken.append("screenshot" in (params or {}))
        return send(self, to, method, params)

    monkeypatch.setattr(actions, "PROMPTLY", 5.0)  # on however busy a machine
    monkeypatch.setattr(display, "AFTER_FIRST", 5.0)
    await page.step(t.Key(keys=("Shift",)))  # until then nobody knows that it is calm
    monkeypatch.setattr(Connection, "send", spy)
    await page.step(t.Key(keys=("Shift",)))
    assert taken == [True, False, False]
    taken.clear()
    async with neighbours_of(context.active):
        await page.step(t.Key(keys=("Shift",)))
    assert taken == [False, True]
    taken.clear()
    await page.step(t.Key(keys=("Shift",)))
    assert taken == [True, False, False], "it has not been taken for a page that moves"


async def test_suggestions_have_come_after_typing(visit: Visit):
    page = await visit("/live/debounce")
    assert (await page.step(t.Type(x=100, y=40, text="ap"))).title == "apple apricot"
    assert (await page.step(t.Key(keys=("r",)))).title == "apricot"


async def test_an_application_of_one_page_shows_its_next_view(visit: Visit, house: House):
    page = await visit("/live/spa")
    assert page.first.title == "Application home"
    seen = await page.step(t.Click(x=280, y=40))
    assert (seen.title, seen.url) == ("Application about", house.site.url("/live/spa/about"))
    seen = await page.step(t.Back())
    assert (seen.title, seen.url) == ("Application home", house.site.url("/live/spa"))


async def test_a_short_timer_has_fired(visit: Visit):
    page = await visit("/live/late-timer")
    assert (await page.step(t.Click(x=100, y=40))).title == "after"


async def test_a_late_font_has_been_waited_for(visit: Visit, house: House):
    page = await visit("/live/fonts")
    assert await house.ask(page, "document.fonts.status", str) == "loaded"
    assert page.first.settled.capped == ()


async def test_changes_inside_a_shadow_root_are_waited_for(visit: Visit, house: House):
    page = await visit("/marks")
    await house.ask(
        page,
        """(() => {
            const button = document.querySelector('#host').shadowRoot.querySelector('button');
            button.onclick = () => {
                let n = 0;
                const tick = () => { button.textContent = 'step ' + ++n; if (n < 20) setTimeout(tick, 25); };
                setTimeout(tick, 25);
            };
            return null;
        })()""",
        type(None),
    )
    before = await page.look(marks=True, image="none")
    button = next(mark for mark in before.marks or () if mark.name == "In a shadow root")
    seen = await page.step(t.Click(element=button.id), marks=True, image="none")
    assert "step 20" in [mark.name for mark in seen.marks or ()]


@pytest.mark.parametrize("path", ["/live/poll", "/live/stream", "/live/websocket"])
async def test_an_open_connection_does_not_stall_a_step(visit: Visit, path):
    page = await visit(path)
    assert page.first.settled.ms < 1500
    seen = await page.step(t.Click(x=100, y=40))
    assert seen.settled.ms < 1500
    assert seen.settled.capped == ()


async def test_the_answer_over_a_websocket_is_seen(visit: Visit):
    page = await visit("/live/websocket")
    assert (await page.step(t.Click(x=100, y=40))).title == "echo click 1"


async def test_a_page_at_rest_costs_little_more_than_the_quiet_time(visit: Visit):
    page = await visit("/form")
    best = min([(await page.step(t.Click(x=900, y=700))).settled.ms for _ in range(4)])
    assert best < 200


async def test_address_status_and_title_belong_to_the_same_page(visit: Visit, house: House):
    page = await visit(None)
    for path, status, title in [
        ("/form", 200, "Form"),
        ("/status/404", 404, "Status 404"),
        ("/counter", 200, "count 0"),
    ] * 2:
        seen = await page.step(t.Navigate(url=house.site.url(path)), image="none")
        assert (seen.url, seen.status, seen.title) == (house.site.url(path), status, title)


async def test_a_redirect_by_script_is_followed(visit: Visit, house: House):
    page = await visit("/counter")
    await house.ask(page, "document.getElementById('go').setAttribute('onclick', 'location = \"/form\"'); null", type(None))
    seen = await page.step(t.Click(x=100, y=40))
    assert (seen.title, seen.status) == ("Form", 200)


async def test_a_document_that_was_long_in_coming_is_told_of_and_not_its_predecessor(visit: Visit, house: House):
    page = await visit("/counter")
    await house.ask(page, "setTimeout(() => { location = '/live/view?name=late&delay=1500' }, 30); null", type(None))
    rest = await settle(house.context(page).active, SettleLimits(quiet=0.3, network=0.3))
    assert rest.page.title == await house.ask(page, "document.title", str) == ""
    assert "View late" in await house.ask(page, "document.body.innerText", str)


async def test_a_page_that_goes_on_to_another_for_ever_holds_nobody_up(visit: Visit, house: House):
    page = await visit("/counter")
    tab = house.context(page).active
    restless = {"source": "addEventListener('load', () => setTimeout(() => location.reload(), 30))"}
    await tab.channel.call("Page.addScriptToEvaluateOnNewDocument", restless, within=5)
    hits = house.site.hits["/counter"]
    tab.load_again()
    rest = await settle(tab, SettleLimits(commit=600, quiet=600, network=600))
    assert "commit" in rest.capped
    assert house.site.hits["/counter"] - hits < 60


NAMED = """
<title>Named</title><img name="getAnimations" src="/live/image/1.png"><img name="fonts" src="/live/image/2.png">
<form name="images"><input name="0"><input name="length"></form>
<form id="moved" style="transition: margin 0.2s"><input name="getBoundingClientRect"></form>
"""


async def test_a_page_comes_to_rest_whatever_its_images_and_forms_are_called(visit: Visit, house: House):
    page = await visit("/status/200", image="none")
    await house.ask(page, f"document.documentElement.setHTMLUnsafe({json.dumps(NAMED)}); null", type(None))
    seen = await page.look()
    assert (seen.title, seen.settled.capped, seen.notes) == ("Named", (), ())
    await house.ask(page, "document.querySelector('#moved').style.marginLeft = '200px'; null", type(None))
    seen = await page.look()
    assert (seen.settled.capped, seen.notes) == ((), ())
    assert seen.settled.ms > 150, "what moved was waited for"
