"""What crosses the wire between a client and the rollout server."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from webgym.server.protocol import NewSession, StorageState

PLAIN = {
    "name": "id",
    "value": "1",
    "domain": "widget.example",
    "path": "/",
    "expires": -1,
    "httpOnly": True,
    "secure": True,
    "sameSite": "None",
}


@pytest.mark.parametrize("partition", [{}, {"partitionKey": "https://shop.example", "_crHasCrossSiteAncestor": True}])
def test_a_cookie_that_playwright_saved_is_taken_and_written_as_it_was(partition: dict[str, object]):
    state = {"cookies": [PLAIN | partition], "origins": []}
    taken = StorageState.model_validate(state)
    written = taken.model_dump(mode="json")
    assert written == state, "without fields that Playwright would not take as null"
    assert StorageState.model_validate_json(taken.model_dump_json()) == taken


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Referer", "TE", "Proxy-Authorization"])
def test_headers_with_which_no_page_would_load_are_refused_by_name(name: str):
    with pytest.raises(ValidationError, match=f"'{name}' is the browser's own to set"):
        NewSession(headers={name: "x"})
    assert NewSession(headers={f"X-{name}": "x", "Cookie": "a=b", "Authorization": "x"}).headers


@pytest.mark.parametrize("value", ["a\x01b", "a\x7f", "a\nb", "a\0"])
def test_a_header_that_servers_would_refuse_is_refused_here(value: str):
    with pytest.raises(ValidationError, match=r"headers\.X-A"):
        NewSession(headers={"X-A": value})
    assert NewSession(headers={"X-A": "a\tb café 日本"}, user_agent="Müller").headers
