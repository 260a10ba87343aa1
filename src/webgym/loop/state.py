"""Which phases of a run are done: a phase is done iff its result file is there, and a result file is there whole or not.

    RUN/                                   a run of the store: the training episodes
    RUN/test/                              another one: evaluations, whose iteration is the number of updates before it
    RUN/loop/<iteration>/<phase>.json      what a phase came to, written when it is over
    RUN/loop/<iteration>/samples.parquet   what replay chose
    RUN/loop/settings/<n>.json             the settings of the first start, and of each later one that changed them
    RUN/checkpoints/<version>/             the model after so many updates
    RUN/metrics.jsonl                      the results side by side; follows from the files above
    RUN/model-server.log                   what the model server wrote

There is no other state. A loop that was killed asks these files where it was; whatever a phase did without finishing is
found again by the phase itself (planned episodes, verdicts, whole checkpoints), so doing it once more changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import Field, ValidationError

from webgym.errors import Damaged, StoreError
from webgym.loop.figures import Figures
from webgym.replay.statistics import ReplayStatistics
from webgym.store.files import Disk, trouble
from webgym.train.job import TrainResult
from webgym.types import Wire

Phase = Literal["rollout", "judge", "evaluate", "replay", "train", "publish"]
PHASES: Final[tuple[Phase, ...]] = ("rollout", "judge", "evaluate", "replay", "train", "publish")
TEST: Final = "test"


class Done(Wire):
    """What every phase tells."""

    seconds: float = Field(0.0, description="From its begin to its end, in the process that ended it.")
    memory: int = Field(0, description="Bytes that the loop and all its children held when it was over.")
    ended: float = Field(0.0, description="Seconds since the epoch.")


class RolloutDone(Done):
    planned: int


class JudgeDone(Done):
    judge: str = Field(description="Whose verdicts count.")
    figures: Figures


class EvaluateDone(Done):
    judge: str
    figures: Figures


class ReplayDone(Done):
    samples: int
    statistics: ReplayStatistics


class TrainDone(Done):
    result: TrainResult | None = Field(description="None: there was nothing to learn from.")
    reason: str = ""


class PublishDone(Done):
    checkpoint: str = Field(description="Relative to the run if it lies inside.")
    version: int = Field(description="How many updates were asked for; the first model is version 0.")


D = TypeVar("D", bound=Done)
_KINDS: Final[dict[Phase, type[Done]]] = {
    "rollout": RolloutDone,
    "judge": JudgeDone,
    "evaluate": EvaluateDone,
    "replay": ReplayDone,
    "train": TrainDone,
    "publish": PublishDone,
}


class LoopFolder:
    """The files of a loop. Every method blocks on the disk, briefly."""

    def __init__(self, run: Path, disk: Disk) -> None:
        self.run, self._disk = run.absolute(), disk

    @property
    def path(self) -> Path:
        return self.run / "loop"

    @property
    def test(self) -> Path:
        return self.run / TEST

    @property
    def checkpoints(self) -> Path:
        return self.run / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.run / "metrics.jsonl"

    def samples(self, iteration: int) -> Path:
        return self._folder(iteration) / "samples.parquet"

    def checkpoint(self, version: int) -> Path:
        return self.checkpoints / f"{version:06}"

    def done(self, iteration: int, phase: Phase) -> Done | None:
        """A phase's result; None: it is still to be done."""
        return self._read(iteration, phase, _KINDS[phase])

    def read(self, iteration: int, kind: type[D]) -> D | None:
        return self._read(iteration, _phase_of(kind), kind)

    def finish(self, iteration: int, result: Done) -> None:
        """Say that a phase is done. The first result stays."""
        path = self._file(iteration, _phase_of(type(result)))
        self._disk.publish(path, result.model_dump_json(indent=2).encode() + b"\n")

    def iterations(self) -> list[int]:
        """Iterations of which something is done, in order."""
        if not self.path.is_dir():
            return []
        return sorted(int(folder.name) for folder in self.path.iterdir() if folder.name.isdigit())

    def published(self) -> Iterator[tuple[int, Path]]:
        """Versions and their checkpoints, in order."""
        for iteration in self.iterations():
            found = self.read(iteration, PublishDone)
            if found is not None:
                yield found.version, self.run / found.checkpoint

    def model(self, version: int, first: Path) -> Path:
        """The checkpoint of a version, which must have been published unless it is the first."""
        if version == 0:
            return first.absolute()
        found = self.read(version - 1, PublishDone)
        if found is None:
            raise StoreError(f"{self.run} has no version {version} of the model: iteration {version - 1} is not published")
        return self.run / found.checkpoint

    def named(self, checkpoint: Path) -> str:
        """A checkpoint's path as it is written down: a run may be moved with what is inside it."""
        path = checkpoint.absolute()
        return str(path.relative_to(self.run) if path.is_relative_to(self.run) else path)

    def remember(self, settings: bytes) -> None:
        """Keep the settings of a start, unless they are those of the last one."""
        kept = sorted((self.path / "settings").glob("*.json"))
        if not kept or kept[-1].read_bytes() != settings:
            self._disk.publish(self.path / "settings" / f"{len(kept):03}.json", settings)

    def write_metrics(self, data: bytes) -> None:
        self._disk.replace(self.metrics, data)

    def _folder(self, iteration: int) -> Path:
        return self.path / f"{iteration:06}"

    def _file(self, iteration: int, phase: Phase) -> Path:
        return self._folder(iteration) / f"{phase}.json"

    def _read(self, iteration: int, phase: Phase, kind: type[D]) -> D | None:
        path = self._file(iteration, phase)
        with trouble(f"reading {path}"):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
        try:
            return kind.model_validate_json(data)
        except ValidationError as e:
            raise Damaged(f"{path} is no result of {phase}: remove it and the phase is done again") from e


def _phase_of(kind: type[Done]) -> Phase:
    return next(phase for phase, one in _KINDS.items() if one is kind)
