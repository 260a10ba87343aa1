"""The board in a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from tests.unit.ui.playing import Play, make_task
from webgym.store import Run
from webgym.ui.terminal import TerminalBoard
from webgym.watching import EventsBoard


def printed(play: Play, *, height: int = 40, agent: str = "") -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=100, height=height, force_terminal=True, color_system="truecolor", legacy_windows=False
    )
    console.print(TerminalBoard(EventsBoard(play.events, agent=agent), address="http://127.0.0.1:1/"))
    return out.getvalue()


def test_cells_counts_and_gates_are_printed(run: Run):
    play = Play(run, [make_task(n) for n in range(80)])
    for _ in range(40):
        play.move(20)
    said = printed(play)
    for mark in ("✓", "○", "◆", "×"):
        assert mark in said
    assert "episodes/h" in said
    assert "model" in said
    assert f"{play.events.counts().doing['done']:,}" in said


def test_two_thousand_episodes_fit_the_screen_with_those_under_way_first(run: Run):
    play = Play(run, [make_task(n) for n in range(2000)])
    for _ in range(20):
        play.move(100)
    said = printed(play, height=24)
    assert len(said.splitlines()) <= 24
    assert "◆" in said


def test_hostile_text_neither_styles_nor_steers_the_terminal(run: Run):
    play = Play(run, [make_task(0)])
    play.events.say("\x1b[2J\x1b]0;owned\x07[bold red]loud[/]")
    said = printed(play, agent="[blink]\x1b[31mred")
    assert "\x1b[2J" not in said
    assert "\x1b]0;" not in said
    assert "[bold red]loud[/]" in said
