"""Trackers of others who want the numbers of the loop, behind one method.

The loop needs none of them: metrics.jsonl has everything. A tracker is told of an iteration once it is published, and may be
told again after a crash, with the same step and the same values. One that fails costs its own copy and not the run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from webgym.errors import ConfigError
from webgym.loop.metrics import Metrics
from webgym.loop.settings import Tracker as TrackerName

log = logging.getLogger(__name__)


class Tracker(Protocol):
    """Whoever wants the numbers of an iteration."""

    def log(self, step: int, values: Mapping[str, float]) -> None: ...


Opener = Callable[[str, Path], tuple[Tracker, Callable[[], None]]]


class _Wandb:
    def __init__(self, run: Any) -> None:
        self._run = run

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)


class _TensorBoard:
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()


def _open_wandb(project: str, run: Path) -> tuple[Tracker, Callable[[], None]]:
    opened = import_module("wandb").init(project=project, name=run.name, id=run.name, dir=str(run), resume="allow")
    return _Wandb(opened), opened.finish


def _open_trackio(project: str, run: Path) -> tuple[Tracker, Callable[[], None]]:
    trackio = import_module("trackio")
    opened = trackio.init(project=project, name=run.name, resume="allow")
    return _Wandb(opened), trackio.finish


def _open_tensorboard(project: str, run: Path) -> tuple[Tracker, Callable[[], None]]:
    writer = import_module("tensorboardX").SummaryWriter(str(run / "tensorboard"), comment=project)
    return _TensorBoard(writer), writer.close


OPENERS: Final[dict[TrackerName, Opener]] = {
    "wandb": _open_wandb,
    "trackio": _open_trackio,
    "tensorboard": _open_tensorboard,
}
PACKAGES: Final[dict[TrackerName, str]] = {"wandb": "wandb", "trackio": "trackio", "tensorboard": "tensorboardX"}


@contextmanager
def opened(names: Iterable[TrackerName], project: str, run: Path) -> Iterator[list[Tracker]]:
    """The trackers of these names, opened; closed when the block ends."""
    with ExitStack() as stack:
        found = []
        for name in names:
            try:
                tracker, close = OPENERS[name](project, run)
            except ImportError as e:
                raise ConfigError(f"track: {name} is not installed: pip install {PACKAGES[name]}") from e
            stack.callback(close)
            found.append(tracker)
        yield found


def tell(listening: Iterable[Tracker], metrics: Metrics) -> None:
    """A tracker that fails costs its own copy of the numbers, not the run."""
    for tracker in listening:
        try:
            tracker.log(metrics.iteration, metrics.flat())
        except Exception as e:  # noqa: BLE001  # foreign code of any make; metrics.jsonl has everything
            log.warning("a tracker failed on iteration %d: %s: %s", metrics.iteration, type(e).__name__, e)
