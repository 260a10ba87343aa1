"""The tiny Qwen3-VL as a checkpoint folder: random weights, configuration, tokenizer, processor, chat template.

Invariants. The folder loads with `AutoProcessor` and `AutoModelForImageTextToText`, and wherever else a Qwen3-VL does. The
same seed, size and texts give the same bytes. What differs from the released models is written here and nowhere else: the
numbers of `TinySize`, tied embeddings (as in the smaller releases), and an image processor that takes screenshots from
32 × 32 pixels on as they are (released ones enlarge anything under 256 × 256).

The position embeddings of the vision part start as sines and cosines and all weights somewhat larger than usual: with so few
updates and so narrow layers, a model that has to invent a sense of place first never learns to point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from webgym.train import shim
from webgym.train.tiny.tokenizer import END, IMAGE, TURN_END, VIDEO, VISION_END, VISION_START, learn_tokenizer

PATCH: Final = 16
MERGE: Final = 2
TOKEN_PIXELS: Final = (PATCH * MERGE) ** 2  # of a screenshot that become one token


@dataclass(frozen=True)
class TinySize:
    """Widths and depths. The defaults make about 1.3 million weights."""

    vocabulary: int = 2048
    hidden: int = 128
    layers: int = 3
    heads: int = 4
    inner: int = 384
    vision_hidden: int = 64
    vision_layers: int = 2
    vision_heads: int = 2
    vision_inner: int = 128
    deviation: float = 0.06  # of random weights


def make_tiny(folder: Path, seed: int = 0, *, texts: Iterable[str] = (), size: TinySize | None = None) -> Path:
    """Write a model with random weights into `folder`, which may exist; its tokenizer is learned from `texts`."""
    shim.activate()
    import torch
    from transformers import Qwen3VLForConditionalGeneration

    size = size or TinySize()
    processor = _processor(learn_tokenizer(texts, size.vocabulary))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3VLForConditionalGeneration(_config(size, processor.tokenizer))
    _place_vision(model)
    model.generation_config = _generation(processor.tokenizer)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _processor(tokenizer: Any) -> Any:
    from transformers import Qwen2VLImageProcessor, Qwen3VLProcessor, Qwen3VLVideoProcessor

    limits = {"shortest_edge": TOKEN_PIXELS, "longest_edge": 16384 * TOKEN_PIXELS}
    shape = {"patch_size": PATCH, "temporal_patch_size": 2, "merge_size": MERGE}
    colours = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    return Qwen3VLProcessor(
        Qwen2VLImageProcessor(size=limits, **shape, **colours),
        tokenizer,
        Qwen3VLVideoProcessor(size=limits, cap_pixels_per_frame=False, **shape, **colours),
        chat_template=files(__package__).joinpath("chat_template.jinja").read_text("utf-8"),
    )


def _config(size: TinySize, tokenizer: Any) -> Any:
    from transformers import Qwen3VLConfig

    wide = size.hidden // size.heads
    across = wide // 2 // 3
    number = tokenizer.convert_tokens_to_ids
    return Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": size.hidden,
            "intermediate_size": size.inner,
            "num_hidden_layers": size.layers,
            "num_attention_heads": size.heads,
            "num_key_value_heads": size.heads,
            "head_dim": wide,
            "max_position_embeddings": 32768,
            "initializer_range": size.deviation,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [wide // 2 - 2 * across, across, across],
                "mrope_interleaved": True,
            },
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": number(TURN_END),
            "pad_token_id": number(END),
        },
        vision_config={
            "depth": size.vision_layers,
            "hidden_size": size.vision_hidden,
            "intermediate_size": size.vision_inner,
            "num_heads": size.vision_heads,
            "patch_size": PATCH,
            "spatial_merge_size": MERGE,
            "temporal_patch_size": 2,
            "out_hidden_size": size.hidden,
            "num_position_embeddings": 16 * 16,
            "deepstack_visual_indexes": [0],
            "initializer_range": size.deviation,
        },
        image_token_id=number(IMAGE),
        video_token_id=number(VIDEO),
        vision_start_token_id=number(VISION_START),
        vision_end_token_id=number(VISION_END),
        tie_word_embeddings=True,
        dtype="float32",
    )


def _generation(tokenizer: Any) -> Any:
    from transformers import GenerationConfig

    number = tokenizer.convert_tokens_to_ids
    return GenerationConfig(do_sample=True, eos_token_id=[number(TURN_END), number(END)], pad_token_id=number(END))


def _place_vision(model: Any) -> None:
    """Give every patch its place: sines and cosines of row and column in the learned position embeddings."""
    import torch

    table = model.model.visual.pos_embed.weight
    side, width = math.isqrt(table.shape[0]), table.shape[1]
    rates = torch.exp(-math.log(100.0) * torch.arange(width // 4) / (width // 4))
    angles = torch.arange(side)[:, None] * rates[None, :]
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)
    rows, columns = waves[:, None, :].expand(side, side, -1), waves[None, :, :].expand(side, side, -1)
    with torch.no_grad():
        table.copy_(0.3 * torch.cat([rows, columns], dim=2).reshape(side * side, -1))
