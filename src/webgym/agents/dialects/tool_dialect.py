"""A dialect whose replies end in one tool call: a vocabulary, a spelling, and prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from webgym.agents.dialects import calls, grids
from webgym.agents.dialects.calls import Call, Spelling
from webgym.agents.dialects.dialect import Inexpressible, Invalid, Screen, guarded
from webgym.agents.dialects.grids import Grid
from webgym.agents.prompts import compose
from webgym.types import Action, Look

MARKED = Look(marks=True)
PLAIN = Look()


class Vocabulary(Protocol):
    """What can be said with a family's tools: a call to an action, an action to a call's name and arguments."""

    def read(self, call: Call, screen: Screen) -> Action: ...

    def write(self, action: Action, screen: Screen) -> tuple[str, Mapping[str, object]]: ...


@dataclass(frozen=True)
class ToolDialect:
    """`prompts` are the names of the files that make the system prompt, in order."""

    name: str
    vocabulary: Vocabulary
    grid: Grid
    prompts: tuple[str, ...]
    look: Look = PLAIN
    spelling: Spelling = "json"

    def system(self, screen: Screen) -> str:
        wide, high = self.grid.extent(screen)
        return compose(self.prompts, width=wide, height=high, last_x=wide - 1, last_y=high - 1)

    def read(self, reply: str, screen: Screen) -> Action | Invalid:
        return guarded(self._parse, reply, screen)

    def write(self, action: Action, screen: Screen) -> str:
        tool, arguments = self.vocabulary.write(action, screen)
        if self.spelling == "xml":
            try:
                return calls.xml_call(tool, arguments)
            except Inexpressible:  # JSON has the escapes that XML lacks, and is read as well
                pass
        return calls.json_call(tool, arguments)

    def spot(self, x: float, y: float, screen: Screen) -> str:
        return "({}, {})".format(*grids.to_grid(self.grid, x, y, screen))

    def _parse(self, text: str, screen: Screen) -> Action:
        spellings: tuple[Spelling, ...] = ("xml", "json") if self.spelling == "xml" else ("json",)
        return self.vocabulary.read(calls.find(text, spellings), screen)
