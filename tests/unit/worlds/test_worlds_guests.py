"""A site of a person's own beside the generated ones: what can be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from webgym.errors import ConfigError
from webgym.worlds.guests import guest


@pytest.mark.parametrize("where", ["http://", "https:///path", "http://:3000", "http://127.0.0.1:99999", "http://[::1"])
def test_an_address_that_leads_nowhere_is_refused_before_anything_is_served(where: str):
    with pytest.raises(ConfigError, match="is no address"):
        guest(where)


@pytest.mark.parametrize("where", ["http://127.0.0.1:3000", "http://127.0.0.1:3000/", "https://my.localhost/app"])
def test_an_address_and_a_folder_are_taken(where: str, tmp_path: Path):
    guest(where)
    guest(str(tmp_path))
