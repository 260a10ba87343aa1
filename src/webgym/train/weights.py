"""Weights and optimiser state, from a checkpoint into a model and back.

Trained weights are float32 while they are trained, whatever the checkpoint holds: an update of 1e-6 vanishes in bfloat16.
What is published has the checkpoint's own precision. If that is lower, the float32 weights are kept beside the optimiser's
state, and the next job goes on from them and not from their rounded copy.

With LoRA the published weights have the adapter merged in, so that any server loads them; the adapter itself is kept in
`adapter`, with the path of the model it belongs to, and the next job goes on with both.

    optimizer/state.json            updates so far, and how far into which samples
    optimizer/moments.safetensors   both moments of AdamW and its step, by parameter
    optimizer/weights.safetensors   trained weights in float32, if the published ones are rounded
    optimizer/deepspeed/            instead of the last two: what each process of DeepSpeed had, in its own form
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import torch
from pydantic import Field, ValidationError
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, set_optimizer_state_dict

from webgym.errors import ConfigError
from webgym.train.checkpoint import ADAPTER, COMPLETE, OPTIMIZER
from webgym.train.job import RESULT, TrainJob
from webgym.train.readiness import SHARDS, VISION, base_of, check_adapter, precision_of
from webgym.types import Wire

_TAG: Final = "state"
_FULL: Final = StateDictOptions(full_state_dict=True, cpu_offload=True)
_NOT_COPIED: Final = frozenset({OPTIMIZER, ADAPTER, COMPLETE, RESULT})


class Resume(Wire):
    """Where an optimiser is."""

    updates: int = Field(0, ge=0, description="Over all jobs so far.")
    samples: str = Field("", description="Hash of the last job's samples.")
    position: int = Field(0, ge=0, description="How many of them it took, counting epochs on.")


def load_model(job: TrainJob) -> Any:
    """The model of a job, with what is to be trained marked so."""
    from transformers import AutoModelForImageTextToText

    check_adapter(job.model, job.settings)
    settings, continued, base = job.settings, (job.model / ADAPTER).is_dir(), base_of(job.model)
    dtype = torch.bfloat16 if settings.lora is not None and settings.bf16 else torch.float32
    model = AutoModelForImageTextToText.from_pretrained(base, dtype=dtype, local_files_only=True)
    if settings.freeze_vision:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(VISION not in f".{name}")
    if settings.lora is not None:
        model = _with_adapter(model, job, base, continued=continued)
    if settings.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if settings.lora is not None:
            model.enable_input_require_grads()
    if job.optimizer is not None and (kept := job.optimizer / "weights.safetensors").is_file():
        _, unknown = model.load_state_dict(load_file(kept), strict=False)
        if unknown:
            raise ConfigError(f"optimizer: {kept} has weights that {job.model} does not have, such as {unknown[0]}")
    return model


def _with_adapter(model: Any, job: TrainJob, base: Path, *, continued: bool) -> Any:
    from peft import LoraConfig, PeftModel, get_peft_model

    lora = job.settings.lora
    assert lora is not None
    if continued:
        model = PeftModel.from_pretrained(model, job.model / ADAPTER, is_trainable=True)
    else:
        targets = list(lora.targets) or (r".*_proj" if job.settings.freeze_vision else "all-linear")
        config = LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=targets,
            exclude_modules=rf".*{VISION[1:-1]}.*" if job.settings.freeze_vision else None,
        )
        model = get_peft_model(model, config)
        model.peft_config["default"].base_model_name_or_path = str(base.absolute())
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return model


def load_optimizer(model: Any, optimizer: Any, folder: Path | None) -> Resume:
    """Give an optimiser the state that the last job left; a fresh one if there is none."""
    if folder is None:
        return Resume()
    resume = _read_resume(folder)
    try:
        flat = load_file(folder / "moments.safetensors")
    except OSError as e:
        raise ConfigError(f"optimizer: {folder} holds no state of an optimiser: {e}") from e
    state: dict[str, dict[str, torch.Tensor]] = {}
    for key, value in flat.items():
        name, _, what = key.rpartition("/")
        state.setdefault(name, {})[what] = value
    trained = {name.removeprefix("module."): one for name, one in model.named_parameters() if one.requires_grad}
    if strange := sorted(set(state) - set(trained)):
        raise ConfigError(f"optimizer: {folder} is of another model or other layers: nothing here trains {strange[0]}")
    for name in trained.keys() - state.keys():  # it was frozen, or has had no gradient so far
        nothing = torch.zeros(trained[name].shape)
        state[name] = {"step": torch.tensor(0.0), "exp_avg": nothing, "exp_avg_sq": nothing.clone()}
    groups = get_optimizer_state_dict(model, optimizer)["param_groups"]  # whole on every process, unlike a full state
    set_optimizer_state_dict(model, optimizer, {"state": state, "param_groups": groups}, options=_FULL)
    return resume


def optimizer_tensors(model: Any, optimizer: Any) -> dict[str, torch.Tensor]:
    """Both moments and the step of every parameter, whole, on the CPU. Every process calls it, the first gets them."""
    state = get_optimizer_state_dict(model, optimizer, options=_FULL).get("state", {})
    return {f"{name}/{what}": value.contiguous() for name, one in state.items() for what, value in one.items()}


def save_optimizer(folder: Path, tensors: dict[str, torch.Tensor], resume: Resume) -> None:
    folder.mkdir()
    save_file(tensors, folder / "moments.safetensors")
    _write_resume(folder, resume)


def load_shards(engine: Any, job: TrainJob) -> Resume:
    """Give DeepSpeed the weights and the optimiser's state that the last job left: as many processes, each its part."""
    folder, settings = job.optimizer, job.settings
    if folder is None:
        return Resume()
    resume = _read_resume(folder)
    if not (folder / SHARDS).is_dir():
        raise ConfigError(f"optimizer: {folder} was not left by DeepSpeed; go on without it, or without DeepSpeed")
    from deepspeed.runtime.zero.utils import ZeRORuntimeException

    try:
        engine.load_checkpoint(str(folder / SHARDS), tag=_TAG, load_lr_scheduler_states=False)
    except ZeRORuntimeException as e:
        raise ConfigError(f"optimizer: {folder} is of another number of processes: {e}") from e
    # It brings the last job's settings back as well.
    for group in engine.optimizer.param_groups:
        group["weight_decay"] = settings.weight_decay
    if hasattr(engine.optimizer, "clip_grad"):
        engine.optimizer.clip_grad = settings.clip_norm
    return resume


