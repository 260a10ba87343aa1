"""From judged episodes to a new model: replay, train, publish. The loop does them in turn, `webgym update` alone.

Invariants. A sample of a task on a website of the test set stops the run, whatever let it in; steps on such a website that
other tasks led to are not learned from. Training starts from the model that played the iteration, in a process of its own
whose memory is gone when it ends. A model is published by naming its whole checkpoint; checkpoints that no later phase needs
are removed only then.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webgym.errors import ConfigError, LeakageError, StoreError
from webgym.loop.leakage import lies_on
from webgym.loop.state import LoopFolder, PublishDone, ReplayDone, TrainDone
from webgym.replay.buffer import replay
from webgym.replay.settings import ReplaySettings
from webgym.store import Run
from webgym.store.files import trouble
from webgym.store.samples import read_samples
from webgym.tasks.websites import site
from webgym.train.job import NothingToLearn, Progress, TrainJob, TrainSettings, train
from webgym.train.readiness import base_of, check_ready, optimizer_of

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Trainer:
    """What an update needs to know, whoever asks for it."""

    folder: LoopFolder
    store: Run
    first: Path  # the model before any update
    replay: ReplaySettings
    train: TrainSettings
    keep: int
    tested: frozenset[str] = frozenset()  # websites of the test set
    continue_optimizer: bool = False  # go on with the state that lies with the first model

    def start(self, iteration: int) -> tuple[Path, Path | None]:
        """What an iteration's training starts from: the model that played it, and the state of its optimiser.

        What an update of this run left is gone on with. The first model is only where the run begins: a state that somebody
        else's training left with it is taken if that is asked for."""
        model = self.folder.model(iteration, self.first)
        if model.is_relative_to(self.folder.checkpoints):
            return model, optimizer_of(model)
        if not self.continue_optimizer:
            return model, None
        if self.train.backend == "llamafactory":
            raise ConfigError("continue_optimizer needs train.backend 'native': LLaMA-Factory starts anew in every job")
        if (state := optimizer_of(model)) is None:
            raise ConfigError(f"continue_optimizer is set, and {model} has no optimizer folder: unset it, or name another")
        return model, state


def check(trainer: Trainer, iteration: int) -> None:
    """Raise whatever would refuse an iteration's update, before its episodes are played. Blocks."""
    check_ready(*trainer.start(iteration), trainer.train)
    replayed = trainer.folder.read(iteration, ReplayDone)
    if replayed is not None and trainer.folder.read(iteration, TrainDone) is None:
        _check_objective(trainer, iteration, replayed)


def _check_objective(trainer: Trainer, iteration: int, replayed: ReplayDone) -> None:
    """Advantages do not tell one objective from another: those of GRPO would pass for REINFORCE's."""
    made, wanted = replayed.statistics.objective, trainer.train.objective
    if replayed.samples and made != wanted:
        file = trainer.folder.samples(iteration).with_name("replay.json")
        raise ConfigError(
            f"train.objective is {wanted!r}, and the samples of iteration {iteration} were made for {made!r}: set that "
            f"until it is trained, or remove {file}, and they are made anew"
        )


def choose(trainer: Trainer, iteration: int, judge: str) -> ReplayDone:
    """Replay: write the samples to learn from. Blocks."""
    path = trainer.folder.samples(iteration)
    with trouble(f"clearing {path.parent}"):
        for left in path.parent.glob(f".{path.name}.*.staging"):  # of a replay that was killed
            left.unlink()
    statistics = replay(
        trainer.store,
        path,
        judge=judge,
        iteration=iteration,
        objective=trainer.train.objective,
        settings=trainer.replay,
        tested=lambda address: lies_on(address, trainer.tested),
    )
    for sample in read_samples(path):
        if site(sample.website) in trainer.tested:
            raise LeakageError(f"a sample of episode {sample.episode} is on {sample.website}, which is tested on")
    return ReplayDone(samples=statistics.kept, statistics=statistics)


async def learn(trainer: Trainer, iteration: int, report: Report | None = None) -> TrainDone:
    """Train on the samples of an iteration; without any that can be trained on, the model stays as it is."""
    replayed = await asyncio.to_thread(trainer.folder.read, iteration, ReplayDone)
    if replayed is None:
        raise StoreError(f"iteration {iteration} of {trainer.folder.run} has no samples yet: replay comes first")
    if replayed.samples == 0:
        return TrainDone(result=None, reason="no sample was left to learn from")
    _check_objective(trainer, iteration, replayed)
    job = await asyncio.to_thread(_job, trainer, iteration)
    try:
        return TrainDone(result=await train(job, report))
    except NothingToLearn as e:
        return TrainDone(result=None, reason=str(e))


def _job(trainer: Trainer, iteration: int) -> TrainJob:
    """One update of the version that played this iteration."""
    folder = trainer.folder
    model, optimizer = trainer.start(iteration)
    return TrainJob(
        model=model,
        samples=folder.samples(iteration),
        images=(trainer.store.path / "images",),
        output=folder.checkpoint(iteration + 1),
        optimizer=optimizer,
        iteration=iteration + 1,
        settings=trainer.train,
    )


def publish(trainer: Trainer, iteration: int) -> PublishDone:
    """Name the model that the next iteration plays, and let go of those before. Blocks."""
    folder = trainer.folder
    trained = folder.read(iteration, TrainDone)
    if trained is None:
        raise StoreError(f"iteration {iteration} of {folder.run} is not trained yet")
    # Not the path in the result, which a run that was moved meanwhile has left.
    checkpoint = folder.checkpoint(iteration + 1) if trained.result else folder.model(iteration, trainer.first)
    done = PublishDone(checkpoint=folder.named(checkpoint), version=iteration + 1)
    _prune(folder, folder.run / done.checkpoint, trainer.keep)
    return done


def _prune(folder: LoopFolder, newest: Path, keep: int) -> None:
    """Remove our checkpoints but the latest, and the models that their adapters belong to. One that is being removed has a
    name that nobody takes for a checkpoint."""
    published = [path for _, path in folder.published()] + [newest]
    latest = list(dict.fromkeys(reversed(published)))[:keep]
    latest += [base_of(path) for path in latest]
    for path in folder.checkpoints.iterdir() if folder.checkpoints.is_dir() else ():
        if path.is_dir() and not path.name.startswith(".") and path in set(published) - set(latest):
            with trouble(f"removing {path}"):
                shutil.rmtree(path.rename(path.with_name(f".{path.name}.old.staging")))
