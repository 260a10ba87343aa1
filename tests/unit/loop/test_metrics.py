"""metrics.jsonl follows from the result files; trackers get the same numbers; the curve is drawn from them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from webgym.errors import ConfigError, Damaged
from webgym.loop import metrics, trackers
from webgym.loop.commands import run_plot
from webgym.loop.figures import Figures, Rate
from webgym.loop.plot import Point, learning_curve
from webgym.loop.settings import Tracker as TrackerName
from webgym.loop.state import EvaluateDone, JudgeDone, LoopFolder, ReplayDone, RolloutDone, TrainDone
from webgym.loop.trackers import Opener, Tracked, Tracker
from webgym.replay.statistics import ReplayStatistics
from webgym.store.files import Disk
from webgym.train.job import TrainResult

Opened = tuple[Tracker, Callable[[], None]]
ROLLED = Figures(planned=10, by_band={"easy": Rate(passed=3, of=8)}, kept=9, steps=27, invalid=3, outcomes={"infra": 1})
TESTED = Figures(planned=20, by_band={"easy": Rate(passed=5, of=10), "hard": Rate(passed=0, of=10)}, kept=20, steps=40)
RESULT = TrainResult(
    checkpoint=Path("c"), updates=2, samples=4, tokens=900, loss_before=2.0, loss_after=1.5, seconds=1.0, seconds_total=2.0
)


@pytest.fixture
def folder(tmp_path: Path) -> LoopFolder:
    folder = LoopFolder(tmp_path / "run", Disk(tmp_path / "run"))
    folder.finish(0, RolloutDone(planned=10, seconds=12.0, memory=1000))
    folder.finish(0, JudgeDone(judge="j", figures=ROLLED))
    folder.finish(0, EvaluateDone(judge="j", figures=TESTED))
    statistics = ReplayStatistics(judge="j", objective="filtered_bc", kept=7, dropped={"unchanged": 2})
    folder.finish(0, ReplayDone(samples=7, statistics=statistics))
    folder.finish(0, TrainDone(result=RESULT))
    folder.finish(1, EvaluateDone(judge="j", figures=TESTED))
    return folder


def test_the_file_is_one_line_an_iteration_and_writing_it_again_changes_nothing(folder: LoopFolder):
    metrics.write(folder)
    first = folder.metrics.read_bytes()
    metrics.write(folder)
    assert folder.metrics.read_bytes() == first
    zero, one = metrics.read(folder.metrics)
    assert (zero.iteration, zero.rollout, zero.test, zero.train) == (0, ROLLED, TESTED, RESULT)
    assert (zero.seconds["rollout"], zero.memory["rollout"]) == (12.0, 1000)
    assert (one.iteration, one.rollout, one.test) == (1, None, TESTED)


def test_a_line_names_the_judge_and_the_tests_own_if_it_is_another(folder: LoopFolder):
    folder.finish(2, JudgeDone(judge="j", figures=ROLLED))
    folder.finish(2, EvaluateDone(judge="k", figures=TESTED))
    folder.finish(3, RolloutDone(planned=10))
    metrics.write(folder)
    named = [(one.judge, one.test_judge) for one in metrics.read(folder.metrics)]
    assert named == [("j", None), ("j", None), ("j", "k"), (None, None)]


def test_what_the_judge_cost_is_told_where_it_has_a_price(folder: LoopFolder):
    folder.finish(2, JudgeDone(judge="j", figures=ROLLED.model_copy(update={"judge_dollars": 0.25})))
    assert metrics.collect(folder, 2).flat()["train/judge_dollars"] == 0.25
    assert "train/judge_dollars" not in metrics.collect(folder, 0).flat()


def test_a_tracker_gets_every_figure_the_paper_reports(folder: LoopFolder):
    found = metrics.collect(folder, 0).flat()
    assert found["train/success"] == 3 / 8
    assert (found["test/success/easy"], found["test/success/hard"], found["test/success"]) == (0.5, 0.0, 0.25)
    assert (found["train/steps_per_episode"], found["train/invalid_share"], found["train/infra_share"]) == (3.0, 3 / 27, 0.1)
    assert (found["replay/samples"], found["replay/dropped/unchanged"]) == (7.0, 2.0)
    assert (found["update/loss_before"], found["update/loss_after"], found["update/tokens"]) == (2.0, 1.5, 900.0)


def test_a_success_rate_of_nothing_is_left_out_and_is_not_0(folder: LoopFolder):
    folder.finish(2, JudgeDone(judge="j", figures=Figures(planned=3, outcomes={"infra": 3})))
    found = metrics.collect(folder, 2).flat()
    assert "train/success" not in found
    assert found["train/infra_share"] == 1.0


class Broken:
    def log(self, step: int, values: Mapping[str, float]) -> None:
        raise ConnectionError("no network")


class Listening:
    def __init__(self) -> None:
        self.heard: list[tuple[int, dict[str, float]]] = []

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.heard.append((step, dict(values)))


def test_a_tracker_that_fails_costs_nobody_else_their_numbers(folder: LoopFolder, caplog: pytest.LogCaptureFixture):
    listening, one = Listening(), metrics.collect(folder, 0)
    with caplog.at_level(logging.WARNING):
        trackers.tell([Broken(), listening], one)
    assert listening.heard == [(0, one.flat())]
    assert "no network" in caplog.text


def tracked(folder: Path, created: float = 1.0) -> Tracked:
    return Tracked("p", folder, created)


def test_a_tracker_that_is_not_installed_is_named_with_its_package(tmp_path: Path):
    with pytest.raises(ConfigError, match="pip install tensorboardX"), trackers.opened(["tensorboard"], tracked(tmp_path)):
        pass


def test_a_tracker_that_cannot_be_opened_or_closed_does_not_end_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def refuses(run: Tracked) -> Opened:
        raise ConnectionError("no network")

    def stays_open(run: Tracked) -> Opened:
        def close() -> None:
            raise TimeoutError("it does not end")

        return listening, close

    listening = Listening()
    openers: dict[TrackerName, Opener] = {"wandb": refuses, "trackio": stays_open}
    with caplog.at_level(logging.WARNING), trackers.opened(["wandb", "trackio"], tracked(tmp_path), openers) as found:
        assert found == [listening]
    assert "wandb could not be opened and is told nothing: ConnectionError: no network" in caplog.text
    assert "trackio could not be closed: TimeoutError: it does not end" in caplog.text


def test_runs_of_one_name_are_told_apart_and_a_run_that_moved_is_the_same(tmp_path: Path):
    here, there = tracked(tmp_path / "a" / "loop"), tracked(tmp_path / "b" / "loop", created=2.0)
    assert here.name == there.name == "loop"
    assert here.id != there.id
    assert tracked(tmp_path / "c" / "loop").id == here.id


def test_a_spoiled_file_is_told_as_such(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text('{"iteration": -}\n')
    with pytest.raises(Damaged, match="writes it anew"):
        metrics.read(tmp_path / "metrics.jsonl")


# the curve


def test_plot_draws_the_curve_of_a_run(folder: LoopFolder, capsys: pytest.CaptureFixture[str]):
    metrics.write(folder)
    assert run_plot([str(folder.run)]) == 0
    drawn = ElementTree.parse(folder.run / "curve.svg").getroot()
    titles = [title.text or "" for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert "unseen websites, 0 updates: 25.0% of 20 (11.2% to 46.9%)" in titles
    assert any(title.startswith("training tasks, 0 updates: 37.5% of 8") for title in titles)
    assert "25.0% of 20" in capsys.readouterr().out


def test_a_run_without_figures_has_no_curve(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 0}\n')
    with pytest.raises(ConfigError, match="nothing to draw yet"):
        run_plot([str(tmp_path)])


def test_a_curve_stays_inside_its_picture_and_its_title_is_no_markup():
    points = [Point(n, Rate(passed=n, of=10)) for n in range(0, 11, 5)]
    drawn = ElementTree.fromstring(learning_curve("<script>&", points, [Point(0, Rate())]))
    circles = [one for one in drawn.iter("{http://www.w3.org/2000/svg}circle") if one.find("*") is not None]
    assert len(circles) == 3, "a point without episodes is not drawn"
    heights = [float(one.attrib["cy"]) for one in circles]
    assert heights == sorted(heights, reverse=True), "more success is drawn higher"
    assert all(0 <= y <= 420 for y in heights)
    assert "<script>&" in (drawn.find("{http://www.w3.org/2000/svg}text").text or "")  # type: ignore[union-attr]
