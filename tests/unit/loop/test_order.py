"""The order of phases follows from settings and result files, so a loop that was killed does the same ones."""

from __future__ import annotations

from pathlib import Path

from webgym.loop.figures import Figures
from webgym.loop.phases import Stopper
from webgym.loop.running import order, over_before
from webgym.loop.settings import Evaluation, LoopSettings
from webgym.loop.state import EvaluateDone, LoopFolder, PublishDone
from webgym.store.files import Disk

PHASES = ["rollout", "judge", "replay", "train", "publish"]


def loop(tmp_path: Path, *, iterations: int, every: int) -> tuple[LoopSettings, LoopFolder]:
    settings = LoopSettings(
        run=tmp_path,
        tasks=tmp_path / "t",
        checkpoint=tmp_path / "m",
        iterations=iterations,
        evaluation=Evaluation(every=every),
    )
    return settings, LoopFolder(tmp_path, Disk(tmp_path))


def test_an_iteration_is_rolled_out_judged_evaluated_and_learned_from_in_this_order(tmp_path: Path):
    found = list(order(*loop(tmp_path, iterations=2, every=2)))
    assert found == [
        *((0, phase) for phase in ["rollout", "judge", "evaluate", "replay", "train", "publish"]),
        *((1, phase) for phase in PHASES),
        (2, "evaluate"),
    ]


def test_nothing_is_evaluated_if_nobody_asks(tmp_path: Path):
    assert [phase for _, phase in order(*loop(tmp_path, iterations=2, every=0))] == PHASES * 2


def test_a_published_iteration_is_over(tmp_path: Path):
    settings, folder = loop(tmp_path, iterations=2, every=1)
    folder.finish(0, PublishDone(checkpoint="checkpoints/000001", version=1))
    assert next(iter(order(settings, folder))) == (1, "rollout")


def test_more_iterations_may_be_asked_for_later(tmp_path: Path):
    settings, folder = loop(tmp_path, iterations=1, every=0)
    folder.finish(0, PublishDone(checkpoint="checkpoints/000001", version=1))
    assert list(order(settings, folder)) == []
    assert next(iter(order(settings.model_copy(update={"iterations": 2}), folder))) == (1, "rollout")


def test_trackers_are_told_again_of_what_was_over_when_the_last_process_died(tmp_path: Path):
    settings, folder = loop(tmp_path, iterations=2, every=2)
    assert over_before(settings, folder) is None
    folder.finish(0, PublishDone(checkpoint="checkpoints/000001", version=1))
    assert over_before(settings, folder) == 0
    folder.finish(1, PublishDone(checkpoint="checkpoints/000002", version=2))
    assert over_before(settings, folder) == 1
    folder.finish(2, EvaluateDone(judge="j", figures=Figures()))
    assert over_before(settings, folder) == 2
    assert over_before(settings.model_copy(update={"iterations": 3}), folder) == 1


def test_a_stopper_stops_what_is_under_way_and_what_begins_later():
    stopper, told = Stopper(), []
    with stopper.calling(lambda: told.append("first")):
        stopper.stop()
        stopper.stop()
    stopper.stop()
    assert told == ["first", "first"]
    with stopper.calling(lambda: told.append("second")):
        pass
    assert told[2:] == ["second"]
