"""Qwen2.5-VL: `computer_use` in JSON, coordinates in pixels of the image as its processor resizes it (factor 28)."""

from __future__ import annotations

from webgym.agents.dialects.computer_use import ComputerUse
from webgym.agents.dialects.grids import Resized
from webgym.agents.dialects.tool_dialect import ToolDialect
from webgym.agents.prompts import reply_form


def coordinates(*, memory: bool, thinking: bool, min_pixels: int, max_pixels: int) -> ToolDialect:
    grid = Resized(28, min_pixels, max_pixels)
    prompts = ("web_agent", "computer_use", "grid_pixels", "json_call", *reply_form(memory=memory, thinking=thinking))
    return ToolDialect("qwen2_5_vl", ComputerUse(grid), grid, prompts)