def save_shards(engine: Any, folder: Path) -> None:
    """What DeepSpeed has, into a folder that every process sees. Every process calls it."""
    engine.save_checkpoint(str(folder), tag=_TAG)


def adopt_shards(folder: Path, shards: Path, resume: Resume) -> None:
    """Make them part of a checkpoint."""
    folder.mkdir()
    shards.rename(folder / SHARDS)
    _write_resume(folder, resume)


def _read_resume(folder: Path) -> Resume:
    try:
        return Resume.model_validate_json((folder / "state.json").read_bytes())
    except (OSError, ValidationError) as e:
        raise ConfigError(f"optimizer: {folder} holds no state of an optimiser: {e}") from e


def _write_resume(folder: Path, resume: Resume) -> None:
    (folder / "state.json").write_text(resume.model_dump_json(indent=2) + "\n")


def save_model(model: Any, state: dict[str, torch.Tensor], job: TrainJob, folder: Path, *, keep_exact: bool) -> None:
    """Write what a server loads, and what a next job needs beside the optimiser's moments (`keep_exact`)."""
    if job.settings.lora is not None:
        model.save_pretrained(folder / ADAPTER, state_dict=state)
        _publish_merged(job.model, folder / ADAPTER, folder)
    else:
        published = _published_dtype(job.model)
        if keep_exact and published != torch.float32:
            trained = {name for name, one in model.named_parameters() if one.requires_grad}
            exact = {name: one.float().contiguous() for name, one in state.items() if name in trained}
            save_file(exact, folder / OPTIMIZER / "weights.safetensors")
        model.save_pretrained(folder, state_dict=_rounded(state, published))
    copy_rest(job.model, folder)


def publish_adapter(model: Path, made: Path, folder: Path) -> None:
    """Keep an adapter that another trainer made for a model, and publish the two merged."""
    (folder / ADAPTER).mkdir()
    config = json.loads((made / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(base_of(model).absolute())
    (folder / ADAPTER / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    shutil.copyfile(made / "adapter_model.safetensors", folder / ADAPTER / "adapter_model.safetensors")
    _publish_merged(model, folder / ADAPTER, folder)


def publish_files(model: Path, made: Path, folder: Path) -> None:
    """Publish weights that another trainer wrote, in the precision of the model it started from."""
    published = _published_dtype(model)
    for path in sorted(made.glob("model*.safetensors")):
        save_file(_rounded(load_file(path), published), folder / path.name, metadata={"format": "pt"})
    for path in made.glob("model*.index.json"):
        shutil.copyfile(path, folder / path.name)


def copy_rest(model: Path, folder: Path) -> None:
    """Configuration, tokenizer, processor and template of the model that was trained, byte for byte."""
    for path in base_of(model).iterdir():
        if path.is_file() and path.name not in _NOT_COPIED and not path.name.startswith("model") and path.suffix != ".bin":
            shutil.copyfile(path, folder / path.name)


def _publish_merged(model: Path, adapter: Path, folder: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForImageTextToText

    base = AutoModelForImageTextToText.from_pretrained(base_of(model), dtype=torch.float32, local_files_only=True)
    merged = PeftModel.from_pretrained(base, adapter).merge_and_unload()
    merged.save_pretrained(folder, state_dict=_rounded(merged.state_dict(), _published_dtype(model)))


def _rounded(state: dict[str, torch.Tensor], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: one.to(dtype) if one.is_floating_point() else one for name, one in state.items()}


def _published_dtype(model: Path) -> torch.dtype:
    """The precision of a checkpoint, or of the model that its adapter belongs to; float32 if torch does not know it."""
    dtype = getattr(torch, precision_of(base_of(model)), torch.float32)
    assert isinstance(dtype, torch.dtype)
    return dtype
