"""Qwen3-VL: JSON calls; coordinates on a 0–1000 grid whatever the size of the screenshot, or Set-of-Marks."""

from __future__ import annotations

from webgym.agents.dialects.computer_use import ComputerUse
from webgym.agents.dialects.grids import Relative
from webgym.agents.dialects.tool_dialect import MARKED, ToolDialect
from webgym.agents.dialects.web_interaction import WebInteraction
from webgym.agents.prompts import reply_form

GRID = Relative(units=1000, largest=1000)


def coordinates(*, memory: bool, thinking: bool) -> ToolDialect:
    form = reply_form(memory=memory, thinking=thinking)
    prompts = ("web_agent", "computer_use", "grid_1000", "json_call", *form)
    return ToolDialect("qwen3_vl", ComputerUse(GRID), GRID, prompts)


def marks(*, memory: bool, thinking: bool, compact: bool = False) -> ToolDialect:
    """`compact` has a system prompt of five lines, for a model that learned from scratch and reads slowly."""
    form = reply_form(memory=memory, thinking=thinking)
    prompts = ("compact_marks",) if compact else ("web_agent", "web_interaction", "json_call", *form)
    return ToolDialect("qwen3_vl_marks", WebInteraction(), GRID, prompts, look=MARKED)
