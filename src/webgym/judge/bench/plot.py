"""A bench's figures as a picture: a dot for each figure, a line for its interval. SVG, drawn by hand."""

from __future__ import annotations

from html import escape
from typing import Final

from webgym.judge.bench.figures import Agreement, Estimate, Figures

_LABEL, _COLUMN, _GAP, _ROW, _TOP, _EDGE, _FOOT = 190, 190, 26, 34, 104, 24, 46
_INK, _SOFT, _FAINT, _DOT, _BAND = "#1f2933", "#66727f", "#e4e8ee", "#3b6fb5", "#f6f8fa"
COLUMNS: Final = ("accuracy", "precision", "recall", "κ")
_WIDTH = _EDGE + _LABEL + len(COLUMNS) * (_COLUMN + _GAP) + _EDGE


def plot(figures: Figures) -> str:
    """One row for all episodes, each kind of agent and the facts; one column a figure, each from 0 to 1."""
    rows = [("all episodes", figures.overall), *((kind.name, kind.agreement) for kind in figures.kinds)]
    if figures.facts is not None:
        rows.append(("single facts", figures.facts))
    height = _TOP + _ROW * len(rows) + _FOOT
    drawn = [
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_EDGE, 34, _cut(f"How good is {figures.judge}?", 90), size=18, weight="bold"),
        _text(_EDGE, 56, _subtitle(figures), colour=_SOFT),
    ]
    drawn += [_band(place) for place in range(0, len(rows), 2)]
    for place, name in enumerate(COLUMNS):
        drawn += _axis(place, name, len(rows))
    for place, (name, agreement) in enumerate(rows):
        drawn += _row(place, name, agreement)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
        f' font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def _subtitle(figures: Figures) -> str:
    whole, spent = figures.overall, figures.spent
    share = 100 * (whole.unscorable.value or 0.0)
    return (
        f"{whole.cases:,} episodes, {share:.1f} % unscorable; ${spent.dollars_per_episode:.4f} and "
        f"{spent.seconds_median:.2f} s an episode; truth: {_cut(figures.truth, 40)}; lines are 95 % intervals"
    )


def _band(place: int) -> str:
    top, width = _TOP + place * _ROW, _WIDTH - 2 * _EDGE + 16
    return f'<rect x="{_EDGE - 8}" y="{top}" width="{width}" height="{_ROW}" fill="{_BAND}"/>'


def _row(place: int, name: str, agreement: Agreement) -> list[str]:
    middle = _TOP + place * _ROW + _ROW / 2
    drawn = [
        _text(_EDGE, middle - 1, _cut(name, 26), weight="bold" if place == 0 else "normal"),
        _text(_EDGE, middle + 12, f"{agreement.cases:,} cases", size=10, colour=_SOFT),
    ]
    estimates = (agreement.accuracy, agreement.precision, agreement.recall, agreement.kappa)
    for column, estimate in enumerate(estimates):
        drawn += _dot(_left(column), middle, estimate)
    return drawn


def _dot(left: float, middle: float, estimate: Estimate) -> list[str]:
    if estimate.value is None:
        return [_text(left + _COLUMN / 2, middle + 4, "nothing to count", size=10, anchor="middle", colour=_SOFT)]
    drawn = []
    if estimate.low is not None and estimate.high is not None:
        low, high = _at(left, estimate.low), _at(left, estimate.high)
        drawn.append(
            f'<line x1="{low:.1f}" y1="{middle + 5}" x2="{high:.1f}" y2="{middle + 5}" stroke="{_DOT}" stroke-width="2"'
            ' stroke-linecap="round"/>'
        )
    x = _at(left, estimate.value)
    drawn.append(f'<circle cx="{x:.1f}" cy="{middle + 5}" r="4.5" fill="{_DOT}"/>')
    anchor = "end" if x > left + _COLUMN - 18 else "start" if x < left + 18 else "middle"
    drawn.append(_text(x, middle - 5, f"{estimate.value:.2f}", size=10, anchor=anchor))
    return drawn


def _axis(place: int, name: str, rows: int) -> list[str]:
    left, bottom = _left(place), _TOP + _ROW * rows
    drawn = [_text(left + _COLUMN / 2, _TOP - 14, name, anchor="middle", weight="bold")]
    for tick in (0.0, 0.5, 1.0):
        x = _at(left, tick)
        drawn.append(f'<line x1="{x}" y1="{_TOP}" x2="{x}" y2="{bottom}" stroke="{_FAINT}"/>')
        drawn.append(_text(x, bottom + 16, f"{tick:g}", size=10, anchor="middle", colour=_SOFT))
    return drawn


def _left(column: int) -> float:
    return _EDGE + _LABEL + column * (_COLUMN + _GAP)


def _at(left: float, value: float) -> float:
    """Where a value stands; a kappa below zero stands at the edge."""
    return left + _COLUMN * min(1.0, max(0.0, value))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _text(
    x: float, y: float, text: str, *, size: int = 13, anchor: str = "start", weight: str = "normal", colour: str = _INK
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">'
        f"{escape(text, quote=False)}</text>"
    )
