"""The board in a terminal: a coloured character an episode, counts, rates, gates. The same picture as the page's.

    with Live(get_renderable=TerminalBoard(board), refresh_per_second=4):
        ...

Invariant: what comes from a page or a model is printed as text; it can neither style nor steer the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from webgym.ui.view import Board, Cell, Doing, Head

MARKS: Final[dict[Doing, tuple[str, str]]] = {
    "planned": ("·", "bright_black"),
    "waiting": ("…", "white"),
    "navigating": ("→", "blue"),
    "screenshot": ("▫", "cyan"),
    "model": ("◆", "magenta"),
    "executing": ("▸", "yellow"),
    "saving": ("↓", "bright_blue"),
    "judging": ("?", "bright_magenta"),
    "done": ("●", "bright_cyan"),
    "failed": ("×", "bold red"),
    "cancelled": ("–", "bright_black"),
}
PASSED: Final = ("✓", "bold green")
MISSED: Final = ("○", "bright_yellow")
ROWS: Final = 12  # of cells; the liveliest, if there are more
TAKEN: Final = 14  # lines of everything else


class TerminalBoard:
    """Something rich can print, fresh each time."""

    def __init__(self, board: Board, *, address: str = "") -> None:
        self._board, self._address = board, address

    def __call__(self) -> TerminalBoard:
        return self

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head, cells = self._board.head(), self._board.cells()
        rows = max(2, min(ROWS, options.size.height - TAKEN - len(head.gates)))
        parts: list[RenderableType] = [
            _title(head, self._address),
            _progress(head),
            _grid(cells, options.max_width, rows),
            _counts(head),
        ]
        if head.gates:
            parts.append(_gates(head))
        if head.notice:
            parts.append(Text(_printable(head.notice), style="bold yellow"))
        yield Group(*parts)


def mark_of(cell: Cell) -> tuple[str, str]:
    """An episode's character and its style."""
    if cell.doing == "done" and cell.reward is not None:
        return PASSED if cell.reward else MISSED
    return MARKS[cell.doing]


def _title(head: Head, address: str) -> Text:
    said = Text(_printable(head.run) or "rollout", style="bold", no_wrap=True, overflow="ellipsis")
    if head.agent:
        said.append(f"  {_printable(head.agent)}", style="not bold bright_black")
    if address:
        said.append(f"  {address}", style="not bold cyan")
    return said


def _progress(head: Head) -> Table:
    line = Table.grid(padding=(0, 2))
    line.add_column(width=24)
    parts = [f"{head.ended:,} of {head.total:,}"]
    if head.scored:
        parts.append(f"{100 * head.passed / head.scored:.1f} % success")
    parts += [f"{head.episodes_per_hour:,.0f} episodes/h", f"{head.steps_per_second:,.1f} steps/s"]
    if head.model_use is not None:
        parts.append(f"model {100 * head.model_use:.0f} %")
    if head.browser_use is not None:
        parts.append(f"browsers {100 * head.browser_use:.0f} %")
    line.add_row(ProgressBar(total=max(1, head.total), completed=head.ended, width=24), Text("   ".join(parts)))
    return line


def _grid(cells: Sequence[Cell], width: int, rows: int) -> Text:
    """A character each. When there is no room for all, those under way come first, then the latest that ended."""
    room = width * rows
    if len(cells) > room:
        active = [cell for cell in cells if cell.doing not in ("planned", "done", "failed", "cancelled")][:room]
        ended = [cell for cell in cells if cell.doing in ("done", "failed", "cancelled")]
        left = room - len(active)
        cells = [*active, *(ended[-left:] if left else [])]
    said = Text(no_wrap=False)
    for cell in cells:
        said.append(*mark_of(cell))
    return said


def _counts(head: Head) -> Text:
    said = Text()
    for doing, (mark, style) in MARKS.items():
        if count := head.counts.get(doing, 0):
            said.append(mark, style)
            said.append(f" {doing} {count:,}   ")
    return said


def _gates(head: Head) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bright_black")
    for name in ("gate", "busy", "in line", "wait", "p95", "takes", "p95"):
        table.add_column(name, justify="left" if name == "gate" else "right")
    for gate in head.gates:
        line = Text(f"{gate.queued:,}", style="yellow" if gate.queued > gate.size else "")
        times = (_lasting(one) for one in (gate.wait, gate.wait_p95, gate.service, gate.service_p95))
        table.add_row(Text(_printable(gate.name)), f"{gate.busy}/{gate.size}", line, *times)
    return table


def _lasting(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)
