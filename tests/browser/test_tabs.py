"""Tabs: exactly one is active, it is what actions act on and observations show, and a session always has one."""

from typing import Any

import pytest

from tests.browser.conftest import House, Visit
from webgym import types as t

pytestmark = pytest.mark.asyncio(loop_scope="session")


def active(seen: t.Observation) -> int:
    (tab,) = (tab for tab in seen.tabs if tab.active)
    return tab.id


async def test_a_new_tab_is_empty_and_active(visit: Visit):
    page = await visit("/counter")
    seen = await page.step(t.NewTab())
    assert (seen.url, active(seen), len(seen.tabs)) == ("about:blank", 2, 2)
    assert seen.tabs[0].title == "count 0"


async def test_tabs_are_switched_and_keep_their_state(visit: Visit, house: House):
    page = await visit("/counter")
    await page.step(t.Click(x=100, y=40))
    seen = await page.step(t.NewTab(url=house.site.url("/form")))
    assert (seen.title, seen.status, active(seen)) == ("Form", 200, 2)
    seen = await page.step(t.SwitchTab(tab=1))
    assert (seen.title, active(seen)) == ("count 1", 1)
    assert (await page.step(t.Click(x=100, y=40))).title == "count 2"


async def test_a_link_to_a_new_tab_activates_it(visit: Visit, house: House):
    page = await visit("/tabs")
    seen = await page.step(t.Click(x=640, y=40))
    assert (seen.title, seen.url, seen.status) == ("History a", house.site.url("/history/a"), 200)
    assert [tab.title for tab in seen.tabs] == ["Tab one", "History a"]


async def test_a_window_that_a_script_opens_is_a_tab_like_any_other(visit: Visit):
    page = await visit("/popup")
    seen = await page.step(t.Click(x=100, y=40))
    assert (seen.title, active(seen)) == ("Popup 1", 2)
    assert seen.screenshot is not None
    assert (seen.screenshot.width, seen.screenshot.height) == (1280, 768)
    await page.step(t.SwitchTab(tab=1))
    seen = await page.step(t.Click(x=280, y=40))
    assert (seen.title, len(seen.tabs)) == ("Popup 2", 3)


async def test_a_tab_keeps_locale_and_time_zone_when_the_one_that_opened_it_closes(visit: Visit, house: House):
    """The two share a process, and Chromium has one of each a process."""
    page = await visit("/popup", options={"locale": "de-DE", "time_zone": "Asia/Tokyo"})
    assert len((await page.step(t.Click(x=100, y=40))).tabs) == 2
    where = "[Intl.DateTimeFormat().resolvedOptions().timeZone, Intl.NumberFormat().resolvedOptions().locale]"
    assert await house.ask(page, where, list) == ["Asia/Tokyo", "de-DE"]
    await page.step(t.CloseTab(tab=1))
    assert await house.ask(page, where, list) == ["Asia/Tokyo", "de-DE"]
    await page.step(t.Reload())
    assert await house.ask(page, where, list) == ["Asia/Tokyo", "de-DE"]


async def test_a_control_click_opens_a_tab(visit: Visit):
    page = await visit("/history/a")
    seen = await page.step(t.Click(x=100, y=40, modifiers=("Control",)))
    assert len(seen.tabs) == 2


async def test_closing_the_active_tab_shows_the_one_before(visit: Visit):
    page = await visit("/counter")
    await page.step(t.NewTab())
    seen = await page.step(t.CloseTab())
    assert (seen.title, active(seen), len(seen.tabs)) == ("count 0", 1, 1)


async def test_another_tab_is_closed_without_leaving_this_one(visit: Visit, house: House):
    page = await visit("/counter")
    await page.step(t.NewTab(url=house.site.url("/form")))
    seen = await page.step(t.CloseTab(tab=1))
    assert (seen.title, active(seen), len(seen.tabs)) == ("Form", 2, 1)


async def test_closing_the_last_tab_leaves_an_empty_one(visit: Visit, house: House):
    page = await visit("/counter")
    seen = await page.step(t.CloseTab())
    assert (seen.url, seen.title, len(seen.tabs)) == ("about:blank", "", 1)
    assert active(seen) == 2, "numbers are not used again"
    assert (await page.step(t.Navigate(url=house.site.url("/form")))).title == "Form"


async def test_a_page_that_closes_itself_gives_way_to_the_one_before(visit: Visit, house: House):
    page = await visit("/popup")
    await page.step(t.Click(x=100, y=40))
    await house.ask(page, "document.documentElement.setAttribute('onclick', 'window.close()'); null", type(None))
    seen = await page.step(t.Click(x=600, y=400))
    assert (seen.title, len(seen.tabs)) == ("Popup", 1)


@pytest.mark.parametrize("action", [t.SwitchTab(tab=7), t.CloseTab(tab=7), t.SwitchTab(tab=-1)], ids=str)
async def test_a_tab_that_is_not_there_is_told(visit: Visit, action):
    page = await visit("/counter")
    seen = await page.step(action)
    assert seen.action_error == f"there is no tab {action.tab}; the tabs are 1"
    assert seen.title == "count 0"


async def test_the_first_page_of_a_new_tab_is_never_missed(visit: Visit, house: House):
    page = await visit("/counter")
    for path in ("/form", "/select", "/keys"):
        seen = await page.step(t.NewTab(url=house.site.url(path)))
        assert (seen.url, seen.status) == (house.site.url(path), 200)


BLOB = "URL.createObjectURL(new Blob([{source!r}], {{type: 'text/javascript'}}))"
HEARD = "new Promise((done) => {{ const heard = (event) => done(event.data); {made} }})"
WORKERS = {
    "dedicated": HEARD.format(made=f"new Worker({BLOB.format(source='postMessage(1)')}).onmessage = heard"),
    "nested": HEARD.format(
        made="new Worker({}).onmessage = heard".format(
            BLOB.format(source=f"new Worker({BLOB.format(source='postMessage(1)')}).onmessage = (e) => postMessage(e.data)")
        )
    ),
    "shared": HEARD.format(
        made="new SharedWorker({}).port.onmessage = heard".format(
            BLOB.format(source="onconnect = (event) => event.ports[0].postMessage(1)")
        )
    ),
    "worklet": f"new OfflineAudioContext(1, 1, 8000).audioWorklet.addModule({BLOB.format(source='0')}).then(() => 1)",
}


@pytest.mark.parametrize("kind", WORKERS)
async def test_workers_of_a_page_begin(visit: Visit, house: House, kind: str):
    page = await visit("/counter")
    asked = {"expression": WORKERS[kind], "awaitPromise": True, "returnByValue": True}
    tab = house.context(page).active
    answer = await tab.channel.call("Runtime.evaluate", asked, dict[str, Any], within=10)
    assert answer["result"].get("value") == 1, answer
    assert not tab.children
