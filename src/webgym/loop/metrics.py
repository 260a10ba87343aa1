"""The loop in numbers: metrics.jsonl, one line an iteration.

The file follows from the result files of the phases and is written anew after each, so it never disagrees with them, has no
line twice and needs no repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from webgym.errors import Damaged
from webgym.loop.figures import Figures, Rate
from webgym.loop.plot import Point
from webgym.loop.state import PHASES, EvaluateDone, JudgeDone, LoopFolder, Phase, ReplayDone, TrainDone
from webgym.replay.statistics import ReplayStatistics
from webgym.store.files import trouble
from webgym.train.job import TrainResult
from webgym.types import Wire


class Metrics(Wire):
    """One iteration. The test figures are of the model that the iteration's rollout used."""

    iteration: int
    judge: str | None = Field(None, description="Whose verdicts the figures follow.")
    test_judge: str | None = Field(None, description="Whose the test's figures follow, if it is another.")
    rollout: Figures | None = None
    test: Figures | None = None
    replay: ReplayStatistics | None = None
    train: TrainResult | None = None
    seconds: dict[Phase, float] = Field({}, description="Of each phase, in the process that ended it.")
    memory: dict[Phase, int] = Field({}, description="Bytes held by the loop and its children after the phase.")

    def flat(self) -> dict[str, float]:
        """For a tracker: names and numbers."""
        found: dict[str, float] = {}
        for name, figures in (("train", self.rollout), ("test", self.test)):
            if figures is not None:
                found |= {f"{name}/{key}": value for key, value in _flat(figures)}
        if self.replay is not None:
            found["replay/samples"] = float(self.replay.kept)
            found |= {f"replay/dropped/{reason}": float(count) for reason, count in self.replay.dropped.items()}
        if self.train is not None:
            result = self.train
            found |= {"update/loss_before": result.loss_before, "update/loss_after": result.loss_after}
            found |= {"update/samples": float(result.samples), "update/tokens": float(result.tokens)}
            if result.validation_after is not None:
                found["update/validation"] = result.validation_after
        found |= {f"seconds/{phase}": value for phase, value in self.seconds.items()}
        return found | {f"memory/{phase}": float(value) for phase, value in self.memory.items()}


def _flat(figures: Figures) -> Iterator[tuple[str, float]]:
    rates: dict[str, Rate] = {"success": figures.success}
    rates |= {f"success/{band}": rate for band, rate in figures.by_band.items()}
    for name, rate in rates.items():
        if rate.share is not None:
            yield name, rate.share
    yield "episodes", float(figures.success.of)
    yield "steps_per_episode", figures.steps_per_episode
    yield "invalid_share", figures.invalid_share
    yield "infra_share", figures.infra_share
    yield "prompt_tokens", float(figures.prompt_tokens)
    yield "completion_tokens", float(figures.completion_tokens)
    if figures.judge_dollars:  # without a price nobody knows
        yield "judge_dollars", figures.judge_dollars


def collect(folder: LoopFolder, iteration: int) -> Metrics:
    """What the result files say of an iteration. Blocks."""
    judged, evaluated = folder.read(iteration, JudgeDone), folder.read(iteration, EvaluateDone)
    replayed, trained = folder.read(iteration, ReplayDone), folder.read(iteration, TrainDone)
    judges = [one.judge for one in (judged, evaluated) if one is not None]
    done = {phase: found for phase in PHASES if (found := folder.done(iteration, phase)) is not None}
    return Metrics(
        iteration=iteration,
        judge=judges[0] if judges else None,
        test_judge=judges[-1] if len(set(judges)) > 1 else None,
        rollout=judged.figures if judged else None,
        test=evaluated.figures if evaluated else None,
        replay=replayed.statistics if replayed else None,
        train=trained.result if trained else None,
        seconds={phase: found.seconds for phase, found in done.items()},
        memory={phase: found.memory for phase, found in done.items()},
    )


def write(folder: LoopFolder) -> None:
    """metrics.jsonl as the result files have it now. Blocks."""
    lines = [collect(folder, iteration).model_dump_json() for iteration in folder.iterations()]
    folder.write_metrics("".join(f"{line}\n" for line in lines).encode())


def read(path: Path) -> list[Metrics]:
    """The lines of a metrics.jsonl."""
    with trouble(f"reading {path}"):
        lines = path.read_bytes().splitlines()
    try:
        return [Metrics.model_validate_json(line) for line in lines]
    except ValidationError as e:
        raise Damaged(f"{path} is no file of metrics; `webgym train` writes it anew from the run") from e


def curves(metrics: Iterable[Metrics]) -> tuple[list[Point], list[Point]]:
    """Success on test and on training tasks, by the number of updates."""
    test, train = [], []
    for one in metrics:
        if one.test is not None:
            test.append(Point(one.iteration, one.test.success))
        if one.rollout is not None:
            train.append(Point(one.iteration, one.rollout.success))
    return test, train
