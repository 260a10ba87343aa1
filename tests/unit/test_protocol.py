"""What crosses the wire between a client and the rollout server."""

from __future__ import annotations

import pytest

from webgym.server.protocol import StorageState

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
