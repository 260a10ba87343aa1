"""A process that writes a small run and is killed at one of its write points: `python store_writer.py FOLDER`.

Each point gets a child of its own and a run of its own, `FOLDER/<n>`; the last one is the child that reached the end. The
children are forks made before Arrow has done anything, because starting Python a hundred times takes minutes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from tests.unit.store.making import BROKEN, make_episode, make_judgement
from webgym.store import Run
from webgym.store.files import Disk
from webgym.types import Cancelled


def write(folder: Path, checkpoint: Callable[[str], None]) -> None:
    """Every kind of write there is."""
    disk = Disk(folder, checkpoint=checkpoint, chunk=1_500)
    with Run.create(folder, name="crash", disk=disk) as run:
        run.plan(0, ["task-0", "task-1"], replicas=2)
        first, second, third, fourth = (one.id for one in run.planned())
        run.commit(make_episode(run, 0, steps=2))
        run.record(second, Cancelled(reason="shutdown"))
        run.withdraw(second, "resumed")
        run.record(second, BROKEN)
        run.commit(make_episode(run, 1, steps=1))
        run.add_judgement(make_judgement(first))
        run.quarantine(third, "for the sake of it")
        run.record(fourth, Cancelled(reason="straggler"))


def recover(folder: Path, checkpoint: Callable[[str], None]) -> None:
    """Opening after a crash is itself a series of writes."""
    with Run.open(folder, disk=Disk(folder, checkpoint=checkpoint)):
        pass


def killing(after: int) -> Callable[[str], None]:
    reached = count(1)

    def checkpoint(_: str) -> None:
        if next(reached) > after:
            os.kill(os.getpid(), signal.SIGKILL)

    return checkpoint


def survives(what: Callable[[], None]) -> bool:
    """Run something in a child; false if it was killed."""
    child = os.fork()
    if child == 0:
        what()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit("a child failed")
    return os.WIFEXITED(status)


def main(folder: Path) -> None:
    for point in count():
        if survives(lambda n=point: write(folder / str(n), killing(n))):
            break
    for path in sorted(folder.iterdir()):
        if (path / "run.json").exists():
            for point in count():
                if survives(lambda p=path, n=point: recover(p, killing(n))):
                    break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
