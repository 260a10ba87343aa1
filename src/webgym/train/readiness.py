"""What would refuse a training job, asked before anything is spent on its samples.

A job runs in a process of its own, hours after the loop began. Whatever can be known from settings and small files is
therefore asked here, without torch and without weights: the loop asks before its first browser starts, a job once more.
"""

from __future__ import annotations

import json
import logging
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml

from webgym.errors import ConfigError
from webgym.train.checkpoint import ADAPTER, OPTIMIZER
from webgym.train.job import TrainSettings

log = logging.getLogger(__name__)

VISION: Final = ".visual."
SHARDS: Final = "deepspeed"
LORA: Final = ".lora_"  # in the names of an adapter's parameters
_LONGEST_HEADER: Final = 100 << 20  # what safetensors itself allows


def check_ready(model: Path, optimizer: Path | None, settings: TrainSettings) -> None:
    """Raise ConfigError if no job with these settings can start from this model and this optimiser. Blocks."""
    if settings.backend == "llamafactory":
        llamafactory_cli(settings)
    devices_of(settings)
    check_adapter(model, settings)
    if settings.backend == "llamafactory" and settings.lora is None and (rounded := precision_of(model)) != "float32":
        log.warning(
            "LLaMA-Factory trains all weights of %s, which is in %s: what an iteration learns is rounded to that, and the "
            "next one starts from it, so small updates are lost. train.backend 'native' keeps float32 weights, and so does "
            "train.lora for an adapter's; or start from a checkpoint in float32",
            model,
            rounded,
        )
    if optimizer is not None and settings.backend == "native":  # LLaMA-Factory begins anew in every job
        _check_optimizer(optimizer, settings)


def llamafactory_cli(settings: TrainSettings) -> Path:
    """LLaMA-Factory's command, which must be there."""
    cli = settings.llamafactory.python.absolute().parent / "llamafactory-cli"
    if not cli.is_file():
        raise ConfigError(
            f"llamafactory.python: there is no {cli}; `webgym env make llamafactory` makes the environment, or name another"
        )
    return cli


def precision_of(model: Path) -> str:
    """The precision a checkpoint's configuration names, as torch does; float32 if it names none."""
    try:
        config: dict[str, Any] = json.loads((model / "config.json").read_text())
    except (OSError, ValueError) as e:
        raise ConfigError(f"model: the configuration of {model} cannot be read: {e}") from e
    return str(config.get("dtype") or config.get("torch_dtype") or config.get("text_config", {}).get("dtype") or "float32")


def devices_of(settings: TrainSettings) -> int:
    """How many devices share the weights: as accelerate's own file says."""
    if settings.accelerate_config is None:
        return 1
    count = _accelerate(settings.accelerate_config).get("num_processes", 1)
    if not isinstance(count, int) or count < 1:
        raise ConfigError(f"train.accelerate_config: num_processes of {settings.accelerate_config} is {count!r}")
    return count


def base_of(model: Path) -> Path:
    """The folder whose weights a job loads: of a checkpoint with an adapter, the model that it belongs to."""
    config = model / ADAPTER / "adapter_config.json"
    return Path(json.loads(config.read_text())["base_model_name_or_path"]) if config.is_file() else model


def check_adapter(model: Path, settings: TrainSettings) -> None:
    """A model that has an adapter is trained on with that adapter: what it learned would be lost, or its shape ignored."""
    folder, lora = model / ADAPTER, settings.lora
    if not folder.is_dir():
        return
    if lora is None:
        raise ConfigError(f"lora: {model} was trained with an adapter, and none is set; set it, or start from its base")
    config = folder / "adapter_config.json"
    try:
        found: dict[str, Any] = json.loads(config.read_text())
    except (OSError, ValueError) as e:
        raise ConfigError(f"lora: the adapter of {model} cannot be read: {e}") from e
    made = {"rank": found.get("r"), "alpha": found.get("lora_alpha"), "dropout": found.get("lora_dropout")}
    for name, has in made.items():
        wanted = getattr(lora, name)
        if has is not None and has != wanted:
            raise ConfigError(
                f"lora.{name} is {wanted}, and {model} has an adapter made with {has}, which would stay: set that, or start "
                f"from the adapter's base, {found.get('base_model_name_or_path')}"
            )
    if (weights := folder / "adapter_model.safetensors").is_file():
        layers = {name.partition(LORA)[0] for name in tensor_names(weights)}
        _check_layers(model, layers, settings)


def _check_layers(model: Path, layers: set[str], settings: TrainSettings) -> None:
    """The layers that an adapter has are those that are asked for, as far as anybody asks."""
    if settings.freeze_vision and any(VISION in layer for layer in layers):
        raise ConfigError(f"freeze_vision: the adapter of {model} trains the vision tower, too; start from its base")
    targets = settings.lora.targets if settings.lora is not None else ()
    has = {target: [layer for layer in layers if f".{layer}".endswith(f".{target}")] for target in targets}
    if targets and (not all(has.values()) or layers - set(chain(*has.values()))):
        raise ConfigError(
            f"lora.targets: the adapter of {model} is on other layers, and would stay there; start from its base"
        )


def _check_optimizer(folder: Path, settings: TrainSettings) -> None:
    """Its state must be of the parameters that are trained, in the form of those who train them."""
    if not (folder / "state.json").is_file():
        raise ConfigError(f"optimizer: {folder} holds no state of an optimiser")
    sharded = (folder / SHARDS).is_dir()
    config = settings.accelerate_config
    if sharded != (config is not None and _accelerate(config).get("distributed_type") == "DEEPSPEED"):
        whose = "was left by DeepSpeed" if sharded else "was not left by DeepSpeed"
        raise ConfigError(f"optimizer: {folder} {whose}; go on as it was made, or start the optimiser anew")
    if sharded:
        return
    moments = folder / "moments.safetensors"
    names = tensor_names(moments)
    if any(LORA in name for name in names) != (settings.lora is not None):
        whose = "all weights" if settings.lora is not None else "an adapter"
        raise ConfigError(f"optimizer: {folder} is of a training of {whose}, which lora says otherwise: start it anew")
    if settings.freeze_vision and any(VISION in f".{name}" for name in names):
        raise ConfigError(f"optimizer: {folder} trained the vision tower, and freeze_vision is set: start it anew")


def tensor_names(file: Path) -> list[str]:
    """The names in a file of safetensors, from its header alone."""
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > _LONGEST_HEADER:
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(opened.read(length))
        return [name for name in header if name != "__metadata__"]
    except (OSError, ValueError, TypeError) as e:
        raise ConfigError(f"{file} cannot be read: {e}") from e


def optimizer_of(model: Path) -> Path | None:
    """The optimiser's state that lies with a checkpoint; None: it has none."""
    folder = model / OPTIMIZER
    return folder if folder.is_dir() else None


def _accelerate(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text())
    except (OSError, ValueError, yaml.YAMLError) as e:
        raise ConfigError(f"train.accelerate_config: cannot read {path}: {e}") from e
    if not isinstance(found, dict):
        raise ConfigError(f"train.accelerate_config: {path} is no file of accelerate's settings")
    return found
