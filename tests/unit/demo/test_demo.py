"""The demo's folder: what it keeps between two runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from webgym import demo
from webgym.errors import ConfigError


def test_a_demo_keeps_its_port(tmp_path: Path):
    folder = tmp_path / "demo"
    port = demo._port_of(folder)
    assert demo._port_of(folder) == port
    assert [path.name for path in folder.iterdir()] == ["port"]


@pytest.mark.parametrize("held", [b"", b"eighty", b"70000", b"0", b"\xff"])
def test_a_port_that_cannot_be_read_says_what_to_remove(tmp_path: Path, held: bytes):
    (tmp_path / "port").write_bytes(held)
    with pytest.raises(ConfigError, match=f"remove {tmp_path}"):
        demo._port_of(tmp_path)


def test_what_a_kill_left_of_the_port_is_written_over(tmp_path: Path):
    (tmp_path / ".port.staging").write_bytes(b"")
    port = demo._port_of(tmp_path)
    assert demo._port_of(tmp_path) == port
    assert [path.name for path in tmp_path.iterdir()] == ["port"]
