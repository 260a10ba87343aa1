"""The learning curve as SVG, drawn by hand: success against updates, with the 95 % interval of each point.

Two curves: the test split, which is never trained on, with its intervals as a band, and the training rollouts as dots.
What is drawn follows from metrics.jsonl alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from webgym.loop.figures import Rate

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 64, 56
_INK, _FAINT, _TEST, _TRAIN = "#1f2933", "#e4e8ee", "#3b6fb5", "#b5803b"
_STEPS: Final = (0.02, 0.05, 0.1, 0.2, 0.25)


@dataclass(frozen=True)
class Point:
    """A model after so many updates, and how often it succeeded."""

    version: int
    rate: Rate


def learning_curve(title: str, test: Sequence[Point], train: Sequence[Point]) -> str:
    """Both curves over the same axis. Points without a scored episode are left out."""
    test, train = [one for one in test if one.rate.of], [one for one in train if one.rate.of]
    every = [*test, *train]
    last = max((one.version for one in every), default=1) or 1
    top = min(1.0, 1.05 * max((one.rate.interval[1] for one in every), default=1.0))
    scale = _Scale(last, top)
    drawn = [*_grid(scale), *_band(scale, test)]
    drawn += [_dot(scale, one, _TRAIN, 2.5, "training tasks") for one in train]
    drawn += [_line(scale, test), *(_whisker(scale, one) for one in test)]
    drawn += [_dot(scale, one, _TEST, 4, "unseen websites") for one in test]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>\n'
        f"{_text(16, 28, title, size=18, weight='bold')}\n{_legend()}\n" + "\n".join(drawn) + "\n</svg>\n"
    )


@dataclass(frozen=True)
class _Scale:
    last: int
    top: float

    def x(self, version: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * version / self.last

    def y(self, share: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(share, self.top) / self.top


def _grid(scale: _Scale) -> list[str]:
    step = next((one for one in _STEPS if scale.top / one <= 6), 0.25)
    drawn, share = [], 0.0
    while share <= scale.top + 1e-9:
        y = scale.y(share)
        drawn.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_FAINT}"/>')
        drawn.append(_text(_LEFT - 8, y + 4, f"{share:.0%}", anchor="end"))
        share += step
    every = max(1, -(-scale.last // 10))
    drawn += [_text(scale.x(n), _HEIGHT - _BOTTOM + 20, str(n), anchor="middle") for n in range(0, scale.last + 1, every)]
    drawn.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, "updates of the model", anchor="middle"))
    return drawn


def _band(scale: _Scale, points: Sequence[Point]) -> list[str]:
    if len(points) < 2:
        return []
    high = [f"{scale.x(one.version):.1f},{scale.y(one.rate.interval[1]):.1f}" for one in points]
    low = [f"{scale.x(one.version):.1f},{scale.y(one.rate.interval[0]):.1f}" for one in reversed(points)]
    return [f'<polygon points="{" ".join((*high, *low))}" fill="{_TEST}" opacity="0.15"/>']


def _line(scale: _Scale, points: Sequence[Point]) -> str:
    places = " ".join(f"{scale.x(one.version):.1f},{scale.y(one.rate.share or 0.0):.1f}" for one in points)
    return f'<polyline points="{places}" fill="none" stroke="{_TEST}" stroke-width="2"/>'


def _whisker(scale: _Scale, point: Point) -> str:
    x, (low, high) = scale.x(point.version), point.rate.interval
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(low):.1f}" y2="{scale.y(high):.1f}" stroke="{_TEST}"/>'


def _dot(scale: _Scale, point: Point, colour: str, radius: float, what: str) -> str:
    told = escape(f"{what}, {point.version} updates: {point.rate}")
    x, y = scale.x(point.version), scale.y(point.rate.share or 0.0)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"><title>{told}</title></circle>'


def _legend() -> str:
    parts, x = [], 16
    for colour, words in (
        (_TEST, "unseen websites, with 95 % intervals"),
        (_TRAIN, "training tasks, as they were rolled out"),
    ):
        parts.append(f'<circle cx="{x + 4}" cy="46" r="4" fill="{colour}"/>')
        parts.append(_text(x + 14, 50, words))
        x += 30 + 7 * len(words)
    return "\n".join(parts)


def _text(x: float, y: float, text: str, *, size: int = 13, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text, quote=False)}</text>"
    )
