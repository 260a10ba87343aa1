"""The Omniboxes API as its old clients use it: real HTTP, one fleet and one site for the whole file."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from tests.conftest import KEY, settings_for
from tests.site.server import Site
from webgym.server.fleet.local import LocalFleet, running_fleet

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = 2
PNG = b"\x89PNG\r\n\x1a\n"
Instance = dict[str, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(site: Site) -> AsyncIterator[LocalFleet]:
    async with running_fleet(settings_for(site, sessions=SESSIONS), KEY) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(fleet: LocalFleet) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(fleet.url, headers={"x-api-key": KEY}) as session:
        yield session


async def ask(http: aiohttp.ClientSession, method: str, path: str, **more: Any) -> tuple[int, Any]:
    async with http.request(method, path, **more) as answer:
        return answer.status, await answer.json()


async def get(http: aiohttp.ClientSession, **params: Any) -> Instance:
    status, instance = await ask(http, "POST", "/get", params=params)
    assert status == 200, instance
    return instance


async def reset(http: aiohttp.ClientSession, instance: Instance) -> int:
    return (await ask(http, "POST", "/reset", params=instance))[0]


@dataclass
class Box:
    """One instance, driven as the old client does it."""

    http: aiohttp.ClientSession
    site: Site
    instance: Instance

    async def execute(self, **command: Any) -> tuple[int, Any]:
        return await ask(self.http, "POST", "/execute", json={**command, **self.instance})

    async def does(self, **command: Any) -> Any:
        status, answer = await self.execute(**command)
        assert status == 200, answer
        return answer

    async def acts(self, **command: Any) -> None:
        assert await self.does(**command) == {"status": "success"}

    async def fails(self, **command: Any) -> str:
        answer = await self.does(**command)
        assert answer["status"] == "failed", answer
        return str(answer["reason"])

    async def visit(self, path: str) -> None:
        await self.acts(visit_page={"url": self.site.url(path)})

    async def metadata(self) -> dict[str, Any]:
        return dict(await self.does(get_page_metadata={}))

    async def title(self) -> str:
        return str((await self.metadata())["title"])

    async def text(self) -> str:
        return str((await self.does(get_webpage_text={}))["text"])

    async def picture(self, mode: str | None = None) -> bytes:
        params = self.instance if mode is None else {**self.instance, "interaction_mode": mode}
        async with self.http.get("/screenshot", params=params) as answer:
            assert answer.status == 200, await answer.text()
            assert answer.content_type == "image/png"
            return await answer.read()

    async def find(self, name: str) -> str:
        """The id of the marked element of that name."""
        regions = await self.does(get_interactive_rects={})
        return next(number for number, region in regions.items() if region["name"] == name)


@pytest_asyncio.fixture(loop_scope="module")
async def box(http: aiohttp.ClientSession, site: Site) -> AsyncIterator[Box]:
    instance = await get(http)
    yield Box(http, site, instance)
    await reset(http, instance)


# instances


async def test_an_instance_is_got_probed_and_reset(http: aiohttp.ClientSession):
    instance = await get(http)
    assert set(instance) == {"instance_id", "node"}
    assert await ask(http, "GET", "/probe", params=instance) == (200, {"status": "success"})
    assert await ask(http, "GET", "/metadata", params=instance) == (200, {"width": 1280, "height": 768})
    assert await ask(http, "POST", "/reset", params=instance) == (200, {"status": "success"})
    status, answer = await ask(http, "GET", "/probe", params=instance)
    assert status == 410
    assert answer["error"]["code"] == "stale_lease"
    assert answer["detail"] == answer["error"]["message"]
    assert await reset(http, instance) == 410


async def test_reset_reads_a_json_body_too(http: aiohttp.ClientSession):
    instance = await get(http)
    assert await ask(http, "POST", "/reset", json=instance) == (200, {"status": "success"})
    assert (await ask(http, "POST", "/reset"))[0] == 422


async def test_a_full_fleet_is_503_and_a_reset_makes_room(http: aiohttp.ClientSession):
    held = [await get(http) for _ in range(SESSIONS)]
    async with http.post("/get") as refused:
        assert refused.status == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert (await refused.json())["error"]["code"] == "overloaded"
    assert await reset(http, held.pop()) == 200
    held.append(await get(http))
    for instance in held:
        assert await reset(http, instance) == 200


async def test_a_worker_out_of_connections_is_503(site: Site):
    settings = settings_for(site, sessions=1, http={"connections": 16})
    async with (
        running_fleet(settings, KEY) as fleet,
        aiohttp.ClientSession(fleet.url, headers={"x-api-key": KEY}) as http,
    ):
        instance = await get(http)
        (node,) = (await ask(http, "GET", "/info"))[1]["nodes"]
        worker = URL(node["url"])
        idle = [await asyncio.open_connection(worker.host, worker.port) for _ in range(16)]
        # The master keeps a few connections to its worker: more calls at a time than those need new ones.
        answers = await asyncio.gather(*(ask(http, "GET", "/probe", params=instance) for _ in range(12)))
        assert {status for status, _ in answers} <= {200, 503}
        refused = [answer for status, answer in answers if status == 503]
        assert refused
        assert all(answer["detail"] == "the worker holds as many connections as it may" for answer in refused)
        for _, writer in idle:
            writer.close()
        await asyncio.sleep(0.2)
        assert await ask(http, "GET", "/probe", params=instance) == (200, {"status": "success"})


async def test_info_tells_nodes_but_no_leases(box: Box):
    status, info = await ask(box.http, "GET", "/info")
    assert status == 200
    (node,) = info["nodes"]
    assert node["hash"] == box.instance["node"]
    assert node["url"].startswith("http://")
    assert (node["healthy"], node["capacity"], node["available"]) == (True, SESSIONS, SESSIONS - 1)
    session, _, lease = box.instance["instance_id"].partition(".")
    assert node["instances"] == [session]
    assert lease not in str(info)


async def test_a_lifetime_ends_an_instance_in_use(http: aiohttp.ClientSession, site: Site):
    box = Box(http, site, await get(http, lifetime_mins="0.05"))
    ends = time.monotonic() + 3
    await box.visit("/counter")
    await asyncio.sleep(ends + 0.2 - time.monotonic())
    status, answer = await box.execute(click_coords={"x": 100, "y": 40})
    assert (status, answer["error"]["code"]) == (410, "stale_lease")


@pytest.mark.parametrize("minutes", ["0", "-1", "1441", "nan", "inf", "soon", ""])
async def test_a_bad_lifetime_is_422(http: aiohttp.ClientSession, minutes: str):
    status, answer = await ask(http, "POST", "/get", params={"lifetime_mins": minutes})
    assert status == 422
    assert "lifetime_mins" in answer["detail"]


# strangers


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/get"), ("POST", "/reset"), ("GET", "/screenshot"), ("POST", "/execute")]
    + [("GET", path) for path in ("/metadata", "/probe", "/info")],
)
async def test_no_call_is_served_without_the_key(fleet: LocalFleet, method: str, path: str):
    async with aiohttp.ClientSession(fleet.url) as stranger:
        assert (await ask(stranger, method, path))[0] == 401
        assert (await ask(stranger, method, path, headers={"x-api-key": "default_key"}))[0] == 401


async def test_forged_nodes_and_instances_are_404(box: Box):
    real = box.instance
    session, _, lease = real["instance_id"].partition(".")
    forged = [
        real | {"node": "w-000000000000"},
        real | {"node": f"http://127.0.0.1:{box.site.port}"},
        real | {"node": "x:80@169.254.169.254"},
        real | {"instance_id": f"s-{'0' * 24}.{lease}"},
        real | {"instance_id": session},
        real | {"instance_id": f"{session}/../../fleet.{lease}"},
        real | {"instance_id": f"{session}.{lease}\r\nX: y"},
    ]
    hits = box.site.hits.total()
    for instance in forged:
        for call in (
            ask(box.http, "GET", "/probe", params=instance),
            ask(box.http, "POST", "/execute", json={"back": {}, **instance}),
            ask(box.http, "POST", "/reset", json=instance),
        ):
            status, answer = await call
            assert (status, answer["error"]["code"]) == (404, "unknown_session"), instance
    assert box.site.hits.total() == hits
    other = real | {"instance_id": f"{session}.{'A' * len(lease)}"}
    assert (await ask(box.http, "GET", "/probe", params=other))[0] == 410
    assert (await ask(box.http, "GET", "/probe", params=real))[0] == 200


@pytest.mark.parametrize(
    "command",
    [
        {},
        {"back": {}, "page_down": {}},
        {"jump": {}},
        {"visit_page": None},
        {"visit_page": "https://example.com"},
        {"click_coords": {"x": 5}},
        {"click_coords": {"x": -5, "y": 5}},
        {"click_coords": {"x": "NaN", "y": 5}},
        {"click_id": {"id": "the button"}},
        {"fill_coords": {"x": 5, "y": 5}},
        {"scroll_id": {"id": 1, "direction": "sideways"}},
        {"page_down": {"amount": -1}},
        {"keypress": {"keys": []}},
        {"select_option": {"value": "a"}},
        {"select_option": {"id": 1, "x": 1, "y": 1}},
        {"sleep": {"duration": 3600}},
        {"screenshot": {"interaction_mode": "cubist"}},
    ],
    ids=str,
)
async def test_a_bad_command_is_422(http: aiohttp.ClientSession, command: dict[str, Any]):
    body = {"instance_id": f"s-{'0' * 24}.x", "node": "w-000000000000", **command}
    status, answer = await ask(http, "POST", "/execute", json=body)
    assert (status, answer["error"]["code"]) == (422, "bad_request")
    assert answer["detail"]


async def test_a_command_needs_an_instance_and_json(http: aiohttp.ClientSession):
    for more in (
        {"json": {"back": {}}},
        {"json": ["back"]},
        {"data": b"{", "headers": {"content-type": "application/json"}},
    ):
        assert (await ask(http, "POST", "/execute", **more))[0] == 422


async def test_whatever_a_client_adds_to_the_arguments_is_ignored(box: Box):
    await box.acts(visit_page={"url": box.site.url("/counter"), "timeout": 30})
    await box.acts(click_coords={"x": 100.0, "y": "40", "button": "left"})
    assert await box.title() == "count 1"


# looking


async def test_screenshots_are_png_and_marked_by_default(box: Box):
    await box.visit("/counter")
    plain, marked = await box.picture("coordinates"), await box.picture("set_of_marks")
    assert plain[:8] == marked[:8] == PNG
    assert struct.unpack(">II", plain[16:24]) == (1280, 768)
    assert plain != marked
    assert await box.picture() == marked
    assert await box.picture("coordinates") == plain


async def test_the_marked_ids_are_those_of_the_commands(box: Box):
    await box.visit("/counter")
    await box.picture("set_of_marks")
    regions = await box.does(get_interactive_rects=None)
    (number, region), *others = regions.items()
    assert not others
    assert (number, region["role"], region["name"], region["aria_name"]) == ("1", "button", "Count", "Count")
    (rect,) = region["rects"]
    assert {key: rect[key] for key in ("x", "y", "width", "height")} == {"x": 20, "y": 20, "width": 160, "height": 40}
    assert {key: rect[key] for key in ("left", "top", "right", "bottom")} == {
        "left": 20,
        "top": 20,
        "right": 180,
        "bottom": 60,
    }
    await box.acts(click_id={"id": number})
    await box.acts(click_id={"id": int(number)})
    assert await box.title() == "count 2"
    info = await box.does(get_screenshot_info={})
    assert info["visible_rects"] == ["1"]
    assert info["interactive_regions"]["1"]["aria_name"] == "Count"
    assert info["id_mapping"] == {"1": "1"}


async def test_the_screenshot_command_marks_without_a_picture(box: Box):
    await box.visit("/counter")
    assert await box.does(screenshot={"interaction_mode": "coordinates"}) == {"status": "screenshot_taken"}
    assert await box.fails(click_id={"id": "1"})
    assert await box.does(screenshot={"interaction_mode": "set_of_marks"}) == {"status": "screenshot_taken"}
    await box.acts(click_id={"id": "1"})
    assert await box.title() == "count 1"


async def test_metadata_and_text_of_the_page(box: Box):
    await box.visit("/submitted?name=Ada&town=London")
    metadata = await box.metadata()
    assert metadata["title"] == "Submitted"
    assert metadata["url"] == box.site.url("/submitted?name=Ada&town=London")
    assert metadata["status"] == 200
    assert await box.text() == "Submitted\nname = Ada\ntown = London"
    assert await box.does(get_webpage_text={"n_lines": 2}) == {"text": "Submitted\nname = Ada"}


# acting


async def test_what_an_agent_does_in_vain_failed_and_says_why(box: Box):
    assert "back" in await box.fails(back=None)
    assert "999" in await box.fails(click_id={"id": "999"})
    assert "outside" in await box.fails(click_coords={"x": 5000, "y": 5})
    assert "Hyperspace" in await box.fails(keypress={"keys": ["Hyperspace"]})
    assert await box.fails(visit_page={"url": "file:///etc/passwd"})


async def test_a_dead_site_is_a_success_with_its_error(box: Box):
    answer = await box.does(visit_page={"url": "http://no-such-site.invalid/"})
    assert answer["status"] == "success"
    assert answer["navigation_error"]
    assert (await box.metadata())["navigation_error"] == answer["navigation_error"]


async def test_filling_replaces_or_adds_and_presses_enter_by_default(box: Box):
    await box.visit("/form")
    await box.acts(fill_coords={"x": 340, "y": 40, "value": "er", "press_enter": False})
    await box.acts(fill_coords={"x": 100, "y": 40, "value": 1815})
    assert "name = 1815\nprefilled = old texter" in await box.text()
    await box.visit("/form")
    name, prefilled = await box.find("Name"), await box.find("prefilled")
    await box.acts(fill_id={"id": prefilled, "value": "new", "press_enter": False, "delete_existing": True})
    await box.acts(fill_id={"id": int(name), "value": "Ada"})
    assert "name = Ada\nprefilled = new" in await box.text()


async def test_the_page_scrolls_by_an_amount_or_by_a_screen(box: Box):
    await box.visit("/scroll")
    await box.acts(page_down={})
    assert await box.title() == "scroll 0,200 box 0"
    await box.acts(page_down={"amount": 100, "full_page": False})
    assert await box.title() == "scroll 0,300 box 0"
    await box.acts(page_down={"full_page": True})
    assert await box.title() == "scroll 0,1068 box 0"
    await box.acts(page_up={"amount": 68})
    await box.acts(page_up={"full_page": True})
    assert await box.title() == "scroll 0,232 box 0"


async def test_what_is_under_the_pointer_scrolls(box: Box):
    await box.visit("/scroll")
    await box.acts(scroll_coords={"x": 200, "y": 300})
    assert await box.title() == "scroll 0,0 box 200"
    await box.acts(scroll_coords={"x": 200, "y": 300, "direction": "UP", "amount": 50})
    assert await box.title() == "scroll 0,0 box 150"
    await box.acts(scroll_coords={"x": 800, "y": 600, "delta_x": 120, "delta_y": 80})
    assert await box.title() == "scroll 120,80 box 150"
    await box.acts(scroll_coords={"x": 800, "y": 600, "direction": "left", "amount": 20})
    assert await box.title() == "scroll 100,80 box 150"
    await box.acts(hover_and_scroll_coords={"x": 100, "y": 200, "direction": "down"})
    assert await box.title() == "scroll 100,80 box 350"
    await box.visit("/marks")
    await box.acts(scroll_id={"id": await box.find("Button"), "direction": "down"})
    assert (await box.metadata())["scroll"]["y"] == 200


async def test_hovering_moves_the_pointer(box: Box):
    await box.visit("/hover")
    assert "First" not in await box.text()
    await box.acts(hover_coords={"x": 100, "y": 40})
    assert "First" in await box.text()
    await box.acts(hover_and_scroll_coords={"x": 600, "y": 400, "direction": "down"})
    assert "First" not in await box.text()
    await box.visit("/counter")
    before = await box.picture("coordinates")
    await box.acts(hover_id={"id": await box.find("Count")})
    assert await box.picture("coordinates") != before
    assert await box.title() == "count 0"


async def test_keys_are_pressed_with_the_modifiers_before_them(box: Box):
    await box.visit("/keys")
    for keys, last in [
        (["ctrl", "a"], "Control+a"),
        (["Control", "Shift", "k"], "Control+Shift+K"),
        ("ctrl+b", "Control+b"),
        (["Tab", "Enter"], "Enter"),
        (["shift"], "Shift"),
    ]:
        await box.acts(keypress={"keys": keys})
        assert await box.title() == last


async def test_tab_and_enter_presses_the_first_button(box: Box):
    await box.visit("/counter")
    await box.acts(tab_and_enter=None)
    assert await box.title() == "count 1"


async def test_back_goes_back_and_leaves_a_tab_that_a_link_opened(box: Box):
    await box.visit("/history/a")
    await box.visit("/history/b")
    await box.acts(back={})
    assert await box.title() == "History a"
    await box.visit("/tabs")
    await box.acts(click_coords={"x": 640, "y": 40})
    assert await box.title() == "History a"
    await box.acts(back={})
    assert await box.title() == "Tab one"


async def test_options_are_selected_by_place_by_list_and_by_their_own_id(box: Box):
    await box.visit("/select")
    await box.acts(select_option={"x": 100, "y": 40, "value": "banana"})
    assert await box.title() == "banana /"
    await box.acts(select_option={"id": await box.find("green"), "options": ["red", "blue"]})
    assert await box.title() == "banana / red,blue"
    await box.acts(select_option={"id": await box.find("green")})
    assert await box.title() == "banana / green"
    assert "kiwi" in await box.fails(select_option={"x": 100, "y": 40, "option": "kiwi"})


async def test_sleep_takes_its_time(box: Box):
    began = time.monotonic()
    await box.acts(sleep={"duration": 0.7})
    assert time.monotonic() - began >= 0.7
