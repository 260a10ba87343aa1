"""Storage state: what a session knows of its sites can be saved and given to another, without asking the sites."""

from typing import Any

import pytest

from tests.browser.conftest import House, Visit
from tests.conftest import Driver
from webgym import types as t
from webgym.errors import BadRequest, Unavailable
from webgym.server import storage
from webgym.server.frame import Frame
from webgym.server.protocol import StorageState

pytestmark = pytest.mark.asyncio(loop_scope="session")

READ = "[document.cookie, localStorage.getItem('mark') || '']"


async def saved(house: House, driver: Driver) -> StorageState:
    state = await house.worker.sessions.storage(driver.started.id, driver.started.lease.token)
    return StorageState.model_validate_json(state.model_dump_json())


async def test_cookies_and_local_storage_move_to_another_session(visit: Visit, house: House):
    first = await visit("/isolation/set?value=kept")
    await first.step(t.Navigate(url=house.site.url("/isolation/set?value=there", host="other.localhost")))
    state = await saved(house, first)
    assert {origin.origin for origin in state.origins} == {
        house.site.url("").rstrip("/"),
        house.site.url("", host="other.localhost").rstrip("/"),
    }
    second = await visit("/counter", options={"storage_state": state})
    assert await house.ask(second, READ, list) == ["mark=kept", "kept"]
    await second.step(t.Navigate(url=house.site.url("/counter", host="other.localhost")))
    assert await house.ask(second, READ, list) == ["mark=there", "there"]
    third = await visit("/counter")
    assert await house.ask(third, READ, list) == ["", ""], "nothing without a state"


async def test_what_is_written_in_passing_is_saved_too(visit: Visit, house: House):
    """As at a sign-in: a document writes, and goes on to another site by itself before anybody looks."""
    page = await visit("/counter")
    there = house.site.url("/isolation/set?value=there", host="other.localhost")
    back = house.site.url("/counter")
    await house.ask(page, f"location.replace({there!r}); 0", int)
    await house.context(page).active.until(lambda: house.context(page).active.url == there, 5)
    await house.context(page).active.channel.call("Page.navigate", {"url": back}, within=5)
    assert (await page.look()).url == back
    assert house.site.url("", host="other.localhost").rstrip("/") in {
        one.origin for one in (await saved(house, page)).origins
    }


async def test_a_restored_state_can_be_saved_again(visit: Visit, house: House):
    state = await saved(house, await visit("/isolation/set?value=kept"))
    again = await saved(house, await visit(None, options={"storage_state": state}))
    assert again.origins == state.origins
    assert [(c.name, c.value, c.domain) for c in again.cookies] == [(c.name, c.value, c.domain) for c in state.cookies]


async def test_saving_asks_no_site_and_leaves_the_tabs_alone(visit: Visit, house: House):
    page = await visit("/isolation/set?value=kept")
    await page.step(t.NewTab(url=house.site.url("/counter")))
    hits = sum(house.site.hits.values())
    await saved(house, page)
    assert sum(house.site.hits.values()) == hits
    seen = await page.step(t.Click(x=100, y=40))
    assert seen.title == "count 1"
    assert [tab.id for tab in seen.tabs] == [1, 2]


async def test_saving_goes_past_the_service_worker_of_a_site(visit: Visit, house: House):
    page = await visit("/isolation/worked")
    assert (await page.step(t.Wait(seconds=0.5), image="none")).title == "worked"
    before = house.site.hits.copy()
    (stored,) = (await saved(house, page)).origins
    assert house.site.hits == before
    assert [(item.name, item.value) for item in stored.localStorage] == [("mark", "kept")], "no script of the site ran"
    (again,) = (await saved(house, page)).origins
    assert again == stored
    seen = await page.step(t.Navigate(url=house.site.url("/counter")), image="none")
    assert await house.ask(page, "localStorage.getItem('ran')", str) == "a script of the site", "other tabs still have it"
    assert seen.title != "worked"


async def test_restoring_asks_no_site_and_leaves_one_tab(visit: Visit, house: House):
    state = await saved(house, await visit("/isolation/set?value=kept"))
    hits = sum(house.site.hits.values())
    page = await visit(None, options={"storage_state": state})
    assert sum(house.site.hits.values()) == hits
    assert (page.first.url, len(page.first.tabs)) == ("about:blank", 1)


async def test_saving_works_with_as_many_tabs_as_there_may_be(visit: Visit, house: House):
    page = await visit("/isolation/set?value=kept")
    for _ in range(9):
        await page.step(t.NewTab(), image="none")
    state = await saved(house, page)
    assert len(state.origins) == 1
    assert len((await page.look()).tabs) == 10


async def test_cookies_keep_their_attributes(visit: Visit, house: House):
    state = StorageState.model_validate(
        {
            "cookies": [
                {
                    "name": "id",
                    "value": "secret",
                    "domain": "site.localhost",
                    "path": "/counter",
                    "expires": -1,
                    "httpOnly": True,
                    "secure": False,
                    "sameSite": "Strict",
                }
            ],
            "origins": [],
        }
    )
    page = await visit("/counter", options={"storage_state": state})
    assert await house.ask(page, "document.cookie", str) == "", "httpOnly"
    (cookie,) = (await saved(house, page)).cookies
    assert cookie == state.cookies[0]


