"""What a Qwen3-VL needs of memory and disk, counted from its shape: no weights are read, no torch is imported.

The parameters are counted exactly (a test compares with the real model). Everything else is a rule of thumb, and `ASSUMED`
says which; a table made of these figures shows that list with it. Bytes throughout.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from webgym.errors import ConfigError

GIB: Final = 1 << 30
EXACT_BYTES: Final = 4
ROUNDED_BYTES: Final = 2
MERGED_BYTES: Final = EXACT_BYTES + ROUNDED_BYTES
STATE_BYTES: Final = 12
OPTIMIZER_BYTES: Final = 12
LOGIT_BYTES: Final = 10
IMAGE_BITS_PER_PIXEL: Final = 1.0
STEP_BYTES: Final = 12_000
ASSUMED: Final = (
    f"a trained parameter takes {EXACT_BYTES + STATE_BYTES} bytes: itself, its gradient and AdamW's two moments in 32 bits",
    f"a served parameter, or one under a LoRA, takes {ROUNDED_BYTES} bytes (bf16), any other frozen one {EXACT_BYTES}",
    f"an adapter is merged on the host, with {MERGED_BYTES} bytes a parameter: the weights in 32 bits, and rounded",
    "with gradient checkpointing every layer keeps its input and one layer at a time is computed again",
    f"logits are made for replies only and take {LOGIT_BYTES} bytes each with their gradient",
    "every sample of a batch is as long as train.max_tokens: the worst case",
    f"a saved optimiser takes {OPTIMIZER_BYTES} bytes a trained parameter: both moments, and the weights before rounding",
    f"a screenshot takes {IMAGE_BITS_PER_PIXEL:g} bit a pixel (JPEG of quality 80), a step's text {STEP_BYTES // 1000} kB",
    "an episode takes all the steps it may: half of that is usual",
)


@dataclass(frozen=True)
class TextShape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    tied: bool

    @property
    def linears(self) -> tuple[tuple[int, int], ...]:
        """The linear maps of one layer, (in, out)."""
        attention, keys = self.heads * self.head, self.kv_heads * self.head
        maps = ((self.hidden, attention), (self.hidden, keys), (self.hidden, keys), (attention, self.hidden))
        return (*maps, (self.hidden, self.inner), (self.hidden, self.inner), (self.inner, self.hidden))

    @property
    def parameters(self) -> int:
        norms = 2 * self.hidden + 2 * self.head  # of the layer, of queries and of keys
        layer = sum(a * b for a, b in self.linears) + norms
        return (1 if self.tied else 2) * self.vocabulary * self.hidden + self.layers * layer + self.hidden

    @property
    def kv_bytes(self) -> int:
        """Of one token in the cache."""
        return 2 * self.layers * self.kv_heads * self.head * ROUNDED_BYTES


@dataclass(frozen=True)
class VisionShape:
    hidden: int
    layers: int
    inner: int
    patch: int
    merge: int
    positions: int
    deepstack: int
    out: int
    channels: int = 3
    frames: int = 2

    @property
    def linears(self) -> tuple[tuple[int, int], ...]:
        return (
            (self.hidden, 3 * self.hidden),
            (self.hidden, self.hidden),
            (self.hidden, self.inner),
            (self.inner, self.hidden),
        )

    @property
    def mergers(self) -> tuple[tuple[int, int], ...]:
        """Of the last layer, and of each layer that also reaches the text model."""
        wide = self.hidden * self.merge**2
        return ((wide, wide), (wide, self.out)) * (1 + self.deepstack)

    @property
    def parameters(self) -> int:
        patches = self.channels * self.frames * self.patch**2 * self.hidden + self.hidden + self.positions * self.hidden
        layer = sum(a * b + b for a, b in self.linears) + 4 * self.hidden
        wide = self.hidden * self.merge**2
        norms = 2 * self.hidden + 2 * wide * self.deepstack
        return patches + self.layers * layer + sum(a * b + b for a, b in self.mergers) + norms


@dataclass(frozen=True)
class Shape:
    """A Qwen3-VL."""

    name: str
    text: TextShape
    vision: VisionShape
    source: str

    @property
    def parameters(self) -> int:
        return self.text.parameters + self.vision.parameters

    def image_tokens(self, width: int, height: int) -> int:
        """What one screenshot weighs in a prompt: its sides are rounded to whole merged patches."""
        side = self.vision.patch * self.vision.merge
        return max(1, round(width / side)) * max(1, round(height / side))

    def adapter(self, rank: int, *, vision: bool) -> int:
        """Parameters of a LoRA on every linear map."""
        maps = [*self.text.linears] * self.text.layers
        if vision:
            maps += [*self.vision.linears] * self.vision.layers + [*self.vision.mergers]
        return sum(rank * (a + b) for a, b in maps)


def _published(name: str, text: TextShape, *, large_eye: bool) -> Shape:
    """A model of the family: the vision towers come in two sizes."""
    hidden, layers, inner = (1152, 27, 4304) if large_eye else (1024, 24, 4096)
    vision = VisionShape(hidden, layers, inner, patch=16, merge=2, positions=2304, deepstack=3, out=text.hidden)
    return Shape(name, text, vision, "its published sizes")


_WORDS: Final = 151_936
KNOWN: Final = (
    _published("Qwen3-VL-2B", TextShape(2048, 28, 16, 8, 128, 6144, _WORDS, tied=True), large_eye=False),
    _published("Qwen3-VL-4B", TextShape(2560, 36, 32, 8, 128, 9728, _WORDS, tied=True), large_eye=False),
    _published("Qwen3-VL-8B", TextShape(4096, 36, 32, 8, 128, 12_288, _WORDS, tied=False), large_eye=True),
    _published("Qwen3-VL-32B", TextShape(5120, 64, 64, 8, 128, 25_600, _WORDS, tied=False), large_eye=True),
)


def shape_of(checkpoint: Path) -> Shape:
    """A model's shape: from its config.json if the folder is there, else from its name."""
    config = checkpoint / "config.json"
    if config.is_file():
        return _read(config)
    for shape in KNOWN:
        if checkpoint.name.casefold().startswith(shape.name.casefold()):
            return shape
    known = ", ".join(shape.name for shape in KNOWN)
    raise ConfigError(f"checkpoint: {checkpoint} has no config.json, and its name is none of {known}")


