"""Bar charts as SVG, drawn by hand: three panels need no plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _ROW, _LABEL, _VALUE, _GAP, _HEAD = 760, 22, 220, 70, 28, 34
_BAR, _INK, _FAINT = "#3b6fb5", "#1f2933", "#e4e8ee"

Panel = tuple[str, Sequence[tuple[str, int]]]


def bar_chart(title: str, panels: Sequence[Panel]) -> str:
    """Horizontal bars, a panel below the other, each scaled to its longest bar."""
    drawn: list[str] = []
    top = _HEAD + _GAP
    for name, bars in panels:
        drawn.append(_text(16, top, name, weight="bold"))
        top += 14
        longest = max((value for _, value in bars), default=0) or 1
        for label, value in bars:
            drawn.extend(_bar(top, label, value, value / longest))
            top += _ROW
        top += _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}"'
        f' font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">\n'
        f'<rect width="{_WIDTH}" height="{top}" fill="#ffffff"/>\n'
        f"{_text(16, _HEAD, title, size=18, weight='bold')}\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def _bar(top: int, label: str, value: int, share: float) -> list[str]:
    room = _WIDTH - _LABEL - _VALUE - 16
    return [
        _text(_LABEL - 8, top + 15, label, anchor="end"),
        f'<rect x="{_LABEL}" y="{top + 3}" width="{room}" height="{_ROW - 6}" rx="2" fill="{_FAINT}"/>',
        f'<rect x="{_LABEL}" y="{top + 3}" width="{room * share:.1f}" height="{_ROW - 6}" rx="2" fill="{_BAR}"/>',
        _text(_LABEL + room + 8, top + 15, f"{value:,}"),
    ]


def _text(x: int, y: int, text: str, *, size: int = 13, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text, quote=False)}</text>"
    )
