"""Storage state: what a session knows of its sites can be saved and given to another, without asking the sites."""

import pytest

from tests.browser.conftest import House, Visit
from tests.conftest import Driver
from webgym import types as t
from webgym.errors import BadRequest
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


@pytest.mark.parametrize(
    "origin", ["site.localhost", "http://site.localhost/path", "file:///etc", "http://user@", "javascript:alert(1)"]
)
async def test_what_is_no_origin_is_refused(visit: Visit, origin):
    state = {"origins": [{"origin": origin, "localStorage": [{"name": "a", "value": "b"}]}]}
    with pytest.raises(BadRequest, match="is not an origin"):
        await visit(None, options={"storage_state": state})


async def test_a_cookie_chromium_cannot_take_is_refused(visit: Visit):
    state = {"cookies": [{"name": "a", "value": "b", "domain": "", "path": "nowhere"}]}
    with pytest.raises(BadRequest, match=r"storage_state\.cookies"):
        await visit(None, options={"storage_state": state})
