"""Qwen3.5: the same tools and grid as Qwen3-VL, with calls in XML. Calls in JSON are read as well: it makes both."""

from __future__ import annotations

from dataclasses import replace

from webgym.agents.dialects import qwen3_vl
from webgym.agents.dialects.tool_dialect import ToolDialect


def coordinates(*, memory: bool, thinking: bool) -> ToolDialect:
    return _in_xml("qwen3_5", qwen3_vl.coordinates(memory=memory, thinking=thinking))


def marks(*, memory: bool, thinking: bool) -> ToolDialect:
    return _in_xml("qwen3_5_marks", qwen3_vl.marks(memory=memory, thinking=thinking))


def _in_xml(name: str, dialect: ToolDialect) -> ToolDialect:
    prompts = tuple("xml_call" if prompt == "json_call" else prompt for prompt in dialect.prompts)
    return replace(dialect, name=name, spelling="xml", prompts=prompts)