def _read(path: Path) -> Shape:
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        text, vision = said["text_config"], said["vision_config"]
        tied = bool(said.get("tie_word_embeddings", text.get("tie_word_embeddings", False)))
        heads = text["num_attention_heads"]
        return Shape(
            path.parent.name,
            TextShape(
                text["hidden_size"],
                text["num_hidden_layers"],
                heads,
                text.get("num_key_value_heads", heads),
                text.get("head_dim") or text["hidden_size"] // heads,
                text["intermediate_size"],
                text["vocab_size"],
                tied,
            ),
            VisionShape(
                vision["hidden_size"],
                vision["depth"],
                vision["intermediate_size"],
                vision["patch_size"],
                vision["spatial_merge_size"],
                vision["num_position_embeddings"],
                len(vision.get("deepstack_visual_indexes", ())),
                vision["out_hidden_size"],
                vision.get("in_channels", 3),
                vision.get("temporal_patch_size", 2),
            ),
            str(path),
        )
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise ConfigError(f"{path} does not describe a Qwen3-VL: {type(e).__name__}: {e}") from e


@dataclass(frozen=True)
class Training:
    """Memory of one training device."""

    trained: int  # parameters
    weights: int
    state: int  # gradients and moments of what is trained
    activations: int
    logits: int

    @property
    def total(self) -> int:
        return self.weights + self.state + self.activations + self.logits


def training(
    shape: Shape,
    *,
    batch: int,
    tokens: int,
    reply: int,
    devices: int = 1,
    lora_rank: int | None = None,
    freeze_vision: bool = False,
    checkpointing: bool = True,
) -> Training:
    """What one device holds when `batch` samples of `tokens` tokens are trained, of which `reply` are learned from."""
    if lora_rank is not None:
        trained = shape.adapter(lora_rank, vision=not freeze_vision)
        still = ROUNDED_BYTES * shape.parameters
    else:
        frozen = shape.vision.parameters if freeze_vision else 0
        trained, still = shape.parameters - frozen, EXACT_BYTES * frozen
    text, seen = shape.text, batch * tokens
    one_layer = 2 * seen * (14 * text.hidden + 6 * text.inner)
    inputs = 2 * seen * text.layers * text.hidden
    return Training(
        trained=trained,
        weights=(still + EXACT_BYTES * trained) // devices,
        state=STATE_BYTES * trained // devices,
        activations=inputs + one_layer if checkpointing else one_layer * text.layers,
        logits=LOGIT_BYTES * batch * reply * text.vocabulary,
    )


def gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB" if size >= 0.1 * GIB else f"{size / (1 << 20):.1f} MiB"
