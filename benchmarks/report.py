"""What the runs amount to: a table for people, seven figures for programs, and which targets hold.

Every figure that compares is the median over the repetitions of the ratio within one repetition, so that a machine which
is slow for a while is slow for both sides.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rich.table import Table

from benchmarks.runs import Run
from benchmarks.starts import Start

RAW, PNG, JPEG, SERVED, LOW_MEMORY = "raw CDP", "Playwright PNG", "Playwright JPEG", "webgym serve", "… --low-memory"
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
    """All that was measured, repetition by repetition: runs by contestant and number of sessions, and session starts."""

    runs: dict[tuple[str, int], list[Run]] = field(default_factory=dict)
    leased: list[Start] = field(default_factory=list)
    fresh: list[Start] = field(default_factory=list)

    def add(self, name: str, run: Run) -> None:
        self.runs.setdefault((name, run.sessions), []).append(run)

    def median(self, name: str, sessions: int, figure: Callable[[Run], float]) -> float:
        return statistics.median(map(figure, self.runs[name, sessions]))

    def speed_against(self, name: str, sessions: int = JUDGED_AT) -> float:
        """Steps a second of the server for each of the other's."""
        pairs = zip(self.runs[SERVED, sessions], self.runs[name, sessions], strict=True)
        return statistics.median(ours.steps_per_second / theirs.steps_per_second for ours, theirs in pairs)

    def start_against_fresh(self) -> float:
        """To the first screenshot of an empty page, which is what a new session shows; the table has another page too."""
        pairs = zip(self.leased, self.fresh, strict=True)
        return statistics.median(ours.blank / theirs.blank for ours, theirs in pairs)

    def disturbance(self) -> float:
        return max(run.disturbance for runs in self.runs.values() for run in runs)

    def summary(self) -> dict[str, float]:
        return {
            "vs_raw_cdp": round(self.speed_against(RAW), 3),
            "vs_playwright_png": round(self.speed_against(PNG), 3),
            "vs_playwright_jpeg": round(self.speed_against(JPEG), 3),
            "python_cpu_share": round(self.median(SERVED, JUDGED_AT, lambda run: run.python_share), 4),
            "mb_per_session": round(self.median(SERVED, JUDGED_AT, lambda run: run.megabytes), 1),
            "mb_per_session_low_memory": round(self.median(LOW_MEMORY, JUDGED_AT, lambda run: run.megabytes), 1),
            "session_start_vs_fresh_browser": round(self.start_against_fresh(), 3),
        }


def holds(key: str, value: float) -> bool:
    relation, bound = TARGETS[key]
    return value >= bound if relation == "≥" else value <= bound


def table(results: Results) -> Table:
    made = Table(title="One step = one action, one screenshot, address, title, scroll position; 1280 × 768", pad_edge=False)
    made.add_column("sessions", justify="right")
    made.add_column("contestant")
    for head in ("steps/s", "server ÷ it", "Chromium\nCPU ms/step", "server or driver\nCPU ms/step", "client\nCPU ms/step",
                 "MB/session\n(PSS)", "p50 ms", "p95 ms", "kB/image", "steps that\nshow another page"):  # fmt: skip
        made.add_column(head, justify="right")
    previous = None
    for name, sessions in sorted(results.runs, key=lambda key: key[1]):
        if previous not in (None, sessions):
            made.add_section()
        previous = sessions
        made.add_row(str(sessions), name, *_cells(results, name, sessions))
    return made


def _cells(results: Results, name: str, sessions: int) -> Iterator[str]:
    def median(figure: Callable[[Run], float]) -> float:
        return results.median(name, sessions, figure)

    yield f"{median(lambda run: run.steps_per_second):.1f}"
    yield "" if name in (SERVED, LOW_MEMORY) else f"{results.speed_against(name, sessions):.2f}"
    yield f"{median(lambda run: run.ms_per_step(run.cpu.chromium)):.1f}"
    yield f"{median(lambda run: run.ms_per_step(run.cpu.between)):.2f}"
    yield f"{median(lambda run: run.ms_per_step(run.cpu.here)):.2f}"
    yield f"{median(lambda run: run.megabytes):.0f}"
    yield f"{median(lambda run: run.latency_ms(50)):.0f}"
    yield f"{median(lambda run: run.latency_ms(95)):.0f}"
    yield f"{median(lambda run: run.image_bytes / 1000):.1f}"
    yield "" if name == SERVED else f"{_differences(results, name, sessions):.0%}"


def _differences(results: Results, name: str, sessions: int) -> float:
    """Share of steps after which a contestant saw another page than the server did, in the unmeasured episodes."""
    pairs = [
        pair
        for ours, theirs in zip(results.runs[SERVED, sessions], results.runs[name, sessions], strict=True)
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
