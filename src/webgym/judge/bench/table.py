"""A bench's figures for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from webgym.judge.bench.figures import Agreement, Estimate, Figures

DASH = "–"


def table(figures: Figures) -> Table:
    """A row for all episodes, one for each kind of agent, one for single facts."""
    made = Table(title=escape(f"{figures.judge} against {figures.truth}"), pad_edge=False)
    made.add_column("")
    for head in ("cases", "truly done", "accuracy", "precision", "recall", "κ", "unscorable"):
        made.add_column(head, justify="right")
    _add(made, "all episodes", figures.overall, "bold")
    for kind in figures.kinds:
        _add(made, kind.name, kind.agreement)
    if figures.facts is not None:
        made.add_section()
        _add(made, "single facts", figures.facts)
    return made


def spending(figures: Figures) -> str:
    """What it took, in a line."""
    spent = figures.spent
    return (
        f"{spent.tokens_per_episode:,.0f} tokens and ${spent.dollars_per_episode:.4f} an episode "
        f"(${spent.dollars:.2f} in all); {spent.seconds_median:.2f} s an episode, "
        f"nine of ten within {spent.seconds_p90:.2f} s"
    )


def _add(made: Table, name: str, agreement: Agreement, style: str | None = None) -> None:
    made.add_row(
        escape(name),
        f"{agreement.cases:,}",
        _share(agreement.successes, interval=False),
        _share(agreement.accuracy),
        _share(agreement.precision),
        _share(agreement.recall),
        _kappa(agreement.kappa),
        _share(agreement.unscorable, interval=False),
        style=style,
    )


def _share(estimate: Estimate, *, interval: bool = True) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return DASH
    said = f"{100 * estimate.value:.1f} %"
    return f"{said} ({100 * estimate.low:.1f}, {100 * estimate.high:.1f})" if interval else said


def _kappa(estimate: Estimate) -> str:
    if estimate.value is None:
        return DASH
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f}, {estimate.high:.2f})"
