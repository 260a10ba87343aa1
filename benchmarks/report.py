"""What was measured in words: a table for people, seven figures for programs, and which targets hold.

Every figure that compares is the median over pairs of turns of the ratio within one pair, so that a machine which is slow
for a while is slow for both sides. Pairs that other programs disturbed are left out, unless hardly any others are left.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rich.table import Table

from benchmarks.runs import Alone, Pair, Turn
from benchmarks.starts import Start

RAW, PNG, JPEG, SERVED, LOW_MEMORY = "raw CDP", "Playwright PNG", "Playwright JPEG", "webgym serve", "… --low-memory"
RIVALS = (RAW, JPEG, PNG)  # of the server
JUDGED_AT = 8

# At least, or at most.
TARGETS: Mapping[str, tuple[str, float]] = {
    "vs_raw_cdp": ("≥", 0.92),
    "vs_playwright_png": ("≥", 2.0),
    "vs_playwright_jpeg": ("≥", 1.3),
    "python_cpu_share": ("≤", 0.10),
    "mb_per_session": ("≤", 190),
    "mb_per_session_low_memory": ("≤", 120),
    "session_start_vs_fresh_browser": ("≤", 0.5),
}


@dataclass
class Results:
    """All that was measured, by contestant and sessions: of each alone, in turns with the server, and session starts."""

    alone: dict[tuple[str, int], list[Alone]] = field(default_factory=dict)
    pairs: dict[tuple[str, int], list[Pair]] = field(default_factory=dict)
    leased: list[Start] = field(default_factory=list)
    fresh: list[Start] = field(default_factory=list)

    def counted(self, name: str, sessions: int) -> list[Pair]:
        """The quiet pairs, if they are half of what was played at least."""
        played = self.pairs[name, sessions]
        quiet = [pair for pair in played if pair.quiet]
        return quiet if 2 * len(quiet) >= len(played) else played

    def turns(self, name: str, sessions: int) -> list[Turn]:
        if name != SERVED:
            return [pair.theirs for pair in self.counted(name, sessions)]
        rivals = [other for other, count in self.pairs if count == sessions]
        return [pair.ours for other in rivals for pair in self.counted(other, sessions)]

    def median(self, name: str, sessions: int, figure: Callable[[Turn], float]) -> float:
        return statistics.median(map(figure, self.turns(name, sessions)))

    def megabytes(self, name: str, sessions: int = JUDGED_AT) -> float:
        return statistics.median(one.megabytes for one in self.alone[name, sessions])

    def speed_against(self, name: str, sessions: int = JUDGED_AT) -> float:
        return statistics.median(pair.speed for pair in self.counted(name, sessions))

    def start_against_fresh(self) -> float:
        """To the first screenshot of an empty page, which is what a new session shows; the table has another page too."""
        pairs = zip(self.leased, self.fresh, strict=True)
        return statistics.median(ours.blank / theirs.blank for ours, theirs in pairs)

    def disturbed(self) -> Iterator[str]:
        """What other programs did to the figures, in words."""
        for (name, sessions), played in self.pairs.items():
            noisy = sum(not pair.quiet for pair in played)
            if not noisy:
                continue
            if len(self.counted(name, sessions)) < len(played):
                with_them = statistics.median(pair.speed for pair in played)
                fate = f"left out: with them the server would stand at {with_them:.2f}"
            else:
                fate = "too many to leave out: do not trust it"
            yield f"{name}, {sessions} sessions: other programs disturbed {noisy} of {len(played)} pairs, {fate}."

    def summary(self) -> dict[str, float]:
        return {
            "vs_raw_cdp": round(self.speed_against(RAW), 3),
            "vs_playwright_png": round(self.speed_against(PNG), 3),
            "vs_playwright_jpeg": round(self.speed_against(JPEG), 3),
            "python_cpu_share": round(self.median(SERVED, JUDGED_AT, lambda turn: turn.python_share), 4),
            "mb_per_session": round(self.megabytes(SERVED), 1),
            "mb_per_session_low_memory": round(self.megabytes(LOW_MEMORY), 1),
            "session_start_vs_fresh_browser": round(self.start_against_fresh(), 3),
        }


def holds(key: str, value: float) -> bool:
    relation, bound = TARGETS[key]
    return value >= bound if relation == "≥" else value <= bound


def table(results: Results) -> Table:
    made = Table(title="One step = one action, one screenshot, address, title, scroll position; 1280 × 768", pad_edge=False)
    made.add_column("sessions", justify="right")
    made.add_column("contestant")
    for head in ("steps/s", "server ÷ it\n(quartiles)", "Chromium\nCPU ms/step", "server or driver\nCPU ms/step",
                 "client\nCPU ms/step", "p50 ms", "p95 ms", "kB/image", "MB/session\n(PSS)",
                 "steps that\nshow another page"):  # fmt: skip
        made.add_column(head, justify="right")
    previous = None
    for name, sessions in sorted(results.alone, key=lambda key: key[1]):
        if previous not in (None, sessions):
            made.add_section()
        previous = sessions
        speeds = [""] * 8 if name == LOW_MEMORY else _speeds(results, name, sessions)
        another = "" if name == SERVED else f"{_differences(results, name, sessions):.0%}"
        made.add_row(str(sessions), name, *speeds, f"{results.megabytes(name, sessions):.0f}", another)
    return made


def _speeds(results: Results, name: str, sessions: int) -> Iterator[str]:
    def median(figure: Callable[[Turn], float]) -> float:
        return results.median(name, sessions, figure)

    yield f"{median(lambda turn: turn.steps_per_second):.1f}"
    yield "" if name == SERVED else _ratio([pair.speed for pair in results.counted(name, sessions)])
    yield f"{median(lambda turn: turn.ms_per_step(turn.cpu.chromium)):.1f}"
    yield f"{median(lambda turn: turn.ms_per_step(turn.cpu.between)):.2f}"
    yield f"{median(lambda turn: turn.ms_per_step(turn.cpu.here)):.2f}"
    yield f"{median(lambda turn: turn.latency_ms(50)):.0f}"
    yield f"{median(lambda turn: turn.latency_ms(95)):.0f}"
    yield f"{median(lambda turn: turn.image_bytes / 1000):.1f}"


def _ratio(speeds: list[float]) -> str:
    if len(speeds) < 2:
        return f"{speeds[0]:.2f}"
    low, middle, high = statistics.quantiles(speeds, n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def _differences(results: Results, name: str, sessions: int) -> float:
    """Share of steps after which a contestant saw another page than the server did, each alone."""
    pairs = [
        pair
        for ours, theirs in zip(results.alone[SERVED, sessions], results.alone[name, sessions], strict=True)
        for pair in zip(ours.pages, theirs.pages, strict=True)
    ]
    return sum(ours != theirs for ours, theirs in pairs) / len(pairs)


def starts(results: Results) -> Table:
    made = Table(title="A new session's first screenshot, ms", pad_edge=False)
    for head in ("", "blank page", "form page"):
        made.add_column(head, justify="left" if not head else "right")
    for name, measured in ((SERVED, results.leased), ("fresh browser over raw CDP", results.fresh)):
        blank, page = (statistics.median(times) * 1000 for times in zip(*((s.blank, s.page) for s in measured), strict=True))
        made.add_row(name, f"{blank:.0f}", f"{page:.0f}")
    return made


def verdicts(summary: Mapping[str, float]) -> Table:
    made = Table(title=f"Targets, at {JUDGED_AT} sessions", pad_edge=False)
    for head in ("figure", "measured", "target", ""):
        made.add_column(head, justify="left" if head in ("figure", "") else "right")
    for key, value in summary.items():
        relation, bound = TARGETS[key]
        verdict = "[green]holds[/]" if holds(key, value) else "[red]missed[/]"
        made.add_row(key, f"{value:g}", f"{relation} {bound:g}", verdict)
    return made
