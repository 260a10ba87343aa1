"""A checkpoint in memory, ready to be run by `runner`."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from webgym.errors import ConfigError
from webgym.train.serving.sampling import Sampling
from webgym.train.serving.slots import ATTENTION, Slots, attend
from webgym.train.shim import activate

ARCHITECTURE: Final = "Qwen3VLForConditionalGeneration"
# What turns messages into tokens; only weights may differ between two checkpoints that one server has in turn.
WORDS: Final = (
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "preprocessor_config.json",
    "processor_config.json",
)


@dataclass(frozen=True)
class Loaded:
    """A model, how its replies end, and how they are drawn where a request does not say."""

    folder: Path
    model: Any
    end_ids: frozenset[int]
    defaults: Sampling
    context: int
    image_token: int
    words: str

    def new_slots(self) -> Slots:
        text = self.model.config.text_config
        width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
        return Slots(text.num_hidden_layers, text.num_key_value_heads, width, self.model.dtype)


def load(folder: Path) -> Loaded:
    """Read a checkpoint. Raises ConfigError if it is not one that this server can run."""
    named = _architectures(folder)
    if ARCHITECTURE not in named:
        raise ConfigError(f"{folder} holds {', '.join(named) or 'no model'}: this server runs {ARCHITECTURE}; use vLLM")
    activate()
    from transformers import Qwen3VLForConditionalGeneration
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(ATTENTION, attend)
    try:
        model = Qwen3VLForConditionalGeneration.from_pretrained(
            folder, dtype="auto", use_safetensors=True, local_files_only=True, attn_implementation="sdpa"
        )
    except (OSError, ValueError, RuntimeError) as e:
        raise ConfigError(f"{folder} cannot be loaded: {e}") from e
    model.eval().requires_grad_(False)
    model.model.language_model.config._attn_implementation = ATTENTION
    return Loaded(
        folder,
        model,
        _end_ids(model),
        _defaults(folder),
        model.config.text_config.max_position_embeddings,
        model.config.image_token_id,
        words_of(folder),
    )


def words_of(folder: Path) -> str:
    """A fingerprint of what turns messages into tokens."""
    found = hashlib.sha256()
    for name in WORDS:
        path = folder / name
        found.update(name.encode() + b"\0" + (path.read_bytes() if path.is_file() else b"") + b"\0")
    return found.hexdigest()


def _architectures(folder: Path) -> list[str]:
    try:
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as e:
        raise ConfigError(f"{folder} is no checkpoint: {e}") from e
    named = config.get("architectures") if isinstance(config, dict) else None
    return [str(name) for name in named] if isinstance(named, list) else []


def _end_ids(model: Any) -> frozenset[int]:
    given = model.generation_config.eos_token_id
    if given is None:
        given = model.config.text_config.eos_token_id
    return frozenset(given if isinstance(given, list) else [given] if given is not None else [])


def _defaults(folder: Path) -> Sampling:
    """From the file and not from transformers, which fills in values that nobody chose."""
    path = folder / "generation_config.json"
    try:
        given = json.loads(path.read_text()) if path.is_file() else {}
        return Sampling(
            temperature=float(given.get("temperature") or 1.0),
            top_p=float(given.get("top_p") or 1.0),
            top_k=max(0, int(given.get("top_k") or 0)),
        )
    except (OSError, ValueError, TypeError, AttributeError) as e:
        raise ConfigError(f"{path} cannot be read: {e}") from e


def set_up_torch(threads: int) -> None:
    """What a process that serves sets once."""
    torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // 2))
    torch.set_grad_enabled(False)
