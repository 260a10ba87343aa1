"""`webgym audit` and `webgym export`. Settings are read before anything heavy is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from pydantic_settings import CliPositionalArg

from webgym.config import Settings, load
from webgym.types import Split

if TYPE_CHECKING:
    from webgym.store.audit import Report

BREACH: Final = 1


class AuditSettings(Settings):
    """Check a run's folder: every planned episode accounted for once, every file whole."""

    run: CliPositionalArg[Path] = Field(description="The run's folder.")
    repair: bool = Field(False, description="Clear what a crash left and set aside what is damaged, then check.")
    finished: bool = Field(False, description="The run is over: an episode without a terminal record is a breach.")
    limit: Annotated[int, Field(ge=1)] = Field(30, description="Show at most so many findings; all are counted.")


class ExportSettings(Settings):
    """Write a run's episodes as JSON lines with their images."""

    run: CliPositionalArg[Path] = Field(description="The run's folder.")
    out: Path = Field(description="The folder to write.")
    split: Split | None = Field(None, description="Only episodes of tasks of this split.")
    iteration: Annotated[int, Field(ge=0)] | None = Field(None, description="Only episodes of this iteration.")


def run_audit(arguments: list[str]) -> int:
    """The command: 0 if every promise is kept, 1 if not."""
    settings = load(AuditSettings, arguments, command="webgym audit")
    from webgym.store.audit import audit

    report = audit(settings.run, finished=settings.finished, repair=settings.repair)
    _print(report, settings)
    return 0 if report.clean else BREACH


def run_export(arguments: list[str]) -> int:
    settings = load(ExportSettings, arguments, command="webgym export")
    from webgym.store.export import export
    from webgym.store.run import Run

    with Run.open(settings.run, read_only=True) as run:
        count = export(run, settings.out, split=settings.split, iteration=settings.iteration)
    sys.stdout.write(f"{count:,} episodes in {settings.out}\n")
    return 0


def _print(report: Report, settings: AuditSettings) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    totals = Table(
        "planned", "committed", "failed", "cancelled", "unfinished", "images", "judgements", title=escape(str(settings.run))
    )
    totals.add_row(
        f"{report.planned:,}",
        f"{report.committed:,}",
        _reasons(report.failed),
        _reasons(report.cancelled),
        f"{report.unfinished:,}",
        f"{report.images:,}",
        f"{report.judgements:,}",
    )
    console.print(totals)
    if report.findings:
        found = Table("", "where", "what", "what to do")
        for one in report.findings[: settings.limit]:
            found.add_row(one.severity, *(escape(_printable(text)) for text in (one.where, one.what, one.remedy)))
        console.print(found)
        if len(report.findings) > settings.limit:
            console.print(f"and {len(report.findings) - settings.limit:,} more", style="dim")
    breaches, debris = len(report.breaches), len(report.findings) - len(report.breaches)
    console.print(
        f"{breaches:,} breaches" if breaches else "no breach",
        f"{debris:,} left by a crash" if debris else "",
        sep=", " if debris else "",
    )


def _reasons(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    listed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items()))
    return f"{total:,} ({listed})" if total else "0"


def _printable(text: str) -> str:
    """Bytes of a damaged file must not drive a terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)
