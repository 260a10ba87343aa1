"""What every training process does first and last: read its job, end with its parent, say in one line what went wrong."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from webgym import logs
from webgym.config import describe
from webgym.errors import ConfigError, WebGymError
from webgym.train.job import BAD_CONFIG, ENDS_WITH_PARENT, NothingToLearn, Progress, Refused, TrainJob

FAILED = 1
_GRACE = 5.0


def run_child(arguments: list[str], work: Callable[[TrainJob, Callable[[Progress], None]], None]) -> int:
    """`python -m … JOB.json`: do the job, with progress on stdout and everything else on stderr."""
    if ENDS_WITH_PARENT in arguments:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    logs.start()
    files = [word for word in arguments if not word.startswith("--")]
    try:
        if len(files) != 1:
            raise ConfigError("name the file of one training job")
        work(read_job(Path(files[0])), _tell)
    except ConfigError as e:
        _tell(Refused(refused="nothing" if isinstance(e, NothingToLearn) else "config", why=" ".join(str(e).split())))
        return _say(e, BAD_CONFIG)
    except WebGymError as e:
        return _say(e, FAILED)
    return 0


def read_job(path: Path) -> TrainJob:
    try:
        return TrainJob.model_validate_json(path.read_bytes())
    except OSError as e:
        raise ConfigError(f"cannot read {path}: {e.strerror}") from e
    except ValidationError as e:
        raise ConfigError(f"{path}: {describe(e)}") from e


def _tell(said: Progress | Refused) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(said.model_dump_json() + "\n")
        sys.stdout.flush()


def _say(error: WebGymError, status: int) -> int:
    sys.stderr.write(" ".join(str(error).split()) + "\n")
    return status


def _end_with_parent() -> None:
    """The parent holds the other end of stdin; when that closes, nobody waits for us any more."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.killpg(os.getpgrp(), signal.SIGTERM)  # launchers pass it on to groups of their own
    time.sleep(_GRACE)
    os.killpg(os.getpgrp(), signal.SIGKILL)
