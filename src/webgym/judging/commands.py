"""`webgym judge RUN` and `webgym judge diff A B`. Settings are read before anything heavy is imported.

Exit status of judging: 0 every episode has a verdict of this judge; 1 it stopped itself, and the same command goes on; 2 a
setting is wrong; 3 some episodes are unscorable for now, and the same command tries them again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from webgym.config import load
from webgym.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from webgym.judge.rubric import RubricJudge
    from webgym.judging.diff import Diff
    from webgym.judging.running import Tally
    from webgym.judging.settings import JudgeRunSettings
    from webgym.store import Run
    from webgym.types import Task

EXIT_STOPPED: Final = 1
EXIT_UNSCORED: Final = 3
LINES: Final = 50  # episodes between lines where there is no terminal
LONGEST: Final = 160


def run_judge(arguments: list[str]) -> int:
    """The command that judges."""
    from webgym.judging.settings import JudgeRunSettings

    settings = load(JudgeRunSettings, arguments, command="webgym judge")
    import uvloop

    from webgym import logs

    logs.start(settings.log_level)
    return uvloop.run(_judge(settings))


async def _judge(settings: JudgeRunSettings) -> int:
    from rich.console import Console

    from webgym.judging.assembly import BLOCKED, rubric_judge
    from webgym.judging.programmatic import WorldsJudge
    from webgym.judging.running import Judge, Patience, has_scored, judge_all, waiting
    from webgym.rollout.blocking import BlockList
    from webgym.store import Run

    console, patience = Console(stderr=True), Patience(settings.give_up_after)
    async with AsyncExitStack() as stack:
        run = stack.enter_context(await asyncio.to_thread(Run.open, settings.run))
        tasks, rubric = await asyncio.to_thread(_rubrics, settings, run)
        judge: Judge
        model: RubricJudge | None = None
        if settings.judge == "worlds":
            judge = WorldsJudge()
        else:
            blocklist = BlockList(settings.blocklist or run.path.parent / BLOCKED, hours=settings.block_hours)
            opened = rubric_judge(
                settings.rubric, run, blocklist=blocklist, cache=settings.cache, rubric=rubric, trouble=patience.trouble
            )
            judge = model = await stack.enter_async_context(opened)
        todo = await asyncio.to_thread(waiting, run, judge.name, iteration=settings.iteration, again=settings.again)
        todo = todo[: settings.limit]
        patience.has_scored = await asyncio.to_thread(has_scored, run, judge.name)
        console.print(f"Judge: {judge.name}", highlight=False, markup=False)
        if not todo:
            console.print("Nothing to do: this judge has scored every episode that can be scored.")
            return 0
        with _progress(console, len(todo), lambda: _cost(model)) as advance:
            tally = await judge_all(
                run, judge, todo, at_a_time=settings.episodes, patience=patience, tasks=tasks, advance=advance
            )
        _sum_up(console, tally, model)
        if patience.stopped is not None:
            console.print(f"Stopped: {patience.stopped}. The same command goes on.", style="bold red", markup=False)
            return EXIT_STOPPED
        return EXIT_UNSCORED if tally.scored < tally.wanted else 0


def _rubrics(settings: JudgeRunSettings, run: Run) -> tuple[Callable[[Task], Task], str]:
    """Where an episode's rubric comes from, and the name of that source in the judge's identity. Blocks."""
    if settings.rubrics is None:
        return (lambda task: task), ""
    if settings.judge == "worlds":
        raise ConfigError("rubrics names a task file, but judge is worlds, whose verifiers have rubrics of their own")
    from webgym.tasks.files import TaskFile
    from webgym.tasks.selection import TaskFilter

    ids = tuple(sorted({one.task for one in run.planned(settings.iteration)}))
    with TaskFile.open(settings.rubrics) as file:
        found = {task.id: task for task in file.where(TaskFilter(ids=ids))}
    if missing := [one for one in ids if one not in found]:
        raise ConfigError(f"{settings.rubrics} has no rubric for {len(missing)} tasks of the run, such as {missing[0]}")
    judged_by = repr([(one, found[one].groups, found[one].reference_answer) for one in ids])
    digest = hashlib.sha256(judged_by.encode()).hexdigest()[:8]

    def with_rubric(task: Task) -> Task:
        other = found[task.id]
        return task.model_copy(update={"groups": other.groups, "reference_answer": other.reference_answer})

    return with_rubric, digest


def _cost(judge: RubricJudge | None) -> str:
    if judge is None:
        return ""
    spent = judge.models.spent()
    dollars = f"{spent.dollars:,.4f} dollars" if judge.models.priced() else "no price set"
    return f"{spent.calls:,} calls, {spent.reused:,} from the cache, {spent.tokens:,} tokens, {dollars}"


@contextmanager
def _progress(console: Console, total: int, cost: Callable[[], str]) -> Iterator[Callable[[Tally], None]]:
    """A bar with the cost so far on a terminal; a line now and then elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if not console.is_terminal:

        def line(tally: Tally) -> None:
            if tally.done % LINES == 0:
                console.print(f"{tally.done} of {total} episodes; {cost()}", highlight=False, markup=False)

        yield line
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, transient=True) as shown:
        bar = shown.add_task("", total=total, told="")
        yield lambda tally: shown.update(bar, completed=tally.done, told=f"{tally.rewarded} rewarded; {cost()}")


