"""Environments: made once, made anew when the recipe changed, and never taken for whole when they are not."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from webgym import cli
from webgym.errors import ConfigError
from webgym.train.environments import NAMES, STAMP, Recipe, is_current, make, pin_file, recipe, require, site_packages


def wheel(folder: Path, name: str, version: str = "1") -> Path:
    """A package of one empty module, as pip installs it."""
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": b"",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    with zipfile.ZipFile(path, "w") as archive:
        for inside, data in files.items():
            archive.writestr(inside, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{inside},sha256={digest},{len(data)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,\n"]))
    return path


def small(folder: Path, *wanted: Path | str, **changes: object) -> Recipe:
    made = Recipe("serve", folder / "env", tuple(map(str, wanted)), None, torch=(), shim=True)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_an_environment_is_made_once_and_anew_for_another_recipe(tmp_path: Path):
    said: list[str] = []
    first = small(tmp_path, wheel(tmp_path, "one"), wheel(tmp_path, "unwanted"), without=("unwanted",))
    assert make(first, said.append)
    assert is_current(first)
    assert require(first).is_file()
    packages = site_packages(first)
    assert (packages / "one.py").is_file()
    assert not (packages / "unwanted.py").exists()
    assert list(packages.glob("*shim*.pth"))
    assert any("one" in line for line in said)
    assert not make(first, said.append)
    second = small(tmp_path, wheel(tmp_path, "two"))
    assert not is_current(second)
    assert make(second, said.append)
    assert not (packages / "one.py").exists()


def test_one_that_fails_tells_what_pip_said_and_does_not_count_as_made(tmp_path: Path):
    (tmp_path / "broken-1-py3-none-any.whl").write_bytes(b"no zip")
    wanted = small(tmp_path, tmp_path / "broken-1-py3-none-any.whl")
    with pytest.raises(ConfigError, match=r"installing .*broken.* failed"):
        make(wanted, lambda _: None)
    assert not is_current(wanted)
    assert not (tmp_path / "env" / STAMP).exists()


def test_no_room_is_said_before_anything_is_done(tmp_path: Path):
    with pytest.raises(ConfigError, match="GiB"):
        make(small(tmp_path, gib=1 << 30), lambda _: None)
    assert not (tmp_path / "env").exists()


def test_an_environment_that_is_not_there_says_how_to_make_it(tmp_path: Path):
    with pytest.raises(ConfigError, match="webgym env make llamafactory"):
        require(recipe("llamafactory", root=tmp_path))


def test_every_environment_has_pins_that_agree_with_its_recipe():
    for name in NAMES:
        made = recipe(name)
        assert made.pins is not None
        lines = [line for line in pin_file(made.pins).read_text().splitlines() if line and not line.startswith("#")]
        pins = dict(line.split("==") for line in lines)
        assert all(pin and "/" not in line for line, pin in zip(lines, pins.values(), strict=True))
        for wanted in (*made.wanted, *made.torch):
            package, _, version = wanted.partition("==")
            assert package in pins
            assert version in ("", pins[package])


def test_with_cards_vllm_chooses_its_own_torch():
    made = recipe("serve", cuda=True)
    assert made.wanted == ("vllm==0.32.0",)
    assert not made.torch
    assert not made.shim


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["env", "make", "nothing"], "there is no environment 'nothing'"),
        (["env", "remove", "serve"], "webgym env make NAME"),
        (["env", "make"], "webgym env make NAME"),
        (["model", "serve"], "name the checkpoint's folder"),
        (["model", "serve", "/no/such/folder"], "no config.json"),
        (["model", "serve", "/no/such/folder", "--engine.rows", "0"], "engine.rows"),
        (["model", "train"], "there is no `webgym model train`"),
    ],
)
def test_a_wrong_command_is_one_line(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(arguments) == cli.EXIT_USAGE
    assert told in capsys.readouterr().err


def test_the_train_environment_is_the_one_we_run_in():
    assert recipe("train").python == Path(sys.executable)
