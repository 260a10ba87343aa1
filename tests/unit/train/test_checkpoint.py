"""A checkpoint is whole or nobody sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from webgym.errors import StoreError
from webgym.train.checkpoint import COMPLETE, is_complete, publishing, read_complete, sweep


def write(folder: Path, iteration: int) -> Path:
    final = folder / f"{iteration:06}"
    with publishing(final, iteration=iteration) as staging:
        (staging / "model.safetensors").write_bytes(b"w" * 1000)
        (staging / "optimizer").mkdir()
        (staging / "optimizer" / "moments.safetensors").write_bytes(b"m" * 10)
    return final


def test_a_checkpoint_says_its_iteration_and_the_size_of_every_file(tmp_path: Path) -> None:
    assert read_complete(tmp_path / "nothing here") is None
    found = read_complete(write(tmp_path, 10))
    assert found is not None
    assert found.iteration == 10
    assert found.files == {"model.safetensors": 1000, "optimizer/moments.safetensors": 10}


@pytest.mark.parametrize("damage", ["shorter", "missing", "no complete.json", "torn complete.json"])
def test_a_folder_that_is_not_what_it_says_is_no_checkpoint(tmp_path: Path, damage: str) -> None:
    whole, broken = write(tmp_path, 1), write(tmp_path, 2)
    match damage:
        case "shorter":
            (broken / "model.safetensors").write_bytes(b"w" * 999)
        case "missing":
            (broken / "optimizer" / "moments.safetensors").unlink()
        case "no complete.json":
            (broken / COMPLETE).unlink()
        case "torn complete.json":
            (broken / COMPLETE).write_bytes((broken / COMPLETE).read_bytes()[:40])
    assert not is_complete(broken)
    assert is_complete(whole)


KILLED = """
import os, signal, sys
from pathlib import Path
from webgym.train import checkpoint

folder, moment = Path(sys.argv[1]), sys.argv[2]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if moment == "sealing":
    checkpoint._sync = die
elif moment == "renaming":
    Path.rename = die
with checkpoint.publishing(folder / "000002", iteration=2) as staging:
    (staging / "config.json").write_text("{}")
    if moment == "writing":
        die()
    (staging / "model.safetensors").write_bytes(b"w" * 1000)
"""


@pytest.mark.parametrize("moment", ["writing", "sealing", "renaming"])
def test_a_writer_killed_half_way_leaves_no_checkpoint_and_its_remains_are_swept(tmp_path: Path, moment: str) -> None:
    whole = write(tmp_path, 1)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), moment], timeout=60, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    assert not is_complete(tmp_path / "000002")
    assert sweep(tmp_path) == 1
    assert list(tmp_path.iterdir()) == [whole]
    assert is_complete(whole)
    assert is_complete(write(tmp_path, 2))


def test_a_whole_checkpoint_is_not_written_over_and_an_error_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with pytest.raises(StoreError, match="checkpoint already"):
        write(tmp_path, 1)
    with pytest.raises(FileNotFoundError), publishing(tmp_path / "000002", iteration=2) as staging:
        (staging / "no such folder" / "config.json").write_text("{}")
    assert [path.name for path in tmp_path.iterdir()] == ["000001"]


def test_what_a_crash_left_under_the_name_gives_way(tmp_path: Path) -> None:
    (tmp_path / "000001").mkdir()
    (tmp_path / "000001" / "model.safetensors").write_bytes(b"half")
    assert is_complete(write(tmp_path, 1))
