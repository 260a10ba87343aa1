"""What one session leaves, no other finds: neither beside it in the same browser process nor after it (matrix row 35)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.site.server import Site
from tests.wire import Session

FIELD, COPY_BUTTON = {"x": 10, "y": 10}, {"x": 10, "y": 210}
PASTING = ("Control+v", "Control+V", "Meta+v", "Control+Shift+v", "Shift+Insert")


@pytest.fixture
def site(house_site: Site) -> Site:
    return house_site


async def until_title(session: Session, start: str) -> str:
    for _ in range(20):
        title: str = (await session.seen("wait", seconds=0.25))["title"]
        if title.startswith(start):
            return title
    raise AssertionError(f"the title never became {start!r}: {title!r}")


async def found(session: Session, site: Site) -> Any:
    await session.seen("navigate", url=site.url("/isolation/get"))
    return json.loads((await until_title(session, "found ")).removeprefix("found "))


async def test_nothing_stored_by_one_session_is_found_by_another(api, site):
    async with api.session() as b_before, api.session() as a:
        await a.seen("navigate", url=site.url("/isolation/set?value=A"))
        await until_title(a, "set")
        marks = await found(a, site)
        assert len(marks) >= 8, f"the marks are real: {marks}"
        assert await found(b_before, site) == {}, "a session from before"
        async with api.session() as b:
            assert await found(b, site) == {}, "a session beside"
            saved = (await b.call("GET", "/storage")).json
            assert saved == {"cookies": [], "origins": []}
    async with api.session() as after:
        assert await found(after, site) == {}, "a session after"


async def test_the_files_of_one_session_are_not_the_files_of_another(api):
    async with api.session() as a, api.session() as b:
        assert (await a.call("PUT", "/files/mine.txt", b"A's own")).status == 200
        assert (await b.call("GET", "/files/mine.txt")).status == 404
        seen = await b.seen("upload", files=["mine.txt"], x=1, y=1)
        assert "there is no file" in seen["action_error"]
        for name in ("..%2fmine.txt", "..%2f..%2fmine.txt", "%2e%2e"):
            assert (await b.call("GET", f"/files/{name}")).status in (404, 405, 422)
        stolen = await b.call("GET", "/files/mine.txt", Lease=a.started["lease"]["token"])
        assert stolen.status == 410
    async with api.session() as after:
        assert (await after.call("GET", "/files/mine.txt")).status == 404


async def test_a_key_of_one_session_opens_no_other(api):
    """Leases are of one session; ids and tokens share nothing that could be guessed from one's own."""
    async with api.session() as a, api.session() as b:
        for call in ("/observe", "/renew"):
            answer = await a.call("POST", call, Lease=b.started["lease"]["token"])
            assert answer.refusal == (410, "stale_lease")
        assert a.started["id"][:8] != b.started["id"][:8]
        assert a.started["lease"]["token"][:6] != b.started["lease"]["token"][:6]


async def test_what_one_session_copies_no_other_pastes(api, site):
    page = site.url("/clipboard")
    async with api.session() as a, api.session() as b:
        for session in (a, b):
            await session.seen("navigate", url=page)
        await a.seen("type", text="secret", **FIELD)
        await a.seen("key", keys=["Control+a", "Control+c"])
        await a.seen("click", count=2, **FIELD)  # selects it, which some systems take for copying
        await b.seen("click", **FIELD)
        for keys in PASTING:
            assert (await b.seen("key", keys=[keys]))["title"] == "typed []", keys
        assert (await b.seen("click", button="middle", **FIELD))["title"] == "typed []"
        await a.seen("click", **COPY_BUTTON)
        assert (await b.seen("key", keys=["Control+v"]))["title"] == "typed []"
    async with api.session() as after:
        await after.seen("navigate", url=page)
        await after.seen("click", **FIELD)
        for keys in PASTING:
            assert (await after.seen("key", keys=[keys]))["title"] == "typed []", keys