async def framed(house: House, driver: Driver) -> Frame:
    """A frame of another website in the active page."""
    url = house.site.url("/counter", host="widget.localhost")
    frame = f"Object.assign(document.createElement('iframe'), {{src: '{url}'}})"
    await house.ask(driver, f"document.body.append({frame}), null", type(None))
    await driver.step(t.Wait(seconds=0.3), image="none")
    page = house.context(driver).active
    apart = list(page.children.values())  # in a process of its own, where the browser gives it one
    return (
        apart[0] if apart else Frame(page.channel, await page.frame.frame_in("document.querySelector('iframe')", within=5))
    )


async def test_a_cookie_of_a_frame_in_a_website_stays_one(visit: Visit, house: House):
    first = await visit("/counter")
    frame = await framed(house, first)
    cookie = "document.cookie = 'part=kept; path=/; max-age=1000; Secure; SameSite=None; Partitioned', document.cookie"
    assert await frame.run(cookie, str, within=5) == "part=kept"
    assert await house.ask(first, cookie.replace("part=", "own="), str) == "own=kept"
    state = await saved(house, first)
    kept = {one.name: (one.partitionKey, one.crossSiteAncestor) for one in state.cookies}
    assert kept == {"part": ("http://site.localhost", True), "own": ("http://site.localhost", False)}
    second = await visit("/counter", options={"storage_state": state})
    assert await (await framed(house, second)).run("document.cookie", str, within=5) == "part=kept"
    assert set((await saved(house, second)).cookies) == set(state.cookies)
    await second.step(t.Navigate(url=house.site.url("/counter", host="widget.localhost")), image="none")
    assert await house.ask(second, "document.cookie", str) == "", "on its own the website never had it"


async def test_a_cookie_of_a_frame_in_a_document_of_no_website_is_left_out(visit: Visit, house: House):
    driver = await visit(None)
    page = house.context(driver).active
    await page.channel.call("Page.navigate", {"url": "data:text/html,<title>of no website</title>"}, within=5)
    frame = await framed(house, driver)
    cookie = "document.cookie = 'part=kept; path=/; max-age=1000; Secure; SameSite=None; Partitioned', document.cookie"
    assert await frame.run(cookie, str, within=5) == "part=kept"
    assert (await saved(house, driver)).cookies == ()


@pytest.mark.parametrize(
    "origin",
    ["site.localhost", "http://site.localhost/path", "file:///etc", "http://user@", "javascript:alert(1)", "http://[x"],
)
async def test_what_is_no_origin_is_refused(visit: Visit, origin):
    state = {"origins": [{"origin": origin, "localStorage": [{"name": "a", "value": "b"}]}]}
    with pytest.raises(BadRequest, match="is not an origin"):
        await visit(None, options={"storage_state": state})


async def test_a_cookie_chromium_cannot_take_is_refused(visit: Visit):
    state = {"cookies": [{"name": "a", "value": "b", "domain": "", "path": "nowhere"}]}
    with pytest.raises(BadRequest, match=r"storage_state\.cookies"):
        await visit(None, options={"storage_state": state})


async def test_origins_that_cannot_take_their_storage_are_refused_by_name(visit: Visit, house: House):
    item = {"name": "a", "value": "b"}
    for origin, items in (
        ("http://no host.localhost", [item]),
        ("http://full.localhost", [{"name": "a", "value": "x" * 6_000_000}]),
    ):
        state = {"origins": [{"origin": origin, "localStorage": items}]}
        with pytest.raises(BadRequest, match=origin):
            await visit(None, options={"storage_state": state})
    state = {"origins": [{"origin": f"http://s{n}.localhost", "localStorage": [item]} for n in range(51)]}
    with pytest.raises(BadRequest, match="at most 50"):
        await visit(None, options={"storage_state": state})


async def test_another_spelling_of_an_origin_is_the_same_origin(visit: Visit, house: House):
    for spelled in ("http://Site.LocalHost:80", "http://größe.localhost"):
        state = {"origins": [{"origin": spelled, "localStorage": [{"name": "mark", "value": "kept"}]}]}
        page = await visit(None, options={"storage_state": state})
        assert [item.value for origin in (await saved(house, page)).origins for item in origin.localStorage] == ["kept"]


async def test_a_visit_that_stalls_writes_nothing_to_another_origin(
    visit: Visit, house: House, monkeypatch: pytest.MonkeyPatch
):
    first, second = "http://first.localhost", "http://second.localhost"
    answer = storage._Elsewhere._answer

    def answer_the_first(self: Any, event: Any) -> None:
        if self.page.url.startswith("about:"):
            answer(self, event)
        else:
            monkeypatch.setattr(storage, "SECONDS", 0.5)

    monkeypatch.setattr(storage._Elsewhere, "_answer", answer_the_first)
    monkeypatch.setattr(storage, "SECONDS", 3.0)
    listed = [{"origin": one, "localStorage": [{"name": one, "value": "b"}]} for one in (first, second)]
    with pytest.raises(Unavailable, match=second):
        await visit(None, options={"storage_state": {"origins": listed}})
