"""A phase is done iff its result file is there; versions of the model follow from published results."""

from __future__ import annotations

from pathlib import Path

import pytest

from webgym.errors import Damaged, StoreError
from webgym.loop.figures import Figures
from webgym.loop.state import JudgeDone, LoopFolder, PublishDone, RolloutDone, TrainDone
from webgym.store.files import Disk


@pytest.fixture
def folder(tmp_path: Path) -> LoopFolder:
    return LoopFolder(tmp_path / "run", Disk(tmp_path / "run"))


def test_a_phase_is_done_once_its_result_is_written(folder: LoopFolder):
    assert folder.done(3, "judge") is None
    folder.finish(3, JudgeDone(judge="somebody", figures=Figures(planned=7)))
    assert folder.done(3, "judge") == JudgeDone(judge="somebody", figures=Figures(planned=7))
    assert folder.done(2, "judge") is None
    assert folder.done(3, "rollout") is None
    assert folder.iterations() == [3]


def test_the_first_result_of_a_phase_stays(folder: LoopFolder):
    folder.finish(0, RolloutDone(planned=1))
    folder.finish(0, RolloutDone(planned=2))
    assert folder.read(0, RolloutDone) == RolloutDone(planned=1)


def test_a_result_that_was_not_finished_is_not_seen(tmp_path: Path):
    class Torn(Exception):
        pass

    def tear(where: str) -> None:
        if where == "link":
            raise Torn

    folder = LoopFolder(tmp_path, Disk(tmp_path, checkpoint=tear))
    with pytest.raises(Torn):
        folder.finish(0, RolloutDone(planned=1))
    assert folder.done(0, "rollout") is None


def test_a_damaged_result_is_named_with_what_to_do(folder: LoopFolder):
    folder.finish(0, RolloutDone(planned=1))
    (folder.path / "000000" / "rollout.json").write_text('{"planned": "many"}')
    with pytest.raises(Damaged, match=r"rollout\.json is no result of rollout: remove it"):
        folder.done(0, "rollout")


def test_a_version_is_what_its_iteration_published_and_the_first_is_the_given_one(folder: LoopFolder, tmp_path: Path):
    first = tmp_path / "first"
    assert folder.model(0, first) == first
    with pytest.raises(StoreError, match="no version 1"):
        folder.model(1, first)
    folder.finish(0, PublishDone(checkpoint=folder.named(folder.checkpoint(1)), version=1))
    folder.finish(1, PublishDone(checkpoint=folder.named(first), version=2))
    assert folder.model(1, first) == folder.checkpoint(1)
    assert folder.model(2, first) == first
    assert list(folder.published()) == [(1, folder.checkpoint(1)), (2, first)]


def test_a_run_can_be_moved_with_its_checkpoints(folder: LoopFolder, tmp_path: Path):
    folder.finish(0, PublishDone(checkpoint=folder.named(folder.checkpoint(1)), version=1))
    folder.run.rename(tmp_path / "moved")
    moved = LoopFolder(tmp_path / "moved", Disk(tmp_path / "moved"))
    assert moved.model(1, tmp_path) == tmp_path / "moved" / "checkpoints" / "000001"


def test_a_skipped_training_is_a_result_too(folder: LoopFolder):
    folder.finish(0, TrainDone(result=None, reason="nothing"))
    assert folder.done(0, "train") == TrainDone(result=None, reason="nothing")


def test_settings_are_kept_once_for_each_change(folder: LoopFolder):
    for settings in (b"one", b"one", b"two", b"two", b"one"):
        folder.remember(settings)
    kept = sorted((folder.path / "settings").iterdir())
    assert [path.read_bytes() for path in kept] == [b"one", b"two", b"one"]
    assert folder.iterations() == []
