"""Trackers of others who want the numbers of the loop, behind one method.

The loop needs none of them: metrics.jsonl has everything. A tracker is told of an iteration once it is published, and may be
told again after a crash, with the same step and the same values. One that fails costs its own copy and not the run; one that
is not installed is a setting that is wrong, and stops it before it begins. Two runs of one name are two runs to a tracker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Tracked:
    """A run as trackers know it."""

    project: str
    folder: Path
    created: float  # tells runs of one name apart, wherever they are moved to

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def id(self) -> str:
        return f"{self.name}-{round(self.created * 1000):x}"


Opener = Callable[[Tracked], tuple[Tracker, Callable[[], None]]]


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


def _open_wandb(run: Tracked) -> tuple[Tracker, Callable[[], None]]:
    wandb, folder = import_module("wandb"), str(run.folder)
    opened = wandb.init(project=run.project, name=run.name, id=run.id, dir=folder, resume="allow")
    return _Wandb(opened), opened.finish


def _open_trackio(run: Tracked) -> tuple[Tracker, Callable[[], None]]:
    trackio = import_module("trackio")
    opened = trackio.init(project=run.project, name=run.id, resume="allow")  # it knows runs by their names alone
    return _Wandb(opened), trackio.finish


def _open_tensorboard(run: Tracked) -> tuple[Tracker, Callable[[], None]]:
    writer = import_module("tensorboardX").SummaryWriter(str(run.folder / "tensorboard"), comment=run.project)
    return _TensorBoard(writer), writer.close


OPENERS: Final[dict[TrackerName, Opener]] = {
    "wandb": _open_wandb,
    "trackio": _open_trackio,
    "tensorboard": _open_tensorboard,
}
PACKAGES: Final[dict[TrackerName, str]] = {"wandb": "wandb", "trackio": "trackio", "tensorboard": "tensorboardX"}


@contextmanager
def opened(
    names: Iterable[TrackerName], run: Tracked, openers: Mapping[TrackerName, Opener] = OPENERS
) -> Iterator[list[Tracker]]:
    """The trackers of these names, as far as they can be opened; closed when the block ends."""
    with ExitStack() as stack:
        found = []
        for name in names:
            try:
                tracker, close = openers[name](run)
            except ImportError as e:
                raise ConfigError(f"track: {name} is not installed: pip install {PACKAGES[name]}") from e
            except Exception as e:  # noqa: BLE001  # foreign code of any make
                log.warning("%s could not be opened and is told nothing: %s: %s", name, type(e).__name__, e)
                continue
            stack.callback(_close, name, close)
            found.append(tracker)
        yield found


def _close(name: TrackerName, close: Callable[[], None]) -> None:
    try:
        close()
    except Exception as e:  # noqa: BLE001  # foreign code of any make
        log.warning("%s could not be closed: %s: %s", name, type(e).__name__, e)


def tell(listening: Iterable[Tracker], metrics: Metrics) -> None:
    """A tracker that fails costs its own copy of the numbers, not the run."""
    for tracker in listening:
        try:
            tracker.log(metrics.iteration, metrics.flat())
        except Exception as e:  # noqa: BLE001  # foreign code of any make; metrics.jsonl has everything
            log.warning("a tracker failed on iteration %d: %s: %s", metrics.iteration, type(e).__name__, e)