def _sum_up(console: Console, tally: Tally, judge: RubricJudge | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("episodes", f"{tally.done:,} of {tally.wanted:,} judged in {tally.seconds:.0f} s")
    share = f" ({tally.rewarded / tally.scored:.0%})" if tally.scored else ""
    table.add_row("rewards", f"{tally.rewarded:,} of {tally.scored:,} scored{share}")
    if tally.unscorable:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(tally.unscorable.items()))
        table.add_row("unscorable", escape(_line(listed)))
    if judge is not None:
        table.add_row("cost", _cost(judge))
    console.print(table)


def run_diff(arguments: list[str]) -> int:
    """The command that compares."""
    from webgym.judging.settings import DiffSettings

    settings = load(DiffSettings, arguments, command="webgym judge diff")
    from rich.console import Console

    from webgym.judging.diff import compare, read_verdicts

    diff = compare(read_verdicts(settings.a), read_verdicts(settings.b))
    _print_diff(Console(), diff, settings.limit)
    return 0


def _print_diff(console: Console, diff: Diff, limit: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    heads = Table("", "judge", "unscorable", "judged by it alone", "tokens", "dollars")
    for place, letter in enumerate("AB"):
        heads.add_row(
            letter,
            escape(_line(diff.judges[place])),
            f"{diff.unscorable[place]:,}",
            f"{diff.only[place]:,}",
            f"{diff.tokens[place]:,}",
            f"{diff.dollars[place]:,.4f}",
        )
    console.print(heads)
    table = Table("", "B: 0", "B: 1", title=f"{diff.compared:,} episodes that both have scored")
    for one in (0, 1):
        table.add_row(f"A: {one}", *(f"{diff.table.get((one, other), 0):,}" for other in (0, 1)))
    console.print(table)
    console.print(
        f"agreement {_share(diff.agreement)}, beyond chance (kappa) {_number(diff.kappa)}; "
        f"on {sum(diff.facts.values()):,} facts {_share(diff.fact_agreement)}",
        highlight=False,
    )
    if diff.disagreements and limit:
        listed = Table("episode", "A", "B", "A says", "B says")
        for found in diff.disagreements[:limit]:
            said = (escape(_line(reason)) for reason in found.reasons)
            listed.add_row(found.episode, *map(str, found.rewards), *said)
        console.print(listed)
        if (more := len(diff.disagreements) - limit) > 0:
            console.print(f"and {more:,} more", style="dim")


def _share(part: float | None) -> str:
    return "unknown" if part is None else f"{part:.1%}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _line(text: str) -> str:
    """What models and pages said must not drive a terminal."""
    return "".join(one if one.isprintable() else " " for one in text)[:LONGEST]
