"""A recorded run again: the tasks of its kept episodes, and agents that do what those did.

One recording stands for a task: the first that was kept, in the order of the plan, or the one that is named. The task is the
recording's own, so no task file is needed and none can have changed it.
"""

from __future__ import annotations

from webgym.agents.scripted import ReplayAgent
from webgym.errors import ConfigError
from webgym.rolling.settings import Recording
from webgym.rollout.settings import SessionOptions
from webgym.store import Run
from webgym.types import Episode, Task


class Recordings:
    """Kept episodes of a run, one a task. Making it and using it block on the disk."""

    def __init__(self, wanted: Recording, session: SessionOptions) -> None:
        self._iteration, self._size = wanted.iteration, (session.width, session.height)
        self._first: dict[str, str] = {}  # by task
        with Run.open(wanted.run, read_only=True) as run:
            self._files, outcomes = run.files, run.outcomes()
            for one in run.planned(wanted.iteration):
                if (record := outcomes.get(one.id)) is not None and record.stored and wanted.episode in (None, one.id):
                    self._first.setdefault(one.task, one.id)
        if not self._first:
            which = f"episode {wanted.episode}" if wanted.episode is not None else "episode"
            raise ConfigError(f"recording: {wanted.run} has kept no {which} of iteration {wanted.iteration}")

    def tasks(self) -> list[Task]:
        """What they were about, in the order of their plan."""
        return [self._episode(task).task for task in self._first]

    def limit(self, task: Task) -> int:
        """Steps its recording took: all of them are done again, whatever caps there are now."""
        return max(1, len(self._episode(task.id).steps))

    def __call__(self, task: Task, episode: str) -> ReplayAgent:
        return ReplayAgent(self._episode(task.id))

    def _episode(self, task: str) -> Episode:
        found = self._files.read(self._files.path(self._iteration, self._first[task]))
        if (found.width, found.height) != self._size:
            made, now = f"{found.width} × {found.height}", "{} × {}".format(*self._size)
            raise ConfigError(f"episode {found.id} was recorded at {made}, and engine.session is {now}: clicks would miss")
        return found
