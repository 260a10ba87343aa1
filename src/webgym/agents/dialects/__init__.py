"""Dialects by name: one file a model family. To add one, write its file and name it in `DIALECTS`."""

from __future__ import annotations

from typing import Final, Literal, assert_never, get_args

from webgym.agents.dialects import (
    anthropic_computer_use,
    gemini_computer_use,
    openai_computer_use,
    qwen2_5_vl,
    qwen3_5,
    qwen3_vl,
    ui_tars,
)
from webgym.agents.dialects.dialect import Dialect, Inexpressible, Invalid, Screen, after_thoughts, cut_while_thinking

__all__ = [
    "COMPACT",
    "DIALECTS",
    "Dialect",
    "DialectName",
    "Inexpressible",
    "Invalid",
    "Screen",
    "after_thoughts",
    "cut_while_thinking",
    "dialect",
]

DialectName = Literal[
    "qwen3_vl",
    "qwen3_vl_marks",
    "qwen3_5",
    "qwen3_5_marks",
    "qwen2_5_vl",
    "ui_tars",
    "ui_tars_1_5",
    "openai_computer_use",
    "anthropic_computer_use",
    "gemini_computer_use",
]
DIALECTS: Final[tuple[DialectName, ...]] = get_args(DialectName)
COMPACT: Final[tuple[DialectName, ...]] = ("qwen3_vl_marks",)  # those that have a compact system prompt


def dialect(
    name: DialectName,
    *,
    memory: bool = True,
    thinking: bool = False,
    compact: bool = False,
    min_pixels: int = 56 * 56,
    max_pixels: int = 14 * 14 * 4 * 16384,
) -> Dialect:
    """The dialect of that name. `memory` has the model carry its findings along; UI-TARS has a form of its own and none."""
    match name:
        case "qwen3_vl":
            return qwen3_vl.coordinates(memory=memory, thinking=thinking)
        case "qwen3_vl_marks":
            return qwen3_vl.marks(memory=memory, thinking=thinking, compact=compact)
        case "qwen3_5":
            return qwen3_5.coordinates(memory=memory, thinking=thinking)
        case "qwen3_5_marks":
            return qwen3_5.marks(memory=memory, thinking=thinking)
        case "qwen2_5_vl":
            return qwen2_5_vl.coordinates(memory=memory, thinking=thinking, min_pixels=min_pixels, max_pixels=max_pixels)
        case "ui_tars":
            return ui_tars.first(thinking=thinking)
        case "ui_tars_1_5":
            return ui_tars.one_and_a_half(thinking=thinking, min_pixels=min_pixels, max_pixels=max_pixels)
        case "openai_computer_use":
            return openai_computer_use.coordinates(memory=memory, thinking=thinking)
        case "anthropic_computer_use":
            return anthropic_computer_use.coordinates(memory=memory, thinking=thinking)
        case "gemini_computer_use":
            return gemini_computer_use.coordinates(memory=memory, thinking=thinking)
        case _:
            assert_never(name)
