"""How a build is getting on: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

log = logging.getLogger(__name__)

PERIOD: Final = 10.0


class Bar:
    """Counts up to a total. `note` says what goes with the count, such as the cost, and is asked when it is shown."""

    def __init__(
        self, title: str, total: int, note: Callable[[int], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title, self._total, self._note, self._clock = title, total, note, clock
        self._done, self._said = 0, clock()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True))
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
            self._row = self._bar.add_task(self._title, total=self._total, note="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._bar.update(self._row, completed=self._done, note=self._note(self._done))
            self._bar.stop()

    def advance(self) -> None:
        self._done += 1
        if self._live:
            self._bar.update(self._row, completed=self._done, note=self._note(self._done))
        elif (now := self._clock()) - self._said > PERIOD:
            self._said = now
            log.info("%s: %d of %d; %s", self._title, self._done, self._total, self._note(self._done))
