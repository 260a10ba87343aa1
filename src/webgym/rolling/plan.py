"""Which episodes a rollout does: an iteration's plan, made once and found again, and the tasks it names."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from webgym.errors import ConfigError
from webgym.rolling.replaying import Recordings
from webgym.rolling.settings import OfflineWeb, RolloutSettings
from webgym.rollout.blocking import BlockList
from webgym.rollout.engine import take_back
from webgym.rollout.episode import Job
from webgym.store import Planned, Run
from webgym.tasks.files import TaskFile, write_tasks
from webgym.tasks.health import Health
from webgym.tasks.sampler import Sampler, walk_test_set
from webgym.tasks.selection import TaskFilter
from webgym.types import Task


def open_run(settings: RolloutSettings) -> Run:
    """The run, new or old. Blocks."""
    if (settings.run / "run.json").exists():
        return Run.open(settings.run)
    return Run.create(settings.run, settings=settings.model_dump(mode="json", exclude={"resume"}))


def jobs_of(settings: RolloutSettings, run: Run, blocklist: BlockList) -> tuple[list[Planned], list[Job]]:
    """The whole plan of the iteration, and what of it is still to be done. Blocks.

    A plan that is there is finished, whatever the settings would draw now; what may be redone is taken back first."""
    planned = list(run.planned(settings.iteration))
    if planned and not settings.resume:
        raise ConfigError(f"iteration {settings.iteration} of {run.path} is planned already: --resume finishes it")
    if planned:
        tasks = find_tasks(settings, {one.task for one in planned})
        take_back(run, settings.iteration, settings.engine.redo)
    else:
        drawn = draw_tasks(settings, blocklist)
        tasks = {task.id: task for task in drawn}
        planned = run.plan(settings.iteration, (task.id for task in drawn), replicas=settings.repeats)
    limit = settings.engine.caps.of
    if settings.recording is not None:
        limit = Recordings(settings.recording, settings.engine.session).limit
    return planned, [Job(one, tasks[one.task], limit(tasks[one.task])) for one in run.unfinished(settings.iteration)]


def draw_tasks(settings: RolloutSettings, blocklist: BlockList) -> list[Task]:
    if settings.recording is not None:
        return Recordings(settings.recording, settings.engine.session).tasks()[: settings.count]
    path, wanted = task_file(settings), settings.wanted
    if settings.split == "test":
        found = list(islice(walk_test_set(path), wanted))
    else:
        health = Health.open(settings.health) if settings.health is not None else None
        with Sampler.open(path, settings.sampler) as sampler:
            found = sampler.draw(settings.iteration, wanted or 1, health=health, blocked=blocklist.current())
    if not found:
        raise ConfigError(f"{path} has no usable {settings.split} task for iteration {settings.iteration}")
    return found


def find_tasks(settings: RolloutSettings, ids: set[str]) -> dict[str, Task]:
    if settings.recording is not None:
        path, recordings = settings.recording.run, Recordings(settings.recording, settings.engine.session)
        found = {task.id: task for task in recordings.tasks()}
    else:
        path = task_file(settings)
        with TaskFile.open(path) as file:
            found = {task.id: task for task in file.where(TaskFilter(ids=tuple(sorted(ids))))}
    if missing := sorted(ids - found.keys()):
        raise ConfigError(f"{path} has not the {len(missing)} tasks that were planned, such as {missing[0]}: is it another?")
    return found


def task_file(settings: RolloutSettings) -> Path:
    """The file to draw from; for the offline web it is made beside the run if none is given."""
    if settings.tasks is not None:
        return settings.tasks
    assert settings.worlds is not None
    path = worlds_file(settings.run.absolute().parent, settings.worlds)
    if not path.exists():
        from webgym.worlds.catalogue import generate

        web = settings.worlds
        write_tasks(path, generate(web.seed, web.tasks, port=web.port, workers=min(4, os.cpu_count() or 1)))
    return path


def worlds_file(folder: Path, web: OfflineWeb) -> Path:
    return folder / f"worlds-{web.seed}-{web.tasks}-{web.port}.parquet"
